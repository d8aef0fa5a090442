/*
 * progress_thread.c - progress while the program computes.
 *
 * A thread that leaves MPI publishes how much of what comes is worth waking the progress
 * thread for, if there is any reason (weft_engine_leave); one that begins to wait takes
 * that back and polls itself. So the progress thread sleeps unless a peer needs something
 * of a process that computes: an announcement to be matched, bytes to be sent in chunks,
 * room in a lane. It then takes the lock, does what a waiting thread would do, and
 * publishes the wake level anew before it sleeps again.
 *
 * A program that looks into MPI all the time needs no such thread, and pays for its
 * wake-ups: while it is quiet (quiet.h) it publishes no level, and the thread looks by
 * itself, every millisecond.
 *
 * Small packets of a schedule do not wake it. When a peer waits for what follows from
 * them (await.c), any packet wakes it, and we tell the peers for whose messages we wait.
 *
 * `published` has the reasons that the level out there covers. Work, what is tried again
 * and what is ready are never covered: whoever leaves MPI with these has something to do,
 * or to ring for.
 *
 * The thread that sleeps on descriptors (network_thread.c) does the same when something
 * comes from there, in the progress thread's place: the role (engine/lock.h) is for one
 * of them at a time.
 *
 * Where no barrier makes sure that peers see what we want to be woken for, the progress
 * thread looks every millisecond while it is responsible (weft_node_may_miss).
 *
 * `is_delegated` is true while it is responsible: changed with the lock, read by the
 * thread without. If it finds the lock taken, either that thread leaves again soon, or it
 * waits in MPI and has taken responsibility back.
 */
#include "engine/progress_thread.h"

#include "base/futex.h"
#include "base/log.h"
#include "base/texts.h"
#include "engine/engine.h"
#include "engine/hot.h"
#include "engine/lock.h"
#include "engine/network_thread.h"
#include "engine/quiet.h"
#include "engine/thread.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

enum {
    LEAVING_TURNS = 4,
    TICK_NS = 1000000,
    CALLED_BUDGET = 64,
    MOMENT_NS = 2000,
    GIVEN_NS = 50000,
    LOOKS_MOST = 64, /* while a thread sleeps for the lock */
};

static struct {
    bool is_running;            /* with the lock */
    bool is_refused;            /* no thread could be made: tried once */
    enum weft_wake_level level; /* with the lock: what it may be woken for */
    _Atomic uint32_t is_stopping;
    _Atomic bool is_called;  /* by the network */
    _Atomic bool is_ticking; /* peers may not wake it: it wakes by itself */
    _Atomic bool is_quiet;   /* they do not: the same; changed with the lock */
    struct weft_quiet quiet; /* with the lock */
    _Atomic int left_on;     /* the processor on which the program left MPI; a guess */
} thread;

static void set_delegated(bool is_delegated)
{
    atomic_store_explicit(&weft_engine.is_delegated, is_delegated, memory_order_relaxed);
    weft_engine.published = 0;
}

static bool is_delegated(void)
{
    return atomic_load_explicit(&weft_engine.is_delegated, memory_order_relaxed);
}

static uint32_t bit(enum weft_reason reason)
{
    return 1u << reason;
}

/* Chunks of messages come as ordinary packets. Those of schedules count while a peer
 * waits for a step of ours. */
static enum weft_wake_level level_wanted(void)
{
    const uint32_t ordinary = bit(WEFT_REASON_PACKETS) | bit(WEFT_REASON_RETRY);
    const uint32_t reasons = weft_engine.reasons;

    if ((reasons & ordinary) != 0) {
        return WEFT_WAKE_ANYTHING;
    }
    if ((reasons & bit(WEFT_REASON_STEPS)) == 0) {
        return WEFT_WAKE_REQUESTS;
    }
    return weft_node_is_awaited(&weft_engine.node) ? WEFT_WAKE_ANYTHING : WEFT_WAKE_STEPS;
}

/* The reasons that a level covers. */
static uint32_t covered_by(enum weft_wake_level level)
{
    const uint32_t always = bit(WEFT_REASON_REQUESTS) | bit(WEFT_REASON_SERVED) |
                            bit(WEFT_REASON_CALLS); /* not the progress thread's */

    switch (level) {
    case WEFT_WAKE_ANYTHING:
        return always | bit(WEFT_REASON_STEPS) | bit(WEFT_REASON_PACKETS);
    case WEFT_WAKE_STEPS:
        return always | bit(WEFT_REASON_STEPS);
    default:
        return always;
    }
}

/* Short work, for whoever polls. */
static bool has_work(void)
{
    return (weft_engine.reasons & bit(WEFT_REASON_WORK)) != 0;
}

static void ring(void)
{
    _Atomic uint32_t *bell = &weft_engine.node.area->progress_bell;

    atomic_fetch_add_explicit(bell, 1, memory_order_release);
    weft_futex_wake(bell, 1);
}

static bool is_ticking(void)
{
    return atomic_load_explicit(&thread.is_ticking, memory_order_relaxed);
}

/* With the lock, after publishing. The progress thread may sleep without end: it learns
 * of it. */
static void tick_if_missed(void)
{
    if (thread.level == WEFT_WAKE_ANYTHING && !is_ticking() &&
        weft_node_may_miss(&weft_engine.node)) {
        atomic_store_explicit(&thread.is_ticking, true, memory_order_relaxed);
        ring();
    }
}

/* With the lock: who waits for a step of ours waits for those, too, for whom we do. */
static void pass_on(void)
{
    if ((weft_engine.reasons & bit(WEFT_REASON_STEPS)) == 0) {
        weft_engine_await_end();
    } else if (thread.level == WEFT_WAKE_ANYTHING &&
               weft_node_is_awaited(&weft_engine.node)) {
        weft_engine_await_steps();
    }
}

/* With the lock. A peer that begins to wait before it sees our level is seen by us. */
static void publish_level(void)
{
    struct weft_engine *e = &weft_engine;

    thread.level = level_wanted();
    weft_node_publish_leaving(&e->node, thread.level);
    if (thread.level == WEFT_WAKE_STEPS && weft_node_is_awaited(&e->node)) {
        thread.level = WEFT_WAKE_ANYTHING;
        weft_node_publish_leaving(&e->node, thread.level);
    }
    e->published = covered_by(thread.level);
    pass_on();
}

/*
 * After publishing: has a peer finished a copy, or changed a word, before it could see
 * the level? Then it has rung for nobody. What waits as work has been seen.
 */
static bool has_unseen_news(void)
{
    return weft_engine.watched > 0 && !has_work() && weft_engine_has_news();
}

/* With the lock: publishes what we want to be woken for, once nothing is there. */
static bool has_published(void)
{
    struct weft_engine *e = &weft_engine;

    if ((e->reasons & bit(WEFT_REASON_AGAIN)) != 0) {
        return false; /* a packet that was kept may be taken now: poll again */
    }
    do {
        e->has_new_retry = false;
        publish_level();
        if (weft_transports_arm() != WEFT_OK || has_unseen_news()) {
            weft_node_disarm(&e->node);
            e->published = 0;
            return false;
        }
        tick_if_missed();
        if (e->retrying == NULL) {
            return true;
        }
        weft_engine_retry(); /* tried after publishing, so no room is missed */
    } while (e->node.has_asked_for_room);
    /* What went out may be a step of one; what did not, to a peer that is lost. */
    return weft_engine_may_sleep() && !weft_engine_has_failures();
}

/* Posting may have made more packets count, or asked for room. */
static bool is_published_enough(void)
{
    const struct weft_engine *e = &weft_engine;

    return thread.level >= level_wanted() && !e->has_new_retry &&
           (e->retrying == NULL || !e->node.has_asked_for_room);
}

void weft_engine_enter(void)
{
    if (weft_unlikely(is_delegated())) {
        set_delegated(false);
        weft_node_disarm(&weft_engine.node);
        weft_engine_await_end(); /* who waits tells them anew */
    }
}

/* ---- while the program looks all the time ---- */

static bool is_quiet(void)
{
    return atomic_load_explicit(&thread.is_quiet, memory_order_relaxed);
}

static void set_quiet(bool quiet)
{
    atomic_store_explicit(&thread.is_quiet, quiet, memory_order_relaxed);
}

/* With the lock. The level that is out there is taken back, and the progress thread
 * learns that it has to look by itself. */
void weft_progress_thread_judge(uint64_t away_ns)
{
    struct weft_engine *e = &weft_engine;

    weft_assert_locked();
    if (weft_quiet_judge(&thread.quiet, e->polls, away_ns)) {
        set_quiet(true);
        weft_engine_enter();
        ring();
    }
    e->bell_seen = weft_node_progress_bell(&e->node);
}

/* With the lock, while no thread of the program waits: it leaves without a level. False:
 * what is outstanding needs somebody who rings, or a network has something. */
static bool leave_quietly(void)
{
    struct weft_engine *e = &weft_engine;
    const uint32_t busy = WEFT_REASONS_NOW | bit(WEFT_REASON_RETRY);

    if (!is_quiet() || is_delegated() || (e->reasons & busy) != 0 ||
        weft_descriptors_arm() != WEFT_OK) {
        return false;
    }
    set_delegated(true);
    thread.level = WEFT_WAKE_NONE;
    /* Nobody rings for these: the progress thread finds them by itself. */
    e->published = covered_by(WEFT_WAKE_ANYTHING) | bit(WEFT_REASON_WORK);
    return true;
}

/* ---- the progress thread ---- */

/*
 * Tries until it has the lock. False: the progress thread is no longer responsible, and
 * does not need it. The lock may be held by the program's thread, which has rung for us
 * from inside MPI, and which the kernel has taken off its processor for us at once. That
 * thread needs the processor for a moment. A yield would give it a whole slice, in which
 * it computes for milliseconds. So we sleep for a moment, and are back after it.
 */
static bool take_lock(void)
{
    struct timespec moment = {.tv_nsec = MOMENT_NS};

    while (!weft_lock_try_as_progress()) {
        if (!is_delegated()) {
            return false;
        }
        clock_nanosleep(CLOCK_MONOTONIC, 0, &moment, NULL);
        if (moment.tv_nsec < TICK_NS / 2) {
            moment.tv_nsec *= 2;
        }
    }
    if (is_delegated()) {
        return true;
    }
    weft_lock_leave_as_progress();
    return false;
}

/* A thread that waits in MPI serves us too. One that sleeps knows what there was to do
 * when it armed: it must be woken for work, and for what has found no room since, because
 * nobody may tell it of room, or of a network that has come up only now. Whoever has
 * polled since then may have left a transport in another state: it is armed again. */
static void leave_to_waiting(void)
{
    struct weft_engine *e = &weft_engine;
    const uint32_t work = bit(WEFT_REASON_WORK) | bit(WEFT_REASON_CALLS);
    const bool has_polled = e->polls != e->polls_armed;

    if (!e->is_armed) {
        return;
    }
    e->polls_armed = e->polls;
    if ((e->reasons & work) != 0 || e->has_new_retry || !weft_engine_may_sleep() ||
        (has_polled && (weft_transports_arm() != WEFT_OK || has_unseen_news()))) {
        weft_node_ring(&e->node);
    }
}

/*
 * With the lock, after a look that was not the last. What keeps coming, or a transport
 * that cannot be armed, keeps no thread out of MPI for ever: one that sleeps for the lock
 * gets a moment to come in.
 */
static void give_way(unsigned *looks)
{
    const struct timespec moment = {.tv_nsec = GIVEN_NS};

    if (++*looks % LOOKS_MOST == 0 && weft_lock_is_awaited()) {
        const bool is_progress_thread = weft_engine_drop_lock();

        clock_nanosleep(CLOCK_MONOTONIC, 0, &moment, NULL);
        weft_engine_retake_lock(is_progress_thread);
    }
}

/*
 * With the role. True: something waits for room of which nobody will tell. While the lock
 * was dropped for work, a thread may have begun to wait and gone to sleep. What the work
 * has brought is then left to that thread.
 */
static bool serve_in_role(void)
{
    struct weft_engine *e = &weft_engine;
    unsigned looks = 0;
    bool has_backlog;

    if (!take_lock()) {
        return false;
    }
    e->is_progress_thread_inside = true;
    weft_transports_are_due();
    do {
        weft_engine_work_and_poll();
        give_way(&looks);
        if (!is_delegated()) { /* while the lock was dropped somebody began to wait */
            break;
        }
        if (e->reasons == 0) {
            weft_engine_enter();
            break;
        }
    } while (!has_published() || has_work());
    if (!is_delegated()) {
        leave_to_waiting();
    }
    has_backlog = is_delegated() && weft_transports_need_tick();
    e->is_progress_thread_inside = false;
    weft_lock_leave_as_progress();
    return has_backlog;
}

static bool serve(void)
{
    bool has_backlog;

    weft_progress_role_take();
    has_backlog = serve_in_role();
    weft_progress_role_give();
    return has_backlog;
}

/* A millisecond of quiet is over. If the program has the lock, it looks: then not yet. */
static bool is_quiet_over(void)
{
    bool is_over = false;

    weft_progress_role_take();
    if (weft_lock_try_as_progress()) {
        is_over = weft_quiet_tick(&thread.quiet, weft_engine.polls, is_delegated());
        if (is_over) {
            set_quiet(false);
        }
        weft_lock_leave_as_progress();
    }
    weft_progress_role_give();
    return is_over;
}

/*
 * The network needs somebody. Whoever polls would do, but nobody may be there. If
 * somebody is, one look is enough: two threads that share a processor and poll in turn
 * change places after every look for as long as something comes. A thread that sleeps in
 * MPI is rung behind that look, because what it waits for may have come with it.
 */
static void answer_call(void)
{
    struct weft_engine *e = &weft_engine;
    unsigned looks = 0;

    weft_progress_role_take();
    weft_lock_as_progress();
    e->is_progress_thread_inside = true;
    do {
        weft_transports_are_due();
        weft_engine_work_and_poll();
        give_way(&looks);
    } while (e->waiting_threads == 0 && weft_descriptors_arm() != WEFT_OK);
    if (e->is_armed) { /* it looks, and arms, by itself */
        weft_node_ring(&e->node);
    } else if (e->waiting_threads > 0) {
        weft_network_leave_time();
    }
    e->is_progress_thread_inside = false;
    weft_lock_leave_as_progress();
    weft_progress_role_give();
}

static bool needs_tick(bool has_backlog)
{
    return has_backlog || is_ticking() || is_quiet();
}

/* Sleeps until the bell has moved, or for a tick; true: nobody has rung. */
static bool sleep_until_rung(_Atomic uint32_t *bell, uint32_t rung, bool has_backlog)
{
    weft_futex_wait(bell, rung, needs_tick(has_backlog) ? TICK_NS : 0);
    return atomic_load_explicit(bell, memory_order_relaxed) == rung;
}

static void run(void)
{
    _Atomic uint32_t *bell = &weft_engine.node.area->progress_bell;
    bool has_backlog = false;
    uint32_t rung = 0;

    prctl(PR_SET_TIMERSLACK, 1UL); /* a moment is no longer than it is said to be */
    while (atomic_load_explicit(&thread.is_stopping, memory_order_acquire) == 0) {
        const uint32_t now = atomic_load_explicit(bell, memory_order_acquire);

        if (now == rung) {
            if (sleep_until_rung(bell, rung, has_backlog) && is_quiet() &&
                is_quiet_over()) {
                has_backlog = serve();
            }
        }
        if (now != rung || has_backlog || (is_ticking() && is_delegated())) {
            rung = now; /* a later ring moves it on, and we do not sleep */
            weft_engine.progress_thread_wakeups++;
            if (atomic_exchange_explicit(&thread.is_called, false,
                                         memory_order_acquire)) {
                answer_call();
            }
            has_backlog = serve();
        }
    }
}

/* False: nobody makes progress while the program computes. */
static bool start(void)
{
    const struct weft_segment_header *h = weft_engine.job->segment.header;

    if (!thread.is_running && !thread.is_refused) {
        thread.is_running = weft_thread_start(WEFT_THREAD_PROGRESS, run, h->cpu_set,
                                              WEFT_SEGMENT_CPU_BYTES) == WEFT_OK;
        thread.is_refused = !thread.is_running;
        if (thread.is_refused) {
            weft_log_error(WEFT_S_PROGRESS_THREAD, strerror(errno));
        }
    }
    return thread.is_running;
}

/* ---- the network thread calls ---- */

void weft_progress_thread_came(int *avoided)
{
    if (!is_delegated()) {
        weft_node_ring(&weft_engine.node); /* a thread that sleeps in MPI */
        return;
    }
    weft_thread_avoid(atomic_load_explicit(&thread.left_on, memory_order_relaxed),
                      avoided);
    if (serve()) {
        ring(); /* the progress thread looks for room now and then */
    }
}

void weft_progress_thread_call(void)
{
    atomic_store_explicit(&thread.is_called, true, memory_order_release);
    ring();
}

void weft_progress_thread_start(void)
{
    if (weft_engine.has_progress) {
        (void)start(); /* which says so if it cannot */
    }
}

static bool is_running(void)
{
    bool is_so;

    weft_lock();
    is_so = thread.is_running;
    weft_unlock();
    return is_so;
}

/* With the lock, when it has ended: another thread of the program may start the next one
 * as soon as it gets the lock. */
static void clear(void)
{
    weft_engine_enter(); /* progress is nobody else's */
    atomic_store_explicit(&thread.is_ticking, false, memory_order_relaxed);
    set_quiet(false);
    thread.quiet = (struct weft_quiet){0};
    atomic_store_explicit(&thread.is_stopping, 0, memory_order_relaxed);
    thread.is_running = false;
}

void weft_progress_thread_stop(void)
{
    if (is_running()) {
        atomic_store_explicit(&thread.is_stopping, 1, memory_order_release);
        ring();
        weft_thread_join(WEFT_THREAD_PROGRESS);
        weft_lock();
        clear();
        weft_unlock();
    }
}

/* ---- threads of the program ---- */

/* Publishes, and takes what is there already; the thread takes what keeps coming. */
static void delegate(void)
{
    atomic_store_explicit(&thread.left_on, sched_getcpu(), memory_order_relaxed);
    set_delegated(true);
    for (int i = 0; i < LEAVING_TURNS; i++) {
        if (has_published()) {
            return;
        }
        weft_engine_poll();
        if (weft_engine.reasons == 0) {
            weft_engine_enter();
            return;
        }
    }
    weft_engine.published = 0;
    ring();
}

void weft_engine_publish(void)
{
    struct weft_engine *e = &weft_engine;
    bool has_begun = false;

    weft_assert_locked();
    /* A message to ourselves may have completed a step, and who waits for it sleeps. */
    if (!weft_engine_may_sleep()) {
        weft_engine_go_on();
    }
    if (e->reasons == 0) {
        return;
    }
    if (e->waiting_threads > 0) {
        leave_to_waiting();
        return;
    }
    if (!e->has_progress || !start()) {
        return;
    }
    if (leave_quietly()) {
        return;
    }
    if (!is_delegated() || !is_published_enough()) {
        delegate();
        has_begun = true;
    }
    /* Nobody but the progress thread copies now, or looks for room. */
    if (is_delegated() && (has_work() || (has_begun && e->retrying != NULL))) {
        ring();
    }
}
