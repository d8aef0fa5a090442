/*
 * copy.h - memcpy for messages, most of which are small.
 */
#ifndef WEFT_BASE_COPY_H
#define WEFT_BASE_COPY_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Asks for a cache line that will be written soon; does nothing where there is no way. */
static inline void weft_prefetch_to_write(const void *line)
{
#if defined(__x86_64__)
    __asm__ volatile("prefetchw %0" : : "m"(*(const char *)line));
#else
    __builtin_prefetch(line, 1);
#endif
}

/* Up to 32 bytes without a call: two moves that may overlap. `len` may be 0. */
enum { WEFT_COPY_INLINE = 32 };
static inline void weft_copy(void *to_bytes, const void *from_bytes, size_t len)
{
    uint8_t *to = to_bytes;
    const uint8_t *from = from_bytes;

    if (len > WEFT_COPY_INLINE) {
        memcpy(to, from, len);
    } else if (len >= 16) {
        memcpy(to, from, 16);
        memcpy(to + len - 16, from + len - 16, 16);
    } else if (len >= 8) {
        memcpy(to, from, 8);
        memcpy(to + len - 8, from + len - 8, 8);
    } else if (len >= 4) {
        memcpy(to, from, 4);
        memcpy(to + len - 4, from + len - 4, 4);
    } else if (len > 0) {
        to[0] = from[0];
        to[len / 2] = from[len / 2];
        to[len - 1] = from[len - 1];
    }
}

#endif
