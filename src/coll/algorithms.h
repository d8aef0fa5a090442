/*
 * algorithms.h - the builders of this room, for algorithm.c and the tests; what each does
 * and costs is at the top of its file.
 */
#ifndef WEFT_COLL_ALGORITHMS_H
#define WEFT_COLL_ALGORITHMS_H

#include "coll/build.h"

typedef bool weft_fits(const struct weft_shape *shape);

/* flags_cost.c: those without a graph (flags.h). */
weft_fits weft_flags_fit_one;
weft_fits weft_flags_fit_all;
weft_fits weft_flags_fit_reduction;
weft_fits weft_flags_fit_parts;
weft_cost_of weft_flags_from_root_cost;
weft_cost_of weft_flags_to_root_cost;
weft_cost_of weft_flags_all_cost;
weft_cost_of weft_flags_reduce_cost;

/* shared_cost.c: those that move pieces (shared.h). */
weft_fits weft_shared_fits;
weft_cost_of weft_shared_bcast_cost;
weft_cost_of weft_shared_root_cost;
weft_cost_of weft_shared_all_cost;
weft_cost_of weft_shared_reduce_cost;
weft_cost_of weft_shared_allreduce_cost;
weft_cost_of weft_shared_parts_cost;

weft_builder weft_barrier_tree;
weft_cost_of weft_barrier_tree_cost;

weft_builder weft_barrier_levels;
weft_cost_of weft_barrier_levels_cost;

weft_builder weft_bcast_levels;
weft_cost_of weft_bcast_levels_cost;
weft_builder weft_bcast_chain;
weft_cost_of weft_bcast_chain_cost;
/* Of a chain. */
uint64_t weft_bcast_segments(const struct weft_shape *shape);
weft_builder weft_bcast_binomial;
weft_cost_of weft_bcast_binomial_cost;
weft_builder weft_bcast_split;
weft_cost_of weft_bcast_split_cost;

weft_builder weft_gather_binomial;
weft_builder weft_scatter_binomial;
weft_cost_of weft_rooted_binomial_cost;
weft_builder weft_allgather_bruck;
weft_cost_of weft_allgather_bruck_cost;
weft_builder weft_allgather_ring;
weft_cost_of weft_allgather_ring_cost;
weft_builder weft_allgather_levels;
weft_cost_of weft_allgather_levels_cost;
weft_builder weft_alltoall_bruck;
weft_cost_of weft_alltoall_bruck_cost;
weft_builder weft_alltoall_pairwise;
weft_cost_of weft_alltoall_pairwise_cost;

weft_builder weft_gather_direct;
weft_builder weft_scatter_direct;
weft_cost_of weft_rooted_direct_cost;
weft_builder weft_allgather_direct;
weft_cost_of weft_allgather_direct_cost;
weft_builder weft_alltoall_direct;
weft_cost_of weft_alltoall_direct_cost;
weft_builder weft_neighbor_allgather_direct;
weft_builder weft_neighbor_alltoall_direct;

weft_builder weft_reduce_binomial;
weft_cost_of weft_reduce_binomial_cost;
weft_builder weft_reduce_levels;
weft_cost_of weft_reduce_levels_cost;
weft_builder weft_reduce_rabenseifner;
weft_cost_of weft_reduce_rabenseifner_cost;
weft_builder weft_allreduce_binomial;
weft_cost_of weft_allreduce_binomial_cost;
weft_builder weft_allreduce_doubling;
weft_cost_of weft_allreduce_doubling_cost;
weft_builder weft_allreduce_levels;
weft_cost_of weft_allreduce_levels_cost;
weft_builder weft_allreduce_lanes;
weft_cost_of weft_allreduce_lanes_cost;
weft_builder weft_allreduce_rabenseifner;
weft_cost_of weft_allreduce_rabenseifner_cost;
weft_builder weft_reduce_scatter_root;
weft_cost_of weft_reduce_scatter_root_cost;
weft_builder weft_reduce_scatter_halving;
weft_cost_of weft_reduce_scatter_halving_cost;
weft_builder weft_reduce_scatter_pairwise;
weft_cost_of weft_reduce_scatter_pairwise_cost;
weft_builder weft_scan_linear;
weft_cost_of weft_scan_linear_cost;
weft_builder weft_exscan_linear;
weft_cost_of weft_exscan_linear_cost;
weft_builder weft_scan_doubling;
weft_cost_of weft_scan_doubling_cost;
weft_builder weft_exscan_doubling;
weft_cost_of weft_exscan_doubling_cost;

#endif
