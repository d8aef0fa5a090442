/*
 * reduce_levels.c - two levels: each node's data are combined at its leader, then those
 * of the leaders at the root, by binomial trees. An operation that does not commute needs
 * members that are neighbours; its outcome is at rank 0, which sends it to the root.
 *
 * Cost: a path has ceil(log2 m) messages inside and ceil(log2 k) between nodes, all of
 * all data, and as many reductions; in all n - 1 of both, and one message more where rank
 * 0 is not the root and the operation does not commute.
 */
#include "coll/algorithms.h"
#include "coll/levels.h"

enum weft_rc weft_reduce_levels(const struct weft_shape *shape, struct weft_graph *graph)
{
    struct weft_shape tree = *shape;
    struct weft_levels levels;
    struct weft_span result;
    uint32_t done;

    if (shape->bytes == 0) {
        return WEFT_OK;
    }
    if (!shape->commutes) {
        tree.root = 0;
    }
    levels = weft_levels_of(&tree);
    done = weft_levels_reduce_inside(&levels, graph,
                                     weft_build_input(shape, shape->bytes), &result);
    if (levels.is_leader) {
        const uint32_t first = graph->step_count;

        done = weft_add_reduce(&levels.among, graph, result, done, &result);
        weft_levels_name_among(&levels, graph, first);
    }
    weft_add_delivery(shape, graph, tree.root, result, done);
    return graph->rc;
}

struct weft_cost weft_reduce_levels_cost(const struct weft_shape *shape)
{
    struct weft_cost cost = weft_reduce_binomial_cost(shape);

    if (shape->bytes == 0) {
        return cost;
    }
    cost.chain = weft_levels_tree(weft_levels_rounds_among(shape), shape->bytes);
    cost.inside = weft_levels_tree(weft_levels_rounds_inside(shape), shape->bytes);
    return cost;
}
