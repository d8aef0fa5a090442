/*
 * barrier.c - dissemination: in round k a rank tells the one 2^k behind it, and hears of
 * the one 2^k before it. After the last round it has heard, through others, of all.
 *
 * Cost: ceil(log2 n) rounds; n messages in each, without data.
 */
#include "coll/algorithms.h"

enum weft_rc weft_barrier_dissemination(const struct weft_shape *shape,
                                        struct weft_graph *graph)
{
    const struct weft_span nothing = weft_span(WEFT_SPACE_RECV, 0, 0);
    uint32_t received = WEFT_NO_STEP;
    uint32_t sent = WEFT_NO_STEP;

    for (int64_t away = 1; away < shape->n; away *= 2) {
        const int to = (int)((shape->rank + away) % shape->n);
        const int from = (int)((shape->rank - away + shape->n) % shape->n);
        const uint32_t send = weft_graph_send(graph, to, nothing);

        weft_build_after_both(graph, send, received, sent);
        sent = send;
        received = weft_graph_recv(graph, from, nothing);
    }
    return graph->rc;
}

struct weft_cost weft_barrier_dissemination_cost(const struct weft_shape *shape)
{
    struct weft_cost cost = {0};

    for (int64_t away = 1; away < shape->n; away *= 2) {
        cost.messages += (uint64_t)shape->n;
    }
    return cost;
}
