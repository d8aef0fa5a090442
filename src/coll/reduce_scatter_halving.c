/*
 * reduce_scatter_halving.c - recursive halving (halving.h) of the parts that the ranks
 * get; a rank that stands for a pair sends its neighbour the part. For operations that
 * commute.
 *
 * Cost: with p, the largest power of two that is not above n, log2 p rounds, and 2 more
 * if n is not p; n - 1 times all data in messages, and as much is reduced, and the parts
 * of n - p ranks; p log2 p + 2 (n - p) messages.
 */
#include "coll/algorithms.h"
#include "coll/halving.h"

/* The outcome goes where the user wants it. In position, the input is there until then.
 */
static void deliver(const struct weft_shape *shape, struct weft_graph *graph,
                    const struct weft_halving *halving)
{
    const int neighbour = weft_fold_neighbour(&halving->fold, shape->rank);
    const struct weft_span own =
        weft_span(WEFT_SPACE_RECV, 0, weft_build_part(shape, shape->rank));
    const struct weft_halving_round *last = &halving->round[halving->fold.rounds - 1];
    const struct weft_span chunk =
        weft_span_part(halving->work, last->keep_at, last->keep_bytes);

    if (own.bytes > 0) {
        const uint32_t copied =
            weft_graph_copy(graph, weft_span_part(chunk, 0, own.bytes), own);

        weft_build_after_both(graph, copied, halving->done, halving->round[0].sent);
    }
    if (neighbour >= 0 && chunk.bytes > own.bytes) {
        const struct weft_span other =
            weft_span_part(chunk, own.bytes, chunk.bytes - own.bytes);

        weft_graph_after(graph, weft_graph_send(graph, neighbour, other), halving->done);
    }
}

enum weft_rc weft_reduce_scatter_halving(const struct weft_shape *shape,
                                         struct weft_graph *graph)
{
    const uint64_t all = weft_build_all_parts(shape);
    struct weft_halving halving = {
        .fold = weft_fold_of(shape->n, 0),
        .chunk = weft_chunk_parts,
        .input = weft_build_input(shape, all),
        .done = WEFT_NO_STEP,
    };

    if (shape->n == 1 || all == 0) {
        return weft_build_alone(shape, graph, all);
    }
    if (weft_fold_position(&halving.fold, shape->rank) >= 0) {
        halving.work = weft_graph_scratch(graph, all);
    }
    weft_add_halving(shape, graph, &halving);
    if (halving.position >= 0) {
        deliver(shape, graph, &halving);
    } else if (weft_build_part(shape, shape->rank) > 0) {
        weft_graph_after(graph,
                         weft_graph_recv(graph, shape->rank - 1,
                                         weft_span(WEFT_SPACE_RECV, 0,
                                                   weft_build_part(shape, shape->rank))),
                         halving.done);
    }
    return graph->rc;
}

struct weft_cost weft_reduce_scatter_halving_cost(const struct weft_shape *shape)
{
    const struct weft_fold fold = weft_fold_of(shape->n, 0);
    struct weft_cost cost = weft_halving_cost(shape, &fold, weft_chunk_parts);

    for (int pair = 0; pair < fold.pairs; pair++) {
        const uint64_t bytes = weft_build_part(shape, 2 * pair + 1);

        cost.messages += bytes > 0 ? 1 : 0;
        cost.bytes += bytes;
    }
    cost.chain.copied = weft_build_all_parts(shape) / (uint64_t)shape->n;
    cost.chain.steps++;
    if (fold.pairs > 0) {
        cost.chain.rounds++;
        cost.chain.messages++;
        cost.chain.bytes += cost.chain.copied;
    }
    return cost;
}
