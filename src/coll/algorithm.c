#include "coll/algorithm.h"

#include "coll/algorithms.h"
#include "coll/levels.h"
#include "coll/model.h"

#include <assert.h>

/*
 * A kind, its name, the builder and what that costs, unless it is the only one of its
 * kind and no shape says it; then when it can be done (FITS), and whether the order of a
 * reduction's operands depends on their number alone (is_reproducible).
 */
#define ALGORITHM(of, called, builder, costs, ...)                                       \
    {                                                                                    \
        .kind = WEFT_COLL_##of, .name = called, .build = builder, .cost = costs,         \
        __VA_ARGS__                                                                      \
    }

static bool commutes(const struct weft_shape *shape)
{
    return shape->commutes;
}

/* ---- several nodes ---- */

static bool has_nodes(const struct weft_shape *shape)
{
    return shape->spread != NULL;
}

/* A leader keeps all blocks in scratch memory, and sends all of them to its members. */
static bool has_small_table(const struct weft_shape *shape)
{
    const uint64_t table = 256 << 10;

    return has_nodes(shape) && shape->spread->is_in_order &&
           shape->bytes <= table / (uint64_t)shape->n;
}

static bool has_nodes_in_order(const struct weft_shape *shape)
{
    return has_nodes(shape) && shape->spread->is_in_order;
}

/* An operation that does not commute sees the ranks in their order. */
static bool reduces_nodes(const struct weft_shape *shape)
{
    return shape->commutes ? has_nodes(shape) : has_nodes_in_order(shape);
}

static bool has_lanes(const struct weft_shape *shape)
{
    return shape->commutes && has_nodes(shape);
}

/* ---- all of them ---- */

#define FITS(when, words) .fits = (when), .calls = (words)
#define FLAGS(of, costs, fit)                                                            \
    {                                                                                    \
        .kind = WEFT_COLL_##of, .name = "flags", .method = WEFT_BY_FLAGS, .cost = costs, \
        FITS(fit, "small blocking calls in one node")                                    \
    }
#define FLAGS_REDUCE(of, fit)                                                            \
    {                                                                                    \
        .kind = WEFT_COLL_##of, .name = "flags", .method = WEFT_BY_FLAGS,                \
        .cost = weft_flags_reduce_cost,                                                  \
        FITS(fit, "small blocking calls in one node: predefined operations")             \
    }
#define SHARED(of, costs)                                                                \
    {                                                                                    \
        .kind = WEFT_COLL_##of, .name = "shared", .method = WEFT_BY_PIECES,              \
        .cost = costs, FITS(weft_shared_fits, "blocking calls in one node")              \
    }
#define REPRODUCIBLE .is_reproducible = true
#define COMMUTES     FITS(commutes, "operations that commute")
#define NODES        FITS(has_nodes, "several nodes")
#define SMALL_TABLE                                                                      \
    FITS(has_small_table, "small blocks, several nodes with ranks in their order")
#define REDUCES_NODES                                                                    \
    FITS(reduces_nodes, "several nodes: operations that commute, or ranks in their "     \
                        "order")
#define LANES FITS(has_lanes, "several nodes: operations that commute")

/* Of those of one kind that take the same time, the first is chosen. */
static const struct weft_algorithm algorithms[] = {
    FLAGS(BARRIER, weft_flags_all_cost, weft_flags_fit_one),
    ALGORITHM(BARRIER, "levels", weft_barrier_levels, weft_barrier_levels_cost, NODES),
    ALGORITHM(BARRIER, "tree", weft_barrier_tree, weft_barrier_tree_cost),
    FLAGS(BCAST, weft_flags_from_root_cost, weft_flags_fit_one),
    SHARED(BCAST, weft_shared_bcast_cost),
    ALGORITHM(BCAST, "chain", weft_bcast_chain, weft_bcast_chain_cost, NODES),
    ALGORITHM(BCAST, "levels", weft_bcast_levels, weft_bcast_levels_cost, NODES),
    ALGORITHM(BCAST, "split", weft_bcast_split, weft_bcast_split_cost),
    ALGORITHM(BCAST, "binomial", weft_bcast_binomial, weft_bcast_binomial_cost),
    FLAGS(GATHER, weft_flags_to_root_cost, weft_flags_fit_one),
    SHARED(GATHER, weft_shared_root_cost),
    ALGORITHM(GATHER, "direct", weft_gather_direct, weft_rooted_direct_cost),
    ALGORITHM(GATHER, "binomial", weft_gather_binomial, weft_rooted_binomial_cost),
    ALGORITHM(GATHERV, "direct", weft_gather_direct, NULL),
    FLAGS(SCATTER, weft_flags_from_root_cost, weft_flags_fit_all),
    SHARED(SCATTER, weft_shared_root_cost),
    ALGORITHM(SCATTER, "direct", weft_scatter_direct, weft_rooted_direct_cost),
    ALGORITHM(SCATTER, "binomial", weft_scatter_binomial, weft_rooted_binomial_cost),
    ALGORITHM(SCATTERV, "direct", weft_scatter_direct, NULL),
    FLAGS(ALLGATHER, weft_flags_all_cost, weft_flags_fit_one),
    SHARED(ALLGATHER, weft_shared_all_cost),
    ALGORITHM(ALLGATHER, "levels", weft_allgather_levels, weft_allgather_levels_cost,
              SMALL_TABLE),
    ALGORITHM(ALLGATHER, "direct", weft_allgather_direct, weft_allgather_direct_cost),
    ALGORITHM(ALLGATHER, "bruck", weft_allgather_bruck, weft_allgather_bruck_cost),
    ALGORITHM(ALLGATHER, "ring", weft_allgather_ring, weft_allgather_ring_cost),
    ALGORITHM(ALLGATHERV, "direct", weft_allgather_direct, weft_allgather_direct_cost),
    ALGORITHM(ALLGATHERV, "ring", weft_allgather_ring, weft_allgather_ring_cost),
    FLAGS(ALLTOALL, weft_flags_all_cost, weft_flags_fit_all),
    SHARED(ALLTOALL, weft_shared_all_cost),
    ALGORITHM(ALLTOALL, "direct", weft_alltoall_direct, weft_alltoall_direct_cost),
    ALGORITHM(ALLTOALL, "bruck", weft_alltoall_bruck, weft_alltoall_bruck_cost),
    ALGORITHM(ALLTOALL, "pairwise", weft_alltoall_pairwise, weft_alltoall_pairwise_cost),
    ALGORITHM(ALLTOALLV, "pairwise", weft_alltoall_pairwise, NULL),
    ALGORITHM(ALLTOALLW, "pairwise", weft_alltoall_pairwise, NULL),
    FLAGS_REDUCE(REDUCE, weft_flags_fit_reduction),
    SHARED(REDUCE, weft_shared_reduce_cost),
    ALGORITHM(REDUCE, "levels", weft_reduce_levels, weft_reduce_levels_cost,
              REDUCES_NODES),
    ALGORITHM(REDUCE, "binomial", weft_reduce_binomial, weft_reduce_binomial_cost,
              REPRODUCIBLE),
    ALGORITHM(REDUCE, "rabenseifner", weft_reduce_rabenseifner,
              weft_reduce_rabenseifner_cost, COMMUTES, REPRODUCIBLE),
    FLAGS_REDUCE(ALLREDUCE, weft_flags_fit_reduction),
    SHARED(ALLREDUCE, weft_shared_allreduce_cost),
    ALGORITHM(ALLREDUCE, "lanes", weft_allreduce_lanes, weft_allreduce_lanes_cost, LANES),
    ALGORITHM(ALLREDUCE, "levels", weft_allreduce_levels, weft_allreduce_levels_cost,
              REDUCES_NODES),
    ALGORITHM(ALLREDUCE, "doubling", weft_allreduce_doubling,
              weft_allreduce_doubling_cost, REPRODUCIBLE),
    ALGORITHM(ALLREDUCE, "rabenseifner", weft_allreduce_rabenseifner,
              weft_allreduce_rabenseifner_cost, COMMUTES, REPRODUCIBLE),
    ALGORITHM(ALLREDUCE, "binomial", weft_allreduce_binomial,
              weft_allreduce_binomial_cost, REPRODUCIBLE),
    SHARED(REDUCE_SCATTER, weft_shared_parts_cost),
    ALGORITHM(REDUCE_SCATTER, "pairwise", weft_reduce_scatter_pairwise,
              weft_reduce_scatter_pairwise_cost, COMMUTES, REPRODUCIBLE),
    ALGORITHM(REDUCE_SCATTER, "halving", weft_reduce_scatter_halving,
              weft_reduce_scatter_halving_cost, COMMUTES, REPRODUCIBLE),
    ALGORITHM(REDUCE_SCATTER, "root", weft_reduce_scatter_root,
              weft_reduce_scatter_root_cost, REPRODUCIBLE),
    FLAGS_REDUCE(REDUCE_SCATTER_BLOCK, weft_flags_fit_parts),
    SHARED(REDUCE_SCATTER_BLOCK, weft_shared_parts_cost),
    ALGORITHM(REDUCE_SCATTER_BLOCK, "pairwise", weft_reduce_scatter_pairwise,
              weft_reduce_scatter_pairwise_cost, COMMUTES, REPRODUCIBLE),
    ALGORITHM(REDUCE_SCATTER_BLOCK, "halving", weft_reduce_scatter_halving,
              weft_reduce_scatter_halving_cost, COMMUTES, REPRODUCIBLE),
    ALGORITHM(REDUCE_SCATTER_BLOCK, "root", weft_reduce_scatter_root,
              weft_reduce_scatter_root_cost, REPRODUCIBLE),
    FLAGS_REDUCE(SCAN, weft_flags_fit_reduction),
    ALGORITHM(SCAN, "doubling", weft_scan_doubling, weft_scan_doubling_cost,
              REPRODUCIBLE),
    ALGORITHM(SCAN, "linear", weft_scan_linear, weft_scan_linear_cost, REPRODUCIBLE),
    FLAGS_REDUCE(EXSCAN, weft_flags_fit_reduction),
    ALGORITHM(EXSCAN, "doubling", weft_exscan_doubling, weft_exscan_doubling_cost,
              REPRODUCIBLE),
    ALGORITHM(EXSCAN, "linear", weft_exscan_linear, weft_exscan_linear_cost,
              REPRODUCIBLE),
    ALGORITHM(NEIGHBOR_ALLGATHER, "direct", weft_neighbor_allgather_direct, NULL),
    ALGORITHM(NEIGHBOR_ALLGATHERV, "direct", weft_neighbor_allgather_direct, NULL),
    ALGORITHM(NEIGHBOR_ALLTOALL, "direct", weft_neighbor_alltoall_direct, NULL),
    ALGORITHM(NEIGHBOR_ALLTOALLV, "direct", weft_neighbor_alltoall_direct, NULL),
    ALGORITHM(NEIGHBOR_ALLTOALLW, "direct", weft_neighbor_alltoall_direct, NULL),
};

const char *weft_coll_kind_name(enum weft_coll_kind kind)
{
    static const char *const names[WEFT_COLL_KINDS] = {
        [WEFT_COLL_BARRIER] = "barrier",
        [WEFT_COLL_BCAST] = "bcast",
        [WEFT_COLL_GATHER] = "gather",
        [WEFT_COLL_GATHERV] = "gatherv",
        [WEFT_COLL_SCATTER] = "scatter",
        [WEFT_COLL_SCATTERV] = "scatterv",
        [WEFT_COLL_ALLGATHER] = "allgather",
        [WEFT_COLL_ALLGATHERV] = "allgatherv",
        [WEFT_COLL_ALLTOALL] = "alltoall",
        [WEFT_COLL_ALLTOALLV] = "alltoallv",
        [WEFT_COLL_ALLTOALLW] = "alltoallw",
        [WEFT_COLL_REDUCE] = "reduce",
        [WEFT_COLL_ALLREDUCE] = "allreduce",
        [WEFT_COLL_REDUCE_SCATTER] = "reduce_scatter",
        [WEFT_COLL_REDUCE_SCATTER_BLOCK] = "reduce_scatter_block",
        [WEFT_COLL_SCAN] = "scan",
        [WEFT_COLL_EXSCAN] = "exscan",
        [WEFT_COLL_NEIGHBOR_ALLGATHER] = "neighbor_allgather",
        [WEFT_COLL_NEIGHBOR_ALLGATHERV] = "neighbor_allgatherv",
        [WEFT_COLL_NEIGHBOR_ALLTOALL] = "neighbor_alltoall",
        [WEFT_COLL_NEIGHBOR_ALLTOALLV] = "neighbor_alltoallv",
        [WEFT_COLL_NEIGHBOR_ALLTOALLW] = "neighbor_alltoallw",
    };

    return names[kind];
}

enum { COUNT = sizeof(algorithms) / sizeof(algorithms[0]) };
_Static_assert((int)COUNT <= (int)WEFT_ALGORITHMS_MOST, "each has a number");

const struct weft_algorithm *weft_algorithm_at(int i)
{
    return i < COUNT ? &algorithms[i] : NULL;
}

int weft_algorithm_number(const struct weft_algorithm *at)
{
    return (int)(at - algorithms);
}

static bool is_reproducible; /* what all reductions are to be */

void weft_algorithm_be_reproducible(bool is_wanted)
{
    is_reproducible = is_wanted;
}

/* Is this a reduction, and does the user want all of them to be reproducible? */
static bool must_be_reproducible(const struct weft_shape *shape)
{
    return is_reproducible && shape->unit > 0;
}

bool weft_algorithm_fits(const struct weft_algorithm *at, const struct weft_shape *shape)
{
    return (at->fits == NULL || at->fits(shape)) &&
           (at->is_reproducible || !must_be_reproducible(shape));
}

/* The only one of its kind need not say what it costs. */
static uint64_t time_of(const struct weft_algorithm *at, const struct weft_shape *shape)
{
    const struct weft_cost cost =
        at->cost != NULL ? at->cost(shape) : (struct weft_cost){0};

    return weft_model_time(shape, &cost);
}

/* As it is anywhere: each rank has a processor of the same node. */
static struct weft_shape anywhere(const struct weft_shape *shape)
{
    struct weft_shape plain = *shape;

    plain.nodes = 1;
    plain.spread = NULL;
    plain.processors = shape->n;
    return plain;
}

static const struct weft_algorithm *quickest(enum weft_coll_kind kind,
                                             const struct weft_shape *shape)
{
    const struct weft_algorithm *best = NULL;
    const struct weft_algorithm *at;
    uint64_t least = UINT64_MAX;

    for (int i = 0; (at = weft_algorithm_at(i)) != NULL; i++) {
        if (at->kind == kind && weft_algorithm_fits(at, shape)) {
            const uint64_t time = time_of(at, shape);

            if (best == NULL || time < least) {
                best = at;
                least = time;
            }
        }
    }
    assert(best != NULL); /* of each kind one fits always */
    return best;
}

const struct weft_algorithm *weft_algorithm_choose(enum weft_coll_kind kind,
                                                   const struct weft_shape *shape)
{
    if (must_be_reproducible(shape)) {
        const struct weft_shape plain = anywhere(shape);

        return quickest(kind, &plain);
    }
    return quickest(kind, shape);
}
