#include "coll/pieces.h"

#include "coll/claims.h"

enum {
    BLOCK = 512 << 10,
    HALF_LEAST = 16 << 10, /* of a block on which two work at once */
    HALF_MOST = 128 << 10,
    REDUCED_LEAST = 8 << 10, /* a system call for each operand, 1 us */
};

static uint64_t between(uint64_t least, uint64_t value, uint64_t most)
{
    return value < least ? least : value > most ? most : value;
}

struct weft_pieces weft_pieces_cut(uint64_t bytes, uint64_t piece, uint64_t unit)
{
    const uint64_t least = (bytes + WEFT_PIECES_MAX - 1) / WEFT_PIECES_MAX;
    const uint64_t most = piece > least ? piece : least;
    const uint64_t each = (most + unit - 1) / unit * unit;

    return (struct weft_pieces){.count = (int)((bytes + each - 1) / each), .bytes = each};
}

struct weft_pieces weft_pieces_of_block(uint64_t bytes, bool is_for_all)
{
    const uint64_t piece = is_for_all ? between(HALF_LEAST, bytes / 2, HALF_MOST) : BLOCK;

    return weft_pieces_cut(bytes, piece, 64);
}

struct weft_pieces weft_pieces_of_vector(uint64_t bytes, uint64_t unit, uint64_t workers)
{
    const uint64_t share = (bytes + workers - 1) / workers;

    return weft_pieces_cut(bytes, between(REDUCED_LEAST, share, WEFT_PIECE_REDUCED),
                           unit);
}
