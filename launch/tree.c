#include "tree.h"

#include "job_parts.h"
#include "keeper.h"
#include "version.h"

#include "base/clock.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SAID_MOST = 4096, LINE = 2048 };

static const uint64_t SECOND = UINT64_C(1000000000);

static const char *name_of(const struct job *job, int number)
{
    return job->setup.layout.stations[number].name;
}

/* ---- who is below us ---- */

static void start_child(struct job *job, int number, int count)
{
    struct child *child = &job->tree.children[job->tree.child_count];
    const char *host = name_of(job, number);

    memset(child, 0, sizeof(*child));
    child->number = number;
    child->count = count;
    child->begun = weft_clock_ns();
    child->link.in = child->link.out = -1;
    if (!rsh_start(&job->setup.rsh, host, job->setup.net, job->setup.path, &child->way)) {
        char line[LINE];

        snprintf(line, sizeof(line), "host %s: cannot make a process for %s: %s", host,
                 job->setup.rsh.at[0], strerror(errno));
        tree_lose(job, line);
        return;
    }
    keeper_spare(child->way.pid);
    link_open(&child->link, child->way.talk, child->way.talk);
    job_watch(job, child->way.talk, FROM_CHILD, job->tree.child_count);
    job_watch(job, child->way.error, FROM_CHILD_ERROR, job->tree.child_count);
    job->tree.child_count++;
}

void tree_grow(struct job *job)
{
    struct tree *tree = &job->tree;
    const int below = tree->count - 1;
    const int children = below < FAN_OUT ? below : FAN_OUT;
    int next = tree->me + 1;

    if (children == 0) {
        return;
    }
    tree->children = calloc((size_t)children, sizeof(*tree->children));
    for (int i = 0; tree->children != NULL && i < children && job->state == STARTING;
         i++) {
        int count = below / children + (i < below % children ? 1 : 0);

        start_child(job, next, count);
        next += count;
    }
}

/* ---- speaking ---- */

void tree_tell(struct job *job, enum frame_kind kind, int value)
{
    const struct frame frame = {
        .kind = kind, .to = -1, .from = job->tree.me, .rank = -1, .value = value};

    for (int i = 0; i < job->tree.child_count; i++) {
        struct child *child = &job->tree.children[i];

        if (!child->is_gone && child->link.is_greeted) {
            link_send(&child->link, &frame, NULL);
        }
    }
}

void tree_send(struct job *job, const struct frame *frame, const void *payload)
{
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
    return child->has_arrived;
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

/* ---- losing ---- */

static void drop_link(struct child *child)
{
    if (child->link.in >= 0) { /* closing takes it out of the epoll set */
        link_close(&child->link);
    }
}

static void drop(struct child *child)
{
    drop_link(child);
    if (child->way.error >= 0) {
        close(child->way.error);
        child->way.error = -1;
    }
    if (!child->is_reaped) {
        kill(child->way.pid, SIGKILL);
    }
    bytes_free(&child->said);
    child->is_gone = true;
}

static void lose_child(struct job *job, struct child *child, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void lose_child(struct job *job, struct child *child, const char *format, ...)
{
    char line[LINE];
    va_list args;

    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    drop(child);
    tree_lose(job, line);
}

static const char *words_of(struct child *child)
{
    bytes_add(&child->said, "", 1);
    child->said.count--;
    return child->said.at;
}

/* Link and process have ended: as they should, or not. */
static void settle(struct job *job, struct child *child)
{
    const char *host = name_of(job, child->number);
    char line[LINE];

    if (child->is_gone || child->cut == 0 || !child->is_reaped) {
        return;
    }
    if (child->has_closed || job->state == DONE) {
        drop(child);
    } else if (!child->link.is_greeted) {
        rsh_explain(line, sizeof(line), &job->setup.rsh, host, job->setup.path,
                    child->status, words_of(child));
        lose_child(job, child, "%s", line);
    } else {
        const char *said = words_of(child);
        const char *end = strchr(said, '\n');

        lose_child(job, child, "host %s: its daemon has ended%s%.*s", host,
                   said[0] != '\0' ? ": " : ", or the connection to it",
                   end != NULL ? (int)(end - said) : (int)strlen(said), said);
    }
}

void tree_cut_off(struct job *job)
{
    if (job->tree.is_cut_off) {
        return;
    }
    job->tree.is_cut_off = true;
    link_close(&job->tree.up);
    tree_fell(job);
    job_happen(job, FRONT_GONE);
    if (job->state == STARTING || job->count == 0) {
        job->state = DONE;
    }
}

void tree_fell(struct job *job)
{
    keeper_spare_none();
    for (int i = 0; i < job->tree.child_count; i++) {
        if (!job->tree.children[i].is_gone) {
            drop(&job->tree.children[i]);
        }
    }
}

void tree_give_up_starting(struct job *job)
{
    for (int i = 0; i < job->tree.child_count; i++) {
        struct child *child = &job->tree.children[i];

        if (!child->is_gone && !child->link.is_greeted) {
            drop(child);
        }
    }
}

/* ---- descriptors and processes ---- */

void tree_on_up(struct job *job)
{
    struct greeting ignored;

    if (job->tree.is_cut_off) {
        return;
    }
    if (!link_flush(&job->tree.up) ||
        link_read(&job->tree.up, &ignored, tree_on_frame, job) != LINK_FINE) {
        tree_cut_off(job);
    }
}

static void send_setup(struct job *job, struct child *child)
{
    const struct frame frame = {.kind = FRAME_SETUP,
                                .bytes = (uint32_t)job->tree.setup.count,
                                .to = child->number,
                                .from = job->tree.me,
                                .rank = -1,
                                .value = child->count};

    link_send(&child->link, &frame, job->tree.setup.at);
    bytes_free(&child->said); /* a banner, a warning: it came through */
}

void tree_on_child(struct job *job, int index)
{
    struct child *child = &job->tree.children[index];
    const bool was_greeted = child->link.is_greeted;
    struct greeting greeting;
    enum link_news news;

    if (child->is_gone || child->link.in < 0) {
        return;
    }
    link_flush(&child->link); /* if it is gone, reading says so */
    news = link_read(&child->link, &greeting, tree_on_frame, job);
    if (child->is_gone) {
        return;
    }
    if (news == LINK_STRANGER) {
        lose_child(job, child,
                   "host %s: %s there is of Weft %s (protocol %u), this one of %s "
                   "(protocol %d): install the same version on every host",
                   name_of(job, child->number), job->setup.path, greeting.version,
                   greeting.protocol, WEFT_VERSION, PROTOCOL_VERSION);
    } else if (news == LINK_ENDED) {
        child->cut = weft_clock_ns();
        drop_link(child);
        settle(job, child);
    } else if (!was_greeted && child->link.is_greeted) {
        send_setup(job, child);
    }
}

/* Before the greeting it may explain a failure; after it, it is for the user. */
void tree_on_child_error(struct job *job, int index)
{
    struct child *child = &job->tree.children[index];
    char text[1024];
    ssize_t n = child->way.error >= 0 ? read(child->way.error, text, sizeof(text)) : -1;

    if (n > 0 && child->said.count < SAID_MOST) {
        bytes_add(&child->said, text, (size_t)n);
        child->said_at = weft_clock_ns();
    } else if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
        if (child->way.error >= 0) {
            close(child->way.error);
            child->way.error = -1;
        }
    }
}

/* Whole lines that a daemon prints and survives; else they say why it has ended. */
static void pass_words_on(struct job *job, struct child *child, uint64_t now)
{
    char *end;

    while (child->said.count > 0 && now - child->said_at > SECOND / 5 &&
           child->cut == 0 && child->link.is_greeted &&
           (end = memchr(child->said.at, '\n', child->said.count)) != NULL) {
        size_t n = (size_t)(end - child->said.at);

        job_say(job, "host %s: %.*s", name_of(job, child->number), (int)n,
                child->said.at);
        bytes_drop(&child->said, n + 1);
    }
}

bool tree_reap(struct job *job, pid_t pid, int status)
{
    for (int i = 0; i < job->tree.child_count; i++) {
        struct child *child = &job->tree.children[i];

        if (child->way.pid == pid && !child->is_reaped) {
            child->is_reaped = true;
            child->status = status;
            tree_on_child_error(job, i); /* its last words */
            settle(job, child);
            return true;
        }
    }
    return false;
}

/* ---- the clock ---- */

static void watch_for_room(struct job *job, struct link *link, enum source source,
                           int index)
{
    const bool is_wanted = link->waiting.count > 0;
    struct epoll_event event = {
        .events = (link->in == link->out ? EPOLLIN : 0u) | (is_wanted ? EPOLLOUT : 0u),
        .data.u64 = (uint64_t)source << 32 | (uint32_t)index,
    };

    if (link->out < 0 || is_wanted == link->is_watched_for_room) {
        return;
    }
    link->is_watched_for_room = is_wanted;
    if (link->in == link->out) {
        epoll_ctl(job->epoll, EPOLL_CTL_MOD, link->out, &event);
    } else {
        epoll_ctl(job->epoll, is_wanted ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, link->out,
                  &event);
    }
}

static void send_beat(struct job *job, struct link *link)
{
    const struct frame frame = {.kind = FRAME_BEAT,
                                .to = -1,
                                .from = job->tree.me,
                                .rank = -1,
                                .value = job->tree.is_busy ? 1 : 0};

    link_send(link, &frame, NULL);
}

static void beat_if_due(struct job *job, struct link *link, uint64_t now)
{
    if (link->out >= 0 && now - link->spoke >= job->setup.beat_ns / 4) {
        send_beat(job, link);
    }
}

/* Calls `act` for every neighbour that knows of the job. */
static void for_each_link(struct job *job, uint64_t now,
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
    for_each_link(job, 0, say_busy);
}

void tree_show_life(struct job *job)
{
    for_each_link(job, weft_clock_ns(), beat_if_due);
}

/* How long the other side may be silent. */
static uint64_t patience_with(const struct job *job, const struct link *link)
{
    if (job->setup.beat_ns == 0 ||
        (link->is_busy && job->setup.beat_ns < TREE_START_NS)) {
        return TREE_START_NS; /* we have not heard of our job yet, or it is busy */
    }
    return job->setup.beat_ns;
}

static bool is_silent(const struct job *job, const struct link *link, uint64_t now)
{
    return now > link->heard && now - link->heard > patience_with(job, link);
}

static void tend_child(struct job *job, int index, uint64_t now)
{
    struct child *child = &job->tree.children[index];
    const char *host = name_of(job, child->number);

    if (child->is_gone) {
        return;
    }
    pass_words_on(job, child, now);
    if (child->cut != 0) { /* ssh does not end although its other side has */
        if (now - child->cut > SECOND && !child->is_reaped) {
            kill(child->way.pid, SIGKILL);
        }
    } else if (!child->link.is_greeted) {
        if (now - child->begun > TREE_START_NS) {
            lose_child(job, child,
                       "host %s: cannot start %s there by %s: no answer for %d s: try "
                       "the command by hand",
                       host, job->setup.path, job->setup.rsh.at[0],
                       (int)(TREE_START_NS / SECOND));
        }
    } else if (is_silent(job, &child->link, now)) {
        lose_child(job, child,
                   "host %s: no sign of life for %g s: it is down, or the link to it is "
                   "cut",
                   host, (double)patience_with(job, &child->link) / 1e9);
    } else {
        beat_if_due(job, &child->link, now);
        watch_for_room(job, &child->link, FROM_CHILD, index);
    }
}

/*
 * How long links were not looked after, beyond the time for which the loop sleeps: we
 * were stopped, had no processor, or did something else.
 */
static uint64_t time_missed(const struct job *job, uint64_t now)
{
    const uint64_t due = job->tree.looked + job->setup.beat_ns / 8;

    return job->tree.looked != 0 && now > due ? now - due : 0;
}

/* That nothing was heard while we did not listen says nothing about the other side. */
static void forgive(struct job *job, struct link *link, uint64_t now)
{
    const uint64_t heard = link->heard + time_missed(job, now);

    link->heard = heard < now ? heard : now;
}

static void tend_up(struct job *job, uint64_t now)
{
    struct link *up = &job->tree.up;

    if (is_silent(job, up, now)) {
        tree_cut_off(job);
        return;
    }
    if (job->setup.beat_ns != 0) {
        beat_if_due(job, up, now);
    }
    watch_for_room(job, up, FROM_UP, 0);
}

void tree_tend(struct job *job, uint64_t now)
{
    struct tree *tree = &job->tree;

    if (!tree->has_up && tree->child_count == 0) {
        return;
    }
    for_each_link(job, now, forgive);
    tree->looked = now;
    for (int i = 0; i < tree->child_count; i++) {
        tend_child(job, i, now);
    }
    if (tree->has_up && !tree->is_cut_off) {
        tend_up(job, now);
    }
}

int tree_patience_ms(const struct job *job)
{
    const uint64_t ns = job->setup.beat_ns / 8;

    if (!job->tree.has_up && job->tree.child_count == 0) {
        return -1;
    }
    return ns == 0 ? 1000 : (int)(ns / 1000000) + 1;
}
