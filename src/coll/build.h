/*
 * build.h - functions that the builders of collectives share. They are pure.
 */
#ifndef WEFT_COLL_BUILD_H
#define WEFT_COLL_BUILD_H

#include "coll/algorithm.h"

/* This rank's input, all of it: in place it is where the result goes. */
static inline struct weft_span weft_build_input(const struct weft_shape *shape,
                                                uint64_t bytes)
{
    return weft_span(shape->is_in_place ? WEFT_SPACE_RECV : WEFT_SPACE_SEND, 0, bytes);
}

/* The block that goes to a peer, and the one that comes from a peer. */
static inline struct weft_span weft_build_block_to(const struct weft_shape *shape,
                                                   int block)
{
    return shape->to != NULL
               ? weft_span_block(WEFT_SPACE_SEND, block, shape->to[block])
               : weft_span(WEFT_SPACE_SEND, shape->given * (uint64_t)block, shape->given);
}

static inline struct weft_span weft_build_block_from(const struct weft_shape *shape,
                                                     int block)
{
    return shape->from != NULL
               ? weft_span_block(WEFT_SPACE_RECV, block, shape->from[block])
               : weft_span(WEFT_SPACE_RECV, shape->bytes * (uint64_t)block, shape->bytes);
}

/* Bytes of a rank's part in a reduce-scatter, and of all parts. */
static inline uint64_t weft_build_part(const struct weft_shape *shape, int rank)
{
    return shape->from != NULL ? shape->from[rank] : shape->bytes;
}

static inline uint64_t weft_build_parts_before(const struct weft_shape *shape, int rank)
{
    uint64_t bytes = 0;

    for (int before = 0; before < rank; before++) {
        bytes += weft_build_part(shape, before);
    }
    return bytes;
}

static inline uint64_t weft_build_all_parts(const struct weft_shape *shape)
{
    return shape->from != NULL ? weft_build_parts_before(shape, shape->n)
                               : shape->bytes * (uint64_t)shape->n;
}

/* Of all bytes that go around once: those of the other ranks. */
static inline uint64_t weft_build_but_one(uint64_t bytes, int ranks)
{
    return bytes - bytes / (uint64_t)ranks;
}

/* Rounds in which a number doubles until it is n: log2 n, rounded up. */
static inline uint64_t weft_build_rounds(int n)
{
    uint64_t rounds = 0;

    for (int64_t reached = 1; reached < n; reached *= 2) {
        rounds++;
    }
    return rounds;
}

/* Ranks counted from the root on, and back. */
static inline int weft_build_position(const struct weft_shape *shape, int rank)
{
    return rank >= shape->root ? rank - shape->root : rank - shape->root + shape->n;
}

static inline int weft_build_rank_at(const struct weft_shape *shape, int position)
{
    const int rank = position + shape->root;

    return rank >= shape->n ? rank - shape->n : rank;
}

/* In a binomial tree of positions: how far its parent is from a position, a power of two;
 * for position 0, which has none, the smallest that is not less than n. */
static inline int64_t weft_build_above(const struct weft_shape *shape, int position)
{
    int64_t distance = 1;

    while (distance < shape->n && (position & distance) == 0) {
        distance *= 2;
    }
    return distance;
}

/* How many positions there are in the subtree of this one, which begins with it. */
static inline int weft_build_subtree(const struct weft_shape *shape, int position)
{
    const int64_t above = weft_build_above(shape, position);

    return above < shape->n - position ? (int)above : shape->n - position;
}

/* The rank that is `distance` behind this one, and `distance` before it; at most n. */
static inline int weft_build_behind(const struct weft_shape *shape, int distance)
{
    return (int)(((int64_t)shape->rank + distance) % shape->n);
}

static inline int weft_build_before(const struct weft_shape *shape, int distance)
{
    return (int)(((int64_t)shape->rank - distance + shape->n) % shape->n);
}

/* A step that waits for both, or for what there is of them. */
static inline void weft_build_after_both(struct weft_graph *graph, uint32_t step,
                                         uint32_t a, uint32_t b)
{
    weft_graph_after(graph, step, a);
    weft_graph_after(graph, step, b);
}

/* This rank's own block. Of one that is too long, what fits is copied, as of a message.
 */
static inline uint32_t weft_build_own(struct weft_graph *graph, struct weft_span from,
                                      struct weft_span to)
{
    const uint64_t bytes = from.bytes < to.bytes ? from.bytes : to.bytes;

    graph->is_truncated |= from.bytes > to.bytes;
    return weft_graph_copy(graph, weft_span_part(from, 0, bytes),
                           weft_span_part(to, 0, bytes));
}

/* All of a reduction without other ranks, or without data. */
static inline enum weft_rc weft_build_alone(const struct weft_shape *shape,
                                            struct weft_graph *graph, uint64_t bytes)
{
    if (bytes > 0 && !shape->is_in_place) {
        weft_graph_copy(graph, weft_build_input(shape, bytes),
                        weft_span(WEFT_SPACE_RECV, 0, bytes));
    }
    return graph->rc;
}

/* ---- parts of algorithms, for those that are made of several ---- */

/*
 * Sends what the root of a binomial tree has at `data` to all; the root's send waits for
 * `after`, and so do the receives. Returns the step after which this rank has it, or
 * `after` at the root.
 */
uint32_t weft_add_bcast(const struct weft_shape *shape, struct weft_graph *graph,
                        struct weft_span data, uint32_t after);

/*
 * Rank 0 learns by a binomial tree that all ranks have begun. Returns the step after
 * which it has; elsewhere, after which the rank has told its parent.
 */
uint32_t weft_add_meet(const struct weft_shape *shape, struct weft_graph *graph);

/*
 * Combines the `input` of all ranks, which is there after step `after`, at the root, by a
 * binomial tree. Returns the step after which *result is complete at the root; elsewhere,
 * after which the rank's part is done. The order of operands is that of the ranks,
 * counted from the root on.
 */
uint32_t weft_add_reduce(const struct weft_shape *shape, struct weft_graph *graph,
                         struct weft_span input, uint32_t after,
                         struct weft_span *result);

/* The `result` of a reduction, which rank `at` has after step `done`, goes where the
 * root's user wants it. */
void weft_add_delivery(const struct weft_shape *shape, struct weft_graph *graph, int at,
                       struct weft_span result, uint32_t done);

/*
 * Combines the input of all ranks (weft_build_input()) by recursive doubling, from step
 * `after` on. Returns the step after which this rank has the result in RECV. There are
 * data, and two ranks at least.
 */
uint32_t weft_add_doubling(const struct weft_shape *shape, struct weft_graph *graph,
                           uint32_t after);

/*
 * Combines the `input` of all ranks into `work` by Rabenseifner's algorithm, from step
 * `after` on. `work` may be the same as `input`. Returns the step after which this rank
 * has the result. There are data, and two ranks at least.
 */
uint32_t weft_add_rabenseifner(const struct weft_shape *shape, struct weft_graph *graph,
                               struct weft_span input, struct weft_span work,
                               uint32_t after);

#endif
