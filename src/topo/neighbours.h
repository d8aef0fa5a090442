/*
 * neighbours.h - distributed graphs: the neighbours of a process, kept in a topology, and
 * edges that any process may name, brought to the two processes that they join.
 */
#ifndef WEFT_TOPO_NEIGHBOURS_H
#define WEFT_TOPO_NEIGHBOURS_H

#include "core/comm.h"
#include "core/topology.h"

/* Neighbours on one side of a process; weights is NULL where there are none. */
struct weft_neighbours {
    int count;
    const int *ranks;
    const int *weights;
};

/* Edges from sources[i] to `degrees[i]` destinations, which follow each other. */
struct weft_edges {
    int count; /* of sources */
    const int *sources;
    const int *degrees;
    const int *destinations;
    const int *weights; /* of the edges, or NULL */
};

/*
 * Tells every process its neighbours; made->topology is the result. Called by all members
 * of `made`, which take the lock inside. `call` is the name that the user called.
 */
WEFT_MUST_CHECK enum weft_rc weft_neighbours_exchange(const char *call,
                                                      struct weft_comm *made,
                                                      const struct weft_edges *edges,
                                                      bool is_weighted);

/* Makes a topology that holds these lists. */
WEFT_MUST_CHECK enum weft_rc weft_neighbours_keep(const struct weft_neighbours *in,
                                                  const struct weft_neighbours *out_of,
                                                  bool is_weighted,
                                                  struct weft_topology **out);

/* The neighbours in the distributed graph of a communicator that has one. */
struct weft_neighbours weft_dist_graph_in(const struct weft_comm *comm);
struct weft_neighbours weft_dist_graph_out(const struct weft_comm *comm);

#endif
