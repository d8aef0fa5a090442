/*
 * cost.h - what an algorithm costs, as its file states it (algorithm.h), and from which
 * model.h finds how long it takes.
 *
 * There are two views. What all ranks do together takes time where ranks outnumber
 * processors; tests count the graphs and compare. What one rank does or waits for, from
 * the first step to the last one of the whole operation, takes time always.
 *
 * A cost says what the operation costs that is not in place. Nothing here depends on what
 * only one member knows.
 */
#ifndef WEFT_COLL_COST_H
#define WEFT_COLL_COST_H

#include "sched/graph.h"

/* What is done one after the other in the longest chain through the graphs of all ranks:
 * it ends the operation. */
struct weft_chain {
    uint64_t rounds;   /* messages that wait for each other */
    uint64_t messages; /* that one rank sends or gets in that time, with those */
    uint64_t bytes;    /* in messages */
    uint64_t steps;    /* that copy or reduce */
    uint64_t reduced;  /* bytes that are combined into others */
    uint64_t copied;   /* bytes */
    uint64_t flags;    /* of others that are looked at, in memory that ranks share */
};

struct weft_cost {
    bool is_single_copy; /* in place of messages, whatever their size */
    /* Of all ranks together. */
    uint64_t messages;
    uint64_t bytes;   /* in messages */
    uint64_t reduced; /* bytes that were combined into others */
    /* An algorithm that knows nodes says apart what of the chain is inside a node; of one
     * that does not, messages may go anywhere. */
    struct weft_chain chain;
    struct weft_chain inside;
};

typedef struct weft_cost weft_cost_of(const struct weft_shape *shape);

#endif
