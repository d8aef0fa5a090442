/*
 * slots.h - the slots of a line in a rankfile: cores of a host.
 *
 * The form is Open MPI's, with hwloc's logical numbers: "2,5-7" are cores of the host,
 * "1:0-2" cores of socket 1, "1:*" all of them. A socket holds until another one is
 * named: "0:0,1" are the first two cores of socket 0.
 */
#ifndef WEFT_LAUNCH_SLOTS_H
#define WEFT_LAUNCH_SLOTS_H

#include "topology.h"

#include <stddef.h>

/* Is this a list of slots? */
bool slots_are_sound(const char *text);

/*
 * Adds the processors of these slots to `set`. Returns false, and says why, if a core is
 * missing on this host or is taken by another job.
 */
bool slots_find(const char *text, const struct topology *topology, cpu_set_t *set,
                char *why, size_t size);

#endif
