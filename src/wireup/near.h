/*
 * near.h - which interfaces of this host are near to the processors of a process.
 *
 * A network card is attached to one NUMA node; a process on another node reaches it
 * through the link between sockets. Linux tells the node of an interface and the
 * processors of a node in sysfs. Where it does not, as for virtual interfaces, an
 * interface counts as near.
 */
#ifndef WEFT_WIREUP_NEAR_H
#define WEFT_WIREUP_NEAR_H

#include "wireup/net.h"

#include <sched.h>

/*
 * Puts, of addresses whose interfaces are equally fast, those that are near to one of
 * `processors` before the others, and leaves the order as it is otherwise. `sysfs` is
 * where it is mounted: "/sys", or a test's own.
 */
void weft_net_put_near_first(struct weft_net_address *list, int count, const char *sysfs,
                             const cpu_set_t *processors);

#endif
