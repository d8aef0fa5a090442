/*
 * shared_cost.c - which blocking calls can be made by pieces (shared.h), and what they
 * cost.
 *
 * Members show their buffers, and all of them move pieces by single copy, as many at once
 * as there are processors. A piece that is read or written is like a long message, but
 * nobody announces it, and nobody waits for it: a member waits once, for the flags of the
 * others. Each byte that a member gets from another is moved once. Reductions are divided
 * among the members: whoever has a piece of the vector reads it of all others and writes
 * the result to all who get it.
 */
#include "coll/algorithms.h"
#include "coll/pieces.h"

enum { FLAGS = 2 }; /* all are here, and all is done */

/* Of one rank's data, or of all parts. */
static uint64_t vector_of(const struct weft_shape *shape)
{
    return shape->from != NULL ? weft_build_all_parts(shape) : shape->bytes;
}

bool weft_shared_fits(const struct weft_shape *shape)
{
    return shape->has_slots && shape->is_reached && vector_of(shape) > 0;
}

/* So many pieces, each of which is moved so often, with so many bytes in all; and so many
 * bytes are combined into others. The members share the pieces. */
static struct weft_cost shared_by_all(const struct weft_shape *shape, uint64_t pieces,
                                      uint64_t moves, uint64_t bytes, uint64_t reduced)
{
    const uint64_t n = (uint64_t)shape->n;
    const uint64_t at_once = pieces < n ? pieces : n;

    return (struct weft_cost){.is_single_copy = true,
                              .messages = pieces * moves,
                              .bytes = bytes,
                              .reduced = reduced,
                              .chain = {.messages = (pieces + n - 1) / n * moves,
                                        .bytes = bytes / at_once,
                                        .reduced = reduced / at_once,
                                        .flags = FLAGS}};
}

/* ---- blocks ---- */

static struct weft_cost blocks_cost(const struct weft_shape *shape, uint64_t blocks,
                                    bool is_for_all)
{
    const struct weft_pieces each = weft_pieces_of_block(shape->bytes, is_for_all);

    return shared_by_all(shape, blocks * (uint64_t)each.count, 1, blocks * shape->bytes,
                         0);
}

struct weft_cost weft_shared_bcast_cost(const struct weft_shape *shape)
{
    return blocks_cost(shape, (uint64_t)shape->n - 1, true);
}

struct weft_cost weft_shared_root_cost(const struct weft_shape *shape)
{
    return blocks_cost(shape, (uint64_t)shape->n - 1, false);
}

struct weft_cost weft_shared_all_cost(const struct weft_shape *shape)
{
    const uint64_t n = (uint64_t)shape->n;
    struct weft_cost cost = blocks_cost(shape, n * (n - 1), false);

    cost.chain.copied = shape->bytes;
    return cost;
}

/* ---- reductions ---- */

/* As many members work at once as have processors. */
static uint64_t workers_of(const struct weft_shape *shape)
{
    return (uint64_t)(shape->processors > 0 && shape->processors < shape->n
                          ? shape->processors
                          : shape->n);
}

/* Of a vector whose pieces are moved so often. */
static struct weft_cost vector_cost(const struct weft_shape *shape, uint64_t bytes,
                                    uint64_t moves)
{
    const struct weft_pieces pieces =
        weft_pieces_of_vector(bytes, shape->unit, workers_of(shape));

    return shared_by_all(shape, (uint64_t)pieces.count, moves, moves * bytes,
                         ((uint64_t)shape->n - 1) * bytes);
}

/* The result of a piece goes to the root, or in parts to all. */
struct weft_cost weft_shared_reduce_cost(const struct weft_shape *shape)
{
    return vector_cost(shape, shape->bytes, (uint64_t)shape->n);
}

struct weft_cost weft_shared_parts_cost(const struct weft_shape *shape)
{
    return vector_cost(shape, weft_build_all_parts(shape), (uint64_t)shape->n);
}

struct weft_cost weft_shared_allreduce_cost(const struct weft_shape *shape)
{
    return vector_cost(shape, shape->bytes, 2 * ((uint64_t)shape->n - 1));
}
