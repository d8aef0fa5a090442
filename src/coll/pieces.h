/*
 * pieces.h - how large data are cut into pieces (shared.h), for those who move them and
 * for what that costs (shared_cost.c).
 *
 * A system call for each piece costs 1 us; 64 KiB cost 4 us. All members find the same.
 */
#ifndef WEFT_COLL_PIECES_H
#define WEFT_COLL_PIECES_H

#include <stdbool.h>
#include <stdint.h>

enum { WEFT_PIECE_REDUCED = 128 << 10 }; /* two of them stay in the second cache */

/* How many, and how long all but the last are. */
struct weft_pieces {
    int count;
    uint64_t bytes;
};

/* Of `piece` bytes or more, in whole units. */
struct weft_pieces weft_pieces_cut(uint64_t bytes, uint64_t piece, uint64_t unit);

/* Of a block that goes from one member to another. Two work at once on the one block that
 * a bcast has for all; else each has a block of its own to get. */
struct weft_pieces weft_pieces_of_block(uint64_t bytes, bool is_for_all);

/* Of a vector that is reduced by so many members at once: WEFT_PIECE_REDUCED or less,
 * unless there would be too many. */
struct weft_pieces weft_pieces_of_vector(uint64_t bytes, uint64_t unit, uint64_t workers);

#endif
