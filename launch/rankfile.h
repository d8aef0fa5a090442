/*
 * rankfile.h - the file of --rankfile: host and cores of each rank.
 *
 * The form is Open MPI's: a line for each rank, "rank 2=b slot=0:0-1", where slots.h has
 * what follows `slot=`. A host is a name, or "+n1" for the second host of the list. If
 * the job has a list of hosts, every name must be in it; else the file makes the list.
 * Text after '#' is left out, and so are empty lines.
 */
#ifndef WEFT_LAUNCH_RANKFILE_H
#define WEFT_LAUNCH_RANKFILE_H

#include "plan.h"

/*
 * Fills `slots` and `host_of` of the plan from `plan->rankfile`, and its hosts if it has
 * none. Says in one line what is wrong, and is then false.
 */
bool rankfile_read(struct plan *plan);

#endif
