/*
 * attend.c - progress while the program computes.
 *
 * A thread that leaves MPI with requests outstanding publishes how much of what comes is
 * worth waking the helper for (weft_p2p_leave); one that begins to wait takes that back
 * and polls itself. So the helper, a thread of ours, sleeps unless a peer needs something
 * of a process that computes: an announcement to be matched, bytes to be sent in pieces,
 * room in a lane. It then takes the lock, does what a waiting thread would do, and
 * publishes the wake level anew before it sleeps again.
 *
 * The thread that sleeps on a network (network.c) does the same when something comes from
 * there, in the helper's place: the seat (engine/lock.h) is for one of them at a time.
 *
 * Where no barrier makes sure that peers see what we want to be woken for, the helper
 * looks every millisecond while it is responsible (weft_node_may_miss).
 *
 * `is_attending` is true while a helper is responsible: changed with the lock, read by
 * the helper without. If the helper finds the lock taken, either that thread leaves again
 * soon, or it waits in MPI and has taken responsibility back.
 */
#include "p2p/internal.h"

#include "base/futex.h"
#include "base/log.h"
#include "engine/lock.h"
#include "engine/thread.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <string.h>

enum { LEAVING_TURNS = 4, TICK_NS = 1000000, CALLED_BUDGET = 64 };

static struct {
    bool is_running;
    bool is_refused;                /* no thread could be made: tried once */
    enum weft_wake_level published; /* with the lock: what it may be woken for */
    _Atomic uint32_t is_stopping;
    _Atomic bool is_called;  /* by the network */
    _Atomic bool is_ticking; /* peers may not wake it: it wakes by itself */
} helper;

static void set_attending(bool is_attending)
{
    atomic_store_explicit(&weft_p2p.is_attending, is_attending, memory_order_relaxed);
}

static bool is_attending(void)
{
    return atomic_load_explicit(&weft_p2p.is_attending, memory_order_relaxed);
}

/* Pieces of messages, and what schedules wait for, come as ordinary packets. */
static enum weft_wake_level level_wanted(void)
{
    const struct weft_p2p *p = &weft_p2p;

    return p->awaits_data > 0 || p->waiting_peers != NULL || weft_schedule_steps > 0
               ? WEFT_WAKE_ANYTHING
               : WEFT_WAKE_REQUESTS;
}

static void ring(void)
{
    _Atomic uint32_t *bell = &weft_engine.node.area->helper_bell;

    atomic_fetch_add_explicit(bell, 1, memory_order_release);
    weft_futex_wake(bell, 1);
}

static bool is_ticking(void)
{
    return atomic_load_explicit(&helper.is_ticking, memory_order_relaxed);
}

/* With the lock, after publishing. The helper may sleep without end: it learns of it. */
static void tick_if_missed(void)
{
    if (helper.published == WEFT_WAKE_ANYTHING && !is_ticking() &&
        weft_node_may_miss(&weft_engine.node)) {
        atomic_store_explicit(&helper.is_ticking, true, memory_order_relaxed);
        ring();
    }
}

/* With the lock: publishes what we want to be woken for, once nothing is there. */
static bool has_published(void)
{
    struct weft_p2p *p = &weft_p2p;

    do {
        helper.published = level_wanted();
        p->has_new_backlog = false;
        weft_node_publish_leaving(&weft_engine.node, helper.published);
        if (p->ops->arm(p->transport) != WEFT_OK || weft_p2p_arm_network() != WEFT_OK) {
            weft_node_disarm(&weft_engine.node);
            return false;
        }
        tick_if_missed();
        if (p->waiting_peers == NULL) {
            return true;
        }
        weft_p2p_retry(); /* tried after publishing, so no room is missed */
    } while (weft_engine.node.has_asked);
    /* What went out may be a step of one; what did not, to a peer that is lost. */
    return weft_schedules_ready == NULL && !weft_p2p_has_deaths();
}

/* Posting may have made more packets count, or asked for room. */
static bool is_published_enough(void)
{
    const struct weft_p2p *p = &weft_p2p;

    return helper.published >= level_wanted() && !p->has_new_backlog &&
           (p->waiting_peers == NULL || !weft_engine.node.has_asked);
}

/* ---- the helper ---- */

/* Until it has the lock, or has no reason to want it any more. */
static bool take_lock(void)
{
    while (!weft_lock_try_as_helper()) {
        if (!is_attending()) {
            return false;
        }
        sched_yield();
    }
    if (is_attending()) {
        return true;
    }
    weft_lock_leave_as_helper();
    return false;
}

/* With the seat. True: something waits for room of which nobody will tell. */
static bool serve_seated(void)
{
    struct weft_p2p *p = &weft_p2p;
    bool has_backlog;

    if (!take_lock()) {
        return false;
    }
    p->is_helper_inside = true;
    p->is_net_due = true;
    do {
        weft_p2p_work_and_poll();
        if (!is_attending()) { /* while the lock was dropped somebody began to wait */
            break;
        }
        if (weft_outstanding == 0 && p->work == NULL) {
            set_attending(false);
            weft_node_disarm(&weft_engine.node);
            break;
        }
    } while (!has_published() || p->work != NULL);
    has_backlog = is_attending() && weft_p2p_needs_tick();
    p->is_helper_inside = false;
    weft_lock_leave_as_helper();
    return has_backlog;
}

static bool serve(void)
{
    bool has_backlog;

    weft_seat_take();
    has_backlog = serve_seated();
    weft_seat_give();
    return has_backlog;
}

/* The network needs somebody. Whoever polls would do, but nobody may be there. */
static void answer_call(void)
{
    struct weft_p2p *p = &weft_p2p;

    weft_seat_take();
    weft_lock_as_helper();
    p->is_helper_inside = true;
    do {
        weft_p2p_work_and_poll();
        weft_p2p_poll_network(CALLED_BUDGET);
    } while (weft_p2p_arm_network() != WEFT_OK);
    if (p->is_armed) {
        weft_node_ring(
            &weft_engine.node); /* what somebody sleeps for may have just been done */
    }
    p->is_helper_inside = false;
    weft_lock_leave_as_helper();
    weft_seat_give();
}

static void run(void)
{
    struct weft_p2p *p = &weft_p2p;
    _Atomic uint32_t *bell = &weft_engine.node.area->helper_bell;
    bool has_backlog = false;
    uint32_t rung = 0;

    while (atomic_load_explicit(&helper.is_stopping, memory_order_acquire) == 0) {
        const uint32_t now = atomic_load_explicit(bell, memory_order_acquire);

        if (now == rung) {
            weft_futex_wait(bell, rung, has_backlog || is_ticking() ? TICK_NS : 0);
        }
        if (now != rung || has_backlog || (is_ticking() && is_attending())) {
            rung = now; /* a later ring moves it on, and we do not sleep */
            p->helper_wakeups++;
            if (atomic_exchange_explicit(&helper.is_called, false,
                                         memory_order_acquire)) {
                answer_call();
            }
            has_backlog = serve();
        }
    }
}

bool weft_p2p_start_helper(void)
{
    const struct weft_segment_header *h = weft_engine.job->segment.header;

    if (!helper.is_running && !helper.is_refused) {
        helper.is_running = weft_thread_start(WEFT_THREAD_HELPER, run, h->cpu_set,
                                              WEFT_SEGMENT_CPU_BYTES) == WEFT_OK;
        helper.is_refused = !helper.is_running;
        if (helper.is_refused) {
            weft_log_error("the progress thread cannot be started (%s): messages advance "
                           "only inside MPI calls",
                           strerror(errno));
        }
    }
    return helper.is_running;
}

void weft_p2p_attend_network(void)
{
    if (!is_attending()) {
        weft_node_ring(&weft_engine.node); /* who sleeps in MPI, if anybody does */
    } else if (serve()) {
        ring(); /* the helper looks for room now and then */
    }
}

void weft_p2p_call_helper(void)
{
    atomic_store_explicit(&helper.is_called, true, memory_order_release);
    ring();
}

void weft_p2p_stop_threads(void)
{
    weft_p2p_stop_sleeper(); /* first: it calls the helper */
    if (helper.is_running) {
        atomic_store_explicit(&helper.is_stopping, 1, memory_order_release);
        ring();
        weft_thread_join(WEFT_THREAD_HELPER);
        weft_p2p_stay(); /* nobody attends */
        helper.is_running = false;
        atomic_store_explicit(&helper.is_ticking, false, memory_order_relaxed);
        atomic_store_explicit(&helper.is_stopping, 0, memory_order_relaxed);
    }
}

void weft_p2p_log_wakeups(void)
{
    const struct weft_p2p *p = &weft_p2p;

    weft_log_info("rank %u was woken %" PRIu64 " times by peers, its helper %" PRIu64
                  " times",
                  weft_engine.me, weft_node_rings(&weft_engine.node), p->helper_wakeups);
}

/* ---- threads of the program ---- */

void weft_p2p_stay(void)
{
    if (weft_unlikely(is_attending())) {
        set_attending(false);
        weft_node_disarm(&weft_engine.node);
    }
}

/* Publishes, and takes what is there already; the helper takes what keeps coming. */
static void begin_attending(void)
{
    set_attending(true);
    for (int i = 0; i < LEAVING_TURNS; i++) {
        if (has_published()) {
            return;
        }
        weft_p2p_poll_once();
        if (weft_outstanding == 0) {
            weft_p2p_stay();
            return;
        }
    }
    ring();
}

void weft_p2p_leave_slow(void)
{
    struct weft_p2p *p = &weft_p2p;
    bool has_begun = false;

    /* A message to ourselves may have completed a step, and who waits for it sleeps. */
    weft_schedules_run();
    if (weft_outstanding == 0) {
        return;
    }
    /* A thread that waits in MPI serves us too. One that sleeps knows what there was to
     * do when it armed: it must be woken for work, and for a backlog that is new, because
     * nobody may tell it of room, or of a network that has come up only now. */
    if (p->waiting_threads > 0) {
        if (p->is_armed && (p->work != NULL || p->has_new_backlog)) {
            weft_node_ring(&weft_engine.node);
        }
        return;
    }
    if (!p->has_progress || !weft_p2p_start_helper()) {
        return;
    }
    if (!is_attending() || !is_published_enough()) {
        begin_attending();
        has_begun = true;
    }
    /* Nobody but the helper copies now, or looks for room. */
    if (is_attending() && (p->work != NULL || (has_begun && p->waiting_peers != NULL))) {
        ring();
    }
}
