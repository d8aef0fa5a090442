/*
 * levels.h - a group as two levels: the members of each node, and one leader of each.
 *
 * Builders for two levels put parts of algorithms together (build.h), which see one level
 * as a group of its own; then the peers of the steps that a part has added are named as
 * what they are in the whole group. The leader of a node is its first member, and in the
 * root's node the root.
 *
 * In costs, k is the number of nodes, and m that of the members of the largest one. What
 * a path costs is said apart for messages between nodes and inside of them.
 */
#ifndef WEFT_COLL_LEVELS_H
#define WEFT_COLL_LEVELS_H

#include "coll/build.h"
#include "sched/spread.h"

struct weft_levels {
    const struct weft_spread *spread;
    int node;
    int member;
    int root;
    int root_node;
    bool is_leader;
    struct weft_shape inside; /* this node's members; its root is the leader */
    struct weft_shape among;  /* the leaders, one for each node; its root is the root */
};

/* Of this rank. The shape has a spread and a root, which is 0 where there is none. */
static inline struct weft_levels weft_levels_of(const struct weft_shape *shape)
{
    struct weft_levels levels = {
        .spread = shape->spread,
        .node = weft_spread_node(shape->spread, shape->rank),
        .member = weft_spread_member(shape->spread, shape->rank),
        .root = shape->root,
        .root_node = weft_spread_node(shape->spread, shape->root),
        .inside = *shape,
        .among = *shape,
    };

    levels.inside.spread = NULL;
    levels.among.spread = NULL;
    levels.inside.n = weft_spread_size(shape->spread, levels.node);
    levels.inside.rank = levels.member;
    levels.inside.root = levels.node == levels.root_node
                             ? weft_spread_member(shape->spread, shape->root)
                             : 0;
    levels.is_leader = levels.member == levels.inside.root;
    levels.among.n = shape->spread->nodes;
    levels.among.rank = levels.node;
    levels.among.root = levels.root_node;
    return levels;
}

static inline int weft_levels_leader(const struct weft_levels *levels, int node)
{
    return node == levels->root_node ? levels->root
                                     : weft_spread_rank(levels->spread, node, 0);
}

static inline bool weft_levels_is_message(const struct weft_step *step)
{
    return step->kind == WEFT_STEP_SEND || step->kind == WEFT_STEP_RECV;
}

/* The steps from `first` on were added for the members of this node; for the leaders; for
 * those that are the same member of each node. */
static inline void weft_levels_name_inside(const struct weft_levels *levels,
                                           struct weft_graph *graph, uint32_t first)
{
    for (struct weft_step *step = graph->steps + first;
         step < graph->steps + graph->step_count; step++) {
        if (weft_levels_is_message(step)) {
            step->peer = weft_spread_rank(levels->spread, levels->node, step->peer);
        }
    }
}

static inline void weft_levels_name_among(const struct weft_levels *levels,
                                          struct weft_graph *graph, uint32_t first)
{
    for (struct weft_step *step = graph->steps + first;
         step < graph->steps + graph->step_count; step++) {
        if (weft_levels_is_message(step)) {
            step->peer = weft_levels_leader(levels, step->peer);
        }
    }
}

static inline void weft_levels_name_lane(const struct weft_levels *levels,
                                         struct weft_graph *graph, uint32_t first)
{
    for (struct weft_step *step = graph->steps + first;
         step < graph->steps + graph->step_count; step++) {
        if (weft_levels_is_message(step)) {
            step->peer = weft_spread_rank(levels->spread, step->peer, levels->member);
        }
    }
}

/* ---- parts of algorithms, for one level ---- */

static inline uint32_t weft_levels_bcast_inside(const struct weft_levels *levels,
                                                struct weft_graph *graph,
                                                struct weft_span data, uint32_t after)
{
    const uint32_t first = graph->step_count;
    const uint32_t has = weft_add_bcast(&levels->inside, graph, data, after);

    weft_levels_name_inside(levels, graph, first);
    return has;
}

static inline uint32_t weft_levels_reduce_inside(const struct weft_levels *levels,
                                                 struct weft_graph *graph,
                                                 struct weft_span input,
                                                 struct weft_span *result)
{
    const uint32_t first = graph->step_count;
    const uint32_t done =
        weft_add_reduce(&levels->inside, graph, input, WEFT_NO_STEP, result);

    weft_levels_name_inside(levels, graph, first);
    return done;
}

/* ---- cost ---- */

/* Ranks that are not leaders. */
static inline uint64_t weft_levels_others(const struct weft_shape *shape)
{
    return (uint64_t)(shape->n - shape->spread->nodes);
}

/* The smallest number of rounds in which one becomes all, by doubling. */
static inline uint64_t weft_levels_rounds(int n)
{
    uint64_t rounds = 0;

    while (n > (int64_t)1 << rounds) {
        rounds++;
    }
    return rounds;
}

static inline uint64_t weft_levels_rounds_among(const struct weft_shape *shape)
{
    return weft_levels_rounds(shape->spread->nodes);
}

static inline uint64_t weft_levels_rounds_inside(const struct weft_shape *shape)
{
    return weft_levels_rounds(shape->spread->most);
}

/* A binomial tree that combines all data in each round. */
static inline struct weft_chain weft_levels_tree(uint64_t rounds, uint64_t bytes)
{
    return (struct weft_chain){.rounds = rounds,
                               .messages = rounds,
                               .bytes = rounds * bytes,
                               .steps = rounds,
                               .reduced = rounds * bytes};
}

#endif
