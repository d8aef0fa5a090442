/*
 * programs.c - the MPI programs that the ranks of a job run one after the other.
 *
 * A rank may be a script that runs several MPI programs. Each of them is a world of its
 * own and must not see what the one before has left, so each has its own segment. Ranks
 * inherit that of the first program; a process that finds its slice of it used asks for
 * the next one over PMI-1. Each host makes the segment of program n when the first of its
 * ranks asks for it; all-zero is its valid empty state, so nobody waits for the others,
 * who may still run program n - 1. All ranks have to run the same number of programs: one
 * that ends earlier fails the job, because the others would wait for it for ever.
 */
#include "job_parts.h"
#include "texts.h"

#include <stdio.h>

bool job_has_left_out_program(const struct job *job, int local, char *why, size_t size)
{
    if (job->ranks[local].program >= job->last_program) {
        return false;
    }
    snprintf(why, size, TEXT_FEWER_PROGRAMS);
    return true;
}

/* Ranks of this host that have ended and left this program out fail the job. */
static void note(struct job *job, int program)
{
    if (program <= job->last_program) {
        return;
    }
    job->last_program = program;
    for (int r = 0; r < job->count; r++) {
        char why[256];

        if (job_rank_has_ended(job, r) &&
            job_has_left_out_program(job, r, why, sizeof(why))) {
            job_lose_or_fail(job, r, 1, why);
        }
    }
}

void job_on_program(struct job *job, int program)
{
    if (job_is_daemon(job) || program > job->last_program) {
        tree_tell(job, FRAME_PROGRAM, program);
    }
    note(job, program);
}

/* One of our ranks has begun this program: everybody is to know, for its own ranks. */
static void announce(struct job *job, int rank, int program)
{
    if (program <= job->last_program) {
        return;
    }
    if (job_is_daemon(job)) {
        tree_report(job, FRAME_PROGRAM, rank, program, NULL, 0);
        note(job, program);
    } else {
        job_on_program(job, program);
    }
}

int job_on_next_program(void *owner, int rank, int *program, const char **why)
{
    struct job *job = owner;
    const int local = job_local(job, rank);
    const struct weft_slice *slice =
        weft_segment_slice(job_segment_of(job, local), (uint32_t)local);
    const int number = job->ranks[local].program + 1;
    int segment;

    /* Acquire: pairs with the release in MPI_Finalize. */
    if (atomic_load_explicit(&slice->state, memory_order_acquire) != WEFT_SLICE_CLOSED) {
        *why = "in_use";
        job_blame(job, 1, rank, TEXT_SECOND_PROGRAM);
        return -1;
    }
    segment = job_open_program(job, number);
    if (segment < 0) {
        *why = "no_memory";
        return -1;
    }
    job->ranks[local].program = number;
    *program = number;
    job_drop_unused_programs(job);
    announce(job, rank, number);
    return segment;
}
