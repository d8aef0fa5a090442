/*
 * surroundings.h - what all members of a communicator know alike about where they run,
 * for the choice of algorithms: how many processors they have, and whether messages
 * inside a node go over a network, too.
 *
 * It is set once, before any collective. Nothing here needs the lock.
 */
#ifndef WEFT_COLL_SURROUNDINGS_H
#define WEFT_COLL_SURROUNDINGS_H

#include "sched/graph.h"

/* The job, as every rank of it knows it. */
struct weft_surroundings {
    bool is_network; /* each rank is as if on a node of its own */
    int ranks;
    int processors; /* for these ranks; of several hosts, as many as ranks: nobody knows
                     * how many the other hosts have */
};

void weft_surroundings_set(const struct weft_surroundings *of_job);

/* Writes them to the shape of a call, for its `n` ranks as if they were on one node. */
void weft_surroundings_fill(struct weft_shape *shape);

#endif
