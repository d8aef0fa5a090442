/*
 * topology.h - the cores of this host, and which of them share a socket, memory and
 * cache.
 *
 * hwloc reads the topology. It is loaded at run time, and only when something has to be
 * bound, because reading the topology takes longer than starting two ranks.
 */
#ifndef WEFT_LAUNCH_TOPOLOGY_H
#define WEFT_LAUNCH_TOPOLOGY_H

#include <sched.h>
#include <stdbool.h>

/* What cores can have in common, from the widest to the narrowest. */
enum level { LEVEL_SOCKET, LEVEL_NUMA, LEVEL_CACHE, LEVELS };

struct core {
    cpu_set_t set;     /* its processors (hardware threads) that we may use */
    int group[LEVELS]; /* number of its socket, NUMA node and last-level cache */
    bool is_taken;     /* by another job; see claims.h */
};

struct topology {
    struct core *cores; /* in hwloc's order: neighbours in the list are close */
    int count;
    int sockets;             /* that have at least one of these cores */
    int processors_per_core; /* of the core that has most */
};

/*
 * Reads the cores of which at least one processor is in `allowed`. Returns false if hwloc
 * cannot be loaded or fails; `topology` is then empty. The caller closes it.
 */
bool topology_read(struct topology *topology, const cpu_set_t *allowed);

void topology_close(struct topology *topology);

#endif
