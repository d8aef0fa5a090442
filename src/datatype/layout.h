/*
 * layout.h - where the bytes of a datatype lie: a short program of nested strided blocks.
 *
 * A piece is `count` rounds, `stride` bytes apart; a round is a contiguous block of
 * `size` bytes, or a body. A body is a row of pieces one after the other, or a list of
 * contiguous blocks at irregular places. So a vector is one piece, a face of a cube is
 * two pieces one in the other, and a list costs 8 bytes a block, 16 if the lengths
 * differ.
 *
 * Programs are in a normal form, however the type was described: blocks that touch are
 * one, rounds that continue each other are one loop, regular places become strides, the
 * first piece of a body lies at 0. The order of bytes, which is the order of packing, is
 * never changed. Every piece and block knows how many packed bytes come before it, so
 * that any byte is found by a division or a binary search on each level.
 *
 * Bodies belong to the layout that made them (`owned`). One layout may point into
 * another: the datatype that has it keeps the other datatype alive. A finished layout is
 * read only. The lock is not needed.
 */
#ifndef WEFT_DATATYPE_LAYOUT_H
#define WEFT_DATATYPE_LAYOUT_H

#include "base/rc.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct weft_body;

struct weft_piece {
    int64_t offset; /* of the first round, from where the body around it lies */
    uint64_t start; /* packed bytes of that body that come before */
    uint64_t count; /* rounds; 0: nothing at all */
    int64_t stride; /* from round to round */
    uint64_t size;  /* packed bytes of a round */
    const struct weft_body *body; /* NULL: a round is contiguous */
};

struct weft_body {
    struct weft_body *next;    /* of the same owner */
    uint64_t size;             /* packed bytes of all of it */
    size_t n;                  /* pieces or blocks */
    struct weft_piece *pieces; /* NULL: blocks */
    int64_t *offsets;          /* of blocks */
    uint64_t *starts;          /* n + 1 of them; NULL: each block has `block` bytes */
    uint64_t block;
};

struct weft_layout {
    struct weft_piece top; /* start is 0 */
    struct weft_body *owned;
};

static inline bool weft_piece_is_block(const struct weft_piece *piece)
{
    return piece->body == NULL && piece->count <= 1;
}

static inline uint64_t weft_piece_bytes(const struct weft_piece *piece)
{
    return piece->count * piece->size;
}

/* Are they the same program, bodies included? `start` does not count. */
bool weft_piece_is_equal(const struct weft_piece *a, const struct weft_piece *b);

/* `piece` so many times at a distance of `stride`, in normal form, into *out. */
WEFT_MUST_CHECK enum weft_rc weft_layout_repeat(struct weft_layout *layout,
                                                const struct weft_piece *piece,
                                                uint64_t count, int64_t stride,
                                                struct weft_piece *out);

/* A row of pieces in the making; its array is freed by weft_row_end. */
struct weft_row {
    struct weft_piece *pieces;
    size_t n;
    size_t room;
};

/* Room for `most` pieces: adding that many cannot fail. */
WEFT_MUST_CHECK enum weft_rc weft_row_begin(struct weft_row *row, size_t most);
void weft_row_add(struct weft_row *row, const struct weft_piece *piece, int64_t offset);
WEFT_MUST_CHECK enum weft_rc
weft_row_end(struct weft_row *row, struct weft_layout *layout, struct weft_piece *out);

/* Frees its bodies. */
void weft_layout_fini(struct weft_layout *layout);

#endif
