/*
 * barrier_levels.c - the members of a node come together at its leader by a binomial
 * tree, the leaders learn of each other by dissemination, and the tree goes down again.
 * In round i of the dissemination a leader tells the one 2^i nodes behind it that all
 * have begun of whom it knows.
 *
 * Cost: a path has ceil(log2 k) messages between nodes and 2 ceil(log2 m) inside; in all
 * k ceil(log2 k) between nodes and 2 (n - k) inside, without data.
 */
#include "coll/algorithms.h"
#include "coll/levels.h"

/* Returns the step after which this leader knows that all have begun. */
static uint32_t add_rounds(const struct weft_levels *levels, struct weft_graph *graph,
                           uint32_t heard)
{
    const struct weft_span nothing = weft_span(WEFT_SPACE_RECV, 0, 0);
    const uint32_t first = graph->step_count;

    for (int64_t away = 1; away < levels->among.n; away *= 2) {
        const uint32_t sent =
            weft_graph_send(graph, weft_build_behind(&levels->among, (int)away), nothing);
        const uint32_t received =
            weft_graph_recv(graph, weft_build_before(&levels->among, (int)away), nothing);

        weft_graph_after(graph, sent, heard);
        weft_graph_after(graph, received, heard);
        heard = received;
    }
    weft_levels_name_among(levels, graph, first);
    return heard;
}

enum weft_rc weft_barrier_levels(const struct weft_shape *shape, struct weft_graph *graph)
{
    const struct weft_levels levels = weft_levels_of(shape);
    uint32_t heard = weft_add_meet(&levels.inside, graph);

    weft_levels_name_inside(&levels, graph, 0);
    if (levels.is_leader) {
        heard = add_rounds(&levels, graph, heard);
    }
    weft_levels_bcast_inside(&levels, graph, weft_span(WEFT_SPACE_RECV, 0, 0), heard);
    return graph->rc;
}

struct weft_cost weft_barrier_levels_cost(const struct weft_shape *shape)
{
    const uint64_t nodes = (uint64_t)shape->spread->nodes;
    const uint64_t among = weft_levels_rounds_among(shape);
    const uint64_t inside = 2 * weft_levels_rounds_inside(shape);

    return (struct weft_cost){.messages = 2 * weft_levels_others(shape) + nodes * among,
                              .chain = {.rounds = among, .messages = 2 * among},
                              .inside = {.rounds = inside, .messages = inside}};
}
