/*
 * algorithm.h - the algorithms of collectives, and the choice among them.
 *
 * An algorithm is a builder (sched/graph.h) and what its graphs cost, all ranks together:
 * tests count the graphs and compare. Builders write their result to WEFT_SPACE_RECV. A
 * rank's input is in WEFT_SPACE_SEND, or, in place, where its result goes. Reductions
 * combine `from` as the left operand into `to` as the right one; an operation that does
 * not commute sees the ranks in their order.
 */
#ifndef WEFT_COLL_ALGORITHM_H
#define WEFT_COLL_ALGORITHM_H

#include "coll/coll.h"

/* Of all ranks together. */
struct weft_cost {
    uint64_t messages;
    uint64_t bytes;   /* in messages */
    uint64_t reduced; /* bytes that were combined into others */
};

struct weft_algorithm {
    enum weft_coll_kind kind;
    const char *name; /* for the setting that forces it */
    weft_builder *build;
    struct weft_cost (*cost)(const struct weft_shape *shape);
    /* Can it do this? The same on all members. NULL: always. */
    bool (*fits)(const struct weft_shape *shape);
    /* Is it better for this than those behind it? The same on all members. NULL: yes. */
    bool (*suits)(const struct weft_shape *shape);
};

/* What a kind is called in settings: the name of its MPI function, in small letters. */
const char *weft_coll_kind_name(enum weft_coll_kind kind);

/* The algorithms for one group of ranks, one after the other; NULL: there are no more. Of
 * those of one kind the first that fits and suits is chosen. */
const struct weft_algorithm *weft_algorithm_at(int i);

/* The algorithm for a call of this kind, unless the user wants another (force.h); for two
 * groups it is between.h's. */
const struct weft_algorithm *weft_algorithm_choose(enum weft_coll_kind kind,
                                                   const struct weft_shape *shape);

#endif
