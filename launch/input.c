/*
 * input.c - standard input, which is rank 0's.
 *
 * Where rank 0 is on this host, it gets our own standard input and reads it or leaves it
 * alone; only a terminal has to be read by us, in whose foreground the ranks are not. On
 * another host it gets a pipe: what we read goes there, never more than INPUT_WINDOW
 * ahead of what that pipe has taken.
 */
#include "job_parts.h"

#include "descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { INPUT_BYTES = 4096 }; /* no more than a pipe with room takes at once */

/* A pipe to a rank 0 that we have to feed; -1 where there is none to be had. */
static int make_pipe(struct job *job, int *ours)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) != 0) {
        return descriptors_open_nothing();
    }
    job->input = ends[1];
    fcntl(ends[1], F_SETFL, O_NONBLOCK);
    *ours = ends[0];
    return ends[0];
}

static void watch_input(struct job *job)
{
    struct epoll_event event = {.events = EPOLLIN,
                                .data.u64 = (uint64_t)FROM_INPUT << 32};

    if (epoll_ctl(job->epoll, EPOLL_CTL_ADD, STDIN_FILENO, &event) != 0 &&
        errno == EPERM) {
        job->is_input_unwatched = true; /* a file: never to be waited for */
    }
}

/*
 * Where we are not in the foreground of a terminal, we leave our process group: who kills
 * it does not kill us with it.
 */
int job_choose_input(struct job *job, int *ours)
{
    const bool is_terminal = isatty(STDIN_FILENO) == 1;
    const bool is_in_front = is_terminal && tcgetpgrp(STDIN_FILENO) == getpgrp();

    *ours = -1;
    if (job_is_daemon(job)) {
        return job_has_rank(job, 0) ? make_pipe(job, ours) : descriptors_open_nothing();
    }
    if (!is_in_front) {
        setpgid(0, 0);
    }
    if (!job_has_rank(job, 0)) {
        job->is_input_elsewhere = true;
        if (!is_terminal || is_in_front) {
            watch_input(job);
        }
        return descriptors_open_nothing();
    }
    if (!is_terminal) {
        return STDIN_FILENO;
    }
    if (!is_in_front) {
        return descriptors_open_nothing();
    }
    job_watch(job, STDIN_FILENO, FROM_INPUT, 0);
    return make_pipe(job, ours);
}

/* In the background what is typed is not for us, and a full pipe would block us. */
static bool can_feed(const struct job *job)
{
    struct pollfd p = {.fd = job->input, .events = POLLOUT};

    if (isatty(STDIN_FILENO) == 1 && tcgetpgrp(STDIN_FILENO) != getpgrp()) {
        return false;
    }
    if (job->is_input_elsewhere) {
        return job->input_untaken < INPUT_WINDOW;
    }
    return poll(&p, 1, 0) > 0;
}

static void send_input(struct job *job, const char *text, size_t n)
{
    const struct frame frame = {.kind = FRAME_INPUT,
                                .bytes = (uint32_t)n,
                                .to = layout_daemon_of(&job->setup.layout, 0),
                                .from = 0,
                                .rank = 0};

    tree_send(job, &frame, text);
    job->input_untaken += n;
}

/* From a terminal, which the ranks, in groups of their own, cannot read themselves. */
void job_on_input(struct job *job)
{
    char text[INPUT_BYTES];
    ssize_t n;

    if (!can_feed(job)) {
        epoll_ctl(job->epoll, EPOLL_CTL_DEL, STDIN_FILENO, NULL);
        job->is_input_left_out = true;
        return;
    }
    n = read(STDIN_FILENO, text, sizeof(text));
    if (n < 0 && (errno == EAGAIN || errno == EINTR || errno == EIO)) {
        return; /* EIO: in the background since we looked; the next look sees it */
    }
    if (job->is_input_elsewhere) {
        send_input(job, text, n > 0 ? (size_t)n : 0);
        if (n <= 0) {
            epoll_ctl(job->epoll, EPOLL_CTL_DEL, STDIN_FILENO, NULL);
            job->is_input_elsewhere = false;
        }
        return;
    }
    if (n <= 0 || write(job->input, text, (size_t)n) < 0) {
        epoll_ctl(job->epoll, EPOLL_CTL_DEL, STDIN_FILENO, NULL);
        close(job->input);
        job->input = -1;
    }
}

/* A daemon's part: as much as rank 0's pipe takes. */
static void feed(struct job *job)
{
    ssize_t n = 0;

    if (job->input < 0) {
        n = (ssize_t)job->input_held.count; /* nobody wants it */
    } else if (job->input_held.count > 0) {
        n = write(job->input, job->input_held.at, job->input_held.count);
        if (n < 0 && errno != EAGAIN && errno != EINTR) {
            n = (ssize_t)job->input_held.count;
        }
    }
    if (n > 0) {
        bytes_drop(&job->input_held, (size_t)n);
        tree_report(job, FRAME_INPUT_TAKEN, 0, (int)n, NULL, 0);
    }
    if (job->is_input_at_end && job->input_held.count == 0 && job->input >= 0) {
        close(job->input);
        job->input = -1;
    }
    job->is_input_left_out = job->input_held.count > 0;
}

void job_on_input_frame(struct job *job, const char *text, size_t n)
{
    job->is_input_at_end |= n == 0;
    bytes_add(&job->input_held, text, n);
    feed(job);
}

void job_tend_input(struct job *job)
{
    if (job_is_daemon(job)) {
        if (job->is_input_left_out) {
            feed(job);
        }
        return;
    }
    if (job->is_input_left_out && can_feed(job)) {
        job->is_input_left_out = false;
        watch_input(job);
    }
    while (job->is_input_elsewhere && job->is_input_unwatched && can_feed(job)) {
        job_on_input(job);
    }
}
