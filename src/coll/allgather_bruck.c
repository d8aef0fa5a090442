/*
 * allgather_bruck.c - in round k a rank gets from the one 2^k behind it all blocks that
 * this one has, until it has all. They are kept in scratch memory in the order of the
 * ranks, counted from the rank on, and moved to their places at the end.
 *
 * For small data, and any number of ranks.
 *
 * Cost: ceil(log2 n) rounds with n messages each; n (n - 1) blocks in them; every rank
 * copies all blocks once.
 */
#include "coll/algorithms.h"

/* The exchanges. `all` has this rank's own block first, after step `own`. Returns a step
 * after which everything is there. */
static uint32_t add_rounds(const struct weft_shape *shape, struct weft_graph *graph,
                           struct weft_span all, uint32_t own)
{
    const struct weft_span nothing = weft_span(WEFT_SPACE_SCRATCH, 0, 0);
    uint32_t has = own;

    for (int64_t away = 1; away < shape->n; away *= 2) {
        const int64_t left = shape->n - away;
        const uint64_t bytes = shape->bytes * (uint64_t)(away < left ? away : left);
        const uint32_t send = weft_graph_send(graph, weft_build_before(shape, (int)away),
                                              weft_span_part(all, 0, bytes));
        const uint32_t received =
            weft_graph_recv(graph, weft_build_behind(shape, (int)away),
                            weft_span_part(all, shape->bytes * (uint64_t)away, bytes));
        const uint32_t both = weft_graph_copy(graph, nothing, nothing);

        weft_graph_after(graph, send, has);
        weft_build_after_both(graph, both, has, received);
        has = both;
    }
    return has;
}

enum weft_rc weft_allgather_bruck(const struct weft_shape *shape,
                                  struct weft_graph *graph)
{
    const uint64_t behind = (uint64_t)(shape->n - shape->rank) * shape->bytes;
    const uint64_t before = (uint64_t)shape->rank * shape->bytes;
    const struct weft_span all = weft_graph_scratch(graph, behind + before);
    const struct weft_span mine = shape->is_in_place
                                      ? weft_build_block_from(shape, shape->rank)
                                      : weft_span(WEFT_SPACE_SEND, 0, shape->given);
    const uint32_t own =
        weft_build_own(graph, mine, weft_span_part(all, 0, shape->bytes));
    const uint32_t has = add_rounds(shape, graph, all, own);

    weft_graph_after(graph,
                     weft_graph_copy(graph, weft_span_part(all, 0, behind),
                                     weft_span(WEFT_SPACE_RECV, before, behind)),
                     has);
    if (before > 0) {
        weft_graph_after(graph,
                         weft_graph_copy(graph, weft_span_part(all, behind, before),
                                         weft_span(WEFT_SPACE_RECV, 0, before)),
                         has);
    }
    return graph->rc;
}

struct weft_cost weft_allgather_bruck_cost(const struct weft_shape *shape)
{
    const uint64_t n = (uint64_t)shape->n;
    const uint64_t rounds = weft_build_rounds(shape->n);

    return (struct weft_cost){
        .messages = n * rounds,
        .bytes = n * (n - 1) * shape->bytes,
        .chain = {.rounds = rounds,
                  .messages = 2 * rounds,
                  .bytes = (n - 1) * shape->bytes,
                  .steps = rounds + 2,
                  .copied = n * shape->bytes},
    };
}
