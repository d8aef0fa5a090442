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
    cpu_set_t *sets;          /* the processors of each rank here; NULL: not bound */
    char why[256];            /* why nobody is bound, or why it cannot be done */
    struct topology topology; /* that was looked at; empty: none */
    struct claims claims;     /* of these processors, until placement_close() */
};

/* Notes why it cannot be done; always false. */
bool placement_cannot(struct placement *placement, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/*
 * Decides by the plan for the `count` ranks of this host, whose numbers in the job are
 * `ranks`. Returns false if what was asked for cannot be done; `why` then says why. The
 * caller closes it, also then.
 */
bool placement_open(struct placement *placement, const struct plan *plan,
                    const int *ranks, int count);

/*
 * The decision alone: fills `sets` for ranks on `placement->topology`, whose cores are
 * marked where others have taken them. It looks at nothing else and claims nothing.
 */
bool placement_decide(struct placement *placement, const struct plan *plan,
                      const int *ranks, int count);

/* The processors of a rank, or NULL if it is not bound. */
const cpu_set_t *placement_of(const struct placement *placement, int local_rank);

/*
 * Writes where a rank is bound, or why it is not, as --report-bindings tells it: its
 * processors, and a letter for each core of the host that we may use. [] are sockets, |
 * is between NUMA nodes. B is bound, b is bound to some hardware threads of the core, x
 * is another job's.
 */
void placement_describe(const struct placement *placement, int local_rank, char *text,
                        size_t size);

/* Writes the numbers of a set: "0-3,8". Returns the length. */
size_t placement_list(const cpu_set_t *set, char *text, size_t size);

void placement_close(struct placement *placement);

#endif
