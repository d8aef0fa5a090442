/*
 * machine.h - machines that do not exist, as files of hwloc's XML.
 *
 * Processors are numbered as Linux numbers them: first one thread of every core, then the
 * second of every core.
 */
#ifndef WEFT_TEST_MACHINE_H
#define WEFT_TEST_MACHINE_H

#include <sched.h>
#include <stdbool.h>

struct machine {
    const char *name;
    int sockets;
    int numa;             /* nodes of each socket */
    int caches;           /* L3 of each NUMA node; 0: hwloc does not know them */
    int cores;            /* of each cache, or of each NUMA node without them */
    int threads;          /* of each core */
    const char *allowed;  /* processors of a cgroup, as hwloc shows it; NULL: all */
    const char *affinity; /* those of mpiexec, if a cgroup does not say so; NULL: all */
};

/* Adds the numbers of a list such as "0-3,8" to a set. */
void machine_read_list(const char *list, cpu_set_t *set);

/* From now on hwloc reads this machine; NULL: the real one. */
void machine_use(const struct machine *machine);

/* The processors that mpiexec has on the machine in use. */
void machine_affinity(cpu_set_t *set);

#endif
