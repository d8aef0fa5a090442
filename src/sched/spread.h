/*
 * spread.h - which ranks of a group share a node, for builders; the same on all of them.
 *
 * Nodes are numbered from 0 in the order of their first ranks; the ranks of a node, its
 * members, are in the order of the group. It takes 4 bytes for each node and, only where
 * members are not neighbours, 8 for each rank. Nothing here locks.
 */
#ifndef WEFT_SCHED_SPREAD_H
#define WEFT_SCHED_SPREAD_H

#include <stdbool.h>
#include <stdint.h>

struct weft_spread {
    int ranks;
    int nodes; /* 1: all on one; 0: it is not known, as of members of other jobs */
    int least; /* members of the smallest node, and of the largest one */
    int most;
    bool is_in_order; /* the members of each node are neighbours */
    const int *begin; /* of each node: ranks on lower ones; then once more, all ranks */
    const int *order; /* the ranks, node by node; in order, not there */
    const int *node;  /* of each rank; in order, not there */
};

static inline int weft_spread_size(const struct weft_spread *spread, int node)
{
    return spread->begin[node + 1] - spread->begin[node];
}

/* The rank of a member of a node. */
static inline int weft_spread_rank(const struct weft_spread *spread, int node, int member)
{
    const int at = spread->begin[node] + member;

    return spread->is_in_order ? at : spread->order[at];
}

/* The node of a rank, and which of its members the rank is. */
int weft_spread_node(const struct weft_spread *spread, int rank);
int weft_spread_member(const struct weft_spread *spread, int rank);

/*
 * Makes one of the numbers of the nodes of `ranks` ranks, which are below `nodes`. It is
 * one piece of memory, and the caller's. NULL: no memory.
 */
struct weft_spread *weft_spread_make(const uint32_t *node_of, int ranks, uint32_t nodes);

#endif
