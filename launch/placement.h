/*
 * placement.h - binds the ranks of this host to cores, or says why they are not bound.
 *
 * topology.h knows the cores that mpiexec may use, claims.h which of them other jobs have
 * taken, and spread.h deals the rest. Where the user has only let the default work, ranks
 * that do not all find free cores are not bound. Where binding, a width or a placement
 * was asked for, it is refused.
 */
#ifndef WEFT_LAUNCH_PLACEMENT_H
#define WEFT_LAUNCH_PLACEMENT_H

#include "claims.h"
#include "plan.h"

#include <sched.h>

struct placement {
    cpu_set_t *sets;      /* the processors of each rank of this host; NULL: not bound */
    char why[256];        /* why nobody is bound, or why it cannot be done */
    struct claims claims; /* of these processors, until placement_close() */
};

/*
 * Decides by the plan for the ranks `first` to `first + ranks - 1` of the job. Returns
 * false if what was asked for cannot be done; `why` then says why.
 */
bool placement_open(struct placement *placement, const struct plan *plan, int first,
                    int ranks);

/* The processors of a rank, or NULL if it is not bound. */
const cpu_set_t *placement_of(const struct placement *placement, int local_rank);

/* Writes where a rank is bound, or why it is not, as --report-bindings tells it. */
void placement_describe(const struct placement *placement, int local_rank, char *text,
                        size_t size);

void placement_close(struct placement *placement);

#endif
