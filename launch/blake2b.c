#include "blake2b.h"

#include <stdbool.h>
#include <string.h>

static const uint64_t start[8] = {
    UINT64_C(0x6a09e667f3bcc908), UINT64_C(0xbb67ae8584caa73b),
    UINT64_C(0x3c6ef372fe94f82b), UINT64_C(0xa54ff53a5f1d36f1),
    UINT64_C(0x510e527fade682d1), UINT64_C(0x9b05688c2b3e6c1f),
    UINT64_C(0x1f83d9abfb41bd6b), UINT64_C(0x5be0cd19137e2179),
};

static const uint8_t order[12][16] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
    {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4},
    {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13},
    {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11},
    {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5},
    {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0},
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
    {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
};

static uint64_t load(const uint8_t *from)
{
    uint64_t word;

    memcpy(&word, from, sizeof(word));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

static uint64_t turn(uint64_t word, int bits)
{
    return word >> bits | word << (64 - bits);
}

static inline void mix(uint64_t *v, int a, int b, int c, int d, uint64_t x, uint64_t y)
{
    v[a] += v[b] + x;
    v[d] = turn(v[d] ^ v[a], 32);
    v[c] += v[d];
    v[b] = turn(v[b] ^ v[c], 24);
    v[a] += v[b] + y;
    v[d] = turn(v[d] ^ v[a], 16);
    v[c] += v[d];
    v[b] = turn(v[b] ^ v[c], 63);
}

static void compress(struct blake2b *hash, const uint8_t *block, bool is_last)
{
    uint64_t v[16];
    uint64_t m[16];

    for (int i = 0; i < 16; i++) {
        m[i] = load(block + 8 * i);
        v[i] = i < 8 ? hash->state[i] : start[i - 8];
    }
    v[12] ^= hash->count;
    v[14] ^= is_last ? UINT64_MAX : 0;
#pragma GCC unroll 12
    for (int round = 0; round < 12; round++) {
        const uint8_t *o = order[round];

        mix(v, 0, 4, 8, 12, m[o[0]], m[o[1]]);
        mix(v, 1, 5, 9, 13, m[o[2]], m[o[3]]);
        mix(v, 2, 6, 10, 14, m[o[4]], m[o[5]]);
        mix(v, 3, 7, 11, 15, m[o[6]], m[o[7]]);
        mix(v, 0, 5, 10, 15, m[o[8]], m[o[9]]);
        mix(v, 1, 6, 11, 12, m[o[10]], m[o[11]]);
        mix(v, 2, 7, 8, 13, m[o[12]], m[o[13]]);
        mix(v, 3, 4, 9, 14, m[o[14]], m[o[15]]);
    }
    for (int i = 0; i < 8; i++) {
        hash->state[i] ^= v[i] ^ v[i + 8];
    }
}

void blake2b_open(struct blake2b *hash)
{
    memset(hash, 0, sizeof(*hash));
    memcpy(hash->state, start, sizeof(start));
    hash->state[0] ^= UINT64_C(0x01010000) ^ BLAKE2B_BYTES;
}

/* The last block is compressed by blake2b_close, so a full one waits for more. */
void blake2b_add(struct blake2b *hash, const void *from, size_t bytes)
{
    const uint8_t *at = from;

    while (bytes > 0) {
        size_t room = BLAKE2B_BLOCK - hash->used;

        if (hash->used == 0 && bytes > BLAKE2B_BLOCK) {
            hash->count += BLAKE2B_BLOCK;
            compress(hash, at, false);
            at += BLAKE2B_BLOCK;
            bytes -= BLAKE2B_BLOCK;
            continue;
        }
        if (room == 0) {
            hash->count += BLAKE2B_BLOCK;
            compress(hash, hash->block, false);
            hash->used = 0;
            continue;
        }
        room = room < bytes ? room : bytes;
        memcpy(hash->block + hash->used, at, room);
        hash->used += room;
        at += room;
        bytes -= room;
    }
}

void blake2b_close(struct blake2b *hash, uint8_t result[BLAKE2B_BYTES])
{
    hash->count += hash->used;
    memset(hash->block + hash->used, 0, BLAKE2B_BLOCK - hash->used);
    compress(hash, hash->block, true);
    for (int i = 0; i < BLAKE2B_BYTES; i++) {
        result[i] = (uint8_t)(hash->state[i / 8] >> (8 * (i % 8)));
    }
}
