/*
 * nodes.h - the nodes of a group (sched/spread.h).
 *
 * Every process has the map of its job (wireup/segment.h), so all members find the same,
 * and nobody has to be asked. It is found when the first collective of a group wants it,
 * and kept with the group, which duplicates share.
 */
#ifndef WEFT_COLL_NODES_H
#define WEFT_COLL_NODES_H

#include "core/group.h"
#include "sched/spread.h"

/*
 * Of a group of which this process is a member; without the lock. *out is the group's, or
 * NULL: there is only one node, or there are members of other jobs.
 */
WEFT_MUST_CHECK enum weft_rc weft_coll_spread(struct weft_group *group,
                                              const struct weft_spread **out);

#endif
