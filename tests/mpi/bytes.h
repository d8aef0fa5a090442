/* bytes.h - bytes that tell where they belong, for messages that must arrive whole. */
#ifndef WEFT_TEST_BYTES_H
#define WEFT_TEST_BYTES_H

#include <stddef.h>
#include <stdint.h>

static inline uint8_t byte_at(uint32_t seed, size_t i)
{
    return (uint8_t)((seed * 2654435761u) ^ (uint32_t)(i * 40503u) ^ (uint32_t)(i >> 11));
}

static inline void fill_bytes(void *buffer, size_t n, uint32_t seed)
{
    for (size_t i = 0; i < n; i++) {
        ((uint8_t *)buffer)[i] = byte_at(seed, i);
    }
}

static inline int are_bytes(const void *buffer, size_t n, uint32_t seed)
{
    for (size_t i = 0; i < n; i++) {
        if (((const uint8_t *)buffer)[i] != byte_at(seed, i)) {
            return 0;
        }
    }
    return 1;
}

#endif
