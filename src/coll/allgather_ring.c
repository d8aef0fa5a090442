/*
 * allgather_ring.c - every rank passes on to the next one the block that it got last from
 * the previous one. Blocks may differ in size: all ranks know the sizes.
 *
 * For large data: every rank sends and receives one block at a time, and only to and from
 * its neighbours.
 *
 * Cost: n - 1 rounds; n (n - 1) messages of one block.
 */
#include "coll/algorithms.h"

enum weft_rc weft_allgather_ring(const struct weft_shape *shape, struct weft_graph *graph)
{
    const int next = weft_build_behind(shape, 1);
    const int previous = weft_build_before(shape, 1);
    const struct weft_span mine = weft_build_block_from(shape, shape->rank);
    struct weft_span out = mine;
    uint32_t has = WEFT_NO_STEP; /* the step after which `out` is there */
    uint32_t sent = WEFT_NO_STEP;

    weft_graph_reserve(graph, 2 * (uint32_t)shape->n, 2 * (uint32_t)shape->n);
    if (!shape->is_in_place) {
        out = weft_span(WEFT_SPACE_SEND, 0, shape->given);
        weft_build_own(graph, out, mine);
    }
    for (int i = 1; i < shape->n; i++) {
        const uint32_t send = weft_graph_send(graph, next, out);

        weft_build_after_both(graph, send, has, sent);
        sent = send;
        out = weft_build_block_from(shape, weft_build_before(shape, i));
        has = weft_graph_recv(graph, previous, out);
    }
    return graph->rc;
}

struct weft_cost weft_allgather_ring_cost(const struct weft_shape *shape)
{
    struct weft_cost cost = weft_allgather_direct_cost(shape);

    cost.chain.rounds = (uint64_t)shape->n - 1;
    return cost;
}
