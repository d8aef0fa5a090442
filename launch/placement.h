/*
 * placement.h - which rank runs on which core.
 *
 * hwloc knows the cores; it is loaded only when something is to be bound, because reading
 * the topology takes longer than starting two ranks. Only processors that mpiexec itself
 * may use count.
 */
#ifndef WEFT_LAUNCH_PLACEMENT_H
#define WEFT_LAUNCH_PLACEMENT_H

#include "plan.h"

#include <sched.h>

struct placement {
    cpu_set_t *cores; /* one set per core that we may use; NULL: nobody is bound */
    int count;
};

/*
 * Decides by the plan, for the `ranks` ranks of this host. False, after a line on
 * standard error, if it cannot be done.
 */
bool placement_open(struct placement *placement, const struct plan *plan, int ranks);

/* The processors of a rank, or NULL if it is not bound. */
const cpu_set_t *placement_of(const struct placement *placement, int local_rank);

/* Says on standard error what --report-bindings asks for. */
void placement_report(const struct placement *placement, const struct plan *plan,
                      int first, int ranks);

void placement_close(struct placement *placement);

#endif
