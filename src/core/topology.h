/*
 * topology.h - the virtual topology of a communicator: its grid, graph or neighbours.
 *
 * A topology is one block of memory that never changes. Duplicates of a communicator
 * share it, so it has a reference count. Ranks are those of the communicator. Counting
 * needs the library's lock.
 */
#ifndef WEFT_CORE_TOPOLOGY_H
#define WEFT_CORE_TOPOLOGY_H

#include "base/rc.h"

#include <stdbool.h>
#include <stddef.h>

/* How long each list in `numbers` is; they follow each other in the order given here. */
enum weft_topology_lists { WEFT_TOPOLOGY_LISTS = 4 };

struct weft_topology {
    int references;
    int kind;         /* MPI_CART, MPI_GRAPH or MPI_DIST_GRAPH */
    bool is_weighted; /* of a distributed graph */
    /*
     * Cartesian:          dims, periods
     * graph:              index, edges
     * distributed graph:  sources, their weights, destinations, their weights
     */
    int lengths[WEFT_TOPOLOGY_LISTS];
    int numbers[];
};

/* With one reference and lists of these lengths, not filled in. */
WEFT_MUST_CHECK enum weft_rc weft_topology_take(int kind,
                                                const int lengths[WEFT_TOPOLOGY_LISTS],
                                                struct weft_topology **out);

/* One of its lists. */
int *weft_topology_list(struct weft_topology *topology, int which);
const int *weft_topology_see(const struct weft_topology *topology, int which);

/* Copies as many numbers as the list is long. */
void weft_topology_fill(struct weft_topology *topology, int which, const int from[]);

/* NULL is none. */
struct weft_topology *weft_topology_use(struct weft_topology *topology);
void weft_topology_release(struct weft_topology *topology);

#endif
