/*
 * blocks.h - the inner loops of packing: they copy blocks of equal length that lie at
 * regular distances.
 *
 * Source and destination have a stride each, so that one function packs, unpacks and
 * transposes. Their memory must not overlap. No function allocates, locks or fails.
 */
#ifndef WEFT_DATATYPE_BLOCKS_H
#define WEFT_DATATYPE_BLOCKS_H

#include <stddef.h>
#include <stdint.h>

/* The source or the destination. */
struct weft_side {
    char *at;       /* the first block */
    int64_t stride; /* bytes from one block to the next */
    int64_t outer;  /* weft_copy_grid: bytes from one row to the next */
};

/* Copies `n` blocks of `bytes` bytes each. */
void weft_copy_blocks(struct weft_side to, struct weft_side from, size_t bytes,
                      uint64_t n);

/* Copies `rows` rows of `n` blocks of `bytes` bytes each. */
void weft_copy_grid(struct weft_side to, struct weft_side from, size_t bytes, uint64_t n,
                    uint64_t rows);

#endif
