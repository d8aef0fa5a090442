/*
 * allreduce_binomial.c - reduced at rank 0 by a binomial tree, and sent to all by the
 * same tree: one rank has computed each bit, so all have the same.
 *
 * Cost: 2 ceil(log2 n) rounds; 2 (n - 1) messages of all data, n - 1 reductions.
 */
#include "coll/algorithms.h"

enum weft_rc weft_allreduce_binomial(const struct weft_shape *shape,
                                     struct weft_graph *graph)
{
    const struct weft_span to = weft_span(WEFT_SPACE_RECV, 0, shape->bytes);
    struct weft_shape tree = *shape;
    struct weft_span result;
    uint32_t done;

    if (shape->bytes == 0) {
        return WEFT_OK;
    }
    tree.root = 0;
    done = weft_add_reduce(&tree, graph, weft_build_input(shape, shape->bytes),
                           WEFT_NO_STEP, &result);
    if (shape->rank == 0 && result.space != WEFT_SPACE_RECV) {
        const uint32_t copied = weft_graph_copy(graph, result, to);

        weft_graph_after(graph, copied, done);
        done = copied;
    }
    weft_add_bcast(&tree, graph, to, done);
    return graph->rc;
}

struct weft_cost weft_allreduce_binomial_cost(const struct weft_shape *shape)
{
    const uint64_t half = shape->bytes > 0 ? (uint64_t)shape->n - 1 : 0;

    const uint64_t rounds = shape->bytes > 0 ? weft_build_rounds(shape->n) : 0;

    return (struct weft_cost){
        .messages = 2 * half,
        .bytes = 2 * half * shape->bytes,
        .reduced = half * shape->bytes,
        .chain = {.rounds = 2 * rounds,
                  .messages = 2 * rounds,
                  .bytes = 2 * rounds * shape->bytes,
                  .steps = rounds + 1,
                  .reduced = rounds * shape->bytes,
                  .copied = shape->bytes},
    };
}
