/*
 * reduce_scatter_root.c - reduced at rank 0 by a binomial tree, which sends each rank its
 * part. In the order of the ranks, so for operations that do not commute, too.
 *
 * Cost: ceil(log2 n) + 1 rounds; n - 1 messages of all data, n - 1 of a part; n - 1
 * reductions.
 */
#include "coll/algorithms.h"

/* In place, this rank's input is no longer needed when the parts are sent out. */
static void add_scatter(const struct weft_shape *shape, struct weft_graph *graph,
                        struct weft_span result, uint32_t done)
{
    const struct weft_span own =
        weft_span(WEFT_SPACE_RECV, 0, weft_build_part(shape, shape->rank));
    uint64_t at = own.bytes;

    if (shape->rank != 0) {
        if (own.bytes > 0) {
            weft_graph_after(graph, weft_graph_recv(graph, 0, own), done);
        }
        return;
    }
    if (own.bytes > 0 && result.space != WEFT_SPACE_RECV) {
        weft_graph_after(
            graph, weft_graph_copy(graph, weft_span_part(result, 0, own.bytes), own),
            done);
    }
    for (int rank = 1; rank < shape->n; rank++) {
        const uint64_t bytes = weft_build_part(shape, rank);

        if (bytes > 0) {
            weft_graph_after(
                graph, weft_graph_send(graph, rank, weft_span_part(result, at, bytes)),
                done);
        }
        at += bytes;
    }
}

enum weft_rc weft_reduce_scatter_root(const struct weft_shape *shape,
                                      struct weft_graph *graph)
{
    struct weft_shape tree = *shape;
    struct weft_span result;
    uint32_t done;

    tree.root = 0;
    tree.bytes = weft_build_all_parts(shape);
    if (tree.bytes == 0) {
        return WEFT_OK;
    }
    done = weft_add_reduce(&tree, graph, weft_build_input(shape, tree.bytes),
                           WEFT_NO_STEP, &result);
    add_scatter(shape, graph, result, done);
    return graph->rc;
}

struct weft_cost weft_reduce_scatter_root_cost(const struct weft_shape *shape)
{
    const uint64_t others = (uint64_t)shape->n - 1;
    const uint64_t all = weft_build_all_parts(shape);
    const uint64_t rounds = weft_build_rounds(shape->n);
    struct weft_cost cost = {
        .reduced = others * all,
        .bytes = others * all,
        .chain = {.rounds = rounds + 1,
                  .messages = rounds + others,
                  .bytes = rounds * all + weft_build_but_one(all, shape->n),
                  .steps = rounds + 1,
                  .reduced = rounds * all,
                  .copied = all / (uint64_t)shape->n},
    };

    cost.messages = all > 0 ? others : 0;
    for (int rank = 1; rank < shape->n; rank++) {
        cost.messages += weft_build_part(shape, rank) > 0 ? 1 : 0;
        cost.bytes += weft_build_part(shape, rank);
    }
    return cost;
}
