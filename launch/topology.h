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
enum level { LEVEL_SOCKET, LEVEL_NUMA, LEVEL_CACHE, LEVEL_CORE, LEVELS };

/* A core, or one hardware thread of it; see topology_split(). */
struct core {
    cpu_set_t set;     /* its processors (hardware threads) that we may use */
    cpu_set_t whole;   /* those of the core, also where this is one thread of it */
    int group[LEVELS]; /* number of its socket, NUMA node, last-level cache and core */
    int place;         /* its core's number in its socket */
    bool is_taken;     /* by another job; see claims.h */
};

struct topology {
    struct core *cores; /* in hwloc's order: neighbours in the list are close */
    int count;
    int processors_per_core; /* of the core that has most */
    bool is_of_threads;      /* after topology_split() */
    bool has[LEVELS];        /* does this machine tell of that level? */
};

/*
 * Reads the cores of which at least one processor is in `allowed`. Sockets and cores have
 * the numbers that hwloc gives them (lstopo -l), whichever are allowed. Returns false if
 * hwloc cannot be loaded or fails; `topology` is then empty. The caller closes it.
 */
bool topology_read(struct topology *topology, const cpu_set_t *allowed);

/* Makes each hardware thread an entry of its own; false if memory has run out. */
bool topology_split(struct topology *topology);

/* How many groups of a level have at least one of these cores. */
int topology_groups(const struct topology *topology, enum level level);

void topology_close(struct topology *topology);

#endif
