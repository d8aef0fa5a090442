/*
 * around.h - with whom a process exchanges data in a neighbourhood collective: the
 * neighbours of its topology, in the order of MPI-5.0, 8.6.
 */
#ifndef WEFT_TOPO_AROUND_H
#define WEFT_TOPO_AROUND_H

#include "core/comm.h"
#include "sched/graph.h"

/* Of a communicator with a topology; the lists are given back by the second. */
WEFT_MUST_CHECK enum weft_rc weft_around_take(const struct weft_comm *comm,
                                              struct weft_neighbourhood *out);
void weft_around_give(struct weft_neighbourhood *around);

#endif
