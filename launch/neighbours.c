/*
 * neighbours.c - the daemons next to us in the tree: what they are told, signs of life,
 * what all of them have done, and dropping them.
 */
#include "neighbours.h"

#include "job_parts.h"
#include "keeper.h"

#include "base/clock.h"

#include <assert.h>
#include <signal.h>
#include <unistd.h>

/* ---- speaking ---- */

void tree_tell(struct job *job, enum frame_kind kind, int value)
{
    tree_tell_rank(job, kind, -1, value);
}

void tree_tell_rank(struct job *job, enum frame_kind kind, int rank, int value)
{
    const struct frame frame = {
        .kind = kind, .to = -1, .from = job->tree.me, .rank = rank, .value = value};

    for (int i = 0; i < job->tree.child_count; i++) {
        struct child *child = &job->tree.children[i];

        if (!child->is_gone && child->link.is_greeted) {
            link_send(&child->link, &frame, NULL);
        }
    }
}

void tree_send(struct job *job, const struct frame *frame, const void *payload)
{
    assert(frame->to >= 0 && frame->to != job->tree.me);
    for (int i = 0; i < job->tree.child_count; i++) {
        struct child *child = &job->tree.children[i];

        if (frame->to >= child->number && frame->to < child->number + child->count) {
            if (!child->is_gone) {
                link_send(&child->link, frame, payload);
            }
            return;
        }
    }
    if (job->tree.has_up && !job->tree.is_cut_off) {
        link_send(&job->tree.up, frame, payload);
    }
}

void tree_report(struct job *job, enum frame_kind kind, int rank, int value,
                 const void *payload, size_t bytes)
{
    const struct frame frame = {.kind = kind,
                                .bytes = (uint32_t)bytes,
                                .to = 0,
                                .from = job->tree.me,
                                .rank = rank,
                                .value = value};

    assert(job->tree.has_up);
    tree_send(job, &frame, payload);
}

void tree_answer(struct job *job, enum frame_kind kind)
{
    const struct frame frame = {.kind = kind, .to = -1, .from = job->tree.me, .rank = -1};

    if (job->tree.has_up && !job->tree.is_cut_off) {
        link_send(&job->tree.up, &frame, NULL);
    }
}

/* ---- what all of them have done ---- */

static bool is_ready(const struct child *child)
{
    return child->is_ready;
}

static bool has_arrived(const struct child *child)
{
    return child->has_arrived || child->has_ended;
}

static bool has_ended(const struct child *child)
{
    return child->has_ended || child->is_gone;
}

static bool is_gone(const struct child *child)
{
    return child->is_gone;
}

static bool all(const struct job *job, bool (*is_so)(const struct child *child))
{
    for (int i = 0; i < job->tree.child_count; i++) {
        if (!is_so(&job->tree.children[i])) {
            return false;
        }
    }
    return true;
}

bool tree_is_ready(const struct job *job)
{
    return all(job, is_ready);
}

bool tree_has_arrived(const struct job *job)
{
    return all(job, has_arrived);
}

bool tree_has_ended(const struct job *job)
{
    return all(job, has_ended);
}

bool tree_is_gone(const struct job *job)
{
    return all(job, is_gone);
}

/* ---- signs of life ---- */

static void send_beat(struct job *job, struct link *link)
{
    const struct frame frame = {.kind = FRAME_BEAT,
                                .to = -1,
                                .from = job->tree.me,
                                .rank = -1,
                                .value = job->tree.is_busy ? 1 : 0};

    link_send(link, &frame, NULL);
}

void tree_beat_if_due(struct job *job, struct link *link, uint64_t now)
{
    if (link->out >= 0 && now - link->spoke >= job->setup.beat_ns / 4) {
        send_beat(job, link);
    }
}

void tree_for_each_link(struct job *job, uint64_t now,
                        void (*act)(struct job *job, struct link *link, uint64_t now))
{
    for (int i = 0; i < job->tree.child_count; i++) {
        struct child *child = &job->tree.children[i];

        if (!child->is_gone && child->link.is_greeted) {
            act(job, &child->link, now);
        }
    }
    if (job->tree.has_up && !job->tree.is_cut_off && job->setup.beat_ns != 0) {
        act(job, &job->tree.up, now);
    }
}

static void say_busy(struct job *job, struct link *link, uint64_t now)
{
    (void)now;
    send_beat(job, link);
}

void tree_be_busy(struct job *job, bool is_busy)
{
    job->tree.is_busy = is_busy;
    tree_for_each_link(job, 0, say_busy);
}

void tree_show_life(struct job *job)
{
    tree_for_each_link(job, weft_clock_ns(), tree_beat_if_due);
}

/* ---- dropping ---- */

void child_drop_link(struct child *child)
{
    if (child->link.in >= 0) { /* closing takes it out of the epoll set */
        link_close(&child->link);
    }
}

void child_drop(struct child *child)
{
    assert(!child->is_gone);
    child_drop_link(child);
    if (child->rsh.error >= 0) {
        close(child->rsh.error);
        child->rsh.error = -1;
    }
    if (!child->is_reaped) {
        kill(child->rsh.pid, SIGKILL);
    }
    bytes_free(&child->said);
    child->is_gone = true;
}

void tree_fell(struct job *job)
{
    keeper_spare_none();
    for (int i = 0; i < job->tree.child_count; i++) {
        if (!job->tree.children[i].is_gone) {
            child_drop(&job->tree.children[i]);
        }
    }
}

void tree_give_up_starting(struct job *job)
{
    for (int i = 0; i < job->tree.child_count; i++) {
        struct child *child = &job->tree.children[i];

        if (!child->is_gone && !child->link.is_greeted) {
            child_drop(child);
        }
    }
}
