/*
 * layout.h - says where the bytes of a datatype lie, as nested loops over blocks.
 *
 * A piece is `count` rounds, `stride` bytes apart; a round is a contiguous block of
 * `size` bytes, or a body. A body is a row of pieces one after the other, or a list of
 * contiguous blocks at irregular offsets. So a vector is one piece, a face of a cube is
 * two nested pieces, and a list takes 8 bytes for each block, 16 if their lengths
 * differ.
 *
 * A layout is in normal form, however the type was described: blocks that touch are one,
 * rounds that continue each other are one loop, regular offsets become strides, and the
 * first piece of a body lies at 0. The order of bytes, which is the order of packing, is
 * never changed. Every piece and block knows how many packed bytes come before it, so
 * that any byte is found by a division or a binary search on each level.
 *
 * Bodies belong to the layout that made them (`owned`). A layout may point into another
 * one: then its datatype keeps a reference to the other datatype. A finished layout is
 * read only. No function needs the lock.
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

/* Do two pieces describe the same bytes? Compares their bodies, too, and ignores `start`.
 */
bool weft_piece_is_equal(const struct weft_piece *a, const struct weft_piece *b);

/* Repeats `piece` `count` times, `stride` bytes apart; *out is the result, in normal
 * form.
 */
WEFT_MUST_CHECK enum weft_rc weft_layout_repeat(struct weft_layout *layout,
                                                const struct weft_piece *piece,
                                                uint64_t count, int64_t stride,
                                                struct weft_piece *out);

/* Collects pieces one after the other; weft_row_end() frees its array. */
struct weft_row {
    struct weft_piece *pieces;
    size_t n;
    size_t room;
};

/* Begins a row, with room for `most` pieces; adding that many cannot fail. weft_row_end()
 * makes one piece in normal form of the row. */
WEFT_MUST_CHECK enum weft_rc weft_row_begin(struct weft_row *row, size_t most);
void weft_row_add(struct weft_row *row, const struct weft_piece *piece, int64_t offset);
WEFT_MUST_CHECK enum weft_rc
weft_row_end(struct weft_row *row, struct weft_layout *layout, struct weft_piece *out);

/* Frees the bodies that the layout owns. */
void weft_layout_fini(struct weft_layout *layout);

#endif
