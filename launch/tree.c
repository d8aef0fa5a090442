#include "tree.h"

#include "job_parts.h"
#include "keeper.h"
#include "ship_boot.h"
#include "version.h"
#include "texts.h"

#include "base/clock.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
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
static const uint64_t SAID_AFTER_NS = UINT64_C(5000000000); /* that a host is awaited */

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
    if (!rsh_start(&job->setup.rsh, host, job->setup.net, job->setup.path,
                   job->setup.ship.is_on ? NULL : DAEMON_OPTION, &child->rsh)) {
        char line[LINE];

        snprintf(line, sizeof(line), TEXT_HOST_FORK, host, job->setup.rsh.at[0],
                 strerror(errno));
        job_lose_daemon(job, line);
        return;
    }
    keeper_spare(child->rsh.pid);
    link_open(&child->link, child->rsh.output, child->rsh.input);
    if (job->setup.ship.is_on) {
        struct bytes lines = {NULL, 0, 0};

        ship_boot_lines(&lines, ship_bytes(&job->setup.ship));
        link_write(&child->link, lines.at, lines.count);
        bytes_free(&lines);
    }
    job_watch(job, child->rsh.output, FROM_CHILD, job->tree.child_count);
    job_watch(job, child->rsh.error, FROM_CHILD_ERROR, job->tree.child_count);
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

/* ---- losing ---- */

static void lose_child(struct job *job, struct child *child, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void lose_child(struct job *job, struct child *child, const char *format, ...)
{
    char line[LINE];
    va_list args;

    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    child_drop(child);
    job_lose_daemon(job, line);
}

static const char *words_of(struct child *child)
{
    bytes_add(&child->said, "", 1);
    child->said.count--;
    return child->said.at;
}

/* A daemon that had greeted: what it has said last, or how the way to it has ended. */
static void lose_ended(struct job *job, struct child *child, const char *host)
{
    const char *said = words_of(child);
    const char *why = strstr(said, DAEMON_ENDS);
    const char *end;

    said = why != NULL ? why + strlen(DAEMON_ENDS) : said;
    end = strchr(said, '\n');
    if (said[0] != '\0') {
        lose_child(job, child, "host %s: its daemon has ended: %.*s", host,
                   end != NULL ? (int)(end - said) : (int)strlen(said), said);
    } else {
        lose_child(job, child,
                   "host %s: its daemon has ended, or the connection to it (%s: %s %d)",
                   host, job->setup.rsh.at[0],
                   WIFSIGNALED(child->status) ? "signal" : "exit code",
                   WIFSIGNALED(child->status) ? WTERMSIG(child->status)
                                              : WEXITSTATUS(child->status));
    }
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
        child_drop(child);
    } else if (!child->link.is_greeted) {
        if (!job->setup.ship.is_on ||
            !ship_boot_explain(line, sizeof(line), host, words_of(child))) {
            rsh_explain(line, sizeof(line), &job->setup.rsh, host, job->setup.path,
                        child->status, words_of(child));
        }
        lose_child(job, child, "%s", line);
    } else {
        lose_ended(job, child, host);
    }
}

void tree_cut_off(struct job *job, const char *why)
{
    if (job->tree.is_cut_off) {
        return;
    }
    /* The way ends with us, and takes this along, if anybody is left to read it. */
    fprintf(stderr, DAEMON_ENDS "%s\n", why);
    job->tree.is_cut_off = true;
    link_close(&job->tree.up);
    tree_fell(job);
    job_happen(job, FRONT_GONE);
    if (job->state == STARTING || job->count == 0) {
        job->state = DONE;
    }
}

/* ---- descriptors and processes ---- */

void tree_on_up(struct job *job)
{
    struct greeting ignored;
    enum link_news news;

    assert(job->tree.has_up && job->tree.on_frame != NULL);
    if (job->tree.is_cut_off) {
        return;
    }
    if (!link_flush(&job->tree.up)) {
        tree_cut_off(job, TEXT_DAEMON_WRITE);
        return;
    }
    news = link_read(&job->tree.up, &ignored, job->tree.on_frame, job);
    if (news != LINK_FINE) {
        tree_cut_off(job, news == LINK_NONSENSE ? TEXT_DAEMON_NONSENSE : TEXT_DAEMON_END);
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

    assert(index >= 0 && index < job->tree.child_count);
    if (child->is_gone || child->link.in < 0) {
        return;
    }
    link_flush(&child->link); /* if it is gone, reading says so */
    news = link_read(&child->link, &greeting, job->tree.on_frame, job);
    if (child->is_gone) {
        return;
    }
    if (news == LINK_OTHER) {
        lose_child(job, child,
                   "host %s: %s there is of Weft %s (protocol %u), this one of %s "
                   "(protocol %d): install the same version on every host",
                   name_of(job, child->number), job->setup.path, greeting.version,
                   greeting.protocol, WEFT_VERSION, PROTOCOL_VERSION);
    } else if (news == LINK_NONSENSE) {
        lose_child(job, child, TEXT_HOST_NONSENSE, name_of(job, child->number));
    } else if (news == LINK_ENDED) {
        child->cut = weft_clock_ns();
        child_drop_link(child);
        settle(job, child);
    } else if (!was_greeted && child->link.is_greeted) {
        send_setup(job, child);
    } else if (job->setup.ship.is_on && !child->is_booted) {
        child->is_booted = ship_boot_send(&child->link);
    }
}

/* Before the greeting it may explain a failure; after it, it is for the user. */
void tree_on_child_error(struct job *job, int index)
{
    struct child *child = &job->tree.children[index];
    char text[1024];
    ssize_t n = child->rsh.error >= 0 ? read(child->rsh.error, text, sizeof(text)) : -1;

    assert(index >= 0 && index < job->tree.child_count);
    if (n > 0 && child->said.count < SAID_MOST) {
        bytes_add(&child->said, text, (size_t)n);
        child->said_at = weft_clock_ns();
    } else if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
        if (child->rsh.error >= 0) {
            close(child->rsh.error);
            child->rsh.error = -1;
        }
    }
}

/*
 * Whole lines that a daemon prints and survives. Those that come shortly before its end,
 * or begin with DAEMON_ENDS, say why it has ended, and wait for lose_ended().
 */
static void pass_words_on(struct job *job, struct child *child, uint64_t now)
{
    char *end;

    while (child->said.count > 0 && now - child->said_at > SECOND / 5 &&
           child->cut == 0 && child->link.is_greeted &&
           strncmp(words_of(child), DAEMON_ENDS, strlen(DAEMON_ENDS)) != 0 &&
           (end = memchr(child->said.at, '\n', child->said.count)) != NULL) {
        size_t n = (size_t)(end - child->said.at);

        job_say(job, "host %s: %.*s", name_of(job, child->number), (int)n,
                child->said.at);
        bytes_drop(&child->said, n + 1);
    }
}

/* All that the way to a child has said: it has ended, so that no more comes. */
static void hear_last_words(struct job *job, int index)
{
    struct child *child = &job->tree.children[index];
    struct pollfd p = {.fd = child->rsh.error, .events = POLLIN};

    while (child->rsh.error >= 0 && child->said.count < SAID_MOST && poll(&p, 1, 0) > 0) {
        tree_on_child_error(job, index);
    }
}

bool tree_reap(struct job *job, pid_t pid, int status)
{
    for (int i = 0; i < job->tree.child_count; i++) {
        struct child *child = &job->tree.children[i];

        if (child->rsh.pid == pid && !child->is_reaped) {
            child->is_reaped = true;
            child->status = status;
            hear_last_words(job, i);
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

/* At a terminal, the user is told for which host mpiexec waits. */
static void say_waiting(struct job *job, struct child *child, const char *host,
                        uint64_t now)
{
    if (!child->is_waiting_said && now - child->begun >= SAID_AFTER_NS &&
        !job_is_daemon(job) && job->error_to->is_terminal) {
        child->is_waiting_said = true;
        job_say(job, TEXT_HOST_WAITING, host, job->setup.rsh.at[0],
                (int)(SAID_AFTER_NS / SECOND), (int)(TREE_START_NS / SECOND));
    }
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
            kill(child->rsh.pid, SIGKILL);
        }
    } else if (!child->link.is_greeted) {
        if (now - child->begun > TREE_START_NS) {
            lose_child(job, child,
                       "host %s: cannot start %s there by %s: no answer for %d s: try "
                       "the command by hand",
                       host, job->setup.path, job->setup.rsh.at[0],
                       (int)(TREE_START_NS / SECOND));
        } else {
            say_waiting(job, child, host, now);
        }
    } else if (is_silent(job, &child->link, now)) {
        lose_child(job, child,
                   "host %s: no sign of life for %g s: it is down, or the link to it is "
                   "cut",
                   host, (double)patience_with(job, &child->link) / 1e9);
    } else {
        tree_beat_if_due(job, &child->link, now);
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
        tree_cut_off(job, TEXT_DAEMON_SILENCE);
        return;
    }
    if (job->setup.beat_ns != 0) {
        tree_beat_if_due(job, up, now);
    }
}

void tree_tend(struct job *job, uint64_t now)
{
    struct tree *tree = &job->tree;

    if (!tree->has_up && tree->child_count == 0) {
        return;
    }
    tree_for_each_link(job, now, forgive);
    tree->looked = now;
    for (int i = 0; i < tree->child_count; i++) {
        tend_child(job, i, now);
    }
    if (tree->has_up && !tree->is_cut_off) {
        tend_up(job, now);
    }
}

void tree_watch(struct job *job)
{
    for (int i = 0; i < job->tree.child_count; i++) {
        if (!job->tree.children[i].is_gone) {
            watch_for_room(job, &job->tree.children[i].link, FROM_CHILD, i);
        }
    }
    if (job->tree.has_up && !job->tree.is_cut_off) {
        watch_for_room(job, &job->tree.up, FROM_UP, 0);
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
