/*
 * allocation.h - the hosts that a batch system has given to the job.
 *
 *   - Flux, an instance (FLUX_URI): what `flux getattr hostlist` prints; slots are not
 *     said.
 *   - Slurm: SLURM_JOB_NODELIST and SLURM_TASKS_PER_NODE. A heterogeneous job has
 *     SLURM_HET_SIZE components, and both variables for each, with _HET_GROUP_i behind
 *     their names.
 *   - PBS: PBS_NODEFILE, a file with a line for each slot.
 *   - LSF: LSB_DJOB_HOSTFILE, a file with a line for each slot; or LSB_MCPU_HOSTS, host
 *     and slots in turn; or LSB_HOSTS, a word for each slot.
 *   - SGE: PE_HOSTFILE, a file with host, slots and more in a line.
 *
 * The first that is there counts: Flux is looked for first, because an instance may run
 * inside an allocation of another system. A file that the user names in HYDRA_HOST_FILE,
 * in any form of hostfile.c, counts more than all of them.
 */
#ifndef WEFT_LAUNCH_ALLOCATION_H
#define WEFT_LAUNCH_ALLOCATION_H

#include "hosts.h"

#include <stdbool.h>

/*
 * Adds the hosts of the allocation; none where there is no allocation. False after a line
 * if there is one and its hosts cannot be read: the job must not run on the first of them
 * alone.
 */
bool allocation_add_hosts(struct hosts *hosts);

/* Adds the hosts of one component of a heterogeneous job of Slurm; false: it has none. */
bool allocation_add_component(struct hosts *hosts, int number);

#endif
