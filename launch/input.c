/*
 * input.c - standard input, on its way to the ranks that --stdin names: rank 0 without
 * it.
 *
 * A single such rank on this host inherits our own standard input and reads it or leaves
 * it alone; only a terminal has to be read by us, in whose foreground the ranks are not.
 * In all other cases each of these ranks has a pipe, and we read: what the pipes of this
 * host do not take is held here, and other hosts get frames, which their daemons put into
 * the pipes of their ranks.
 *
 * Every rank gets every byte, so the slowest one sets the pace: we read no more while
 * something is held here, or while more than INPUT_WINDOW is on its way to some daemon. A
 * rank that does not read makes the others wait once its pipe is full. A rank that has
 * ended or closed its input is left out, and when all are, we read no more.
 */
#include "job_parts.h"

#include "descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

enum {
    INPUT_BYTES = 16 * 1024, /* read at once */
    INPUT_ROUNDS = 64,       /* of a file, before something else has its turn */
    NOBODY = -1,             /* `untaken` of a daemon without readers */
    BACKGROUND_MS = 100,     /* until we look whether a terminal is ours again */
};

/* ---- who reads ---- */

static int count_readers(const struct job *job)
{
    int count = 0;

    for (int r = 0; r < job->plan->ranks; r++) {
        count += plan_has_input(job->plan, r) ? 1 : 0;
    }
    return count;
}

static int count_readers_here(const struct job *job)
{
    int count = 0;

    for (int r = 0; r < job->count; r++) {
        count += plan_has_input(job->plan, job_rank(job, r)) ? 1 : 0;
    }
    return count;
}

/* Notes which other hosts have readers; false if there is no memory for it. */
static bool find_daemons(struct job *job)
{
    const struct layout *layout = &job->setup.layout;

    job->feed.untaken = calloc((size_t)layout->count, sizeof(*job->feed.untaken));
    if (job->feed.untaken == NULL) {
        return false;
    }
    for (int d = 0; d < layout->count; d++) {
        job->feed.untaken[d] = NOBODY;
    }
    for (int r = 0; r < job->plan->ranks; r++) {
        if (plan_has_input(job->plan, r) && !job_has_rank(job, r)) {
            job->feed.untaken[layout_daemon_of(layout, r)] = 0;
        }
    }
    return true;
}

static bool has_readers(const struct job *job)
{
    for (int r = 0; r < job->count; r++) {
        if (job->ranks[r].input > 0) {
            return true;
        }
    }
    for (int d = 0; job->feed.untaken != NULL && d < job->setup.layout.count; d++) {
        if (job->feed.untaken[d] != NOBODY) {
            return true;
        }
    }
    return false;
}

/* ---- pipes of this host ---- */

static void close_pipe(struct rank *rank)
{
    close(rank->input); /* which takes it out of the epoll set */
    rank->input = 0;
}

static void watch_for_room(struct job *job, const struct rank *rank)
{
    struct epoll_event event = {.events = EPOLLOUT | EPOLLONESHOT,
                                .data.u64 = (uint64_t)FROM_INPUT_ROOM << 32};

    if (epoll_ctl(job->epoll, EPOLL_CTL_MOD, rank->input, &event) != 0) {
        epoll_ctl(job->epoll, EPOLL_CTL_ADD, rank->input, &event);
    }
}

/* As much of what is held as the pipe of a rank takes. */
static void fill(struct job *job, struct rank *rank)
{
    const struct bytes *held = &job->feed.held;

    while (rank->input_at < held->count) {
        const ssize_t n =
            write(rank->input, held->at + rank->input_at, held->count - rank->input_at);

        if (n >= 0) {
            rank->input_at += (size_t)n;
        } else if (errno == EAGAIN) {
            watch_for_room(job, rank);
            return;
        } else if (errno != EINTR) {
            close_pipe(rank); /* nobody reads it any more */
            return;
        }
    }
    if (job->feed.is_at_end) {
        close_pipe(rank);
    }
}

/* Fills all pipes, and drops what all of them have. */
static void feed(struct job *job)
{
    size_t least = job->feed.held.count;
    int open = 0;

    for (int r = 0; r < job->count; r++) {
        struct rank *rank = &job->ranks[r];

        if (rank->input > 0) {
            fill(job, rank);
        }
        if (rank->input > 0) {
            least = rank->input_at < least ? rank->input_at : least;
            open++;
        }
    }
    bytes_drop(&job->feed.held, least);
    for (int r = 0; r < job->count; r++) {
        job->ranks[r].input_at -= job->ranks[r].input > 0 ? least : 0;
    }
    if (job_is_daemon(job) && open == 0 && !job->feed.is_at_end) {
        tree_report(job, FRAME_INPUT_TAKEN, -1, NOBODY, NULL, 0);
    } else if (job_is_daemon(job) && least > 0) {
        tree_report(job, FRAME_INPUT_TAKEN, -1, (int)least, NULL, 0);
    }
}

void job_on_input_room(struct job *job)
{
    feed(job);
}

/* A daemon's part. */
void job_on_input_frame(struct job *job, const char *text, size_t n)
{
    job->feed.is_at_end |= n == 0;
    bytes_add(&job->feed.held, text, n);
    feed(job);
}

static int make_pipe(struct rank *rank)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) != 0) {
        return -1;
    }
    fcntl(ends[1], F_SETFL, O_NONBLOCK);
    rank->input = ends[1];
    rank->input_at = 0;
    return ends[0];
}

int job_input_of(struct job *job, int local)
{
    const bool is_reader = plan_has_input(job->plan, job_rank(job, local));

    if (is_reader && job->feed.is_inherited) {
        return STDIN_FILENO;
    }
    return is_reader && (job_is_daemon(job) || job->feed.is_reading)
               ? make_pipe(&job->ranks[local])
               : descriptors_open_nothing();
}

/* ---- the root's ---- */

static bool is_in_front(void)
{
    return tcgetpgrp(STDIN_FILENO) == getpgrp();
}

static void watch_input(struct job *job)
{
    struct epoll_event event = {.events = EPOLLIN,
                                .data.u64 = (uint64_t)FROM_INPUT << 32};

    if (epoll_ctl(job->epoll, EPOLL_CTL_ADD, STDIN_FILENO, &event) != 0 &&
        errno == EPERM) {
        job->feed.is_unwatched = true; /* a file: never to be waited for */
    }
}

/* To all hosts that have readers, one frame for each; no bytes: the end. */
static void send_input(struct job *job, const char *text, size_t n)
{
    for (int d = 1; job->feed.untaken != NULL && d < job->setup.layout.count; d++) {
        const struct frame frame = {
            .kind = FRAME_INPUT, .bytes = (uint32_t)n, .to = d, .from = 0, .rank = -1};

        if (job->feed.untaken[d] != NOBODY) {
            tree_send(job, &frame, text);
            job->feed.untaken[d] += (int64_t)n;
        }
    }
}

static void end_input(struct job *job)
{
    if (!job->feed.is_unwatched && !job->feed.is_left_out) {
        epoll_ctl(job->epoll, EPOLL_CTL_DEL, STDIN_FILENO, NULL);
    }
    job->feed.is_reading = job->feed.is_left_out = false;
}

/*
 * Where we are not in the foreground of a terminal, we leave our process group: who kills
 * it does not kill us with it. What is typed is then not for us.
 */
void job_open_input(struct job *job)
{
    struct feed *feed = &job->feed;
    int here = count_readers_here(job);
    int all;

    if (job_is_daemon(job)) {
        return;
    }
    feed->is_terminal = isatty(STDIN_FILENO) == 1;
    if (!feed->is_terminal || !is_in_front()) {
        setpgid(0, 0);
    }
    all = count_readers(job);
    feed->is_inherited = all == 1 && here == 1 && !feed->is_terminal;
    if (all > here && !find_daemons(job)) {
        all = here; /* and what ranks elsewhere read never ends */
    }
    if (feed->is_terminal && !is_in_front()) {
        send_input(job, NULL, 0);
        return;
    }
    feed->is_reading = all > 0 && !feed->is_inherited;
    if (feed->is_reading) {
        watch_input(job);
    }
}

/* In the background what is typed is not for us. */
static bool can_feed(const struct job *job)
{
    if (job->feed.held.count > 0 || (job->feed.is_terminal && !is_in_front())) {
        return false;
    }
    for (int d = 1; job->feed.untaken != NULL && d < job->setup.layout.count; d++) {
        if (job->feed.untaken[d] >= INPUT_WINDOW) {
            return false;
        }
    }
    return true;
}

void job_on_input(struct job *job)
{
    char text[INPUT_BYTES];
    ssize_t n;

    if (!can_feed(job)) {
        epoll_ctl(job->epoll, EPOLL_CTL_DEL, STDIN_FILENO, NULL);
        job->feed.is_left_out = true;
        return;
    }
    n = read(STDIN_FILENO, text, sizeof(text));
    if (n < 0 && (errno == EAGAIN || errno == EINTR || errno == EIO)) {
        return; /* EIO: in the background since we looked; the next look sees it */
    }
    job->feed.is_at_end = n <= 0;
    send_input(job, text, n > 0 ? (size_t)n : 0);
    bytes_add(&job->feed.held, text, n > 0 ? (size_t)n : 0);
    feed(job);
    if (n <= 0 || !has_readers(job)) {
        end_input(job);
    }
}

void job_on_input_taken(struct job *job, const struct frame *frame)
{
    int64_t *untaken = job->feed.untaken != NULL ? &job->feed.untaken[frame->from] : NULL;

    if (untaken == NULL || *untaken == NOBODY) {
        return;
    }
    if (frame->value == NOBODY) {
        *untaken = NOBODY;
    } else if (frame->value > 0) {
        *untaken -= frame->value < *untaken ? frame->value : *untaken;
    }
    if (job->feed.is_reading && !has_readers(job)) {
        end_input(job);
    }
}

void job_tend_input(struct job *job)
{
    struct feed *feed = &job->feed;

    if (feed->is_reading && feed->is_left_out && can_feed(job)) {
        feed->is_left_out = false;
        watch_input(job);
    }
    for (int i = 0;
         i < INPUT_ROUNDS && feed->is_reading && feed->is_unwatched && can_feed(job);
         i++) {
        job_on_input(job);
    }
}

int job_input_patience_ms(const struct job *job)
{
    const struct feed *feed = &job->feed;

    if (feed->is_reading && feed->is_unwatched && can_feed(job)) {
        return 0;
    }
    return feed->is_reading && feed->is_left_out && feed->is_terminal ? BACKGROUND_MS
                                                                      : -1;
}
