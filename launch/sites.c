/*
 * sites.c - where in the program ranks are: the place of the call that a rank is in, from
 * its black box, and the stack of a rank that does not wait in MPI, if that was asked
 * for.
 *
 * Each daemon looks up those of its host, where the paths of the programs are valid. The
 * texts go to the root with what ranks do.
 */
#include "job_parts.h"

#include "proc.h"
#include "stuck.h"
#include "where.h"

#include <stdio.h>
#include <string.h>

enum { STACKS_MOST = 16 }; /* on a host: each holds its rank for a moment */

pid_t job_pid_of(const struct job *job, int local)
{
    const struct weft_slot_entry *slot =
        weft_segment_slot(job_segment_of(job, local), (uint32_t)local);
    const pid_t leader = job->ranks[local].pid;
    const struct proc_stat stat =
        slot->pid > 0 ? proc_stat(slot->pid) : (struct proc_stat){0};

    return stat.state != 0 && stat.group == leader ? slot->pid : leader;
}

/* A call and its twin with large counts are said by one name, or by two. */
static bool is_same_call(const char *a, const char *b)
{
    const size_t n = strlen(a) < strlen(b) ? strlen(a) : strlen(b);

    return strncmp(a, b, n) == 0 &&
           (strcmp(a + n, b + n) == 0 || strcmp(a + n, "_c") == 0 ||
            strcmp(b + n, "_c") == 0);
}

/*
 * The newest event of a rank that waits is the call that it waits in, unless another
 * thread has called MPI since: then the names differ, as a rule, and no place is said.
 */
static void name_site(const struct job *job, int local, struct where *where,
                      struct stuck_rank *rank)
{
    const struct weft_slice *slice =
        weft_segment_slice(job_segment_of(job, local), (uint32_t)local);
    struct weft_trace_last last;

    if (weft_trace_read_last(weft_slice_trace(slice), &last) &&
        is_same_call(weft_trace_name(weft_trace_call(&last.event)), rank->doing.call)) {
        snprintf(rank->site, sizeof(rank->site), "%.*s", STUCK_SITE - 1,
                 where_name(where, last.modules, (int)last.module_count,
                            weft_trace_address(&last.event)));
    }
}

/*
 * A rank that waits for nothing that the engine knows of may be in a call nevertheless,
 * as in MPI_File_open of a file system that does not answer. Then the rest of `doing` has
 * the name of this call. With several threads it is the one that has begun last.
 */
static void name_call(const struct job *job, int local, struct where *where,
                      struct stuck_rank *rank)
{
    const struct weft_slice *slice =
        weft_segment_slice(job_segment_of(job, local), (uint32_t)local);
    const struct weft_trace *trace = weft_slice_trace(slice);
    struct weft_trace_last last;

    /* Acquire: it pairs with the release in weft_recorder_enter(), so that the event of
     * this call, or a later one, is seen. */
    if (rank->life == STUCK_LIVING && !rank->is_polling &&
        atomic_load_explicit(&trace->now.inside, memory_order_acquire) != 0 &&
        weft_trace_read_last(trace, &last)) {
        memset(&rank->doing, 0, sizeof(rank->doing));
        weft_doing_copy(rank->doing.call, sizeof(rank->doing.call),
                        weft_trace_name(weft_trace_call(&last.event)));
        name_site(job, local, where, rank);
    }
}

/* Its stack tells more than the place of its call. */
static bool has_stack(const struct stuck_rank *rank)
{
    return !stuck_is_waiting(rank) &&
           (rank->life == STUCK_LIVING || rank->life == STUCK_NOT_BEGUN ||
            rank->life == STUCK_FINALIZED);
}

void job_name_sites(const struct job *job, struct stuck_rank *ranks, bool has_stacks)
{
    struct where *where = where_open();
    int stacks = 0;

    for (int r = 0; r < job->count; r++) {
        if (stuck_is_waiting(&ranks[r])) {
            name_site(job, r, where, &ranks[r]);
            continue;
        }
        name_call(job, r, where, &ranks[r]);
        if (has_stacks && has_stack(&ranks[r]) && stacks < STACKS_MOST) {
            snprintf(ranks[r].stack, sizeof(ranks[r].stack), "%.*s", STUCK_STACK - 1,
                     where_stack(where, job_pid_of(job, r)));
            stacks++;
        }
    }
    where_close(where);
}
