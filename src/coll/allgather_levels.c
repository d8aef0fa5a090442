/*
 * allgather_levels.c - two levels: the leader of a node gets the blocks of its members,
 * the leaders exchange the blocks of their nodes as in allgather_bruck.c, and each sends
 * all of them to its members. A leader keeps the blocks in scratch memory in the order of
 * the ranks, counted from its own on. For nodes whose members are neighbours.
 *
 * For small data: a leader copies all blocks once, and members get them at the end.
 *
 * Cost: a path has ceil(log2 k) messages between nodes, of n - m blocks together; and
 * inside m - 1 messages of one block at the leader, then ceil(log2 m) of all n. In all k
 * ceil(log2 k) messages with (k - 1) n blocks between nodes, and 2 (n - k) inside.
 */
#include "coll/algorithms.h"
#include "coll/levels.h"

/* Bytes of the blocks of `count` nodes from `node` on, and of the first after the last.
 */
static uint64_t bytes_of(const struct weft_shape *shape, int node, int64_t count)
{
    const int *begin = shape->spread->begin;
    const int nodes = shape->spread->nodes;
    const int64_t end = node + count;
    const int ranks = end <= nodes ? begin[end] - begin[node]
                                   : shape->n - begin[node] + begin[end - nodes];

    return shape->bytes * (uint64_t)ranks;
}

static struct weft_span own_block(const struct weft_shape *shape)
{
    return shape->is_in_place ? weft_build_block_from(shape, shape->rank)
                              : weft_span(WEFT_SPACE_SEND, 0, shape->given);
}

/* A step that does nothing, after which others have happened. */
static uint32_t add_meeting(struct weft_graph *graph)
{
    const struct weft_span nothing = weft_span(WEFT_SPACE_SCRATCH, 0, 0);

    return weft_graph_copy(graph, nothing, nothing);
}

/* The blocks of the node come to the begin of `all`. */
static uint32_t add_gather(const struct weft_shape *shape,
                           const struct weft_levels *levels, struct weft_graph *graph,
                           struct weft_span all)
{
    const uint32_t first = graph->step_count;
    uint32_t has;

    weft_build_own(graph, own_block(shape), weft_span_part(all, 0, shape->bytes));
    for (int member = 1; member < levels->inside.n; member++) {
        weft_graph_recv(
            graph, weft_spread_rank(levels->spread, levels->node, member),
            weft_span_part(all, shape->bytes * (uint64_t)member, shape->bytes));
    }
    has = add_meeting(graph);
    for (uint32_t step = first; step < has && graph->rc == WEFT_OK; step++) {
        weft_graph_after(graph, has, step);
    }
    return has;
}

static uint32_t add_rounds(const struct weft_shape *shape,
                           const struct weft_levels *levels, struct weft_graph *graph,
                           struct weft_span all, uint32_t has)
{
    const int nodes = levels->among.n;

    for (int64_t away = 1; away < nodes; away *= 2) {
        const int to = weft_build_before(&levels->among, (int)away);
        const int from = weft_build_behind(&levels->among, (int)away);
        const int64_t count = away < nodes - away ? away : nodes - away;
        const uint32_t sent =
            weft_graph_send(graph, weft_levels_leader(levels, to),
                            weft_span_part(all, 0, bytes_of(shape, levels->node, count)));
        const uint32_t received =
            weft_graph_recv(graph, weft_levels_leader(levels, from),
                            weft_span_part(all, bytes_of(shape, levels->node, away),
                                           bytes_of(shape, from, count)));
        const uint32_t both = add_meeting(graph);

        weft_graph_after(graph, sent, has);
        weft_build_after_both(graph, both, has, received);
        has = both;
    }
    return has;
}

/* From scratch memory to where the user wants them. */
static uint32_t add_copies(const struct weft_shape *shape, struct weft_graph *graph,
                           struct weft_span all, uint32_t has)
{
    const uint64_t before = shape->bytes * (uint64_t)shape->rank;
    const uint64_t behind = all.bytes - before;
    const uint32_t copied = weft_graph_copy(graph, weft_span_part(all, 0, behind),
                                            weft_span(WEFT_SPACE_RECV, before, behind));
    const uint32_t rest = weft_graph_copy(graph, weft_span_part(all, behind, before),
                                          weft_span(WEFT_SPACE_RECV, 0, before));
    const uint32_t both = add_meeting(graph);

    weft_graph_after(graph, copied, has);
    weft_graph_after(graph, rest, has);
    weft_build_after_both(graph, both, copied, rest);
    return both;
}

enum weft_rc weft_allgather_levels(const struct weft_shape *shape,
                                   struct weft_graph *graph)
{
    const struct weft_levels levels = weft_levels_of(shape);
    const uint64_t bytes = shape->bytes * (uint64_t)shape->n;
    uint32_t has;

    if (levels.is_leader) {
        const struct weft_span all = weft_graph_scratch(graph, bytes);

        has = add_gather(shape, &levels, graph, all);
        has = add_rounds(shape, &levels, graph, all, has);
        has = add_copies(shape, graph, all, has);
    } else {
        has = weft_graph_send(graph, weft_levels_leader(&levels, levels.node),
                              own_block(shape));
    }
    /* In place, a block is overwritten once it is sent. */
    weft_levels_bcast_inside(&levels, graph, weft_span(WEFT_SPACE_RECV, 0, bytes), has);
    return graph->rc;
}

struct weft_cost weft_allgather_levels_cost(const struct weft_shape *shape)
{
    const uint64_t n = (uint64_t)shape->n;
    const uint64_t nodes = (uint64_t)shape->spread->nodes;
    const uint64_t members = (uint64_t)shape->spread->most;
    const uint64_t others = weft_levels_others(shape);
    const uint64_t among = weft_levels_rounds_among(shape);
    const uint64_t inside = weft_levels_rounds_inside(shape);

    return (struct weft_cost){
        .messages = nodes * among + 2 * others,
        .bytes = ((nodes - 1) * n + others * (n + 1)) * shape->bytes,
        .chain = {.rounds = among,
                  .messages = 2 * among,
                  .bytes = (n - members) * shape->bytes},
        .inside = {.rounds = 1 + inside,
                   .messages = members - 1 + inside,
                   .bytes = (members - 1 + inside * n) * shape->bytes,
                   .steps = 1,
                   .copied = n * shape->bytes},
    };
}
