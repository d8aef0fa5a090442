/*
 * blocks.c - one loop for each length that is common, so that the compiler knows it; the
 * rest is memcpy. With -O3 GCC and Clang make vector instructions of the loops whose
 * strides they know, too.
 */
#include "datatype/blocks.h"

#include <stdbool.h>
#include <string.h>

#define ALWAYS_INLINE inline __attribute__((always_inline))

enum { TILE = 8 /* rows: a cache line of doubles */ };

/* `bytes` and, where it helps, the strides are constants at each call. */
static ALWAYS_INLINE void copy_loop(char *to, int64_t to_stride, const char *from,
                                    int64_t from_stride, size_t bytes, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        memcpy(to, from, bytes);
        to += to_stride;
        from += from_stride;
    }
}

/* Elements, not bytes: in this form the strides 1 and 2 become vector instructions. */
static ALWAYS_INLINE void copy_near(char *to, int64_t to_stride, const char *from,
                                    int64_t from_stride, size_t bytes, uint64_t n)
{
    typedef uint64_t word8 __attribute__((aligned(1), may_alias));
    typedef uint32_t word4 __attribute__((aligned(1), may_alias));

    if (bytes == 8) {
        word8 *restrict t = (word8 *)to;
        const word8 *restrict f = (const word8 *)from;

        for (uint64_t i = 0; i < n; i++) {
            t[(uint64_t)to_stride / 8 * i] = f[(uint64_t)from_stride / 8 * i];
        }
    } else {
        word4 *restrict t = (word4 *)to;
        const word4 *restrict f = (const word4 *)from;

        for (uint64_t i = 0; i < n; i++) {
            t[(uint64_t)to_stride / 4 * i] = f[(uint64_t)from_stride / 4 * i];
        }
    }
}

/*
 * Doubles to every second place. Written out, because the vector form that compilers find
 * by themselves stores the second of two first, which takes this loop twice the time.
 */
static void spread_8(char *to, const char *from, uint64_t n)
{
    typedef uint64_t pair __attribute__((vector_size(16), aligned(1), may_alias));
    typedef uint64_t word __attribute__((aligned(1), may_alias));
    word *restrict t = (word *)to;
    const word *restrict f = (const word *)from;

    for (uint64_t i = 0; i + 1 < n; i += 2) {
        const pair both = *(const pair *)(f + i);

        t[2 * i] = both[0];
        t[2 * i + 2] = both[1];
    }
    if (n % 2 != 0) {
        t[2 * (n - 1)] = f[n - 1];
    }
}

/* One of the sides is dense: packing and unpacking. Else both strides are unknown. */
static ALWAYS_INLINE void copy_known(struct weft_side to, struct weft_side from,
                                     size_t bytes, uint64_t n)
{
    const int64_t dense = (int64_t)bytes;

    if ((bytes == 8 || bytes == 4) && to.stride == dense && from.stride == 2 * dense) {
        copy_near(to.at, dense, from.at, 2 * dense, bytes, n);
    } else if (bytes == 8 && from.stride == dense && to.stride == 2 * dense) {
        spread_8(to.at, from.at, n);
    } else if (bytes == 4 && from.stride == dense && to.stride == 2 * dense) {
        copy_near(to.at, 2 * dense, from.at, dense, bytes, n);
    } else if (to.stride == dense) {
        copy_loop(to.at, dense, from.at, from.stride, bytes, n);
    } else if (from.stride == dense) {
        copy_loop(to.at, to.stride, from.at, dense, bytes, n);
    } else {
        copy_loop(to.at, to.stride, from.at, from.stride, bytes, n);
    }
}

void weft_copy_blocks(struct weft_side to, struct weft_side from, size_t bytes,
                      uint64_t n)
{
    switch (bytes) {
    case 1:
        copy_known(to, from, 1, n);
        break;
    case 2:
        copy_known(to, from, 2, n);
        break;
    case 4:
        copy_known(to, from, 4, n);
        break;
    case 8:
        copy_known(to, from, 8, n);
        break;
    case 12:
        copy_known(to, from, 12, n);
        break;
    case 16:
        copy_known(to, from, 16, n);
        break;
    case 24:
        copy_known(to, from, 24, n);
        break;
    case 32:
        copy_known(to, from, 32, n);
        break;
    case 64:
        copy_known(to, from, 64, n);
        break;
    default:
        copy_loop(to.at, to.stride, from.at, from.stride, bytes, n);
        break;
    }
}

/*
 * Is a row's neighbour nearer than its own next block, on either side? Then walking row
 * by row would fetch each cache line once a row: a transposition.
 */
static bool is_across(const struct weft_side *side, size_t bytes)
{
    const uint64_t outer =
        (uint64_t)(side->outer < 0 ? -(uint64_t)side->outer : (uint64_t)side->outer);
    const uint64_t inner =
        (uint64_t)(side->stride < 0 ? -(uint64_t)side->stride : (uint64_t)side->stride);

    return bytes <= 32 && inner > 64 && outer < inner && outer <= 64;
}

/* Up to TILE rows together, block by block: each line is used while it is near. */
static void copy_tile(struct weft_side to, struct weft_side from, size_t bytes,
                      uint64_t n, uint64_t rows)
{
    for (uint64_t i = 0; i < n; i++) {
        weft_copy_blocks((struct weft_side){.at = to.at, .stride = to.outer},
                         (struct weft_side){.at = from.at, .stride = from.outer}, bytes,
                         rows);
        to.at += to.stride;
        from.at += from.stride;
    }
}

/* Copies a whole tile of 8-byte blocks, with an unrolled loop. */
static void copy_tile_8(struct weft_side to, struct weft_side from, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        copy_loop(to.at, to.outer, from.at, from.outer, 8, TILE);
        to.at += to.stride;
        from.at += from.stride;
    }
}

void weft_copy_grid(struct weft_side to, struct weft_side from, size_t bytes, uint64_t n,
                    uint64_t rows)
{
    const bool is_tiled = is_across(&to, bytes) || is_across(&from, bytes);

    while (rows > 0) {
        uint64_t part = !is_tiled ? 1 : rows < TILE ? rows : TILE;

        if (!is_tiled) {
            weft_copy_blocks(to, from, bytes, n);
        } else if (bytes == 8 && part == TILE) {
            copy_tile_8(to, from, n);
        } else {
            copy_tile(to, from, bytes, n, part);
        }
        to.at += (int64_t)part * to.outer;
        from.at += (int64_t)part * from.outer;
        rows -= part;
    }
}
