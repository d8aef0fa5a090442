/*
 * bcast_levels.c - two levels: the data go from the root to the leaders of the other
 * nodes, and from each leader to the members of its node.
 *
 *   weft_bcast_levels  both by binomial trees, all data at once
 *   weft_bcast_chain   for large data, in segments: from leader to leader in a chain, and
 *                      inside a node by a binomial tree. A leader passes a segment on
 *                      while the next one comes
 *
 * Cost: both send all data to n - 1 ranks, k - 1 of them on other nodes. A path of the
 * first has ceil(log2 k) messages of all data between nodes and ceil(log2 m) inside. In
 * the second each node's link carries all data in once and out once; a path has, with s
 * segments, s + k - 2 messages of one segment between nodes, then ceil(log2 m) inside;
 * a leader sends each segment to 1 + ceil(log2 m) peers.
 */
#include "coll/algorithms.h"
#include "coll/levels.h"

enum weft_rc weft_bcast_levels(const struct weft_shape *shape, struct weft_graph *graph)
{
    const struct weft_levels levels = weft_levels_of(shape);
    const struct weft_span data = weft_span(WEFT_SPACE_RECV, 0, shape->bytes);
    uint32_t has = WEFT_NO_STEP;

    if (levels.is_leader) {
        has = weft_add_bcast(&levels.among, graph, data, WEFT_NO_STEP);
        weft_levels_name_among(&levels, graph, 0);
    }
    weft_levels_bcast_inside(&levels, graph, data, has);
    return graph->rc;
}

/* ---- segments ---- */

enum { SEGMENT = 128 << 10 }; /* large enough for a rendezvous to pay */

uint64_t weft_bcast_segments(const struct weft_shape *shape)
{
    return shape->bytes == 0 ? 1 : (shape->bytes + SEGMENT - 1) / SEGMENT;
}

static struct weft_span segment_at(const struct weft_shape *shape, uint64_t segment)
{
    const uint64_t at = segment * SEGMENT;
    const uint64_t left = shape->bytes - at;

    return weft_span(WEFT_SPACE_RECV, at, left < SEGMENT ? left : SEGMENT);
}

/* A leader's part: from the one before it, to the one behind it. */
static uint32_t add_hop(const struct weft_levels *levels, struct weft_graph *graph,
                        struct weft_span data)
{
    const int position = weft_build_position(&levels->among, levels->node);
    uint32_t has = WEFT_NO_STEP;

    if (position > 0) {
        has = weft_graph_recv(
            graph,
            weft_levels_leader(levels, weft_build_rank_at(&levels->among, position - 1)),
            data);
    }
    if (position + 1 < levels->among.n) {
        weft_graph_after(
            graph,
            weft_graph_send(graph,
                            weft_levels_leader(
                                levels, weft_build_rank_at(&levels->among, position + 1)),
                            data),
            has);
    }
    return has;
}

enum weft_rc weft_bcast_chain(const struct weft_shape *shape, struct weft_graph *graph)
{
    const struct weft_levels levels = weft_levels_of(shape);
    uint32_t each = 0; /* steps for one segment */

    for (uint64_t i = 0; i < weft_bcast_segments(shape); i++) {
        const struct weft_span data = segment_at(shape, i);
        const uint32_t first = graph->step_count;

        weft_levels_bcast_inside(&levels, graph, data,
                                 levels.is_leader ? add_hop(&levels, graph, data)
                                                  : WEFT_NO_STEP);
        /* What goes to one peer goes in order: behind the same step of the last one. */
        for (uint32_t step = first; step < graph->step_count && i > 0; step++) {
            weft_graph_after(graph, step, step - each);
        }
        each = graph->step_count - first;
    }
    return graph->rc;
}

/* ---- cost ---- */

struct weft_cost weft_bcast_levels_cost(const struct weft_shape *shape)
{
    const uint64_t others = (uint64_t)shape->n - 1;
    const uint64_t among = weft_levels_rounds_among(shape);
    const uint64_t inside = weft_levels_rounds_inside(shape);

    return (struct weft_cost){
        .messages = others,
        .bytes = others * shape->bytes,
        .chain = {.rounds = among, .messages = among, .bytes = among * shape->bytes},
        .inside = {.rounds = inside, .messages = inside, .bytes = inside * shape->bytes}};
}

struct weft_cost weft_bcast_chain_cost(const struct weft_shape *shape)
{
    const uint64_t others = (uint64_t)shape->n - 1;
    const uint64_t segments = weft_bcast_segments(shape);
    const uint64_t inside = weft_levels_rounds_inside(shape);
    const uint64_t hops = segments + (uint64_t)shape->spread->nodes - 2;

    return (struct weft_cost){.messages = others * segments,
                              .bytes = others * shape->bytes,
                              .chain = {.rounds = hops,
                                        .messages = 2 * hops, /* in and out */
                                        .bytes = hops * (shape->bytes / segments)},
                              .inside = {.rounds = inside,
                                         .messages = segments * inside,
                                         .bytes = inside * shape->bytes}};
}
