/*
 * network.c - the transport between nodes, and the thread that sleeps on it.
 *
 * Whoever polls the node's queues polls the network too, but less often, because a look
 * there is a system call. A thread cannot sleep on a futex and on descriptors at once, so
 * a thread of ours, the sleeper, waits for the descriptors. When something has come it
 * rings the doorbell of a thread that sleeps in MPI; or, while the program computes, it
 * does what the helper would do (attend.c), because waking that one costs another 6 us.
 *
 * A descriptor fires once (EPOLLONESHOT) and is set again by the next who arms. So a
 * process that polls is disturbed once at most, and one that leaves MPI again and again
 * pays for a system call only if something has come in between. `is_set` is cleared by
 * the sleeper before it rings or ends, and set with the lock before epoll_ctl: who finds
 * it set knows that a later event will ring. It outlives the sleeper, which ends with the
 * last session and is started again with the next.
 *
 * Connections are made also while nobody is in MPI or attends: for those the sleeper
 * calls the helper. Before the first, the network may not even be there; when it comes up
 * it has other descriptors, and the next who arms watches these.
 */
#include "p2p/internal.h"

#include "base/log.h"
#include "base/settings.h"
#include "engine/thread.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum { DESCRIPTORS = 2, EVENTS = 1, STOP = DESCRIPTORS, TIMER, WATCHED };

static struct {
    bool is_running;
    int epoll;
    int stop;
    int timer;
    uint64_t due_ns;              /* that the timer is set to; with the lock */
    int descriptors[DESCRIPTORS]; /* -1: none */
    bool is_warm;                 /* the sleeper's own */
    _Atomic bool is_set[DESCRIPTORS];
} sleeper;

static bool watch(int operation, int descriptor, int which)
{
    struct epoll_event event = {
        .events = EPOLLIN | (which < DESCRIPTORS ? EPOLLONESHOT : 0),
        .data = {.u32 = (uint32_t)which},
    };

    return epoll_ctl(sleeper.epoll, operation, descriptor, &event) == 0;
}

/*
 * For what no descriptor tells of: the transport says until when somebody is to poll.
 * Whoever arms sets the timer, and what has fired is read by the sleeper.
 */
static void set_timer(uint64_t due_ns)
{
    const struct itimerspec when = {.it_value = {
                                        .tv_sec = (time_t)(due_ns / 1000000000),
                                        .tv_nsec = (long)(due_ns % 1000000000),
                                    }};

    if (due_ns != sleeper.due_ns) {
        sleeper.due_ns = due_ns;
        (void)timerfd_settime(sleeper.timer, TFD_TIMER_ABSTIME, &when, NULL);
    }
}

static void clear_timer(void)
{
    uint64_t count;

    while (read(sleeper.timer, &count, sizeof(count)) < 0 && errno == EINTR) {
    }
}

/* The long part of a first contact, while the program goes on. */
static void warm_up(void)
{
    const struct weft_p2p *p = &weft_p2p;

    if (!sleeper.is_warm) {
        p->net_ops->warm_up(p->net);
        sleeper.is_warm = true;
    }
}

struct fired {
    bool is_stop;
    bool is_call; /* for somebody who polls, also if nobody is in MPI */
};

/*
 * All of them, also behind a stop: a descriptor that has fired is not watched any more,
 * and the next sleeper would wait for it in vain if `is_set` did not say so.
 */
static struct fired note_fired(const struct epoll_event *events, int count)
{
    struct fired fired = {false, false};

    for (int i = 0; i < count; i++) {
        const uint32_t which = events[i].data.u32;

        if (which == STOP) {
            fired.is_stop = true;
        } else if (which == TIMER) {
            clear_timer();
        } else {
            atomic_store_explicit(&sleeper.is_set[which], false, memory_order_release);
        }
        fired.is_call = fired.is_call || which == EVENTS || which == TIMER;
    }
    return fired;
}

/*
 * A node's first rank is the likeliest to speak with other nodes, and warms up at once;
 * the others when the job has lasted for a while, so that short ones do not pay for it.
 */
static void run(void)
{
    const int64_t warm = weft_setting(WEFT_SET_WARM);
    const int patience = warm > 0 && warm < INT_MAX ? (int)warm : -1;

    if (weft_engine.job->who.local_rank == 0) {
        warm_up();
    }
    for (;;) {
        struct epoll_event events[WATCHED];
        const int count =
            epoll_wait(sleeper.epoll, events, WATCHED, sleeper.is_warm ? -1 : patience);
        struct fired fired;

        if (count == 0) { /* that long nothing has come */
            warm_up();
            continue;
        }
        fired = note_fired(events, count);
        if (fired.is_stop) {
            return;
        }
        if (fired.is_call) {
            warm_up();
            weft_p2p_call_helper();
        }
        weft_p2p_attend_network();
    }
}

/* Those that were watched before are closed, and so not watched any more. */
static bool watch_descriptors(void)
{
    struct weft_p2p *p = &weft_p2p;

    if (!p->net_ops->descriptors(p->net, sleeper.descriptors)) {
        return false;
    }
    for (int i = 0; i < DESCRIPTORS; i++) {
        atomic_store_explicit(&sleeper.is_set[i], true, memory_order_relaxed);
        if (sleeper.descriptors[i] >= 0 &&
            !watch(EPOLL_CTL_ADD, sleeper.descriptors[i], i)) {
            return false;
        }
    }
    return true;
}

static enum weft_rc open_epoll(void)
{
    sleeper.epoll = epoll_create1(EPOLL_CLOEXEC);
    sleeper.stop = eventfd(0, EFD_CLOEXEC);
    sleeper.timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    sleeper.due_ns = 0;
    return sleeper.epoll >= 0 && sleeper.stop >= 0 && sleeper.timer >= 0 &&
                   watch(EPOLL_CTL_ADD, sleeper.stop, STOP) &&
                   watch(EPOLL_CTL_ADD, sleeper.timer, TIMER) && watch_descriptors()
               ? WEFT_OK
               : WEFT_ERR_SYSTEM;
}

enum weft_rc weft_p2p_open_network(const struct weft_transport_ops *ops)
{
    struct weft_p2p *p = &weft_p2p;
    enum weft_rc rc = ops->open(&weft_engine.up, &weft_engine.node, &p->net);

    if (rc != WEFT_OK) {
        return rc;
    }
    p->net_ops = ops;
    rc = open_epoll();
    if (rc != WEFT_OK) {
        weft_log_error("nothing to sleep on until the network has something: %s",
                       strerror(errno));
        weft_p2p_close_network();
    }
    return rc;
}

void weft_p2p_start_network(void)
{
    struct weft_p2p *p = &weft_p2p;
    const struct weft_segment_header *h = weft_engine.job->segment.header;

    if (p->net_ops == NULL || sleeper.is_running) {
        return;
    }
    if (weft_thread_start(WEFT_THREAD_SLEEPER, run, h->cpu_set, WEFT_SEGMENT_CPU_BYTES) !=
        WEFT_OK) {
        weft_wireup_abort(weft_engine.job, 1,
                          "no thread could be started that waits for the "
                          "network");
    }
    sleeper.is_running = true;
    if (p->has_progress) {
        (void)weft_p2p_start_helper(); /* which says so if it cannot */
    }
}

/* ---- all with all ---- */

static enum weft_rc wire(uint32_t rank)
{
    const struct timespec pause = {.tv_nsec = 20000};
    struct weft_p2p *p = &weft_p2p;
    struct weft_peer *peer;
    enum weft_rc rc = weft_p2p_reach(rank, &peer);

    while (rc == WEFT_OK && weft_p2p_is_far(peer)) {
        rc = p->net_ops->wire(peer->ep);
        if (rc != WEFT_AGAIN) {
            return rc;
        }
        rc = WEFT_OK;
        p->net_ops->poll(p->net, 0);
        nanosleep(&pause, NULL);
    }
    return rc;
}

/*
 * In step k each rank asks the one k further, while the one k before asks it, so that
 * nobody is asked by two at a time. A connection serves both ways: half of the n - 1
 * steps make them all. Then we wait for those who are to ask us, or ask them.
 */
enum weft_rc weft_p2p_wire_all(void)
{
    const uint32_t size = (uint32_t)weft_engine.job->who.size;
    const uint32_t me = weft_engine.me;
    enum weft_rc rc = WEFT_OK;

    for (uint32_t k = 1; k <= size / 2 && rc == WEFT_OK; k++) {
        rc = wire((me + k) % size);
    }
    for (uint32_t k = 1; k <= size / 2 && rc == WEFT_OK; k++) {
        rc = wire((me + size - k) % size);
    }
    return rc;
}

void weft_p2p_stop_sleeper(void)
{
    if (sleeper.is_running) {
        uint64_t count = 1;

        while (write(sleeper.stop, &count, sizeof(count)) < 0 && errno == EINTR) {
        }
        weft_thread_join(WEFT_THREAD_SLEEPER);
        while (read(sleeper.stop, &count, sizeof(count)) < 0 && errno == EINTR) {
        }
        sleeper.is_running = false;
    }
}

void weft_p2p_close_network(void)
{
    struct weft_p2p *p = &weft_p2p;

    if (p->net_ops != NULL) {
        weft_p2p_stop_sleeper();
        close(sleeper.epoll);
        close(sleeper.stop);
        close(sleeper.timer);
        p->net_ops->close(p->net);
        p->net_ops = NULL;
        p->net = NULL;
    }
}

enum weft_rc weft_p2p_arm_network(void)
{
    struct weft_p2p *p = &weft_p2p;
    enum weft_rc rc;

    if (p->net_ops == NULL) {
        return WEFT_OK;
    }
    if (weft_unlikely(!sleeper.is_running)) {
        weft_p2p_start_network();
    }
    rc = p->net_ops->arm(p->net);
    if (weft_unlikely(rc == WEFT_PENDING)) {
        if (!watch_descriptors()) {
            weft_wireup_abort(weft_engine.job, 1,
                              "the network offers nothing to sleep on");
        }
        rc = p->net_ops->arm(p->net);
    }
    if (rc != WEFT_OK) {
        p->is_net_due = true;
        return WEFT_AGAIN;
    }
    set_timer(p->net_ops->due_ns(p->net));
    for (int i = 0; i < DESCRIPTORS; i++) {
        /* Acquire: the sleeper is through with the event before. */
        if (sleeper.descriptors[i] >= 0 &&
            !atomic_load_explicit(&sleeper.is_set[i], memory_order_acquire)) {
            atomic_store_explicit(&sleeper.is_set[i], true, memory_order_relaxed);
            if (!watch(EPOLL_CTL_MOD, sleeper.descriptors[i], i)) {
                atomic_store_explicit(&sleeper.is_set[i], false, memory_order_relaxed);
                return WEFT_AGAIN;
            }
        }
    }
    return WEFT_OK;
}

void weft_p2p_poll_network(int budget)
{
    struct weft_p2p *p = &weft_p2p;

    p->polls_of_node = 0;
    p->is_net_due = false;
    if (p->net_ops->poll(p->net, budget) > 0) {
        p->is_net_busy = true;
    }
}

void weft_p2p_say_goodbye(void)
{
    if (weft_p2p.net_ops != NULL) {
        weft_p2p.net_ops->leave(weft_p2p.net);
    }
}

bool weft_p2p_needs_tick(void)
{
    const struct weft_p2p *p = &weft_p2p;

    for (const struct weft_peer *peer = p->waiting_peers; peer != NULL;
         peer = peer->next_waiting) {
        if (weft_p2p_is_near(peer)) {
            return true; /* a full lane tells, an inbox and a control queue do not */
        }
    }
    return p->waiting_peers != NULL && p->net_ops->has_asked(p->net);
}
