/*
 * sites.c - where in the program ranks are: the stack of a rank outside MPI, if that was
 * asked for.
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

static bool is_outside(const struct stuck_rank *rank)
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
        if (has_stacks && is_outside(&ranks[r]) && stacks < STACKS_MOST) {
            snprintf(ranks[r].stack, sizeof(ranks[r].stack), "%.*s", STUCK_STACK - 1,
                     where_stack(where, job_pid_of(job, r)));
            stacks++;
        }
    }
    where_close(where);
}
