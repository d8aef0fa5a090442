/*
 * blame.c - which failure ends the job, and which ranks it takes along.
 *
 * One rank's failure is the cause; what it does to others is a consequence. A rank that
 * fails because another is gone (MPI_ERR_PROC_ABORTED, a lost connection) may be heard of
 * first. So such a failure is held for a moment, in which the cause can still come. It is
 * the cause itself if none does. The line of the cause is printed at once.
 *
 * Before a host ends its ranks it looks at what they do, and tells the root. When all
 * hosts have told it, or the job is over, the root prints how many ranks have waited for
 * the one that failed.
 */
#include "job_parts.h"

#include "stuck.h"

#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t HOLD_NS = UINT64_C(200000000);

struct blame {
    int rank;            /* of the cause; -1: there is none yet */
    uint64_t held_until; /* 0: nothing is held */
    int held_rank;
    int held_code;
    char held[WEFT_CAUSE_BYTES];
    bool has_looked;
    struct stuck_rank *ranks; /* the root's, by rank */
    bool *is_consequence;     /* by rank */
    bool *has_told;           /* by daemon */
    int missing;              /* daemons that have not told */
    int told;                 /* the rank that has been told of already; -1: none */
    bool is_said;
};

static struct blame *blame_of(struct job *job)
{
    struct blame *blame = job->blame;

    if (blame != NULL) {
        return blame;
    }
    blame = calloc(1, sizeof(*blame));
    if (blame == NULL) {
        return NULL;
    }
    blame->rank = -1;
    blame->told = -1;
    if (!job_is_daemon(job)) {
        blame->ranks = calloc((size_t)job->plan->ranks, sizeof(*blame->ranks));
        blame->is_consequence = calloc((size_t)job->plan->ranks, sizeof(bool));
        blame->has_told = calloc((size_t)job->setup.layout.count, sizeof(bool));
    }
    job->blame = blame;
    return blame;
}

static bool has_tables(const struct blame *blame)
{
    return blame->ranks != NULL && blame->is_consequence != NULL &&
           blame->has_told != NULL;
}

static bool is_consequence(const char *cause)
{
    return strstr(cause, "MPI_ERR_PROC_ABORTED") != NULL ||
           strstr(cause, "lost the connection") != NULL ||
           strstr(cause, " died: ") != NULL;
}

static void note_consequence(struct job *job, struct blame *blame, int rank)
{
    if (!job_is_daemon(job) && has_tables(blame)) {
        blame->is_consequence[rank] = true;
    }
}

/* ---- who waited ---- */

static void say_waiters(struct job *job)
{
    struct blame *blame = job->blame;
    const struct stuck stuck = {blame->ranks, job->plan->ranks};
    struct bytes text = {NULL, 0, 0};
    bool *marks = calloc((size_t)job->plan->ranks, sizeof(bool));
    char list[400];
    int count = 0;

    blame->is_said = true;
    if (marks == NULL) {
        return;
    }
    blame->ranks[blame->rank] = (struct stuck_rank){.life = STUCK_DEAD};
    stuck_mark_waiters(&stuck, blame->rank, marks);
    for (int r = 0; r < job->plan->ranks; r++) {
        marks[r] |= blame->is_consequence[r] || (blame->ranks[r].life == STUCK_DEAD &&
                                                 is_consequence(blame->ranks[r].why));
        marks[r] &= r != blame->rank && r != blame->told;
        count += marks[r];
    }
    stuck_list(&stuck, marks, list, sizeof(list));
    if (count > 0) {
        stuck_say(&text, "  and %d %srank%s that waited for it: %s", count,
                  blame->told >= 0 ? "more " : "", count == 1 ? "" : "s", list);
        job_print(job, text.at, text.count);
    }
    bytes_free(&text);
    free(marks);
}

static void take_picture(struct job *job, int daemon, const struct stuck_rank *ranks)
{
    const struct station *station = &job->setup.layout.stations[daemon];
    struct blame *blame = job->blame;

    if (blame == NULL || blame->rank < 0 || !has_tables(blame) || blame->is_said ||
        blame->has_told[daemon]) {
        return;
    }
    blame->has_told[daemon] = true;
    for (int r = 0; r < station->ranks; r++) {
        blame->ranks[layout_rank(&job->setup.layout, station->first + r)] = ranks[r];
    }
    if (--blame->missing == 0) {
        say_waiters(job);
    }
}

static void open_picture(struct job *job)
{
    struct blame *blame = job->blame;

    if (job_is_daemon(job) || !has_tables(blame)) {
        return;
    }
    for (int d = 0; d < job->setup.layout.count; d++) {
        blame->missing += job->setup.layout.stations[d].ranks > 0;
    }
}

void job_blame_look(struct job *job)
{
    struct blame *blame = blame_of(job);
    struct stuck_rank *ranks;

    if (blame == NULL || blame->has_looked) {
        return;
    }
    blame->has_looked = true;
    open_picture(job);
    if (job->count == 0 || job->segment.header == NULL) {
        return;
    }
    ranks = calloc((size_t)job->count, sizeof(*ranks));
    for (int r = 0; ranks != NULL && r < job->count; r++) {
        job_look_at(job, r, &ranks[r]);
    }
    if (ranks != NULL && job_is_daemon(job)) {
        tree_report(job, FRAME_DOING, -1, FRAME_DOING_AT_END, ranks,
                    (size_t)job->count * sizeof(*ranks));
    } else if (ranks != NULL) {
        take_picture(job, 0, ranks);
    }
    free(ranks);
}

void job_on_doing_at_end(struct job *job, const struct frame *frame, const char *payload)
{
    struct stuck_rank *ranks = job_read_doing(job, frame, payload);

    if (ranks != NULL) {
        take_picture(job, frame->from, ranks);
    }
    free(ranks);
}

/* ---- which is the cause ---- */

static void stop(struct job *job)
{
    job_blame_look(job);
    job_happen(job, RANK_FAILED);
}

/* The job has failed before and went on (--keep-going): this is why it does no longer. */
static void say_held(struct job *job, const struct blame *blame)
{
    struct bytes text = {NULL, 0, 0};

    stuck_say(&text, "  rank %d on %s, which waited for it, ends the job: %s",
              blame->held_rank, layout_host_of(&job->setup.layout, blame->held_rank),
              blame->held);
    job_print(job, text.at, text.count);
    bytes_free(&text);
}

/* No other cause has come. */
static void let_go(struct job *job)
{
    struct blame *blame = job->blame;

    blame->held_until = 0;
    if (job->has_failed && !job_is_daemon(job)) {
        if (job_is_going_on(job)) {
            blame->told = blame->held_rank;
            say_held(job, blame);
        }
    } else {
        blame->rank = blame->held_rank;
        job_fail(job, blame->held_code, blame->held_rank, "%s", blame->held);
    }
    stop(job);
}

static void hold(struct job *job, int code, int rank, const char *cause)
{
    struct blame *blame = job->blame;

    note_consequence(job, blame, rank);
    if (blame->held_until == 0) {
        blame->held_until = weft_clock_ns() + HOLD_NS;
        blame->held_rank = rank;
        blame->held_code = code;
        snprintf(blame->held, sizeof(blame->held), "%s", cause);
    }
}

static bool is_ending(const struct job *job)
{
    return job->state != STARTING && job->state != RUNNING;
}

void job_blame(struct job *job, int code, int rank, const char *cause)
{
    struct blame *blame = blame_of(job);

    if (blame != NULL && is_ending(job)) {
        note_consequence(job, blame, rank);
    } else if (blame != NULL && is_consequence(cause)) {
        hold(job, code, rank, cause);
    } else {
        if (blame != NULL && blame->rank < 0) {
            blame->rank = rank;
        }
        job_fail(job, code, rank, "%s", cause);
        stop(job);
    }
}

void job_blame_note(struct job *job, int rank)
{
    struct blame *blame = blame_of(job);

    if (blame != NULL && blame->rank < 0) {
        blame->rank = rank;
    }
}

uint64_t job_blame_due(const struct job *job)
{
    return job->blame != NULL ? job->blame->held_until : 0;
}

void job_blame_tend(struct job *job, uint64_t now)
{
    if (job_blame_due(job) != 0 && (now >= job_blame_due(job) || is_ending(job))) {
        let_go(job);
    }
}

void job_blame_close(struct job *job)
{
    struct blame *blame = job->blame;

    if (blame == NULL) {
        return;
    }
    job_blame_tend(job, UINT64_MAX);
    if (!job_is_daemon(job) && blame->rank >= 0 && has_tables(blame) && !blame->is_said) {
        say_waiters(job);
    }
}
