#include "coll/algorithm.h"

#include "coll/algorithms.h"

#include <stdlib.h>

/* A kind, its name, the builder, and what that costs, if a shape says it. */
#define ALGORITHM(of, called, builder, costs)                                            \
    {                                                                                    \
        .kind = WEFT_COLL_##of, .name = called, .build = builder, .cost = costs          \
    }

static const struct weft_algorithm algorithms[] = {
    ALGORITHM(BARRIER, "dissemination", weft_barrier_dissemination,
              weft_barrier_dissemination_cost),
    ALGORITHM(BCAST, "binomial", weft_bcast_binomial, weft_bcast_binomial_cost),
    ALGORITHM(GATHER, "direct", weft_gather_direct, weft_rooted_direct_cost),
    ALGORITHM(GATHERV, "direct", weft_gather_direct, NULL),
    ALGORITHM(SCATTER, "direct", weft_scatter_direct, weft_rooted_direct_cost),
    ALGORITHM(SCATTERV, "direct", weft_scatter_direct, NULL),
    ALGORITHM(ALLGATHER, "direct", weft_allgather_direct, weft_all_direct_cost),
    ALGORITHM(ALLGATHERV, "direct", weft_allgather_direct, NULL),
    ALGORITHM(ALLTOALL, "direct", weft_alltoall_direct, weft_all_direct_cost),
    ALGORITHM(ALLTOALLV, "direct", weft_alltoall_direct, NULL),
    ALGORITHM(ALLTOALLW, "direct", weft_alltoall_direct, NULL),
    ALGORITHM(REDUCE, "binomial", weft_reduce_binomial, weft_reduce_binomial_cost),
    ALGORITHM(ALLREDUCE, "binomial", weft_allreduce_binomial,
              weft_allreduce_binomial_cost),
    ALGORITHM(REDUCE_SCATTER, "root", weft_reduce_scatter_root,
              weft_reduce_scatter_root_cost),
    ALGORITHM(REDUCE_SCATTER_BLOCK, "root", weft_reduce_scatter_root,
              weft_reduce_scatter_root_cost),
    ALGORITHM(SCAN, "linear", weft_scan_linear, weft_scan_linear_cost),
    ALGORITHM(EXSCAN, "linear", weft_exscan_linear, weft_exscan_linear_cost),
    ALGORITHM(NEIGHBOR_ALLGATHER, "direct", weft_neighbor_allgather_direct, NULL),
    ALGORITHM(NEIGHBOR_ALLGATHERV, "direct", weft_neighbor_allgather_direct, NULL),
    ALGORITHM(NEIGHBOR_ALLTOALL, "direct", weft_neighbor_alltoall_direct, NULL),
    ALGORITHM(NEIGHBOR_ALLTOALLV, "direct", weft_neighbor_alltoall_direct, NULL),
    ALGORITHM(NEIGHBOR_ALLTOALLW, "direct", weft_neighbor_alltoall_direct, NULL),
};

const struct weft_algorithm *weft_algorithm_at(int i)
{
    const int count = (int)(sizeof(algorithms) / sizeof(algorithms[0]));

    return i < count ? &algorithms[i] : NULL;
}

const struct weft_algorithm *weft_algorithm_choose(enum weft_coll_kind kind,
                                                   const struct weft_shape *shape)
{
    const struct weft_algorithm *at;

    for (int i = 0; (at = weft_algorithm_at(i)) != NULL; i++) {
        if (at->kind == kind && (at->fits == NULL || at->fits(shape))) {
            return at;
        }
    }
    abort(); /* one of each kind always fits */
}
