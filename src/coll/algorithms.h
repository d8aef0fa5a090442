/*
 * algorithms.h - the builders of this room, for algorithm.c and the tests; what each does
 * and costs is at the top of its file.
 */
#ifndef WEFT_COLL_ALGORITHMS_H
#define WEFT_COLL_ALGORITHMS_H

#include "coll/build.h"

typedef struct weft_cost weft_cost_of(const struct weft_shape *shape);

weft_builder weft_barrier_tree;
weft_cost_of weft_barrier_tree_cost;

weft_builder weft_bcast_binomial;
weft_cost_of weft_bcast_binomial_cost;
weft_builder weft_bcast_split;
weft_cost_of weft_bcast_split_cost;

weft_builder weft_gather_binomial;
weft_builder weft_scatter_binomial;
weft_cost_of weft_rooted_binomial_cost;
weft_builder weft_allgather_bruck;
weft_cost_of weft_allgather_bruck_cost;
weft_builder weft_allgather_ring; /* costs what direct exchanges cost */
weft_builder weft_alltoall_bruck;
weft_cost_of weft_alltoall_bruck_cost;
weft_builder weft_alltoall_pairwise;
weft_cost_of weft_alltoall_pairwise_cost;

weft_builder weft_gather_direct;
weft_builder weft_scatter_direct;
weft_cost_of weft_rooted_direct_cost;
weft_builder weft_allgather_direct;
weft_builder weft_alltoall_direct;
weft_cost_of weft_all_direct_cost;
weft_builder weft_neighbor_allgather_direct;
weft_builder weft_neighbor_alltoall_direct;

weft_builder weft_reduce_binomial;
weft_cost_of weft_reduce_binomial_cost;
weft_builder weft_reduce_rabenseifner;
weft_cost_of weft_reduce_rabenseifner_cost;
weft_builder weft_allreduce_binomial;
weft_cost_of weft_allreduce_binomial_cost;
weft_builder weft_allreduce_doubling;
weft_cost_of weft_allreduce_doubling_cost;
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
