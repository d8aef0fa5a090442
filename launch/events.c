/*
 * events.c - from descriptors to events: what ranks, front and terminal do.
 */
#include "job_parts.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

static const uint64_t SILENCE_NS = UINT64_C(1000000000);

/*
 * What the kernel says of a rank's end: its exit code, and the cause in words. 0: it is
 * no failure.
 */
static int describe(int status, enum weft_slice_state state, char *cause, size_t size)
{
    if (WIFSIGNALED(status)) {
        snprintf(cause, size, "killed by signal %d, %s%s", WTERMSIG(status),
                 strsignal(WTERMSIG(status)), WCOREDUMP(status) ? ", core dumped" : "");
        return 128 + WTERMSIG(status);
    }
    if (WEXITSTATUS(status) == 127 && state == WEFT_SLICE_EMPTY) {
        snprintf(cause, size,
                 "ended with code 127: a library or command that it needs is not there");
    } else if (WEXITSTATUS(status) != 0) {
        snprintf(cause, size, "ended with code %d", WEXITSTATUS(status));
    } else if (state == WEFT_SLICE_OPEN) {
        snprintf(cause, size, "ended without calling MPI_Finalize");
        return 1;
    }
    return WEXITSTATUS(status);
}

/* The same for a rank whose slice was overwritten: nobody knows whether it was through.
 */
static int describe_overwritten(int status, char *cause, size_t size)
{
    char said[128] = "ended with code 0";
    const int code = describe(status, WEFT_SLICE_CLOSED, said, sizeof(said));

    snprintf(cause, size,
             "%s; some rank has overwritten memory of MPI: look for a write outside of "
             "an array",
             said);
    return code != 0 ? code : 1;
}

/* How one of our ranks ended, and whether that is a failure. */
static void judge(struct job *job, int local, int status)
{
    const struct weft_slice *slice =
        weft_segment_slice(job_segment_of(job, local), (uint32_t)local);
    const int rank = local + job->first;
    struct weft_slice_end end;
    char cause[256];
    bool is_sound;
    int code;

    if (job->state == STOPPING || job->state == KILLING) {
        return; /* our own doing */
    }
    is_sound = weft_slice_read_end(slice, &end);
    if (is_sound && end.state == WEFT_SLICE_ABORTED) {
        job_fail(job, end.code, rank, "%s", end.cause);
        job_happen(job, RANK_FAILED);
        return;
    }
    code = is_sound ? describe(status, end.state, cause, sizeof(cause))
                    : describe_overwritten(status, cause, sizeof(cause));
    if (code == 0 && job_has_left_out_program(job, local, cause, sizeof(cause))) {
        code = 1;
    }
    if (code == 0) {
        return;
    }
    job_fail(job, code, rank, "%s", cause);
    job_happen_unless_going_on(job);
    if (job->plan->keeps_going) {
        job_lose_rank(job, local, cause);
    }
}

static int rank_of(const struct job *job, pid_t pid)
{
    for (int r = 0; r < job->count; r++) {
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
            pmi_service_rank_ended(&job->pmi, r + job->first);
        } else {
            tree_reap(job, pid, status);
        }
    }
}

void job_look_for_end(struct job *job)
{
    if (job->running > 0 || job->state == STARTING || !tree_has_ended(job)) {
        return;
    }
    if (!job_is_daemon(job)) {
        job_happen(job, ALL_ENDED);
    } else if (job->tree.is_cut_off) {
        job->state = DONE;
    } else if (!job->has_told_end) {
        job->has_told_end = true;
        tree_answer(job, FRAME_ENDED);
    }
}

void job_on_abort(void *owner, int rank, int code)
{
    struct job *job = owner;
    const struct weft_slice *slice = weft_segment_slice(
        job_segment_of(job, rank - job->first), (uint32_t)(rank - job->first));
    struct weft_slice_end end;

    if (weft_slice_read_end(slice, &end) && end.state == WEFT_SLICE_ABORTED) {
        job_fail(job, end.code, rank, "%s", end.cause);
    } else { /* another library's rank */
        job_fail(job, (code & 0xff) == 0 ? 1 : code & 0xff, rank,
                 "MPI_Abort with code %d", code);
    }
    job_happen(job, RANK_FAILED);
}

static bool is_an_end(int signal)
{
    return signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT;
}

bool job_is_asked_to_end(struct job *job, int signal)
{
    if (!is_an_end(signal)) {
        return false;
    }
    if (!job->has_failed || job_is_going_on(job)) {
        job_fail_silently(job, 128 + signal);
        job->asked = signal;
        job_say(job, "%s: ending the job%s", strsignal(signal),
                signal == SIGINT ? "; once more ends it at once" : "");
    }
    return true;
}

static void on_front(struct job *job)
{
    unsigned char signals[32];
    ssize_t n = read(job->front, signals, sizeof(signals));

    if (n == 0) {
        close(job->front);
        job->front = -1;
        if (job_is_daemon(job)) {
            tree_cut_off(job);
        } else {
            job_happen(job, FRONT_GONE);
        }
    }
    for (ssize_t i = 0; i < n; i++) {
        if (job_is_daemon(job) && is_an_end(signals[i])) {
            tree_cut_off(job); /* who ends a daemon ends its part of the job */
        } else if (job_is_asked_to_end(job, signals[i])) {
            job_happen(job, ASKED_TO_END);
        } else { /* SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT */
            job_signal_ranks(job, signals[i]);
            if (!job_is_daemon(job)) {
                tree_tell(job, FRAME_SIGNAL, signals[i]);
            }
        }
    }
}

void job_watch(struct job *job, int fd, enum source source, int rank)
{
    struct epoll_event event = {
        .events = EPOLLIN,
        .data.u64 = (uint64_t)source << 32 | (uint32_t)rank,
    };

    if (epoll_ctl(job->epoll, EPOLL_CTL_ADD, fd, &event) != 0) {
        job_say(job, "watch descriptor %d: %s", fd, strerror(errno));
    }
}

/*
 * A stream that may not be read now would wake the loop for ever, so it leaves the set
 * until there is room.
 */
static void on_stream(struct job *job, struct stream *stream, int which)
{
    if (job_is_daemon(job)) {
        job_relay(job, stream, which);
    } else if (!stream_may_read(stream)) {
        epoll_ctl(job->epoll, EPOLL_CTL_DEL, stream->fd, NULL);
        stream->sink->is_leaving_out = true;
    } else if (!stream_read(stream)) {
        epoll_ctl(job->epoll, EPOLL_CTL_DEL, stream->fd, NULL);
        stream_finish(stream);
    }
}

/* True if the stream stays left out. */
static bool take_up(struct job *job, struct stream *stream, const struct sink *sink,
                    enum source source, int rank)
{
    struct epoll_event event = {
        .events = EPOLLIN,
        .data.u64 = (uint64_t)source << 32 | (uint32_t)rank,
    };

    if (stream->sink != sink || stream->fd < 0) {
        return false;
    }
    if (!stream_may_read(stream)) {
        return true;
    }
    epoll_ctl(job->epoll, EPOLL_CTL_ADD, stream->fd, &event); /* or it is in it */
    return false;
}

void job_tend_sink(struct job *job, struct sink *sink, uint64_t now)
{
    bool is_leaving_out = false;

    if (sink->is_waiting) {
        sink_flush(sink);
    }
    sink_end_long_line(sink, now, SILENCE_NS);
    for (int r = 0; sink->is_leaving_out && r < job->count; r++) {
        struct rank *rank = &job->ranks[r];

        is_leaving_out |= take_up(job, &rank->output, sink, FROM_OUTPUT, r);
        is_leaving_out |= take_up(job, &rank->error, sink, FROM_ERROR, r);
    }
    sink->is_leaving_out = is_leaving_out;
}

static void on_pmi(struct job *job, struct pmi_client *client)
{
    if (!pmi_service_read(&job->pmi, client)) {
        epoll_ctl(job->epoll, EPOLL_CTL_DEL, client->fd, NULL);
        close(client->fd);
        client->fd = -1;
    }
}

void job_dispatch(struct job *job, uint64_t data)
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
        job_on_input(job);
        break;
    case FROM_OUTPUT:
        on_stream(job, &job->ranks[rank].output, STDOUT_FILENO);
        break;
    case FROM_ERROR:
        on_stream(job, &job->ranks[rank].error, STDERR_FILENO);
        break;
    case FROM_PMI:
        on_pmi(job, &job->pmi.clients[rank]);
        break;
    case FROM_UP:
        tree_on_up(job);
        break;
    case FROM_CHILD:
        tree_on_child(job, (int)rank);
        break;
    case FROM_CHILD_ERROR:
        tree_on_child_error(job, (int)rank);
        break;
    }
}
