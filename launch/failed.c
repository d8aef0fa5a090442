/*
 * failed.c - ranks that have ended while the others go on (--keep-going).
 *
 * Every host is told of each, because a rank there may wait for one that it has never
 * spoken to. The daemon of the rank marks it in its own segments (segments.c), and tells
 * the root; the root prints the line, and tells all daemons. Each of them appends the
 * rank to the list in its segments.
 */
#include "job_parts.h"

#include <string.h>

/* Here, and by every daemon below. */
static void note_failed(struct job *job, int rank, int program)
{
    job_note_failed(job, rank, program);
    tree_tell_rank(job, FRAME_RANK_FAILED, rank, program);
}

/* To the root: the program, and the cause. */
static void report(struct job *job, int rank, int code, int program, const char *cause)
{
    struct bytes payload = {NULL, 0, 0};

    bytes_add_number(&payload, program);
    bytes_add(&payload, cause, strlen(cause) + 1);
    tree_report(job, FRAME_RANK_FAILED, rank, code, payload.at, payload.count);
    bytes_free(&payload);
}

static void lose(struct job *job, int local, int code, const char *cause)
{
    const int rank = job_rank(job, local);
    const int program = job_mark_lost(job, local, cause);

    if (job_is_daemon(job)) {
        report(job, rank, code, program, cause);
    } else {
        job_blame_note(job, rank);
        job_fail(job, code, rank, "%s", cause);
        note_failed(job, rank, program);
    }
    pmi_service_rank_lost(&job->pmi, rank);
}

void job_lose_or_fail(struct job *job, int local, int code, const char *cause)
{
    if (job->plan->keeps_going) {
        lose(job, local, code, cause);
    } else {
        job_blame(job, code, job_rank(job, local), cause);
    }
}

void job_on_rank_failed(struct job *job, const struct frame *frame, const char *payload)
{
    struct reader reader = {payload, frame->bytes, false};
    const int64_t program = reader_number(&reader);

    if (frame->rank < 0 || frame->rank >= job->plan->ranks || reader.is_bad ||
        reader.left == 0 || reader.at[reader.left - 1] != '\0') {
        return;
    }
    job_blame_note(job, frame->rank);
    job_fail(job, frame->value, frame->rank, "%s", reader.at);
    note_failed(job, frame->rank, (int)program);
}

void job_on_rank_failed_elsewhere(struct job *job, const struct frame *frame)
{
    if (frame->rank >= 0 && frame->rank < job->plan->ranks) {
        note_failed(job, frame->rank, frame->value);
    }
}
