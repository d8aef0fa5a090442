/*
 * barrier.c - a binomial tree, up to rank 0 and down again. Where the ranks of a node
 * follow each other, few messages leave it, and few ranks connect to another node.
 *
 * Cost: 2 ceil(log2 n) rounds; 2 (n - 1) messages without data.
 */
#include "coll/algorithms.h"

uint32_t weft_add_meet(const struct weft_shape *shape, struct weft_graph *graph)
{
    const struct weft_span nothing = weft_span(WEFT_SPACE_RECV, 0, 0);
    int64_t distance = 1;
    uint32_t heard = WEFT_NO_STEP;

    for (; distance < shape->n && (shape->rank & distance) == 0; distance *= 2) {
        if (shape->rank + distance < shape->n) {
            const uint32_t received =
                weft_graph_recv(graph, shape->rank + (int)distance, nothing);

            weft_graph_after(graph, received, heard);
            heard = received;
        }
    }
    if (shape->rank != 0) {
        const uint32_t sent =
            weft_graph_send(graph, shape->rank - (int)distance, nothing);

        weft_graph_after(graph, sent, heard);
        heard = sent;
    }
    return heard;
}

enum weft_rc weft_barrier_tree(const struct weft_shape *shape, struct weft_graph *graph)
{
    struct weft_shape tree = *shape;

    tree.root = 0;
    weft_add_bcast(&tree, graph, weft_span(WEFT_SPACE_RECV, 0, 0),
                   weft_add_meet(shape, graph));
    return graph->rc;
}

struct weft_cost weft_barrier_tree_cost(const struct weft_shape *shape)
{
    const uint64_t rounds = 2 * weft_build_rounds(shape->n);

    return (struct weft_cost){
        .messages = 2 * ((uint64_t)shape->n - 1),
        .chain = {.rounds = rounds, .messages = rounds},
    };
}
