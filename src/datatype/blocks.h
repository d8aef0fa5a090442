/*
 * blocks.h - the inner loops of packing: blocks of one length at regular places.
 *
 * Both sides have a stride, so that one function packs, unpacks and transposes. The two
 * sides do not overlap. Nothing here allocates, locks or fails.
 */
#ifndef WEFT_DATATYPE_BLOCKS_H
#define WEFT_DATATYPE_BLOCKS_H

#include <stddef.h>
#include <stdint.h>

/* One side: where the first block lies, and how far it is to the next. */
struct weft_side {
    char *at;
    int64_t stride;
    int64_t outer; /* for weft_copy_grid: from row to row */
};

/* `n` blocks of `bytes` bytes. */
void weft_copy_blocks(struct weft_side to, struct weft_side from, size_t bytes,
                      uint64_t n);

/* `rows` times the same. */
void weft_copy_grid(struct weft_side to, struct weft_side from, size_t bytes, uint64_t n,
                    uint64_t rows);

#endif
