/*
 * wait.c - waiting for a request: poll while it pays, give the processor away for a
 * bounded time, then sleep.
 *
 * One thread at a time polls, with the lock, and lets go as soon as another wants to
 * post. A thread that goes to sleep arms the doorbell, so that peers wake the process;
 * when another thread of the process begins to poll meanwhile, it takes over: it disarms,
 * and the sleeper watches its own request, a millisecond at a time, for as long as
 * somebody polls.
 */
#include "p2p/internal.h"

#include "base/clock.h"
#include "base/futex.h"
#include "engine/lock.h"
#include "base/wait.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

enum {
    BUDGET = 64, /* packets handled at once */
    BURST = 64,  /* polls between two looks at the clock */
    TICK_NS = 1000000,
    /* Of the node's queues before the network is polled, if something came from them
     * last; each time, if something came from the network. */
    POLLS_BETWEEN = 8,
};

/* With the lock. */
void weft_p2p_poll_once(void)
{
    struct weft_p2p *p = &weft_p2p;

    if (p->ops->poll(p->transport, BUDGET) > 0) {
        p->is_net_busy = false;
    }
    if (weft_unlikely(p->net_ops != NULL) &&
        (p->is_net_busy || p->is_net_only || p->is_net_due ||
         ++p->polls_of_node >= POLLS_BETWEEN)) {
        weft_p2p_poll_network(BUDGET);
    }
    if (weft_p2p_has_deaths()) {
        weft_p2p_notice_deaths();
    }
    if (weft_unlikely(p->waiting_peers != NULL)) {
        weft_p2p_retry();
    }
    if (weft_unlikely(p->transfers != NULL)) {
        weft_p2p_look_at_transfers();
    }
    if (weft_unlikely(weft_schedules_ready != NULL)) {
        weft_schedules_run();
    }
}

/* With the lock: another thread of ours sleeps on the doorbell; we poll in its place. */
static void take_over(void)
{
    struct weft_p2p *p = &weft_p2p;

    p->polls++;
    if (weft_unlikely(p->is_armed && !p->is_taken_over)) {
        p->is_taken_over = true;
        weft_node_ring(&weft_engine.node);
    }
}

void weft_p2p_work_and_poll(void)
{
    weft_p2p_poll_once();
    while (weft_unlikely(weft_p2p.work != NULL) && weft_p2p_do_work()) {
        weft_p2p_poll_once();
    }
}

void weft_p2p_poll_as_thread(void)
{
    take_over();
    weft_p2p_work_and_poll();
}

void weft_progress(void)
{
    if (weft_lock_try()) {
        weft_p2p_poll_as_thread();
        weft_p2p_leave();
        weft_unlock();
    }
}

/* ---- what is waited for: one request, any of several, a word, or room ---- */

struct awaited {
    struct weft_request *const *requests;
    int count;
    _Atomic uint32_t *word; /* NULL: requests */
    uint32_t old;
    _Atomic uint32_t *sleepers; /* of the word */
    bool is_room;               /* instead of all that: an empty backlog */
};

static bool is_over(const struct awaited *a)
{
    if (a->word != NULL) {
        return atomic_load_explicit(a->word, memory_order_acquire) != a->old;
    }
    for (int i = 0; i < a->count; i++) {
        if (weft_request_is_complete(a->requests[i])) {
            return true;
        }
    }
    return false;
}

/* With the lock: another thread of ours that completes one of them wakes us there. */
static void set_sleeper(const struct awaited *a, _Atomic uint32_t *sleeper)
{
    for (int i = 0; i < a->count; i++) {
        a->requests[i]->sleeper = sleeper;
    }
}

/*
 * With the lock: polls for a short while. Lets go for a moment when another thread wants
 * to post. True: over.
 */
static bool poll_burst(const struct awaited *a, int turns)
{
    for (int i = 0; i < turns; i++) {
        weft_p2p_work_and_poll();
        if (is_over(a)) {
            return true;
        }
        if (weft_unlikely(weft_lock_is_wanted())) {
            weft_unlock();
            sched_yield();
            weft_lock();
        }
    }
    return false;
}

/* Leaves word of what we wait for, for whoever looks at a job that hangs. */
static void note_sleep(const struct weft_wait_reason *why)
{
    struct weft_sleep *s = &weft_engine.job->slice->sleep;

    s->peer = why->peer;
    s->tag = why->tag;
    s->bytes = why->bytes;
    s->since_ns = weft_clock_ns();
    snprintf(s->call, sizeof(s->call), "%s", why->call);
    snprintf(s->comm, sizeof(s->comm), "%.60s", why->comm);
    atomic_store_explicit(&s->is_asleep, 1, memory_order_release);
}

/* Another thread polls: sleeps until it has completed our request, or nobody polls. */
static void watch_request(const struct awaited *a)
{
    struct weft_p2p *p = &weft_p2p;
    _Atomic uint32_t gate = 0;
    uint64_t seen;

    do {
        seen = p->polls;
        set_sleeper(a, &gate);
        weft_unlock();
        if (a->word != NULL) {
            weft_futex_wait(a->word, a->old, TICK_NS);
        } else {
            weft_futex_wait(&gate, 0, TICK_NS);
        }
        weft_lock();
        set_sleeper(a, NULL);
    } while (!is_over(a) && p->polls != seen);
}

/* Sleeps until a peer rings, another thread takes over, or the word changes. */
static void sleep_armed(const struct awaited *a, const struct weft_wait_reason *why)
{
    struct weft_p2p *p = &weft_p2p;
    uint32_t bell;
    uint64_t ns;

    if (p->is_armed) { /* another thread sleeps there already */
        watch_request(a);
        return;
    }
    p->has_new_backlog = false;
    bell = weft_node_publish(&weft_engine.node, WEFT_WAKE_ALL);
    if (p->ops->arm(p->transport) != WEFT_OK || weft_p2p_arm_network() != WEFT_OK) {
        weft_node_disarm(&weft_engine.node); /* something has come */
        return;
    }
    /* Looked at after arming, so nothing is missed. */
    if (p->waiting_peers != NULL) {
        weft_p2p_retry();
    }
    if (weft_p2p_transfers_have_news() || weft_schedules_ready != NULL ||
        weft_p2p_has_deaths() || p->has_new_backlog ||
        (a->is_room && p->waiting_peers == NULL)) {
        weft_node_disarm(&weft_engine.node);
        return;
    }
    ns = weft_p2p_needs_tick() ? TICK_NS : 0;
    p->is_armed = true;
    p->is_room_awaited = a->is_room;
    set_sleeper(a, &weft_engine.node.area->doorbell);
    p->is_taken_over = false;
    p->sleeps++;
    note_sleep(why);
    weft_node_set_inside(&weft_engine.node, false); /* who sleeps does not help */
    weft_unlock();
    if (a->word != NULL) { /* pairs with weft_wait_wake() */
        atomic_fetch_add_explicit(a->sleepers, 1, memory_order_seq_cst);
    }
    if (!is_over(a)) {
        weft_node_sleep(&weft_engine.node, bell, a->word, a->old, ns);
    }
    if (a->word != NULL) {
        atomic_fetch_sub_explicit(a->sleepers, 1, memory_order_relaxed);
    }
    weft_lock();
    atomic_store_explicit(&weft_engine.job->slice->sleep.is_asleep, 0,
                          memory_order_relaxed);
    p->is_armed = false;
    p->is_room_awaited = false;
    p->is_net_due = true;
    set_sleeper(a, NULL);
    weft_node_disarm(&weft_engine.node);
    weft_node_set_inside(&weft_engine.node, true);
    if (p->is_taken_over && !is_over(a)) {
        watch_request(a);
    }
}

/* It takes longer: gives the processor away, then sleeps. With the lock, at both ends. */
static void wait_longer(const struct awaited *a, const struct weft_wait_reason *why)
{
    const bool is_crowded = weft_wait_is_crowded();
    uint64_t start = weft_clock_ns();

    weft_node_set_inside(&weft_engine.node, true);
    while (!poll_burst(a, is_crowded ? 1 : BURST)) {
        uint64_t waited = weft_clock_ns() - start;

        if (waited >= WEFT_YIELD_NS) {
            sleep_armed(a, why);
            start = weft_clock_ns();
        } else if (is_crowded || waited >= WEFT_SPIN_NS) {
            weft_unlock();
            sched_yield();
            weft_lock();
        }
    }
    weft_node_set_inside(&weft_engine.node, false);
}

/*
 * One small message: it comes soon, and nothing that a peer would wake a helper for. So
 * the wake level that was published for other requests may stay: to take it back and
 * publish it again costs 0.1 us, a third of the message.
 */
static bool is_small(const struct awaited *a)
{
    const struct weft_p2p_request *request;

    if (a->word != NULL || a->count != 1) {
        return false;
    }
    request = (const struct weft_p2p_request *)a->requests[0];
    return request->base.kind == WEFT_REQUEST_RECV &&
           request->data.bytes <= WEFT_EAGER_MAX;
}

/* With the lock, at both ends. What comes at once never leaves the first lines. */
static void wait_for(const struct awaited *a, const struct weft_wait_reason *why)
{
    take_over();
    if (!is_small(a)) {
        weft_p2p_stay();
    }
    weft_p2p.waiting_threads++;
    if (!poll_burst(a, weft_wait_is_crowded() ? 1 : BURST)) {
        weft_p2p_stay();
        wait_longer(a, why);
    }
    weft_p2p.waiting_threads--;
}

/* Peers tell when a lane has room again, else the clock does: no request is waited for.
 */
void weft_p2p_drain(void)
{
    static const struct weft_wait_reason why = {"a full queue", "", -1, -2, 0};
    const struct awaited room = {.is_room = true};
    uint64_t start;

    if (weft_p2p.waiting_peers == NULL) {
        return;
    }
    take_over();
    weft_p2p_stay();
    weft_p2p.waiting_threads++;
    start = weft_clock_ns();
    while (weft_p2p.waiting_peers != NULL) {
        weft_p2p_work_and_poll();
        if (weft_clock_ns() - start >= WEFT_YIELD_NS) {
            sleep_armed(&room, &why);
        } else {
            weft_unlock();
            sched_yield();
            weft_lock();
        }
    }
    weft_p2p.waiting_threads--;
}

/* What nobody holds nobody can wait for; so we hold it for as long as we wait. */
void weft_p2p_settle(const struct weft_comm *comm, const char *call)
{
    const struct weft_wait_reason why = {call, comm != NULL ? comm->name : "",
                                         MPI_ANY_SOURCE, MPI_ANY_TAG, 0};
    struct weft_request *request;
    uint32_t index = 0;

    weft_lock();
    while ((request = weft_request_next_detached(WEFT_REQUEST_SEND, &index)) != NULL) {
        if (comm != NULL && request->comm != comm) {
            continue;
        }
        request->is_detached = false;
        weft_wait_locked(request, &why);
        weft_request_give(request);
    }
    weft_p2p_leave();
    weft_unlock();
}

enum weft_rc weft_p2p_barrier(void)
{
    static const struct weft_wait_reason why = {"MPI_Barrier", "MPI_COMM_WORLD", -1, -2,
                                                0};
    struct weft_segment_header *h = weft_engine.job->segment.header;
    struct awaited a = {.word = &h->turn, .sleepers = &h->sleepers};
    const uint32_t local_rank = (uint32_t)weft_engine.job->who.local_rank;
    enum weft_rc rc;

    weft_lock();
    weft_p2p_drain();
    if (!weft_segment_arrive(&weft_engine.job->segment, local_rank, &a.old)) {
        weft_p2p.is_in_barrier = true;
        weft_p2p.barrier_turn = a.old;
        wait_for(&a, &why);
        weft_p2p.is_in_barrier = false;
    }
    if (weft_p2p_has_deaths()) {
        weft_p2p_notice_deaths();
    }
    rc = weft_p2p.dead_count == 0 ||
                 weft_segment_all_came(&weft_engine.job->segment, a.old)
             ? WEFT_OK
             : WEFT_ERR_DEAD;
    weft_p2p_leave();
    weft_unlock();
    return rc;
}

void weft_wait_locked(struct weft_request *request, const struct weft_wait_reason *why)
{
    const struct awaited a = {.requests = &request, .count = 1};

    wait_for(&a, why);
}

void weft_wait(struct weft_request *request, const struct weft_wait_reason *why)
{
    if (!weft_request_is_complete(request)) {
        weft_lock();
        weft_wait_locked(request, why);
        weft_p2p_leave();
        weft_unlock();
    }
}

void weft_wait_any(struct weft_request *const *requests, int count,
                   const struct weft_wait_reason *why)
{
    const struct awaited a = {.requests = requests, .count = count};

    if (count > 0 && !is_over(&a)) {
        weft_lock();
        wait_for(&a, why);
        weft_p2p_leave();
        weft_unlock();
    }
}
