/*
 * wireup.h - how a process learns its rank, the size of the job and which ranks share its
 * node; a barrier and a key-value store through the launcher; and how the job is ended.
 *
 * weft_wireup_open() finds out how the process was started:
 *
 *   our mpiexec    WEFT_JOB names an inherited job segment: nobody has to be asked
 *   Slurm          PMI_FD, PMI_JOBID and SLURM_STEP_ID: PMI-2
 *   hydra, others  PMI_FD: PMI-1
 *   Slurm, PRRTE   PMIX_NAMESPACE: PMIx
 *   nothing        a job of one
 *
 * A segment of an unknown layout (a container's library under the host's mpiexec) is left
 * alone and the next line of the table is tried. A process that was started by a launcher
 * but cannot reach it says so and fails: it never becomes a lonely rank 0. A program
 * started by a rank after MPI_Init (WEFT_INSIDE names another process) is a job of one,
 * unless that rank started another launcher in between.
 *
 * A rank under our own mpiexec may run several MPI programs, one after the other (a shell
 * script, say). The second finds that its slice of the inherited segment was used, and
 * asks mpiexec for the segment of the job's second program; so does the third. Keys are
 * kept apart by the number of the program.
 *
 * It is opened once, on the thread that calls MPI_Init, and stays open until exit,
 * because PMI-1 and PMI-2 cannot be reopened.
 */
#ifndef WEFT_WIREUP_WIREUP_H
#define WEFT_WIREUP_WIREUP_H

#include "wireup/kvs.h"

struct weft_job {
    struct weft_who who;
    struct weft_segment segment;
    struct weft_slice *slice;       /* mine */
    const struct weft_kvs_ops *kvs; /* NULL: a job of one */
    bool is_kvs_open;
    int pid;            /* of the process that opened it; a forked child is not a rank */
    bool is_by_mpiexec; /* our mpiexec watches the segment */
    int program;        /* how many MPI programs this rank has run before this one */
    bool is_one_node;   /* every rank of the job has mapped the segment */
};

WEFT_MUST_CHECK enum weft_rc weft_wireup_open(struct weft_job *job);

/* Tells the launcher that this rank is done; called at exit, after MPI_Finalize. */
void weft_wireup_close(struct weft_job *job);

/*
 * Returns when every rank of the job has called it as often as this one; through the
 * launcher, for jobs whose ranks do not share a segment.
 */
WEFT_MUST_CHECK enum weft_rc weft_wireup_fence(struct weft_job *job);

/*
 * Publishes a value under a key, for instance an address; other ranks find it by
 * weft_wireup_lookup(). Collective over the job, once for each key. Under our own mpiexec
 * no rank waits for another. The value has printable characters without blanks, at most
 * WEFT_KVS_VALUE_MAX of them.
 */
WEFT_MUST_CHECK enum weft_rc weft_wireup_publish(struct weft_job *job, const char *key,
                                                 const char *value);

/*
 * What `rank` has published, or will: waits for it. `value` has room for
 * WEFT_KVS_VALUE_MAX + 1. WEFT_ERR_ARGUMENT: it ended without.
 */
WEFT_MUST_CHECK enum weft_rc weft_wireup_lookup(struct weft_job *job, int rank,
                                                const char *key, char *value);

/*
 * Looks up what `rank` has published, without waiting. WEFT_AGAIN: it is not known yet;
 * call again later with the same key. Lookups of several ranks may be under way at once.
 */
WEFT_MUST_CHECK enum weft_rc weft_wireup_try_lookup(struct weft_job *job, int rank,
                                                    const char *key, char *value);

/*
 * For who waits for lookups: is there any sense in calling again now? Then the answer of
 * one of them has come, not necessarily the caller's. When none has, the descriptor
 * becomes readable with the next one; -1: lookups do not wait under this launcher.
 */
bool weft_wireup_has_answers(const struct weft_job *job);
int weft_wireup_descriptor(const struct weft_job *job);

/*
 * Compares the settings that must be the same on all ranks (same.h). WEFT_ERR_ARGUMENT:
 * they differ, and `why` names both ranks, the setting and both values. Ranks of one node
 * do not wait for each other. Between nodes, the first ranks of the nodes compare; under
 * our own mpiexec they wait for each other only if they have values other than the
 * defaults.
 */
WEFT_MUST_CHECK enum weft_rc weft_wireup_same(struct weft_job *job, char *why,
                                              size_t room);

/*
 * Ends the job with this exit code, naming the cause once; from any thread, takes no
 * lock of the library. What the program has printed is written out first, for half a
 * second at most. A code that would read as success becomes 1. Does not return: exits by
 * itself if the launcher has not ended the process within a second.
 */
_Noreturn void weft_wireup_abort(struct weft_job *job, int code, const char *cause);

#endif
