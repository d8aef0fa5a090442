/*
 * halving.h - a reduce-scatter by recursive halving, as a part of algorithms for
 * operations that commute.
 *
 * The data are cut into chunks, one for each position (fold.h). In each round a rank
 * sends one half of the chunks that it still has to a peer, which sends it the other
 * half, and combines what comes. At the end each position has the outcome of its own
 * chunk. A chunk may be empty; nothing is sent or combined for those.
 *
 * Of all ranks together it costs, with p positions: n - 1 times all data in messages, and
 * as much is reduced; n - p messages of the fold and, in log2 p rounds, p each.
 */
#ifndef WEFT_COLL_HALVING_H
#define WEFT_COLL_HALVING_H

#include "coll/fold.h"

enum { WEFT_HALVING_MOST = 31 }; /* rounds */

/* Bytes of the chunks of the positions from `first` to before `last`. */
typedef uint64_t weft_chunk_bytes(const struct weft_shape *shape,
                                  const struct weft_fold *fold, int first, int last);

/* All data of shape->bytes, cut into chunks that differ by one unit at most. */
weft_chunk_bytes weft_chunk_even;
/* The parts that the ranks get in a reduce-scatter. */
weft_chunk_bytes weft_chunk_parts;

/* One round: what this rank goes on with, and what its peer does. */
struct weft_halving_round {
    int peer;
    uint64_t keep_at;
    uint64_t keep_bytes;
    uint64_t give_at;
    uint64_t give_bytes;
    uint32_t sent; /* the step, or WEFT_NO_STEP, as all steps here */
};

struct weft_halving {
    struct weft_fold fold;
    weft_chunk_bytes *chunk;
    struct weft_span input; /* all data of this rank; changes if it stands for a pair */
    struct weft_span work;  /* as large; it may be the same as `input` */
    uint32_t done; /* first, the step after which `input` is there; then the last one on
                    * `work`, or the one that sent all data */
    int position;  /* -1: the neighbour stands for this rank */
    struct weft_halving_round round[WEFT_HALVING_MOST];
};

/* Adds the steps. The caller has set fold, chunk, input, work and done; n is at
 * least 2. */
void weft_add_halving(const struct weft_shape *shape, struct weft_graph *graph,
                      struct weft_halving *halving);

/* What that costs. */
struct weft_cost weft_halving_cost(const struct weft_shape *shape,
                                   const struct weft_fold *fold, weft_chunk_bytes *chunk);

#endif
