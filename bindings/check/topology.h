/*
 * topology.h - argument checks of topology calls: see check.h for what they answer.
 */
#ifndef WEFT_CHECK_TOPOLOGY_H
#define WEFT_CHECK_TOPOLOGY_H

#include "check/check.h"
#include "topo/make.h"

/* A communicator with a topology of this kind. */
int weft_check_topology(const char *function, MPI_Comm handle, int kind,
                        struct weft_comm **out);

/* An array of `length` entries; it may be NULL if that is 0. */
int weft_check_list(const char *function, struct weft_comm *comm, int length,
                    const void *list, const char *name);

/* A grid for the ranks of `comm`: no larger than there are. */
int weft_check_grid(const char *function, struct weft_comm *comm,
                    const struct weft_grid *grid);

/* A graph of the ranks of `comm`. */
int weft_check_graph(const char *function, struct weft_comm *comm,
                     const struct weft_topo_graph *graph);

/* Neighbours on one side, and the edges that a process names. */
int weft_check_neighbours(const char *function, struct weft_comm *comm,
                          const struct weft_neighbours *neighbours, bool is_weighted);
int weft_check_edges(const char *function, struct weft_comm *comm,
                     const struct weft_edges *edges, bool is_weighted);

#endif
