/*
 * allreduce_levels.c - two levels: each node's data are combined at its leader by a
 * binomial tree, the leaders combine theirs by recursive doubling, and each sends the
 * outcome to the members of its node. All leaders compute the same from the same in the
 * same order. An operation that does not commute needs members that are neighbours.
 *
 * Cost: a path has 2 ceil(log2 m) messages inside and ceil(log2 k) reductions there, and
 * those of recursive doubling (allreduce_doubling.c) of k ranks between nodes, all of all
 * data; in all 2 (n - k) messages and n - k reductions more than that of k ranks.
 */
#include "coll/algorithms.h"
#include "coll/levels.h"

/* The leaders' part. `result` is that of this node, after step `done`. */
static uint32_t add_doubling(struct weft_levels *levels, struct weft_graph *graph,
                             struct weft_span result, uint32_t done)
{
    const struct weft_span to = weft_span(WEFT_SPACE_RECV, 0, levels->among.bytes);
    const uint32_t first = graph->step_count;

    levels->among.is_in_place = result.space != WEFT_SPACE_SEND;
    if (result.space == WEFT_SPACE_SCRATCH) {
        const uint32_t copied = weft_graph_copy(graph, result, to);

        weft_graph_after(graph, copied, done);
        done = copied;
    }
    done = weft_add_doubling(&levels->among, graph, done);
    weft_levels_name_among(levels, graph, first);
    return done;
}

enum weft_rc weft_allreduce_levels(const struct weft_shape *shape,
                                   struct weft_graph *graph)
{
    struct weft_levels levels = weft_levels_of(shape);
    struct weft_span result;
    uint32_t done;

    if (shape->bytes == 0) {
        return WEFT_OK;
    }
    done = weft_levels_reduce_inside(&levels, graph,
                                     weft_build_input(shape, shape->bytes), &result);
    if (levels.is_leader) {
        done = add_doubling(&levels, graph, result, done);
    }
    /* In position, the input is read until the rank's part is done. */
    weft_levels_bcast_inside(&levels, graph, weft_span(WEFT_SPACE_RECV, 0, shape->bytes),
                             done);
    return graph->rc;
}

struct weft_cost weft_allreduce_levels_cost(const struct weft_shape *shape)
{
    const uint64_t others = shape->bytes > 0 ? weft_levels_others(shape) : 0;
    struct weft_shape among = *shape;
    struct weft_cost cost;

    among.n = shape->spread->nodes;
    cost = weft_allreduce_doubling_cost(&among);
    cost.messages += 2 * others;
    cost.bytes += 2 * others * shape->bytes;
    cost.reduced += others * shape->bytes;
    if (shape->bytes > 0) {
        const uint64_t inside = weft_levels_rounds_inside(shape);

        cost.inside = weft_levels_tree(inside, shape->bytes);
        cost.inside.rounds += inside;
        cost.inside.messages += inside;
        cost.inside.bytes += inside * shape->bytes;
    }
    return cost;
}
