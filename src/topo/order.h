/*
 * order.h - which process takes which place of a topology, so that neighbours share a
 * node.
 *
 * Pure; needs no lock. nodes[r] says where rank r of the old communicator is. The order
 * is written as place[p] = old rank; `cut` is what it is judged by: how many pairs of
 * neighbours live on different nodes. All processes compute the same.
 */
#ifndef WEFT_TOPO_ORDER_H
#define WEFT_TOPO_ORDER_H

#include "base/rc.h"
#include "topo/cart.h"

#include <stdint.h>

/*
 * Fills `place`, of weft_grid_size() entries, from as many ranks. Where every node has
 * equally many and blocks of that many positions tile the grid, each node gets a block,
 * of the shape with the least surface; otherwise rows are filled node by node. Ranks keep
 * their places where that is no better.
 */
WEFT_MUST_CHECK enum weft_rc weft_order_grid(const struct weft_grid *grid,
                                             const uint32_t nodes[], int place[]);

/* Fills `place` for a graph as MPI_Graph_create takes it: connected vertices share nodes.
 */
WEFT_MUST_CHECK enum weft_rc weft_order_graph(int count, const int index[],
                                              const int edges[], const uint32_t nodes[],
                                              int place[]);

/* For tests. */
long long weft_order_grid_cut(const struct weft_grid *grid, const uint32_t nodes[],
                              const int place[]);
long long weft_order_graph_cut(int count, const int index[], const int edges[],
                               const uint32_t nodes[], const int place[]);

#endif
