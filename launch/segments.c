/*
 * segments.c - the segments of the MPI programs that this host's ranks run, and which
 * ranks of the job are missing in each (--keep-going).
 */
#include "job_parts.h"

#include <stdlib.h>

struct program {
    struct program *next;
    int number; /* from 1: the first program has job->segment */
    struct weft_segment segment;
};

/* A rank of the job that has ended while the others go on. */
struct failed {
    struct failed *next;
    int rank;
    int program; /* the first in which it is missing */
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
            weft_segment_map(out)[layout_rank(layout, station->first + r)] =
                (struct weft_location){.node = (uint32_t)n, .local_rank = (uint32_t)r};
        }
    }
    for (int r = 0; r < job->count; r++) {
        weft_segment_plan_slot(out, (uint32_t)r, (uint32_t)job_rank(job, r));
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

bool job_rank_has_ended(const struct job *job, int local)
{
    return job->ranks[local].pid > 0 && !job->ranks[local].is_running;
}

/* Those that are missing in a program that begins now. */
static void list_failed(const struct job *job, const struct weft_segment *segment,
                        int program)
{
    for (const struct failed *f = job->failed; f != NULL; f = f->next) {
        if (f->program <= program) {
            weft_segment_fail(segment, (uint32_t)f->rank);
        }
    }
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
        if (job_rank_has_ended(job, r)) { /* and the others go on */
            weft_segment_lose(&made->segment, (uint32_t)r, "it has ended before");
        }
    }
    list_failed(job, &made->segment, number);
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

void job_drop_unused_programs(struct job *job)
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

int job_mark_lost(struct job *job, int local, const char *cause)
{
    const struct weft_segment *now = job_segment_of(job, local);
    const struct weft_slice *slice = weft_segment_slice(now, (uint32_t)local);

    /* A rank that has finalized is not awaited by any other. */
    const bool is_missed =
        atomic_load_explicit(&slice->state, memory_order_acquire) != WEFT_SLICE_CLOSED;

    if (is_missed) {
        weft_segment_lose(now, (uint32_t)local, cause);
    }
    for (struct program *p = job->programs; p != NULL; p = p->next) {
        if (p->number > job->ranks[local].program &&
            weft_segment_why_lost(&p->segment, (uint32_t)local) == NULL) {
            weft_segment_lose(&p->segment, (uint32_t)local, cause);
        }
    }
    return job->ranks[local].program + (is_missed ? 0 : 1);
}

int job_open_program(struct job *job, int number)
{
    const struct program *program = find(job, number);

    program = program != NULL ? program : make(job, number);
    return program != NULL ? program->segment.fd : -1;
}

void job_note_failed(struct job *job, int rank, int program)
{
    struct failed *failed = calloc(1, sizeof(*failed));

    if (failed != NULL) {
        *failed = (struct failed){job->failed, rank, program};
        job->failed = failed;
    }
    if (job_has_rank(job, rank)) {
        return; /* ours: job_mark_lost() has marked it, with the cause */
    }
    if (program == 0 && job->segment.header != NULL) { /* a daemon may say so too early */
        weft_segment_fail(&job->segment, (uint32_t)rank);
    }
    for (struct program *p = job->programs; p != NULL; p = p->next) {
        if (p->number >= program) {
            weft_segment_fail(&p->segment, (uint32_t)rank);
        }
    }
}
