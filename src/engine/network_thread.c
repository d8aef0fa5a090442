/*
 * network_thread.c - the thread that sleeps on the descriptors of transports.
 *
 * When something has come it rings the doorbell of a thread that sleeps in MPI; or, while
 * the program computes, it does what the progress thread would do, because waking that
 * one costs another 6 us (`came`).
 *
 * A descriptor fires once (EPOLLONESHOT) and is set again by the next who arms. So a
 * process that polls is disturbed once at most, and one that leaves MPI again and again
 * pays for a system call only if something has come in between. `is_set` is cleared by
 * this thread before it rings or ends, and set with the lock before epoll_ctl: who finds
 * it set knows that a later event will ring. It outlives the thread, which ends with the
 * last session and is started again with the next. Who knows that it will be disturbed,
 * because it waits for a packet, puts them out of watch first (weft_descriptors_ignore):
 * a system call is cheaper than a thread that wakes up for nothing.
 *
 * Connections are made also while no thread is in MPI and nothing is outstanding: for
 * those this thread calls the progress thread. Before the first, a transport may have no
 * descriptors yet; when it comes up it has others. Whoever has brought it up watches
 * these at once (weft_descriptors_follow), because it may leave MPI without arming. A
 * transport that never has any has a deadline instead, a millisecond after each arming.
 */
#include "engine/network_thread.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/settings.h"
#include "base/texts.h"
#include "engine/held.h"
#include "engine/hot.h"
#include "engine/thread.h"
#include "engine/warm.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum {
    EACH = WEFT_DESCRIPTORS, /* of a transport: for packets, for connections */
    EVENTS = 1,
    TICK_NS = 1000000,
    LEFT_NS = 10 * 1000000,
    DESCRIPTORS = EACH * WEFT_INSTANCES_MAX,
    STOP = DESCRIPTORS,
    TIMER,
    WATCHED
};

static struct {
    const struct weft_network_callbacks *callbacks; /* NULL: no descriptors, no thread */
    /* Released when it has been joined, acquired by who starts it: another thread may do
     * so at that moment (weft_threads_stop). */
    _Atomic bool is_running;
    int epoll;
    int stop;
    int timer;
    uint64_t deadline;            /* that the timer is set to; with the lock */
    int descriptors[DESCRIPTORS]; /* -1: none */
    bool needs_tick[WEFT_INSTANCES_MAX];
    _Atomic bool is_set[DESCRIPTORS];
} thread;

static bool watch(int operation, int descriptor, int which)
{
    struct epoll_event event = {
        .events = EPOLLIN | (which < DESCRIPTORS ? EPOLLONESHOT : 0),
        .data = {.u32 = (uint32_t)which},
    };

    return epoll_ctl(thread.epoll, operation, descriptor, &event) == 0;
}

/*
 * For what no descriptor tells of: a transport says until when somebody is to poll.
 * Whoever arms sets the timer, and what has fired is read by the thread.
 */
static void set_timer(uint64_t deadline)
{
    const struct itimerspec when = {.it_value = {
                                        .tv_sec = (time_t)(deadline / 1000000000),
                                        .tv_nsec = (long)(deadline % 1000000000),
                                    }};

    if (deadline != thread.deadline) {
        thread.deadline = deadline;
        (void)timerfd_settime(thread.timer, TFD_TIMER_ABSTIME, &when, NULL);
    }
}

static void clear_timer(void)
{
    uint64_t count;

    while (read(thread.timer, &count, sizeof(count)) < 0 && errno == EINTR) {
    }
}

struct fired {
    bool is_stop;
    bool is_call;  /* for somebody who polls, also if nobody is in MPI */
    bool is_asked; /* by a peer that wants to connect */
};

/* Of a network that has to be loaded first the second descriptor is for peers that want
 * to connect; of others it may tell something else, as the address of a peer. */
static bool is_asking(int which)
{
    return which % EACH == EVENTS && weft_engine.list[which / EACH].ops->warm_up != NULL;
}

/*
 * All of them, also behind a stop: a descriptor that has fired is not watched any more,
 * and the next thread would wait for it in vain if `is_set` did not say so.
 */
static struct fired note_fired(const struct epoll_event *events, int count)
{
    struct fired fired = {false, false, false};

    for (int i = 0; i < count; i++) {
        const uint32_t which = events[i].data.u32;

        if (which == STOP) {
            fired.is_stop = true;
        } else if (which == TIMER) {
            clear_timer();
            fired.is_call = true;
        } else {
            atomic_store_explicit(&thread.is_set[which], false, memory_order_release);
            fired.is_call = fired.is_call || which % EACH == EVENTS;
            fired.is_asked = fired.is_asked || is_asking((int)which);
        }
    }
    return fired;
}

static void run(void)
{
    const int64_t warm = weft_setting(WEFT_SET_WARM);
    const int patience = warm > 0 && warm < INT_MAX ? (int)warm : -1;
    int avoided = -1;

    weft_warm_look(WEFT_WARM_FIRST);
    for (;;) {
        struct epoll_event events[WATCHED];
        const int count = epoll_wait(thread.epoll, events, WATCHED,
                                     weft_warm_is_begun() ? -1 : patience);
        struct fired fired;

        if (count == 0) { /* that long nothing has come */
            weft_warm_look(WEFT_WARM_QUIET);
            continue;
        }
        fired = note_fired(events, count);
        if (fired.is_stop) {
            return;
        }
        if (fired.is_call) {
            weft_warm_look(fired.is_asked ? WEFT_WARM_ASKED : WEFT_WARM_TIMER);
            thread.callbacks->call();
        }
        thread.callbacks->came(&avoided);
    }
}

/* A network is warm: what has waited for that goes on. */
static void on_warm(void)
{
    int avoided = -1;

    thread.callbacks->call();
    thread.callbacks->came(&avoided);
}

/* ---- descriptors ---- */

/* A transport inside the node rings the doorbell instead. */
static bool is_ours(int instance)
{
    return !weft_engine.list[instance].ops->is_node_local;
}

/* Those that were watched before are closed, and so not watched any more. */
static bool watch_descriptors(int instance)
{
    const struct weft_instance *t = &weft_engine.list[instance];
    int *descriptors = &thread.descriptors[EACH * instance];
    const int count =
        t->ops->descriptors != NULL ? t->ops->descriptors(t->tp, descriptors) : 0;

    thread.needs_tick[instance] = count == 0;
    for (int i = 0; i < EACH; i++) {
        const int which = EACH * instance + i;

        descriptors[i] = i < count ? descriptors[i] : -1;
        atomic_store_explicit(&thread.is_set[which], true, memory_order_relaxed);
        if (descriptors[i] >= 0 && !watch(EPOLL_CTL_ADD, descriptors[i], which)) {
            return false;
        }
    }
    return true;
}

static bool watch_all(void)
{
    bool is_watching = true;

    for (int i = 0; i < DESCRIPTORS; i++) {
        thread.descriptors[i] = -1;
    }
    for (int i = 0; i < weft_engine.list_count && is_watching; i++) {
        is_watching = !is_ours(i) || watch_descriptors(i);
    }
    return is_watching;
}

static bool open_epoll(void)
{
    thread.epoll = epoll_create1(EPOLL_CLOEXEC);
    thread.stop = eventfd(0, EFD_CLOEXEC);
    thread.timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    thread.deadline = 0;
    return thread.epoll >= 0 && thread.stop >= 0 && thread.timer >= 0 &&
           watch(EPOLL_CTL_ADD, thread.stop, STOP) &&
           watch(EPOLL_CTL_ADD, thread.timer, TIMER) && watch_all();
}

enum weft_rc weft_network_thread_open(const struct weft_network_callbacks *callbacks)
{
    bool is_needed = false;

    for (int i = 0; i < weft_engine.list_count; i++) {
        is_needed = is_needed || is_ours(i);
    }
    if (!is_needed) {
        return WEFT_OK;
    }
    thread.callbacks = callbacks;
    weft_warm_open(on_warm);
    if (!open_epoll()) {
        weft_log_error(WEFT_S_NETWORK_THREAD, strerror(errno));
        weft_network_thread_close();
        return WEFT_ERR_SYSTEM;
    }
    return WEFT_OK;
}

void weft_network_thread_close(void)
{
    if (thread.callbacks != NULL) {
        weft_network_thread_stop();
        close(thread.epoll);
        close(thread.stop);
        close(thread.timer);
        thread.callbacks = NULL;
    }
}

/* ---- its life ---- */

static bool is_running(void)
{
    return atomic_load_explicit(&thread.is_running, memory_order_acquire);
}

static void set_running(bool is_so)
{
    atomic_store_explicit(&thread.is_running, is_so, memory_order_release);
}

void weft_network_thread_start(void)
{
    const struct weft_segment_header *h = weft_engine.job->segment.header;

    if (thread.callbacks == NULL || is_running()) {
        return;
    }
    if (weft_thread_start(WEFT_THREAD_NETWORK, run, h->cpu_set, WEFT_SEGMENT_CPU_BYTES) !=
        WEFT_OK) {
        weft_wireup_abort(weft_engine.job, 1, WEFT_S_NETWORK_THREAD_START);
    }
    set_running(true);
}

void weft_network_thread_stop(void)
{
    if (is_running()) {
        uint64_t count = 1;

        while (write(thread.stop, &count, sizeof(count)) < 0 && errno == EINTR) {
        }
        weft_thread_join(WEFT_THREAD_NETWORK);
        while (read(thread.stop, &count, sizeof(count)) < 0 && errno == EINTR) {
        }
        set_running(false);
    }
}

/* ---- arming ---- */

/* A last look. The descriptors that a transport has now are watched, if they are others
 * than before: *has_moved. */
static enum weft_rc look(int instance, bool *has_moved)
{
    struct weft_instance *t = &weft_engine.list[instance];
    enum weft_rc rc = t->ops->arm(t->tp);

    *has_moved = weft_unlikely(rc == WEFT_PENDING);
    if (*has_moved) {
        if (!watch_descriptors(instance)) {
            weft_wireup_abort(weft_engine.job, 1, WEFT_S_NETWORK_DESCRIPTOR);
        }
        rc = t->ops->arm(t->tp);
    }
    t->is_due = t->is_due || rc != WEFT_OK;
    return rc == WEFT_OK ? WEFT_OK : WEFT_AGAIN;
}

static enum weft_rc arm(int instance)
{
    bool has_moved;

    return look(instance, &has_moved);
}

void weft_descriptors_follow(void)
{
    weft_assert_locked();
    for (int i = 0; thread.callbacks != NULL && i < weft_engine.list_count; i++) {
        bool has_moved = false;

        if (is_ours(i)) {
            (void)look(i, &has_moved);
        }
        if (has_moved) {
            thread.callbacks->call();
        }
    }
}

/* When a transport is to be polled at the latest, 0: never. */
static uint64_t deadline_of(int instance)
{
    const struct weft_instance *t = &weft_engine.list[instance];

    if (thread.needs_tick[instance]) {
        return weft_clock_ns() + TICK_NS;
    }
    return t->ops->deadline != NULL ? t->ops->deadline(t->tp) : 0;
}

/* The first of all their deadlines, 0: there is none. */
static uint64_t first_deadline(void)
{
    uint64_t first = 0;

    for (int i = 0; i < weft_engine.list_count; i++) {
        const uint64_t next = deadline_of(i);

        first = next != 0 && (first == 0 || next < first) ? next : first;
    }
    return first;
}

void weft_network_keep_time(void)
{
    weft_assert_locked();
    if (thread.callbacks != NULL) {
        set_timer(first_deadline());
    }
}

void weft_network_wake_at(void *owner, uint64_t time)
{
    (void)owner;
    weft_assert_locked();
    if (thread.callbacks != NULL && (thread.deadline == 0 || time < thread.deadline ||
                                     thread.deadline < weft_clock_ns())) {
        weft_network_thread_start();
        set_timer(time);
    }
}

void weft_network_leave_time(void)
{
    const uint64_t later = weft_clock_ns() + LEFT_NS;

    weft_assert_locked();
    if (thread.callbacks != NULL && thread.deadline < later) {
        set_timer(later);
    }
}

static enum weft_rc watch_again(int which)
{
    /* Acquire: the thread is through with the event before. */
    if (thread.descriptors[which] < 0 ||
        atomic_load_explicit(&thread.is_set[which], memory_order_acquire)) {
        return WEFT_OK;
    }
    atomic_store_explicit(&thread.is_set[which], true, memory_order_relaxed);
    if (!watch(EPOLL_CTL_MOD, thread.descriptors[which], which)) {
        atomic_store_explicit(&thread.is_set[which], false, memory_order_relaxed);
        return WEFT_AGAIN;
    }
    return WEFT_OK;
}

static enum weft_rc arm_those(bool are_ours)
{
    enum weft_rc rc = WEFT_OK;

    for (int i = 0; i < weft_engine.list_count && rc == WEFT_OK; i++) {
        rc = is_ours(i) == are_ours ? arm(i) : WEFT_OK;
    }
    return rc;
}

enum weft_rc weft_transports_arm(void)
{
    const enum weft_rc rc = arm_those(false);

    weft_assert_locked();
    return rc == WEFT_OK ? weft_descriptors_arm() : rc;
}

enum weft_rc weft_descriptors_arm(void)
{
    enum weft_rc rc = arm_those(true);

    weft_assert_locked();
    if (thread.callbacks == NULL || rc != WEFT_OK) {
        return rc;
    }
    weft_network_thread_start();
    set_timer(first_deadline());
    for (int i = 0; i < EACH * weft_engine.list_count && rc == WEFT_OK; i++) {
        rc = watch_again(i);
    }
    return rc;
}

void weft_descriptors_ignore(void)
{
    weft_assert_locked();
    for (int i = 0; thread.callbacks != NULL && i < weft_engine.list_count; i++) {
        const int which = EACH * i; /* of packets; connections are nobody else's matter */
        struct epoll_event nothing = {.data = {.u32 = (uint32_t)which}};

        if (thread.descriptors[which] >= 0 &&
            atomic_load_explicit(&thread.is_set[which], memory_order_relaxed)) {
            atomic_store_explicit(&thread.is_set[which], false, memory_order_relaxed);
            (void)epoll_ctl(thread.epoll, EPOLL_CTL_MOD, thread.descriptors[which],
                            &nothing);
        }
    }
}
