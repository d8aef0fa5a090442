/*
 * make.h - communicators with a topology.
 *
 * The functions trust their arguments: bindings/ have checked them. Those that make a
 * communicator are called by all members of `comm`, an intracommunicator; they take the
 * lock themselves. `call` is the name of the MPI function that the user called. Results
 * are written only on success; a process that has no position in the topology gets NULL.
 */
#ifndef WEFT_TOPO_MAKE_H
#define WEFT_TOPO_MAKE_H

#include "core/comm.h"
#include "core/topology.h"
#include "topo/cart.h"
#include "topo/neighbours.h"

/* The grid has at most as many positions as `comm` has ranks. */
WEFT_MUST_CHECK enum weft_rc weft_cart_create(const char *call, struct weft_comm *comm,
                                              const struct weft_grid *grid,
                                              bool is_reordered, struct weft_comm **out);

/* `comm` is a grid; `remain` says of each dimension whether it stays. */
WEFT_MUST_CHECK enum weft_rc weft_cart_sub(const char *call, struct weft_comm *comm,
                                           const int remain[], struct weft_comm **out);

/* The grid of a communicator that has one. */
struct weft_grid weft_cart_grid(const struct weft_comm *comm);

/* The rank that this process would have if reordered, or MPI_UNDEFINED. Not collective.
 */
WEFT_MUST_CHECK enum weft_rc weft_cart_map(const struct weft_comm *comm,
                                           const struct weft_grid *grid, int *rank);

/* A graph of `count` vertices, at most as many as ranks, with index[count - 1] edges. */
struct weft_topo_graph {
    int count;
    const int *index;
    const int *edges;
};

WEFT_MUST_CHECK enum weft_rc weft_topo_graph_create(const char *call,
                                                    struct weft_comm *comm,
                                                    const struct weft_topo_graph *graph,
                                                    bool is_reordered,
                                                    struct weft_comm **out);
struct weft_topo_graph weft_topo_graph_of(const struct weft_comm *comm);
WEFT_MUST_CHECK enum weft_rc weft_topo_graph_map(const struct weft_comm *comm,
                                                 const struct weft_topo_graph *graph,
                                                 int *rank);

/*
 * A distributed graph of which each process knows its own neighbours. Ranks keep their
 * order: nobody here knows the whole graph.
 */
WEFT_MUST_CHECK enum weft_rc weft_dist_graph_create_adjacent(
    const char *call, struct weft_comm *comm, const struct weft_neighbours *in,
    const struct weft_neighbours *out_of, bool is_weighted, struct weft_comm **out);

/* A distributed graph of which any process may name any edge. */
WEFT_MUST_CHECK enum weft_rc weft_dist_graph_create(const char *call,
                                                    struct weft_comm *comm,
                                                    const struct weft_edges *edges,
                                                    bool is_weighted,
                                                    struct weft_comm **out);

#endif
