/*
 * bcast_binomial.c - a binomial tree: a rank that has the data passes them on to half of
 * those that do not, the farthest first, so that the longest way begins first.
 *
 * Cost: ceil(log2 n) rounds; n - 1 messages of all data.
 */
#include "coll/algorithms.h"

uint32_t weft_add_bcast(const struct weft_shape *shape, struct weft_graph *graph,
                        struct weft_span data, uint32_t after)
{
    const int position = weft_build_position(shape, shape->rank);
    int64_t distance = weft_build_above(shape, position);
    uint32_t has = after;

    if (position != 0) {
        has = weft_graph_recv(graph, weft_build_rank_at(shape, position - (int)distance),
                              data);
        weft_graph_after(graph, has, after);
    }
    for (distance /= 2; distance > 0; distance /= 2) {
        if (position + distance < shape->n) {
            weft_graph_after(
                graph,
                weft_graph_send(
                    graph, weft_build_rank_at(shape, position + (int)distance), data),
                has);
        }
    }
    return has;
}

enum weft_rc weft_bcast_binomial(const struct weft_shape *shape, struct weft_graph *graph)
{
    weft_add_bcast(shape, graph, weft_span(WEFT_SPACE_RECV, 0, shape->bytes),
                   WEFT_NO_STEP);
    return graph->rc;
}

struct weft_cost weft_bcast_binomial_cost(const struct weft_shape *shape)
{
    const uint64_t messages = (uint64_t)shape->n - 1;

    const uint64_t rounds = weft_build_rounds(shape->n);

    return (struct weft_cost){
        .messages = messages,
        .bytes = messages * shape->bytes,
        .chain = {.rounds = rounds, .messages = rounds, .bytes = rounds * shape->bytes},
    };
}
