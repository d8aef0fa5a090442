#include "job.h"

#include "keeper.h"
#include "output.h"
#include "placement.h"
#include "pmi_service.h"
#include "spawn.h"

#include "base/clock.h"
#include "wireup/segment.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { EVENTS = 128, INPUT_BYTES = 4096 };

static const uint64_t GRACE_NS = UINT64_C(1000000000);
static const uint64_t PROMPT_NS = UINT64_C(200000000);

struct rank {
    pid_t pid;
    bool is_running;
    struct stream output;
    struct stream error;
};

struct job {
    const struct plan *plan;
    char host[256];
    struct rank *ranks;
    int running;
    struct weft_segment segment;
    struct placement placement;
    struct environment environment;
    struct pmi_service pmi;
    struct sink output;
    struct sink error;
    int epoll;
    int children; /* a signalfd for SIGCHLD */
    int front;
    int input; /* our end of rank 0's standard input, if we feed it; else -1 */
    int state; /* enum state */
    int code;  /* the exit code; set by the first failure */
    int asked; /* the signal that asked us to end the job */
    bool has_failed;
    uint64_t grace_end; /* 0: none */
    uint64_t time_out;  /* 0: none */
};

/* ---- the table of states ---- */

enum state { STARTING, RUNNING, STOPPING, KILLING, DONE, STATES };

enum event {
    ALL_STARTED,
    START_FAILED,
    RANK_FAILED,
    ALL_ENDED,
    ASKED_TO_END, /* Ctrl-C and its like */
    TIMED_OUT,
    GRACE_OVER,
    FRONT_GONE,
    EVENT_COUNT,
};

typedef void action_fn(struct job *job);

static action_fn do_nothing;
static action_fn stop_all; /* ask the ranks to end, and wait a while */
static action_fn kill_all; /* end them */
static action_fn pass_signal_and_stop;

struct transition {
    action_fn *action; /* NULL: this event changes nothing in this state */
    enum state next;
};

static const struct transition table[STATES][EVENT_COUNT] = {
    [STARTING] =
        {
            [ALL_STARTED] = {do_nothing, RUNNING},
            [START_FAILED] = {stop_all, STOPPING},
            [RANK_FAILED] = {stop_all, STOPPING},
            [ASKED_TO_END] = {pass_signal_and_stop, STOPPING},
            [FRONT_GONE] = {kill_all, KILLING},
        },
    [RUNNING] =
        {
            [RANK_FAILED] = {stop_all, STOPPING},
            [ASKED_TO_END] = {pass_signal_and_stop, STOPPING},
            [TIMED_OUT] = {stop_all, STOPPING},
            [FRONT_GONE] = {kill_all, KILLING},
            [ALL_ENDED] = {do_nothing, DONE},
        },
    [STOPPING] =
        {
            [ASKED_TO_END] = {kill_all, KILLING},
            [GRACE_OVER] = {kill_all, KILLING},
            [FRONT_GONE] = {kill_all, KILLING},
            [ALL_ENDED] = {do_nothing, DONE},
        },
    [KILLING] =
        {
            [ALL_ENDED] = {do_nothing, DONE},
        },
};

static void happen(struct job *job, enum event event)
{
    const struct transition *t = &table[job->state][event];

    if (t->action != NULL) {
        job->state = t->next;
        t->action(job);
    }
}

/* ---- words to the user: one line, on standard error ---- */

static void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void say(const char *format, ...)
{
    char line[2048];
    int n = snprintf(line, sizeof(line), "%s: ", program_name);
    va_list args;

    va_start(args, format);
    n += vsnprintf(line + n, sizeof(line) - (size_t)n - 1, format, args);
    va_end(args);
    n = n < (int)sizeof(line) - 1 ? n : (int)sizeof(line) - 2;
    line[n++] = '\n';
    if (write(STDERR_FILENO, line, (size_t)n) < 0) {
        return;
    }
}

/* The program of a rank. */
static const struct app *app_of(const struct job *job, int rank)
{
    const struct app *app = job->plan->apps;

    while (rank >= app->ranks) {
        rank -= app->ranks;
        app++;
    }
    return app;
}

/* The first failure counts: its code and its line; what follows is a consequence. */
static void fail(struct job *job, int code, int rank, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static void fail(struct job *job, int code, int rank, const char *format, ...)
{
    char cause[1024];
    va_list args;

    if (job->has_failed) {
        return;
    }
    job->has_failed = true;
    job->code = code;
    va_start(args, format);
    vsnprintf(cause, sizeof(cause), format, args);
    va_end(args);
    say("rank %d on %s (%s): %s", rank, job->host, app_of(job, rank)->argv[0], cause);
}

/* ---- what the table does ---- */

static void do_nothing(struct job *job)
{
    (void)job;
}

/* To each rank and whatever it has started in its process group. */
static void signal_ranks(struct job *job, int signal)
{
    for (int r = 0; r < job->plan->ranks; r++) {
        if (job->ranks[r].is_running) {
            kill(-job->ranks[r].pid, signal);
        }
    }
}

static void start_grace(struct job *job)
{
    signal_ranks(job, SIGCONT); /* a stopped process could not end itself */
    job->grace_end = weft_clock_ns() + GRACE_NS;
}

static void stop_all(struct job *job)
{
    signal_ranks(job, SIGTERM);
    start_grace(job);
}

static void pass_signal_and_stop(struct job *job)
{
    signal_ranks(job, job->asked);
    start_grace(job);
}

static void kill_all(struct job *job)
{
    job->grace_end = 0;
    signal_ranks(job, SIGKILL);
    keeper_signal_all(SIGKILL);
}

/* ---- events ---- */

/* How a rank ended, and whether that is a failure. */
static void judge(struct job *job, int rank, int status)
{
    const struct weft_slice *slice = weft_segment_slice(&job->segment, (uint32_t)rank);
    /* Acquire: pairs with the rank's release, after it wrote code and cause. */
    uint32_t state = atomic_load_explicit(&slice->state, memory_order_acquire);

    if (job->state == STOPPING || job->state == KILLING) {
        return; /* our own doing */
    }
    if (state == WEFT_SLICE_ABORTED) {
        fail(job, slice->code, rank, "%s", slice->cause);
    } else if (WIFSIGNALED(status)) {
        fail(job, 128 + WTERMSIG(status), rank, "killed by signal %d, %s%s",
             WTERMSIG(status), strsignal(WTERMSIG(status)),
             WCOREDUMP(status) ? ", core dumped" : "");
    } else if (WEXITSTATUS(status) != 0) {
        fail(job, WEXITSTATUS(status), rank, "ended with code %d", WEXITSTATUS(status));
    } else if (state == WEFT_SLICE_OPEN) {
        fail(job, 1, rank, "ended without calling MPI_Finalize");
    } else {
        return;
    }
    happen(job, RANK_FAILED);
}

static int rank_of(const struct job *job, pid_t pid)
{
    for (int r = 0; r < job->plan->ranks; r++) {
        if (job->ranks[r].pid == pid) {
            return r;
        }
    }
    return -1; /* an orphan that a rank has left */
}

static void on_children(struct job *job)
{
    struct signalfd_siginfo info;
    int status;
    pid_t pid;

    while (read(job->children, &info, sizeof(info)) > 0) {
    }
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        int r = rank_of(job, pid);

        if (r >= 0 && job->ranks[r].is_running) {
            job->ranks[r].is_running = false;
            job->running--;
            judge(job, r, status);
        }
    }
    if (job->running == 0) {
        happen(job, ALL_ENDED);
    }
}

static void on_abort(void *owner, int rank, int code)
{
    struct job *job = owner;
    const struct weft_slice *slice = weft_segment_slice(&job->segment, (uint32_t)rank);

    if (atomic_load_explicit(&slice->state, memory_order_acquire) == WEFT_SLICE_ABORTED) {
        fail(job, slice->code, rank, "%s", slice->cause);
    } else { /* another library's rank */
        fail(job, (code & 0xff) == 0 ? 1 : code & 0xff, rank, "MPI_Abort with code %d",
             code);
    }
    happen(job, RANK_FAILED);
}

static void on_front(struct job *job)
{
    unsigned char signals[32];
    ssize_t n = read(job->front, signals, sizeof(signals));

    if (n == 0) {
        close(job->front);
        job->front = -1;
        happen(job, FRONT_GONE);
    }
    for (ssize_t i = 0; i < n; i++) {
        switch (signals[i]) {
        case SIGINT:
        case SIGTERM:
        case SIGHUP:
        case SIGQUIT:
            if (!job->has_failed) {
                job->has_failed = true;
                job->code = 128 + signals[i];
                job->asked = signals[i];
                say("%s: ending the job%s", strsignal(signals[i]),
                    signals[i] == SIGINT ? "; once more ends it at once" : "");
            }
            happen(job, ASKED_TO_END);
            break;
        default: /* SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT */
            signal_ranks(job, signals[i]);
        }
    }
}

/* From a terminal, which the ranks, in groups of their own, cannot read themselves. */
static void on_input(struct job *job)
{
    char text[INPUT_BYTES];
    ssize_t n = read(STDIN_FILENO, text, sizeof(text));

    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    if (n <= 0 || write(job->input, text, (size_t)n) < 0) {
        epoll_ctl(job->epoll, EPOLL_CTL_DEL, STDIN_FILENO, NULL);
        close(job->input);
        job->input = -1;
    }
}

/* ---- the event loop ---- */

/* What an event is about, packed beside a rank's number. */
enum source { FROM_CHILDREN, FROM_FRONT, FROM_INPUT, FROM_OUTPUT, FROM_ERROR, FROM_PMI };

static void watch(struct job *job, int fd, enum source source, int rank)
{
    struct epoll_event event = {
        .events = EPOLLIN,
        .data.u64 = (uint64_t)source << 32 | (uint32_t)rank,
    };

    if (epoll_ctl(job->epoll, EPOLL_CTL_ADD, fd, &event) != 0) {
        say("watch descriptor %d: %s", fd, strerror(errno));
    }
}

/*
 * A stream that may not be read now would wake the loop for ever, so it leaves the set
 * until there is room.
 */
static void on_stream(struct job *job, struct stream *stream)
{
    if (!stream_may_read(stream)) {
        epoll_ctl(job->epoll, EPOLL_CTL_DEL, stream->fd, NULL);
        stream->sink->is_waiting = true;
    } else if (!stream_read(stream)) {
        epoll_ctl(job->epoll, EPOLL_CTL_DEL, stream->fd, NULL);
        stream_finish(stream);
    }
}

static void on_pmi(struct job *job, struct pmi_client *client)
{
    if (!pmi_service_read(&job->pmi, client)) {
        epoll_ctl(job->epoll, EPOLL_CTL_DEL, client->fd, NULL);
        close(client->fd);
        client->fd = -1;
    }
}

static void dispatch(struct job *job, uint64_t data)
{
    const uint32_t rank = (uint32_t)data;

    switch ((enum source)(data >> 32)) {
    case FROM_CHILDREN:
        on_children(job);
        break;
    case FROM_FRONT:
        on_front(job);
        break;
    case FROM_INPUT:
        on_input(job);
        break;
    case FROM_OUTPUT:
        on_stream(job, &job->ranks[rank].output);
        break;
    case FROM_ERROR:
        on_stream(job, &job->ranks[rank].error);
        break;
    case FROM_PMI:
        on_pmi(job, &job->pmi.clients[rank]);
        break;
    }
}

/* Streams that were left out come back when their sink has room again. */
static void tend_sink(struct job *job, struct sink *sink, enum source source)
{
    if (!sink->is_waiting) {
        return;
    }
    sink_flush(sink);
    for (int r = 0; r < job->plan->ranks; r++) {
        struct rank *rank = &job->ranks[r];
        struct stream *stream = source == FROM_OUTPUT ? &rank->output : &rank->error;
        struct epoll_event event = {
            .events = EPOLLIN,
            .data.u64 = (uint64_t)source << 32 | (uint32_t)r,
        };

        if (stream_may_read(stream)) {
            epoll_ctl(job->epoll, EPOLL_CTL_ADD, stream->fd, &event); /* or is in it */
        }
    }
}

static void tend_outputs(struct job *job, uint64_t now)
{
    tend_sink(job, &job->output, FROM_OUTPUT);
    tend_sink(job, &job->error, FROM_ERROR);
    if (job->output.is_terminal || job->error.is_terminal) {
        for (int r = 0; r < job->plan->ranks; r++) {
            stream_prompt(&job->ranks[r].output, now, PROMPT_NS);
            stream_prompt(&job->ranks[r].error, now, PROMPT_NS);
        }
    }
    if (job->output.is_closed && !job->has_failed) {
        job->has_failed = true; /* as if the pipe's reader had ended us: head, say */
        job->code = 128 + SIGPIPE;
        happen(job, RANK_FAILED);
    }
}

static void look_at_clock(struct job *job, uint64_t now)
{
    if (job->grace_end != 0 && now >= job->grace_end) {
        job->grace_end = 0;
        happen(job, GRACE_OVER);
    }
    if (job->time_out != 0 && now >= job->time_out) {
        job->time_out = 0;
        if (!job->has_failed) {
            job->has_failed = true;
            job->code = 124;
            say("no end after %g s (--timeout): ending the job", job->plan->timeout);
        }
        happen(job, TIMED_OUT);
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
    } else if (job->output.is_terminal || job->error.is_terminal) {
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
            dispatch(job, events[i].data.u64);
        }
        now = weft_clock_ns();
        tend_outputs(job, now);
        look_at_clock(job, now);
    }
}

/* ---- start ---- */

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

/*
 * Rank 0 gets our own standard input, which it then reads or leaves alone; only a
 * terminal has to be read by us, in whose foreground the ranks are not.
 */
static int choose_input(struct job *job, int *ours)
{
    int ends[2];

    *ours = -1;
    if (isatty(STDIN_FILENO) != 1) {
        return fcntl(STDIN_FILENO, F_GETFD) < 0 ? open("/dev/null", O_RDONLY | O_CLOEXEC)
                                                : STDIN_FILENO;
    }
    if (tcgetpgrp(STDIN_FILENO) != getpgrp() || pipe2(ends, O_CLOEXEC) != 0) {
        return open("/dev/null", O_RDONLY | O_CLOEXEC);
    }
    job->input = ends[1];
    *ours = ends[0];
    watch(job, STDIN_FILENO, FROM_INPUT, 0);
    return ends[0];
}

static bool open_stream(struct job *job, struct stream *stream, struct sink *sink,
                        int rank, int *theirs)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) != 0) {
        return false;
    }
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    *stream = (struct stream){
        .fd = ends[0],
        .rank = rank,
        .is_labelled = job->plan->is_labelling,
        .sink = sink,
    };
    *theirs = ends[1];
    return true;
}

/* The pipes and the socket of one rank; false if descriptors have run out. */
static bool open_rank(struct job *job, int r, struct birth *birth)
{
    struct rank *rank = &job->ranks[r];
    int ends[2];

    birth->output = birth->error = birth->pmi = -1;
    if (!open_stream(job, &rank->output, &job->output, r, &birth->output) ||
        !open_stream(job, &rank->error, &job->error, r, &birth->error) ||
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        return false;
    }
    job->pmi.clients[r].fd = ends[0];
    job->pmi.clients[r].rank = r;
    job->pmi.clients[r].app = (int)(app_of(job, r) - job->plan->apps);
    birth->pmi = ends[1];
    watch(job, rank->output.fd, FROM_OUTPUT, r);
    watch(job, rank->error.fd, FROM_ERROR, r);
    watch(job, ends[0], FROM_PMI, r);
    return true;
}

static void close_theirs(const struct birth *birth)
{
    const int fds[] = {birth->output, birth->error, birth->pmi};

    for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
        if (fds[i] >= 0) {
            close(fds[i]);
        }
    }
}

static bool start_rank(struct job *job, int r, int input)
{
    struct birth birth = {
        .app = app_of(job, r),
        .environment = &job->environment,
        .processors = placement_of(&job->placement, r),
        .rank = r,
        .size = job->plan->ranks,
        .input = input,
        .segment = job->segment.fd,
    };
    struct stillborn why = {.step = "make pipes", .error = 0};
    pid_t pid = -1;

    if (open_rank(job, r, &birth)) {
        pid = spawn_rank(&birth, &why);
    } else {
        why.error = errno;
    }
    close_theirs(&birth);
    if (pid < 0) {
        fail(job, why.error == ENOENT ? 127 : 126, r, "%s%s%s", why.step,
             why.step[0] == '\0' ? "" : ": ", strerror(why.error));
        return false;
    }
    job->ranks[r].pid = pid;
    job->ranks[r].is_running = true;
    job->running++;
    return true;
}

static void start_ranks(struct job *job)
{
    int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    int feed;
    int input = choose_input(job, &feed);

    for (int r = 0; r < job->plan->ranks && job->state == STARTING; r++) {
        if (!start_rank(job, r, r == 0 ? input : nothing)) {
            happen(job, START_FAILED);
        }
    }
    if (feed >= 0) {
        close(feed);
    }
    close(nothing);
    happen(job, ALL_STARTED);
    if (job->running == 0) {
        happen(job, ALL_ENDED);
    }
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
        say("prepare the job: %s", strerror(errno));
        return false;
    }
    job->pmi.size = plan->ranks;
    job->pmi.aborted = on_abort;
    job->pmi.owner = job;
    snprintf(job->pmi.name, sizeof(job->pmi.name), "weft-%ld", (long)getpid());
    snprintf(job->pmi.mapping, sizeof(job->pmi.mapping), "(vector,(0,1,%d))",
             plan->ranks);
    sink_open(&job->output, STDOUT_FILENO);
    sink_open(&job->error, STDERR_FILENO);
    watch(job, job->children, FROM_CHILDREN, 0);
    watch(job, front, FROM_FRONT, 0);
    environment_open(&job->environment, plan);
    return make_segment(job) && placement_open(&job->placement, plan);
}

/* Nothing is left: neither processes, nor words that were said but not passed on. */
static void close_job(struct job *job)
{
    if (!keeper_sweep()) {
        say("some processes cannot be killed");
    }
    for (int r = 0; r < job->plan->ranks; r++) {
        stream_finish(&job->ranks[r].output);
        stream_finish(&job->ranks[r].error);
    }
    while (job->output.is_waiting || job->error.is_waiting) {
        const struct timespec pause = {.tv_sec = 0, .tv_nsec = 1000000};

        sink_flush(&job->output);
        sink_flush(&job->error);
        nanosleep(&pause, NULL);
    }
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
    start_ranks(&job);
    run_loop(&job);
    close_job(&job);
    return job.code;
}
