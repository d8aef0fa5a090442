#include "base/crc32c.h"

#include <stdbool.h>
#include <string.h>

static uint32_t by_bit(uint32_t crc, const uint8_t *p, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        crc ^= p[i];
        for (int k = 0; k < 8; k++) {
            crc = (crc >> 1) ^ (UINT32_C(0x82f63b78) & (0u - (crc & 1u)));
        }
    }
    return crc;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) static uint32_t
by_instruction(uint32_t crc, const uint8_t *p, size_t len)
{
    uint64_t wide = crc;

    for (; len >= 8; p += 8, len -= 8) {
        uint64_t word;

        memcpy(&word, p, sizeof(word));
        wide = __builtin_ia32_crc32di(wide, word);
    }
    crc = (uint32_t)wide;
    for (; len > 0; p++, len--) {
        crc = __builtin_ia32_crc32qi(crc, *p);
    }
    return crc;
}

static bool has_instruction(void)
{
    return __builtin_cpu_supports("sse4.2") != 0;
}
#else
static uint32_t by_instruction(uint32_t crc, const uint8_t *p, size_t len)
{
    return by_bit(crc, p, len);
}

static bool has_instruction(void)
{
    return false;
}
#endif

uint32_t weft_crc32c_more(uint32_t crc, const void *data, size_t len)
{
    return ~(has_instruction() ? by_instruction(~crc, data, len)
                               : by_bit(~crc, data, len));
}

uint32_t weft_crc32c(const void *data, size_t len)
{
    return weft_crc32c_more(0, data, len);
}
