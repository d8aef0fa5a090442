/*
 * order.h - chooses which process takes which position of a topology, so that neighbours
 * share a node.
 *
 * nodes[r] is the node of rank r of the old communicator. The result is rank_at[p], the
 * old rank of the process at position p. A good order has a small `cut`: the number of
 * pairs of neighbours on different nodes. All processes compute the same order. The
 * functions are pure and need no lock.
 */
#ifndef WEFT_TOPO_ORDER_H
#define WEFT_TOPO_ORDER_H

#include "base/rc.h"
#include "topo/cart.h"

#include <stdint.h>

/*
 * Fills `rank_at`, of weft_grid_size() entries, from as many ranks. Where every node has
 * equally many and blocks of that many positions tile the grid, each node gets a block,
 * of the shape with the least surface; otherwise rows are filled node by node. Ranks keep
 * their places where that is no better.
 */
WEFT_MUST_CHECK enum weft_rc weft_order_grid(const struct weft_grid *grid,
                                             const uint32_t nodes[], int rank_at[]);

/* Fills `rank_at` for a graph as MPI_Graph_create takes it: connected vertices share
 * nodes.
 */
WEFT_MUST_CHECK enum weft_rc weft_order_graph(int count, const int index[],
                                              const int edges[], const uint32_t nodes[],
                                              int rank_at[]);

/* For tests. */
long long weft_order_grid_cut(const struct weft_grid *grid, const uint32_t nodes[],
                              const int rank_at[]);
long long weft_order_graph_cut(int count, const int index[], const int edges[],
                               const uint32_t nodes[], const int rank_at[]);

#endif
