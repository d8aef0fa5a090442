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

#include <stdio.h>
#include <stdlib.h>

struct program {
    struct program *next;
    int number; /* from 1: the first program has job->segment */
    struct weft_segment segment;
};

bool job_make_segment(const struct job *job, struct weft_segment *out)
{
    const struct layout *layout = &job->setup.layout;
    const struct weft_segment_plan plan = {
        .job = job->setup.job,
        .job_size = (uint32_t)job->plan->ranks,
        .node_count = (uint32_t)layout->nodes,
        .node = (uint32_t)layout->stations[job->tree.me].node,
        .local_size = (uint32_t)job->count,
        .is_by_launcher = true,
        .secret = job->setup.secret,
    };

    if (weft_segment_create(&plan, out) != WEFT_OK) {
        return false;
    }
    for (int n = 0; n < layout->nodes; n++) {
        const struct station *station = &layout->stations[layout->by_node[n]];

        for (int r = 0; r < station->ranks; r++) {
            weft_segment_map(out)[station->first + r] =
                (struct weft_place){.node = (uint32_t)n, .local_rank = (uint32_t)r};
        }
    }
    for (int r = 0; r < job->count; r++) {
        weft_segment_plan_slot(out, (uint32_t)r, (uint32_t)(job->first + r));
    }
    return true;
}

static struct program *find(const struct job *job, int number)
{
    struct program *at = job->programs;

    while (at != NULL && at->number != number) {
        at = at->next;
    }
    return at;
}

const struct weft_segment *job_segment_of(const struct job *job, int local)
{
    const struct program *program = find(job, job->ranks[local].program);

    return program != NULL ? &program->segment : &job->segment;
}

static bool has_ended(const struct rank *rank)
{
    return rank->pid > 0 && !rank->is_running;
}

/* The segment of a program that a rank of this host is the first to begin. */
static struct program *make(struct job *job, int number)
{
    struct program *made = calloc(1, sizeof(*made));

    if (made == NULL || !job_make_segment(job, &made->segment)) {
        free(made);
        return NULL;
    }
    for (int r = 0; r < job->count; r++) {
        if (job->pmi.clients[r].app > 0) { /* zero is there already */
            weft_segment_slice(&made->segment, (uint32_t)r)->app =
                (uint32_t)job->pmi.clients[r].app;
        }
        if (has_ended(&job->ranks[r])) { /* and the others go on */
            weft_segment_lose(&made->segment, (uint32_t)r, "it has ended before");
        }
    }
    made->number = number;
    made->next = job->programs;
    job->programs = made;
    return made;
}

static bool is_in_use(const struct job *job, int number)
{
    for (int r = 0; r < job->count; r++) {
        if (job->ranks[r].is_running && job->ranks[r].program <= number) {
            return true;
        }
    }
    return false;
}

static void drop_unused(struct job *job)
{
    struct program **at = &job->programs;

    while (*at != NULL) {
        struct program *program = *at;

        if (is_in_use(job, program->number)) {
            at = &program->next;
        } else {
            *at = program->next;
            weft_segment_close(&program->segment);
            free(program);
        }
    }
}

void job_lose_rank(struct job *job, int local, const char *cause)
{
    const struct weft_segment *now = job_segment_of(job, local);
    const struct weft_slice *slice = weft_segment_slice(now, (uint32_t)local);

    /* Who has finalized is missed by nobody. */
    if (atomic_load_explicit(&slice->state, memory_order_acquire) != WEFT_SLICE_CLOSED) {
        weft_segment_lose(now, (uint32_t)local, cause);
    }
    for (struct program *p = job->programs; p != NULL; p = p->next) {
        if (p->number > job->ranks[local].program) {
            weft_segment_lose(&p->segment, (uint32_t)local, cause);
        }
    }
}

bool job_has_left_out_program(const struct job *job, int local, char *why, size_t size)
{
    if (job->ranks[local].program >= job->last_program) {
        return false;
    }
    snprintf(why, size,
             "has ended after fewer MPI programs than other ranks have begun: every rank "
             "has to run the same number of them, one after the other");
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

        if (has_ended(&job->ranks[r]) &&
            job_has_left_out_program(job, r, why, sizeof(why))) {
            job_fail(job, 1, r + job->first, "%s", why);
            job_happen_unless_going_on(job);
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
    const int local = rank - job->first;
    const struct weft_slice *slice =
        weft_segment_slice(job_segment_of(job, local), (uint32_t)local);
    const int number = job->ranks[local].program + 1;
    struct program *next = find(job, number);

    /* Acquire: pairs with the release in MPI_Finalize. */
    if (atomic_load_explicit(&slice->state, memory_order_acquire) != WEFT_SLICE_CLOSED) {
        *why = "in_use";
        job_fail(job, 1, rank,
                 "has begun an MPI program, while its last one still runs or has ended "
                 "without MPI_Finalize: a rank runs them one after the other");
        job_happen(job, RANK_FAILED);
        return -1;
    }
    next = next != NULL ? next : make(job, number);
    if (next == NULL) {
        *why = "no_memory";
        return -1;
    }
    job->ranks[local].program = number;
    *program = number;
    drop_unused(job);
    announce(job, rank, number);
    return next->segment.fd;
}
