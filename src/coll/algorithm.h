/*
 * algorithm.h - the algorithms of collectives, and the choice among them.
 *
 * An algorithm is a builder (sched/graph.h) and what its graphs cost (cost.h): tests
 * count the graphs and compare. Of those that fit a call, the one is chosen that takes
 * the least time by its cost (model.h). A new one is a row in the table of algorithm.c,
 * and a file with its builder and its cost. Builders write their result to
 * WEFT_SPACE_RECV. A rank's input is in WEFT_SPACE_SEND, or, in place, where its result
 * goes. Reductions combine `from` as the left operand into `to` as the right one; an
 * operation that does not commute sees the ranks in their order.
 */
#ifndef WEFT_COLL_ALGORITHM_H
#define WEFT_COLL_ALGORITHM_H

#include "coll/coll.h"
#include "coll/cost.h"

/* How an algorithm runs. */
enum weft_method {
    WEFT_BY_GRAPH,  /* by the graph that it builds */
    WEFT_BY_FLAGS,  /* in slots (flags.h): blocking calls of small data, no graph */
    WEFT_BY_PIECES, /* by pieces (shared.h): blocking calls of large data, no graph */
};

struct weft_algorithm {
    enum weft_coll_kind kind;
    const char *name; /* for the setting that forces it */
    enum weft_method method;
    weft_builder *build; /* NULL: it has no graph */
    weft_cost_of *cost;
    /* Can it do this? The same on all members. NULL: always. */
    bool (*fits)(const struct weft_shape *shape);
    const char *calls; /* which these are, in words; NULL: all */
    /* Of a reduction: the order and the grouping of operands depend on the number of
     * ranks, the bytes and the root alone, not on where ranks are. */
    bool is_reproducible;
};

/* What a kind is called in settings: the name of its MPI function, in small letters. */
const char *weft_coll_kind_name(enum weft_coll_kind kind);

/* The algorithms for one group of ranks, one after the other; NULL: there are no more. */
const struct weft_algorithm *weft_algorithm_at(int i);

/* Its number in that order, below WEFT_ALGORITHMS_MOST. */
enum { WEFT_ALGORITHMS_MOST = 128 };
int weft_algorithm_number(const struct weft_algorithm *at);

/* From now on the result of a reduction depends on its operands alone, and not on where
 * ranks run (WEFT_REPRODUCIBLE). Before any collective; the same on all ranks. */
void weft_algorithm_be_reproducible(bool is_wanted);

/* Can it do this call of its kind? */
bool weft_algorithm_fits(const struct weft_algorithm *at, const struct weft_shape *shape);

/* The algorithm that takes the least time (model.h) for a call of this kind, unless the
 * user wants another (force.h); for two groups it is between.h's. */
const struct weft_algorithm *weft_algorithm_choose(enum weft_coll_kind kind,
                                                   const struct weft_shape *shape);

#endif
