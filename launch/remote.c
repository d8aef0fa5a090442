/*
 * remote.c - ranks on other hosts: what the frames of the tree mean to a daemon and to
 * the root.
 */
#include "job_parts.h"
#include "texts.h"

#include "base/clock.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { RELAY_BYTES = 32 * 1024 };

/* ---- what they print: the daemon's part ---- */

static void close_stream(struct stream *stream)
{
    close(stream->fd); /* which takes it out of the epoll set */
    stream->fd = -1;
}

void job_relay(struct job *job, int local, int which)
{
    static char text[RELAY_BYTES];
    struct rank *rank = &job->ranks[local];
    struct stream *stream = which == STDERR_FILENO ? &rank->error : &rank->output;
    size_t *left = which == STDERR_FILENO ? &rank->error_left : &rank->output_left;
    size_t room = job->untaken < TEXT_WINDOW ? TEXT_WINDOW - job->untaken : 0;
    ssize_t n;

    if (room == 0) {
        epoll_ctl(job->epoll, EPOLL_CTL_DEL, stream->fd, NULL);
        job->is_output_left_out = true;
        return;
    }
    room = room < sizeof(text) ? room : sizeof(text);
    if (job->is_relay_bounded) {
        room = room < *left ? room : *left;
    }
    n = read(stream->fd, text, room);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    if (n <= 0) {
        close_stream(stream);
        return;
    }
    job->untaken += (size_t)n;
    tree_report(job, FRAME_TEXT, stream->rank, which, text, (size_t)n);
    *left -= job->is_relay_bounded ? (size_t)n : 0;
    if (job->is_relay_bounded && *left == 0) {
        close_stream(stream);
    }
}

/* How much it holds; it is closed if that is nothing. */
static size_t bound(struct stream *stream)
{
    int bytes = 0;

    if (stream->fd < 0) {
        return 0;
    }
    if (ioctl(stream->fd, FIONREAD, &bytes) != 0 || bytes <= 0) {
        close_stream(stream);
        return 0;
    }
    return (size_t)bytes;
}

void job_bound_relay(struct job *job)
{
    for (int r = 0; r < job->count; r++) {
        job->ranks[r].output_left = bound(&job->ranks[r].output);
        job->ranks[r].error_left = bound(&job->ranks[r].error);
    }
    job->is_relay_bounded = true;
}

/* What the other side says that it has taken, and not more than there is. */
static size_t taken_of(size_t untaken, int32_t value)
{
    return value < 0 ? 0 : (size_t)value < untaken ? (size_t)value : untaken;
}

static void on_taken(struct job *job, size_t bytes)
{
    assert(bytes <= job->untaken);
    job->untaken -= bytes;
    for (int r = 0; job->is_output_left_out && r < job->count; r++) {
        job_watch_again(job, job->ranks[r].output.fd, FROM_OUTPUT, r);
        job_watch_again(job, job->ranks[r].error.fd, FROM_ERROR, r);
    }
    job->is_output_left_out = false;
}

/* ---- the root's ---- */

static struct remote_rank *remote_of(struct job *job, int rank)
{
    const int daemon = layout_daemon_of(&job->setup.layout, rank);
    struct remote_rank *made;

    assert(!job_is_daemon(job) && rank >= 0 && rank < job->plan->ranks);
    if (job->remote[rank] != NULL) {
        return job->remote[rank];
    }
    made = calloc(1, sizeof(*made));
    if (made != NULL) {
        stream_open_given(&made->output, &job->output, rank, job->plan->is_labelling,
                          job->plan->output, &job->taken[daemon]);
        stream_open_given(&made->error, job->error_to, rank, job->plan->is_labelling,
                          job->plan->error, &job->taken[daemon]);
        job->remote[rank] = made;
    }
    return made;
}

/* As much as the sink takes; the rest waits. */
static void drain(struct job *job, struct stream *stream)
{
    while (!stream_is_empty(stream) && stream_may_read(stream)) {
        stream_read(stream);
    }
    if (!stream_is_empty(stream)) {
        stream->sink->is_leaving_out = true;
        job->is_remote_left_out = true;
    }
}

static void on_text(struct job *job, const struct frame *frame, const char *text)
{
    struct remote_rank *from;
    struct stream *stream;

    job->heard_below = weft_clock_ns();
    if (frame->rank < 0 || frame->rank >= job->plan->ranks) {
        return;
    }
    from = remote_of(job, frame->rank);
    if (from == NULL) {
        return;
    }
    stream = frame->value == STDERR_FILENO ? &from->error : &from->output;
    if (stream->is_given) {
        bytes_add(&stream->given, text, frame->bytes);
        drain(job, stream);
    }
}

/* Tells daemons what has been passed on of theirs, in large steps. */
static void tell_taken(struct job *job)
{
    for (int d = 1; d < job->setup.layout.count; d++) {
        const struct frame frame = {.kind = FRAME_TAKEN,
                                    .to = d,
                                    .from = 0,
                                    .rank = -1,
                                    .value = (int32_t)job->taken[d]};

        if (job->taken[d] >= TEXT_WINDOW / 4) {
            tree_send(job, &frame, NULL);
            job->taken[d] = 0;
        }
    }
}

void job_tend_remote(struct job *job)
{
    if (job->remote == NULL) {
        return;
    }
    if (job->is_remote_left_out) {
        job->is_remote_left_out = false;
        for (int r = 0; r < job->plan->ranks; r++) {
            if (job->remote[r] != NULL) {
                drain(job, &job->remote[r]->output);
                drain(job, &job->remote[r]->error);
            }
        }
    }
    tell_taken(job);
}

void job_prompt_remote(struct job *job, uint64_t now, uint64_t ns)
{
    for (int r = 0; job->remote != NULL && r < job->plan->ranks; r++) {
        if (job->remote[r] != NULL) {
            stream_prompt(&job->remote[r]->output, now, ns);
            stream_prompt(&job->remote[r]->error, now, ns);
        }
    }
}

void job_finish_remote(struct job *job, void (*finish)(struct job *, struct stream *))
{
    for (int r = 0; job->remote != NULL && r < job->plan->ranks; r++) {
        if (job->remote[r] != NULL) {
            finish(job, &job->remote[r]->output);
            finish(job, &job->remote[r]->error);
        } /* a sink remembers who spoke last, so they stay until the process ends */
    }
}

/* ---- beginning and end ---- */

/* As a daemon; false after a line. */
static bool open_ranks(struct job *job)
{
    char line[1024];

    if (job_open_ranks(job)) {
        return true;
    }
    snprintf(
        line, sizeof(line), "host %s: %s", job->setup.layout.stations[job->tree.me].name,
        job->refusal[0] != '\0' ? job->refusal : "its daemon cannot prepare its ranks");
    job_lose_daemon(job, line);
    return false;
}

/* What was shipped is here: the rest is as on a host that has it. */
static void unload_when_come(struct job *job)
{
    if (shipping_has_come(job) && shipping_unload(job) && open_ranks(job)) {
        tree_be_busy(job, false);
        job_start_when_ready(job);
    }
}

/* A daemon hears of its job. */
static void on_setup(struct job *job, const struct frame *frame, const char *payload)
{
    if (job->setup.path != NULL || !setup_unpack(&job->setup, payload, frame->bytes) ||
        frame->to < 1 || frame->value < 1 || frame->to >= job->setup.layout.count ||
        frame->value > job->setup.layout.count - frame->to) {
        tree_cut_off(job, TEXT_DAEMON_NONSENSE);
        return;
    }
    job->plan = &job->setup.plan;
    job->tree.me = frame->to;
    job->tree.count = frame->value;
    job->first = job->setup.layout.stations[frame->to].first;
    job->count = job->setup.layout.stations[frame->to].ranks;
    if (job->tree.count > 1) {
        bytes_add(&job->tree.setup, payload, frame->bytes);
    }
    if (job->setup.ship.is_on) {
        tree_be_busy(job, true); /* files may have to go to a slow disk */
        if (shipping_begin(job)) {
            tree_grow(job);
            shipping_tell_want(job);
            unload_when_come(job);
        }
    } else if (open_ranks(job)) {
        tree_grow(job);
        job_start_when_ready(job);
    }
}

static void start(struct job *job)
{
    if (job->plan->is_report) {
        job_report_addresses(job);
    } else {
        job_start_ranks(job);
    }
}

void job_start_when_ready(struct job *job)
{
    if (job->state != STARTING || job->setup.path == NULL || !tree_is_ready(job) ||
        !shipping_is_done(job)) {
        return;
    }
    job_tell_networks(job);
    if (job_is_daemon(job)) {
        tree_answer(job, FRAME_READY);
    } else {
        job_tell_shared(job);
        tree_tell(job, FRAME_START, 0);
        start(job);
    }
}

static void on_failed(struct job *job, const struct frame *frame, const char *cause)
{
    if (frame->rank >= 0 && frame->rank < job->plan->ranks && frame->bytes > 0) {
        char text[WEFT_CAUSE_BYTES];

        snprintf(text, sizeof(text), "%.*s", (int)frame->bytes - 1, cause);
        job_blame(job, frame->value, frame->rank, text);
    }
}

static void on_stop(struct job *job, int signal)
{
    job->asked = signal;
    job_blame_look(job);
    job_happen(job, ASKED_TO_END);
}

static struct child *child_of(struct job *job, const struct link *link)
{
    for (int i = 0; i < job->tree.child_count; i++) {
        if (&job->tree.children[i].link == link) {
            return &job->tree.children[i];
        }
    }
    return NULL;
}

/* What a child says of its whole range. */
static void on_range(struct job *job, struct child *child, enum frame_kind kind)
{
    switch (kind) {
    case FRAME_READY:
        child->is_ready = true;
        job_start_when_ready(job);
        break;
    case FRAME_ARRIVE:
        child->has_arrived = true;
        job_look_for_barrier(job);
        break;
    case FRAME_ENDED:
        child->has_ended = true;
        job_look_for_barrier(job);
        break;
    case FRAME_CLOSED:
        child->has_closed = true;
        break;
    default:
        break;
    }
}

static void on_order(struct job *job, const struct frame *frame)
{
    switch ((enum frame_kind)frame->kind) {
    case FRAME_START:
        tree_tell(job, FRAME_START, 0);
        start(job);
        break;
    case FRAME_SIGNAL:
        job_signal_ranks(job, frame->value);
        tree_tell(job, FRAME_SIGNAL, frame->value);
        break;
    case FRAME_STOP:
        on_stop(job, frame->value);
        break;
    case FRAME_KILL:
        job_happen(job, FRONT_GONE);
        break;
    case FRAME_CLOSE:
        job->state = DONE;
        break;
    case FRAME_RELEASE:
        job_release(job);
        break;
    case FRAME_PROGRAM:
        job_on_program(job, frame->value);
        break;
    case FRAME_RANK_FAILED:
        job_on_rank_failed_elsewhere(job, frame);
        break;
    case FRAME_ASK:
        job_on_ask(job, frame->value != 0);
        break;
    case FRAME_BOX_ASK:
        job_on_box_ask(job, frame);
        break;
    default:
        break;
    }
}

static void on_message(struct job *job, const struct frame *frame, const char *payload)
{
    switch ((enum frame_kind)frame->kind) {
    case FRAME_SETUP:
        on_setup(job, frame, payload);
        break;
    case FRAME_TEXT:
        on_text(job, frame, payload);
        break;
    case FRAME_FAILED:
        on_failed(job, frame, payload);
        break;
    case FRAME_LOST:
        if (frame->bytes > 0 && payload[frame->bytes - 1] == '\0') {
            job_lose_daemon(job, payload);
        }
        break;
    case FRAME_SAY:
        job_say(job, "%.*s", (int)frame->bytes, payload);
        break;
    case FRAME_PUT:
        job_on_put(job, payload, frame->bytes);
        break;
    case FRAME_TAKEN:
        on_taken(job, taken_of(job->untaken, frame->value));
        break;
    case FRAME_INPUT:
        job_on_input_frame(job, payload, frame->bytes);
        break;
    case FRAME_INPUT_TAKEN:
        job_on_input_taken(job, frame);
        break;
    case FRAME_GET:
        job_on_get(job, frame, payload);
        break;
    case FRAME_ADDRESSES:
    case FRAME_REACHED:
    case FRAME_HEARD:
        job_on_report(job, frame, payload);
        break;
    case FRAME_PROGRAM:
        job_on_program(job, frame->value);
        break;
    case FRAME_RANK_FAILED:
        job_on_rank_failed(job, frame, payload);
        break;
    case FRAME_QUIET:
        job_on_quiet(job, frame);
        break;
    case FRAME_DOING:
        if (frame->value == FRAME_DOING_AT_END) {
            job_on_doing_at_end(job, frame, payload);
        } else {
            job_on_doing(job, frame, payload);
        }
        break;
    case FRAME_PIDS:
        job_on_pids(job, frame, payload);
        break;
    case FRAME_NETWORKS:
        job_on_networks(job, frame, payload);
        break;
    case FRAME_SHARED:
        job_on_shared(job, payload, frame->bytes);
        break;
    case FRAME_PROBE:
        job_on_probe(job, payload, frame->bytes);
        break;
    case FRAME_VALUE:
        job_on_value(job, frame, payload);
        break;
    case FRAME_CLOCK:
        job_on_clock(job, frame, payload);
        break;
    case FRAME_BOX:
        job_on_box(job, frame, payload);
        break;
    default:
        break;
    }
}

/* May a daemon send this to its parent? */
static bool may_come_from_child(const struct job *job, const struct frame *frame)
{
    switch ((enum frame_kind)frame->kind) {
    case FRAME_READY:
    case FRAME_ARRIVE:
    case FRAME_ENDED:
    case FRAME_CLOSED:
    case FRAME_WANT:
        return frame->to < 0;
    case FRAME_TEXT:
    case FRAME_FAILED:
    case FRAME_LOST:
    case FRAME_SAY:
    case FRAME_PUT:
    case FRAME_INPUT_TAKEN:
    case FRAME_ADDRESSES:
    case FRAME_REACHED:
    case FRAME_HEARD:
    case FRAME_PROGRAM:
    case FRAME_NETWORKS:
    case FRAME_RANK_FAILED:
    case FRAME_QUIET:
    case FRAME_DOING:
    case FRAME_PIDS:
    case FRAME_CLOCK:
    case FRAME_BOX:
        return frame->to == 0;
    case FRAME_GET:
    case FRAME_VALUE:
        return frame->to >= 0 && frame->to < job->setup.layout.count;
    default:
        return false;
    }
}

/* May a daemon's parent send this? Before the daemon knows its job, the parent sends only
 * the job and the end. */
static bool may_come_from_parent(const struct job *job, const struct frame *frame)
{
    switch ((enum frame_kind)frame->kind) {
    case FRAME_SETUP:
        return job->setup.path == NULL;
    case FRAME_STOP:
    case FRAME_KILL:
    case FRAME_CLOSE:
        return frame->to < 0;
    case FRAME_START:
    case FRAME_SIGNAL:
    case FRAME_RELEASE:
    case FRAME_RANK_FAILED:
    case FRAME_ASK:
    case FRAME_BOX_ASK:
    case FRAME_PIECE:
        return frame->to < 0 && job->setup.path != NULL;
    case FRAME_PROGRAM:
        return job->setup.path != NULL;
    case FRAME_TAKEN:
    case FRAME_INPUT:
    case FRAME_GET:
    case FRAME_VALUE:
    case FRAME_PROBE:
    case FRAME_SHARED:
    case FRAME_CLOCK:
        return frame->to >= job->tree.me && job->setup.path != NULL &&
               frame->to < job->tree.me + job->tree.count;
    default:
        return false;
    }
}

/* Of the daemons in a range, which begins with the first of them. */
static bool is_in_range(int32_t daemon, int first, int count)
{
    return daemon >= first && daemon - first < count;
}

/*
 * Is its sender one of those whose frames come by this link? A child's are those of its
 * range, our parent's all others. Before we know our job its parent alone speaks, whose
 * number is below ours.
 */
static bool is_from_there(const struct job *job, const struct child *child,
                          const struct frame *frame)
{
    if (child != NULL) {
        return is_in_range(frame->from, child->number, child->count);
    }
    if (job->setup.path == NULL) {
        return frame->from >= 0 &&
               (frame->kind != FRAME_SETUP || frame->from < frame->to);
    }
    return is_in_range(frame->from, 0, job->setup.layout.count) &&
           !is_in_range(frame->from, job->tree.me, job->tree.count);
}

/* What no daemon says: its memory is damaged, or it is none. */
static void reject(struct job *job, const struct child *child, const struct frame *frame)
{
    char line[256];

    if (child == NULL) {
        tree_cut_off(job, TEXT_DAEMON_NONSENSE);
        return;
    }
    snprintf(line, sizeof(line), TEXT_HOST_FRAME,
             job->setup.layout.stations[child->number].name, frame->kind, frame->bytes);
    job_lose_daemon(job, line);
}

void job_on_frame(void *owner, struct link *link, const struct frame *frame,
                  const char *payload)
{
    struct job *job = owner;
    struct child *child = child_of(job, link);

    if (frame->kind == FRAME_BEAT) { /* the link's own: its sender may have no number */
        link->is_busy = frame->value != 0;
        return;
    }
    if (!is_from_there(job, child, frame) ||
        !(child != NULL ? may_come_from_child(job, frame)
                        : may_come_from_parent(job, frame))) {
        reject(job, child, frame);
        return;
    }
    if (frame->kind == FRAME_WANT) {
        shipping_on_want(job, child, frame, payload);
        unload_when_come(job);
    } else if (frame->kind == FRAME_PIECE) {
        shipping_on_piece(job, frame, payload);
        unload_when_come(job);
    } else if (frame->to < 0 && child != NULL) {
        on_range(job, child, (enum frame_kind)frame->kind);
    } else if (frame->to < 0) {
        on_order(job, frame);
    } else if (frame->kind != FRAME_SETUP && frame->to != job->tree.me) {
        tree_send(job, frame, payload);
    } else {
        on_message(job, frame, payload);
    }
}
