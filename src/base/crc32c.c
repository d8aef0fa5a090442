/*
 * crc32c.c - three methods for the same checksum.
 *
 * By table: eight bytes at a time, with eight tables of 256 words.
 *
 * By instruction (SSE 4.2, or the CRC extension of ARMv8): eight bytes at a time. The
 * instruction has a latency of three cycles and can begin every cycle, so three streams
 * run side by side over three blocks that follow each other. The checksum of bytes that
 * follow others is linear in that of the others: it is moved over a block of zeros, by a
 * table for each byte, and added. Two sizes of blocks: the large one makes moving rare,
 * the small one serves short data and the rest.
 *
 * Wide (AVX-512 with VPCLMULQDQ): bytes are a polynomial, and what a polynomial leaves
 * when divided stays the same if its highest part is replaced by what that leaves. Four
 * vectors of 64 bytes are carried forward over the next four: each half of each 16 bytes
 * is multiplied by the power of x that stands for the distance, and added to what lies
 * there. The 64 bytes that remain in the end have the checksum of all, which the
 * instruction takes.
 *
 * Measured on one core, in the second-level cache: docs/performance.md.
 */
#include "base/crc32c.h"

#include <pthread.h>
#include <string.h>

#if defined(__aarch64__)
#include <sys/auxv.h>
#elif defined(__x86_64__)
#include <immintrin.h>
#endif

enum { LARGE = 1024, SMALL = 128 }; /* bytes in a block */

static const uint32_t POLYNOMIAL = 0x82f63b78; /* reflected */

typedef uint32_t tables[4][256];

static uint32_t bytes_of[8][256]; /* [k][b]: of the byte b and k zeros behind it */
static tables over_large;         /* moves a checksum over a block of zeros */
static tables over_small;
static bool has[WEFT_CRC32C_METHODS];
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* ---- by table ---- */

static uint64_t word_at(const uint8_t *p)
{
    uint64_t word;

    memcpy(&word, p, sizeof(word));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

static uint32_t by_table(uint32_t crc, const uint8_t *p, size_t len)
{
    for (; len >= 8; p += 8, len -= 8) {
        const uint64_t word = word_at(p) ^ crc;

        crc = 0;
        for (int k = 0; k < 8; k++) {
            crc ^= bytes_of[7 - k][word >> 8 * k & 0xff];
        }
    }
    for (; len > 0; p++, len--) {
        crc = crc >> 8 ^ bytes_of[0][(crc ^ *p) & 0xff];
    }
    return crc;
}

static void fill_bytes(void)
{
    for (uint32_t b = 0; b < 256; b++) {
        uint32_t crc = b;

        for (int k = 0; k < 8; k++) {
            crc = crc >> 1 ^ (POLYNOMIAL & (0u - (crc & 1u)));
        }
        bytes_of[0][b] = crc;
    }
    for (int k = 1; k < 8; k++) {
        for (uint32_t b = 0; b < 256; b++) {
            const uint32_t before = bytes_of[k - 1][b];

            bytes_of[k][b] = before >> 8 ^ bytes_of[0][before & 0xff];
        }
    }
}

/* ---- over zeros ---- */

static void fill_over(tables over, size_t zeros)
{
    static const uint8_t block[LARGE];

    for (uint32_t byte = 0; byte < 4; byte++) {
        for (uint32_t b = 0; b < 256; b++) {
            over[byte][b] = by_table(b << 8 * byte, block, zeros);
        }
    }
}

static uint32_t move(tables over, uint32_t crc)
{
    return over[0][crc & 0xff] ^ over[1][crc >> 8 & 0xff] ^ over[2][crc >> 16 & 0xff] ^
           over[3][crc >> 24];
}

/* ---- by instruction ---- */

#if defined(__x86_64__)
#define WITH_INSTRUCTION    __attribute__((target("sse4.2")))
#define ADD_WORD(crc, word) ((uint32_t)__builtin_ia32_crc32di((crc), (word)))
#define ADD_BYTE(crc, byte) __builtin_ia32_crc32qi((crc), (byte))
#elif defined(__aarch64__)
#define WITH_INSTRUCTION    __attribute__((target("+crc")))
#define ADD_WORD(crc, word) __builtin_aarch64_crc32cx((crc), (word))
#define ADD_BYTE(crc, byte) __builtin_aarch64_crc32cb((crc), (byte))
#endif

#if defined(WITH_INSTRUCTION)
/* As many times three blocks as there are; *p and *len move on. */
WITH_INSTRUCTION static uint32_t three_blocks(uint32_t crc, const uint8_t **p,
                                              size_t *len, size_t block, tables over)
{
    for (; *len >= 3 * block; *p += 3 * block, *len -= 3 * block) {
        uint32_t second = 0;
        uint32_t third = 0;

        for (size_t i = 0; i < block; i += 8) {
            crc = ADD_WORD(crc, word_at(*p + i));
            second = ADD_WORD(second, word_at(*p + block + i));
            third = ADD_WORD(third, word_at(*p + 2 * block + i));
        }
        crc = move(over, move(over, crc) ^ second) ^ third;
    }
    return crc;
}

WITH_INSTRUCTION static uint32_t by_instruction(uint32_t crc, const uint8_t *p,
                                                size_t len)
{
    crc = three_blocks(crc, &p, &len, LARGE, over_large);
    crc = three_blocks(crc, &p, &len, SMALL, over_small);
    for (; len >= 8; p += 8, len -= 8) {
        crc = ADD_WORD(crc, word_at(p));
    }
    for (; len > 0; p++, len--) {
        crc = ADD_BYTE(crc, *p);
    }
    return crc;
}
#else
static uint32_t by_instruction(uint32_t crc, const uint8_t *p, size_t len)
{
    return by_table(crc, p, len);
}
#endif

/* ---- wide ---- */

#if defined(__x86_64__)
#define IS_WIDE __attribute__((target("avx512f,vpclmulqdq")))

enum { VECTOR = 64, STEP = 4 * VECTOR, WIDE_FROM = 2 * STEP };

static uint64_t over_vector[2]; /* factors for the halves of 16 bytes, VECTOR further */
static uint64_t over_step[2];   /* STEP further */

/* x to this power, as a factor for 64 bits that are reflected. */
static uint64_t factor(size_t power)
{
    uint32_t rest = UINT32_C(1) << 31; /* reflected: 1 */

    for (; power > 0; power--) {
        rest = rest >> 1 ^ (POLYNOMIAL & (0u - (rest & 1u)));
    }
    return (uint64_t)rest << 1;
}

static void fill_factors(uint64_t factors[2], size_t distance)
{
    factors[0] = factor(8 * distance + 32); /* the lower half stands 64 bits higher */
    factors[1] = factor(8 * distance - 32);
}

IS_WIDE static __m512i add_moved(__m512i to, __m512i from, __m512i factors)
{
    const __m512i low = _mm512_clmulepi64_epi128(from, factors, 0x00);
    const __m512i high = _mm512_clmulepi64_epi128(from, factors, 0x11);

    return _mm512_ternarylogic_epi64(low, high, to, 0x96); /* exclusive or of three */
}

IS_WIDE static __m512i all_lanes(const uint64_t factors[2])
{
    return _mm512_set_epi64((long long)factors[1], (long long)factors[0],
                            (long long)factors[1], (long long)factors[0],
                            (long long)factors[1], (long long)factors[0],
                            (long long)factors[1], (long long)factors[0]);
}

/* At least STEP bytes; *p and *len move on, by whole steps. */
IS_WIDE static uint32_t whole_steps(uint32_t crc, const uint8_t **p, size_t *len)
{
    const __m512i step = all_lanes(over_step);
    const __m512i vector = all_lanes(over_vector);
    const uint8_t *at = *p;
    const uint8_t *end = at + *len / STEP * STEP;
    __m512i part[4];
    uint8_t rest[VECTOR];

    for (int i = 0; i < 4; i++) {
        part[i] = _mm512_loadu_si512(at + i * VECTOR);
    }
    part[0] =
        _mm512_xor_si512(part[0], _mm512_zextsi128_si512(_mm_cvtsi32_si128((int)crc)));
    for (at += STEP; at < end; at += STEP) {
        for (int i = 0; i < 4; i++) {
            part[i] = add_moved(_mm512_loadu_si512(at + i * VECTOR), part[i], step);
        }
    }
    for (int i = 1; i < 4; i++) {
        part[i] = add_moved(part[i], part[i - 1], vector);
    }
    _mm512_storeu_si512(rest, part[3]);
    *len -= (size_t)(end - *p);
    *p = end;
    return by_instruction(0, rest, sizeof(rest));
}

static uint32_t by_wide(uint32_t crc, const uint8_t *p, size_t len)
{
    if (len >= WIDE_FROM) {
        crc = whole_steps(crc, &p, &len);
    }
    return by_instruction(crc, p, len);
}

static bool find_wide(void)
{
    fill_factors(over_vector, VECTOR);
    fill_factors(over_step, STEP);
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("vpclmulqdq");
}
#else
static uint32_t by_wide(uint32_t crc, const uint8_t *p, size_t len)
{
    return by_instruction(crc, p, len);
}

static bool find_wide(void)
{
    return false;
}
#endif

/* ---- which ---- */

static bool find_instruction(void)
{
#if defined(__x86_64__)
    return __builtin_cpu_supports("sse4.2") != 0;
#elif defined(__aarch64__)
    return (getauxval(AT_HWCAP) & 1ul << 7) != 0; /* HWCAP_CRC32 */
#else
    return false;
#endif
}

static void prepare(void)
{
    fill_bytes();
    fill_over(over_large, LARGE);
    fill_over(over_small, SMALL);
    has[WEFT_CRC32C_TABLE] = true;
    has[WEFT_CRC32C_INSTRUCTION] = find_instruction();
    has[WEFT_CRC32C_WIDE] = has[WEFT_CRC32C_INSTRUCTION] && find_wide();
}

bool weft_crc32c_has(enum weft_crc32c_method method)
{
    pthread_once(&once, prepare);
    return has[method];
}

uint32_t weft_crc32c_by(enum weft_crc32c_method method, uint32_t crc, const void *data,
                        size_t len)
{
    if (method == WEFT_CRC32C_WIDE) {
        return ~by_wide(~crc, data, len);
    }
    return ~(method == WEFT_CRC32C_INSTRUCTION ? by_instruction(~crc, data, len)
                                               : by_table(~crc, data, len));
}

uint32_t weft_crc32c_more(uint32_t crc, const void *data, size_t len)
{
    enum weft_crc32c_method method = WEFT_CRC32C_WIDE;

    while (!weft_crc32c_has(method)) {
        method--;
    }
    return weft_crc32c_by(method, crc, data, len);
}

uint32_t weft_crc32c(const void *data, size_t len)
{
    return weft_crc32c_more(0, data, len);
}
