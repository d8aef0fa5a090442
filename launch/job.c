#include "job.h"

#include "job_parts.h"
#include "keeper.h"

#include "base/clock.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

enum { EVENTS = 128 };

static const uint64_t PROMPT_NS = UINT64_C(200000000);

/* Standard output takes nothing any more, and nothing else has failed before. */
static bool has_output_failed(struct job *job)
{
    if (job->output.error == 0 || job->has_failed) {
        return false;
    }
    if (job->output.error == EPIPE) { /* its reader has ended us: head, say */
        job_fail_silently(job, 128 + SIGPIPE);
    } else {
        job_fail_silently(job, 1);
        job_say(job, "standard output: %s: ending the job", strerror(job->output.error));
    }
    return true;
}

static void tend_outputs(struct job *job, uint64_t now)
{
    job_tend_sink(job, &job->output, now);
    job_tend_sink(job, &job->error, now);
    if (job->output.is_terminal || job->error.is_terminal) {
        for (int r = 0; r < job->plan->ranks; r++) {
            stream_prompt(&job->ranks[r].output, now, PROMPT_NS);
            stream_prompt(&job->ranks[r].error, now, PROMPT_NS);
        }
    }
    if (has_output_failed(job)) {
        job_happen(job, RANK_FAILED);
    }
}

static void look_at_clock(struct job *job, uint64_t now)
{
    if (job->grace_end != 0 && now >= job->grace_end) {
        job->grace_end = 0;
        job_happen(job, GRACE_OVER);
    }
    if (job->time_out != 0 && now >= job->time_out) {
        job->time_out = 0;
        if (!job->has_failed || job_is_going_on(job)) {
            job_fail_silently(job, 124);
            job_say(job, "no end after %g s (--timeout): ending the job",
                    job->plan->timeout);
        }
        job_happen(job, TIMED_OUT);
    }
}

/* Milliseconds until the clock has to be looked at; -1: never. */
static int patience(const struct job *job, uint64_t now)
{
    const uint64_t ends[] = {job->grace_end, job->time_out};
    int64_t best = -1;

    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        if (ends[i] != 0) {
            int64_t left = ends[i] > now ? (int64_t)((ends[i] - now) / 1000000) + 1 : 0;

            best = best < 0 || left < best ? left : best;
        }
    }
    if (job->output.is_waiting || job->error.is_waiting) {
        best =
            best < 0 || best > 5 ? 5 : best; /* files and terminals cannot be watched */
    } else if (job->output.is_terminal || job->error.is_terminal ||
               job->output.is_leaving_out || job->error.is_leaving_out ||
               job->is_input_left_out) {
        best = best < 0 || best > 100 ? 100 : best;
    }
    return best > 1000000 ? 1000000 : (int)best;
}

static void run_loop(struct job *job)
{
    struct epoll_event events[EVENTS];

    while (job->state != DONE) {
        uint64_t now = weft_clock_ns();
        int n = epoll_wait(job->epoll, events, EVENTS, patience(job, now));

        for (int i = 0; i < n; i++) {
            job_dispatch(job, events[i].data.u64);
        }
        now = weft_clock_ns();
        tend_outputs(job, now);
        job_tend_input(job);
        look_at_clock(job, now);
    }
}

static bool make_segment(struct job *job)
{
    const struct weft_segment_plan plan = {
        .job = (uint64_t)getpid(),
        .job_size = (uint32_t)job->plan->ranks,
        .node_count = 1,
        .node = 0,
        .local_size = (uint32_t)job->plan->ranks,
        .is_by_launcher = true,
    };

    if (weft_segment_create(&plan, &job->segment) != WEFT_OK) {
        return false;
    }
    for (uint32_t r = 0; r < plan.local_size; r++) {
        weft_segment_map(&job->segment)[r] =
            (struct weft_place){.node = 0, .local_rank = r};
        weft_segment_locals(&job->segment)[r] = r;
    }
    return true;
}

static bool open_job(struct job *job, const struct plan *plan, int front)
{
    sigset_t child;

    memset(job, 0, sizeof(*job));
    job->plan = plan;
    job->front = front;
    job->input = -1;
    job->state = STARTING;
    gethostname(job->host, sizeof(job->host) - 1);
    job->ranks = calloc((size_t)plan->ranks, sizeof(*job->ranks));
    job->pmi.clients = calloc((size_t)plan->ranks, sizeof(*job->pmi.clients));
    job->epoll = epoll_create1(EPOLL_CLOEXEC);
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, NULL);
    job->children = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
    if (job->ranks == NULL || job->pmi.clients == NULL || job->epoll < 0 ||
        job->children < 0) {
        job_say(job, "prepare the job: %s", strerror(errno));
        return false;
    }
    for (int r = 0; r < plan->ranks; r++) {
        job->ranks[r].output.fd = job->ranks[r].error.fd = job->pmi.clients[r].fd = -1;
    }
    job->pmi.size = plan->ranks;
    job->pmi.aborted = job_on_abort;
    job->pmi.owner = job;
    snprintf(job->pmi.name, sizeof(job->pmi.name), "weft-%ld", (long)getpid());
    snprintf(job->pmi.mapping, sizeof(job->pmi.mapping), "(vector,(0,1,%d))",
             plan->ranks);
    sink_open(&job->output, STDOUT_FILENO);
    sink_open(&job->error, STDERR_FILENO);
    job->error_to =
        sink_is_same(STDOUT_FILENO, STDERR_FILENO) ? &job->output : &job->error;
    job_watch(job, job->children, FROM_CHILDREN, 0);
    job_watch(job, front, FROM_FRONT, 0);
    environment_open(&job->environment, plan);
    return make_segment(job) && placement_open(&job->placement, plan);
}

/* The front is gone, or wants to end now: nobody cares for what is still to be read. */
static bool is_given_up(struct job *job)
{
    struct pollfd p = {.fd = job->front, .events = POLLIN};
    unsigned char signal;

    while (job->front >= 0 && poll(&p, 1, 0) > 0) {
        if (read(job->front, &signal, 1) <= 0 || job_is_asked_to_end(job, signal)) {
            close(job->front);
            job->front = -1;
        }
    }
    return job->front < 0;
}

/* Gives the reader of our output a moment. */
static bool wait_for_reader(struct job *job)
{
    const struct timespec pause = {.tv_sec = 0, .tv_nsec = 1000000};

    if (is_given_up(job)) {
        return false;
    }
    nanosleep(&pause, NULL);
    sink_flush(&job->output);
    sink_flush(&job->error);
    return true;
}

static void finish(struct job *job, struct stream *stream)
{
    while (stream != NULL && stream->fd >= 0 && !stream_may_read(stream)) {
        if (!wait_for_reader(job)) {
            return;
        }
    }
    if (stream != NULL) {
        stream_finish(stream);
    }
}

/* Nothing is left: neither processes, nor words that were said but not passed on. */
static void close_job(struct job *job)
{
    if (!keeper_sweep()) {
        job_say(job, "some processes cannot be killed");
    }
    finish(job, job->output.owner); /* a line that was begun comes first */
    finish(job, job->error.owner);
    for (int r = 0; r < job->plan->ranks; r++) {
        finish(job, &job->ranks[r].output);
        finish(job, &job->ranks[r].error);
    }
    do {
        while ((job->output.is_waiting || job->error.is_waiting) &&
               wait_for_reader(job)) {
        }
    } while (has_output_failed(job)); /* which may have something to say itself */
    pmi_service_close(&job->pmi);
    placement_close(&job->placement);
    environment_close(&job->environment);
}

int job_run(const struct plan *plan, int front)
{
    static struct job job;

    spawn_raise_limit();
    if (!open_job(&job, plan, front)) {
        return 1;
    }
    placement_report(&job.placement, plan);
    if (plan->timeout > 0) {
        job.time_out = weft_clock_ns() + (uint64_t)(plan->timeout * 1e9);
    }
    job_start_ranks(&job);
    run_loop(&job);
    close_job(&job);
    return job.code;
}
