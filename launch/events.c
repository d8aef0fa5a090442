/*
 * events.c - from descriptors to events: what ranks, front and terminal do.
 */
#include "job_parts.h"
#include "texts.h"

#include "base/clock.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

static int rank_of(const struct job *job, pid_t pid)
{
    for (int r = 0; r < job->count; r++) {
        if (job->ranks[r].pid == pid) {
            return r;
        }
    }
    return -1; /* an orphan that a rank has left */
}

/*
 * The next process that has ended; it stays a zombie until it is reaped, which the kernel
 * may still be asked about. A shell ends with 137 if SIGKILL has ended its command.
 */
static pid_t look_for_zombie(struct job *job)
{
    siginfo_t info = {.si_pid = 0};

    job->killer[0] = '\0';
    if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) {
        return 0;
    }
    if ((job->state == STARTING || job->state == RUNNING) &&
        ((info.si_code == CLD_KILLED && info.si_status == SIGKILL) ||
         (info.si_code == CLD_EXITED && info.si_status == 128 + SIGKILL))) {
        (void)memory_has_killed(&job->memory, info.si_pid, job->killer,
                                sizeof(job->killer));
    }
    return info.si_pid;
}

static void on_children(struct job *job)
{
    struct signalfd_siginfo info;
    int status;
    pid_t pid;

    while (read(job->children, &info, sizeof(info)) > 0) {
    }
    while ((pid = look_for_zombie(job)) > 0 && waitpid(pid, &status, WNOHANG) == pid) {
        int r = rank_of(job, pid);

        if (r >= 0 && job->ranks[r].is_running) {
            job->ranks[r].is_running = false;
            job->running--;
            job_box_note_end(job, r, status);
            job_judge_end(job, r, status);
            pmi_service_rank_ended(&job->pmi, job_rank(job, r));
        } else if (!tree_reap(job, pid, status)) {
            job_reap_debugger(job, pid, status);
        }
    }
}

void job_look_for_end(struct job *job)
{
    if (job->running > 0 || job->debuggers > 0 || job->state == STARTING ||
        !tree_has_ended(job)) {
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
        job_say(job, TEXT_SIGNAL, strsignal(signal),
                signal == SIGINT ? "; once more ends it at once" : "");
    }
    return true;
}

/* A signal that ends a daemon ends its part of the job. */
static void end_daemon(struct job *job, int signal)
{
    char why[128];

    snprintf(why, sizeof(why), TEXT_DAEMON_SIGNAL, strsignal(signal));
    tree_cut_off(job, why);
}

static void on_front(struct job *job)
{
    unsigned char signals[32];
    ssize_t n = read(job->front, signals, sizeof(signals));

    if (n == 0) {
        close(job->front);
        job->front = -1;
        if (job_is_daemon(job)) {
            tree_cut_off(job, TEXT_DAEMON_FRONT);
        } else {
            job_happen(job, FRONT_GONE);
        }
    }
    for (ssize_t i = 0; i < n; i++) {
        if (job_is_daemon(job) && is_an_end(signals[i])) {
            end_daemon(job, signals[i]);
        } else if (job_is_asked_to_end(job, signals[i])) {
            job->is_given_up = job->state == DONE;
            if (signals[i] == SIGTERM && job->cut_short == 0) {
                job->cut_short = weft_clock_ns();
            }
            job_happen(job, ASKED_TO_END);
        } else { /* SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT */
            if (signals[i] == SIGUSR1 && !job_is_daemon(job)) {
                job_hang_ask(job, "SIGUSR1");
                job_box_look(job);
            }
            job_signal_ranks(job, signals[i]);
            if (!job_is_daemon(job)) {
                tree_tell(job, FRAME_SIGNAL, signals[i]);
            }
        }
    }
}

/*
 * A stream that may not be read now would wake the loop for ever, so it leaves the set
 * until there is room.
 */
static void on_stream(struct job *job, int local, int which)
{
    struct rank *rank = &job->ranks[local];
    struct stream *stream = which == STDERR_FILENO ? &rank->error : &rank->output;

    if (stream->fd < 0) {
        return; /* it was closed after the loop had heard of it */
    }
    if (job_is_daemon(job)) {
        job_relay(job, local, which);
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
    if (stream->sink != sink || stream->fd < 0) {
        return false;
    }
    if (!stream_may_read(stream)) {
        return true;
    }
    job_watch_again(job, stream->fd, source, rank);
    return false;
}

void job_tend_sink(struct job *job, struct sink *sink, uint64_t now)
{
    bool is_leaving_out = false;

    if (sink->is_waiting) {
        sink_flush(sink);
    }
    sink_end_long_line(sink, now);
    for (int r = 0; sink->is_leaving_out && r < job->count; r++) {
        struct rank *rank = &job->ranks[r];

        is_leaving_out |= take_up(job, &rank->output, sink, FROM_OUTPUT, r);
        is_leaving_out |= take_up(job, &rank->error, sink, FROM_ERROR, r);
    }
    sink->is_leaving_out = is_leaving_out;
}

static void on_pmi(struct job *job, struct pmi_client *client)
{
    if (client->fd >= 0 && !pmi_service_tend(&job->pmi, client)) {
        epoll_ctl(job->epoll, EPOLL_CTL_DEL, client->fd, NULL);
        pmi_client_close(client);
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
    case FROM_INPUT_ROOM:
        job_on_input_room(job);
        break;
    case FROM_OUTPUT:
        on_stream(job, (int)rank, STDOUT_FILENO);
        break;
    case FROM_ERROR:
        on_stream(job, (int)rank, STDERR_FILENO);
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
    case FROM_TOP:
        job_on_top(job);
        break;
    case FROM_TOP_ROOM:
        job_on_top_room(job);
        break;
    }
}
