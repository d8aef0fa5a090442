/*
 * wait.c - waiting: poll while it pays, give the processor away for a bounded time, then
 * sleep.
 *
 * One thread at a time polls, with the lock, and lets go as soon as another wants to
 * post. A thread that goes to sleep arms the doorbell, so that peers wake the process;
 * when another thread of the process begins to poll meanwhile, it takes over: it disarms,
 * and the thread that slept watches its own event, a millisecond at a time, for as long
 * as somebody polls.
 */
#include "engine/wait.h"

#include "base/clock.h"
#include "base/wait.h"
#include "engine/engine.h"
#include "engine/hot.h"
#include "engine/lock.h"
#include "engine/network_thread.h"
#include "engine/progress_thread.h"
#include "wireup/modules.h"
#include "wireup/recorder.h"

#include <sched.h>

enum {
    BURST = 64,       /* polls between two looks at the clock */
    SPINS_FIRST = 64, /* calls of MPI_Test and its like before the first note, */
    SPINS = 1024,     /* and between two: a note costs 0.5 us, as 20 such calls */
    TICK_NS = 1000000,
    ABSENCE_NS = 1000000, /* a yield that took so long met somebody who computes */
    ABSENCE_PAYS = 64,    /* so many times as long nothing is given away */
    AWAIT_NS = 50000,     /* so long a step of a peer that computes may take */
    TO_DO = WEFT_REASONS_NOW | 1 << WEFT_REASON_WORK | 1 << WEFT_REASON_CALLS,
};

/* Under the lock: who waits before that time does not yield before it sleeps. */
static uint64_t sleep_at_once_until;

/* With the lock: another thread of ours sleeps on the doorbell; we poll in its place. */
static void take_over(void)
{
    struct weft_engine *e = &weft_engine;

    e->polls++;
    if (weft_unlikely(weft_node_progress_bell(&e->node) != e->bell_seen)) {
        weft_progress_thread_judge(weft_engine_away_ns());
    }
    if (weft_unlikely(e->is_armed && !e->is_taken_over)) {
        e->is_taken_over = true;
        weft_node_ring(&e->node);
    }
}

/* ---- what is left for whoever looks at a job that hangs ---- */

static struct weft_doing_record *record(void)
{
    return &weft_engine.job->slice->doing;
}

static void note(const struct weft_wait *wait, const struct weft_wait_reason *why,
                 bool is_spinning)
{
    struct weft_doing doing = {
        .what = WEFT_DOING_OTHER,
        .is_spinning = is_spinning,
        .awaited = wait != NULL ? (uint32_t)wait->count : 1,
        .threads = weft_engine.waiting_threads,
        .done = weft_engine.moved,
        .awaits = {.peer = why->peer,
                   .rank = WEFT_DOING_UNKNOWN,
                   .tag = why->tag,
                   .bytes = why->bytes},
    };

    weft_assert_locked();
    weft_doing_copy(doing.call, sizeof(doing.call), why->call);
    weft_doing_copy(doing.comm, sizeof(doing.comm), why->comm);
    if (weft_engine.describe != NULL) {
        weft_engine.describe(wait, &doing);
    }
    weft_doing_write(record(), &doing);
    weft_engine.has_noted = true;
}

void weft_engine_note(const struct weft_wait *wait, const struct weft_wait_reason *why)
{
    note(wait, why, false);
}

/* What another thread has noted, which sleeps, stays. */
void weft_engine_note_end(void)
{
    weft_assert_locked();
    if (weft_engine.has_noted && !weft_engine.is_armed) {
        weft_engine.has_noted = false;
        weft_doing_clear(record());
    }
}

/* A thread that looks again and again, and never waits, says so now and then. */
static void note_spin(const char *call)
{
    const struct weft_wait_reason why = {call, "", -1, -2, 0};

    if (weft_engine.waiting_threads == 0) { /* one that waits has more to say */
        note(NULL, &why, true);
    }
}

void weft_engine_poll_as_thread(const char *call)
{
    weft_assert_locked();
    take_over();
    weft_engine_work_and_poll();
    weft_doing_count(&record()->polls);
    if (weft_unlikely(++weft_engine.spins % SPINS == SPINS_FIRST)) {
        note_spin(call);
    }
}

void weft_progress(void)
{
    if (weft_lock_try()) {
        weft_engine_poll_as_thread("MPI_Test");
        weft_engine_leave();
        weft_unlock();
    }
}

/* ---- what is waited for: events, a word, or room ---- */

struct awaited {
    const struct weft_wait *events; /* NULL: none */
    _Atomic uint32_t *word;         /* NULL: none */
    uint32_t old;
    _Atomic uint32_t *sleepers; /* of the word */
    bool is_room;               /* instead of all that: nothing is tried again */
};

bool weft_wait_is_over(const struct weft_wait *wait)
{
    for (int i = 0; i < wait->count; i++) {
        if (weft_event_is_set(wait->at(wait->list, i))) {
            return true;
        }
    }
    return false;
}

static bool is_over(const struct awaited *a)
{
    if (a->word != NULL) {
        return atomic_load_explicit(a->word, memory_order_acquire) != a->old;
    }
    return a->events != NULL && weft_wait_is_over(a->events);
}

/* With the lock: another thread of ours that sets one of them wakes us there. */
static void set_futex(const struct awaited *a, _Atomic uint32_t *futex)
{
    for (int i = 0; a->events != NULL && i < a->events->count; i++) {
        a->events->at(a->events->list, i)->futex = futex;
    }
}

/*
 * With the lock: polls for a short while. Lets go for a moment when another thread wants
 * to post. True: over.
 */
static bool poll_burst(const struct awaited *a, int turns)
{
    for (int i = 0; i < turns; i++) {
        weft_engine_work_and_poll();
        if (is_over(a)) {
            return true;
        }
        if (weft_unlikely(weft_lock_is_wanted())) {
            weft_unlock();
            if (!weft_lock_is_biased()) { /* else weft_lock() gives way */
                sched_yield();
            }
            weft_lock();
        }
    }
    return false;
}

/* Another thread polls: sleeps until our event has happened, or nobody polls. */
static void watch_event(const struct awaited *a)
{
    struct weft_engine *e = &weft_engine;
    _Atomic uint32_t gate = 0;
    uint64_t seen;

    do {
        seen = e->polls;
        set_futex(a, &gate);
        weft_unlock();
        if (a->word != NULL) {
            weft_futex_wait(a->word, a->old, TICK_NS);
        } else {
            weft_futex_wait(&gate, 0, TICK_NS);
        }
        weft_lock();
        set_futex(a, NULL);
    } while (!is_over(a) && e->polls != seen);
}

/* Is there something that nobody would ring for? */
static bool has_something_to_do(void)
{
    const struct weft_engine *e = &weft_engine;

    return (e->watched > 0 && weft_engine_has_news()) || (e->reasons & TO_DO) != 0 ||
           weft_engine_has_failures() || e->has_new_retry;
}

/* Sleeps until a peer rings, another thread takes over, or the word changes. */
static void sleep_armed(const struct awaited *a, const struct weft_wait_reason *why)
{
    struct weft_engine *e = &weft_engine;
    uint32_t bell;
    uint64_t ns;

    if (e->is_armed) { /* another thread sleeps there already */
        watch_event(a);
        return;
    }
    e->has_new_retry = false;
    weft_engine_await_steps();
    weft_modules_refresh();
    note(a->events, why, false);
    bell = weft_node_publish(&e->node, WEFT_WAKE_ALL);
    if (weft_transports_arm() != WEFT_OK) {
        weft_node_disarm(&e->node); /* something has come */
        return;
    }
    /* Looked at after arming, so nothing is missed. */
    if (e->retrying != NULL) {
        weft_engine_retry();
    }
    if (has_something_to_do() || (a->is_room && e->retrying == NULL)) {
        weft_node_disarm(&e->node);
        return;
    }
    ns = weft_transports_need_tick() ? TICK_NS : 0;
    assert((e->reasons & TO_DO) == 0);
    e->is_armed = true;
    e->is_room_awaited = a->is_room;
    set_futex(a, &e->node.area->doorbell);
    e->is_taken_over = false;
    e->sleeps++;
    weft_node_set_inside(&e->node, false); /* who sleeps does not help */
    weft_unlock();
    if (a->word != NULL) { /* pairs with weft_wait_wake() */
        atomic_fetch_add_explicit(a->sleepers, 1, memory_order_seq_cst);
    }
    if (!is_over(a)) {
        weft_assert_unlocked();
        weft_node_sleep(&e->node, bell, a->word, a->old, ns);
    }
    if (a->word != NULL) {
        atomic_fetch_sub_explicit(a->sleepers, 1, memory_order_relaxed);
    }
    weft_lock();
    e->is_armed = false;
    e->is_room_awaited = false;
    weft_transports_are_due();
    set_futex(a, NULL);
    weft_node_disarm(&e->node);
    weft_node_set_inside(&e->node, true);
    if (e->is_taken_over && !is_over(a)) {
        watch_event(a);
    }
}

/*
 * Gives the processor away, without the lock. Somebody who computes there may keep it for
 * a slice, and the kernel may charge us one. A sleeper is woken at once. So after a long
 * absence nothing is given away for a multiple of it.
 */
static void give_away(uint64_t now)
{
    uint64_t absence;

    weft_unlock();
    sched_yield();
    weft_lock();
    absence = weft_clock_ns() - now;
    if (absence > ABSENCE_NS) {
        sleep_at_once_until = now + ABSENCE_PAYS * absence;
    }
}

/* With the lock: has the wait lasted long enough? */
static bool is_time_to_sleep(uint64_t start, uint64_t now)
{
    if (now - start >= WEFT_YIELD_NS) {
        return true;
    }
    if (now < sleep_at_once_until) {
        weft_engine.early_sleeps++;
        return true;
    }
    return false;
}

/* ---- how long the program was away ---- */

static void begin_long(uint64_t now)
{
    if (weft_engine.long_waits++ == 0) {
        weft_engine.long_since = now;
    }
}

static void end_long(void)
{
    if (--weft_engine.long_waits == 0) {
        weft_engine.waited_ns += weft_clock_ns() - weft_engine.long_since;
    }
}

uint64_t weft_engine_away_ns(void)
{
    const struct weft_engine *e = &weft_engine;

    weft_assert_locked();
    return (e->long_waits > 0 ? e->long_since : weft_clock_ns()) - e->waited_ns;
}

/* ---- waiting ---- */

/* It takes longer: gives the processor away, then sleeps. With the lock, at both ends. */
static void wait_longer(const struct awaited *a, const struct weft_wait_reason *why)
{
    struct weft_engine *e = &weft_engine;
    const uint64_t spin_ns = weft_wait_is_crowded() ? 0 : WEFT_SPIN_NS;
    uint64_t start = weft_clock_ns();
    bool has_told = false;

    weft_doing_count(&record()->waits);
    weft_recorder_wait(1);
    e->spins = 0;
    begin_long(start);
    weft_node_set_inside(&e->node, true);
    while (!poll_burst(a, spin_ns == 0 ? 1 : BURST)) {
        const uint64_t now = weft_clock_ns();

        if (now - start >= AWAIT_NS && !has_told) {
            weft_engine_await_steps();
            has_told = true;
        }
        if (now - start < spin_ns) {
            continue;
        }
        if (is_time_to_sleep(start, now)) {
            sleep_armed(a, why);
            start = weft_clock_ns();
            has_told = false;
        } else {
            give_away(now);
        }
    }
    end_long();
    weft_engine_note_end();
    weft_recorder_wait(-1);
    weft_node_set_inside(&e->node, false);
}

/* What we wait for while the progress thread is responsible is its matter. */
static void end_wait(void)
{
    struct weft_engine *e = &weft_engine;

    if (--e->waiting_threads == 0 && weft_unlikely(e->awaited != NULL) &&
        !atomic_load_explicit(&e->is_delegated, memory_order_relaxed)) {
        weft_engine_await_end();
    }
}

/* With the lock, at both ends. What comes at once never leaves the first lines. */
static void wait_for(const struct awaited *a, const struct weft_wait_reason *why)
{
    take_over();
    if (a->events == NULL || !a->events->is_brief) {
        weft_engine_enter();
    }
    if (a->events != NULL && a->events->is_far) {
        weft_descriptors_ignore();
    }
    weft_engine.waiting_threads++;
    if (!poll_burst(a, weft_wait_is_crowded() ? 1 : BURST)) {
        weft_engine_enter();
        wait_longer(a, why);
    }
    end_wait();
}

/* Peers tell when a lane has room again, else the clock does: no request is waited for.
 */
void weft_engine_wait_sent(void)
{
    static const struct weft_wait_reason why = {"a full queue", "", -1, -2, 0};
    const struct awaited room = {.is_room = true};
    uint64_t start;

    weft_assert_locked();
    if (weft_engine.retrying == NULL) {
        return;
    }
    take_over();
    weft_engine_enter();
    weft_engine.waiting_threads++;
    start = weft_clock_ns();
    while (weft_engine.retrying != NULL) {
        uint64_t now;

        weft_engine_work_and_poll();
        now = weft_clock_ns();
        if (is_time_to_sleep(start, now)) {
            sleep_armed(&room, &why);
        } else {
            give_away(now);
        }
    }
    weft_engine_note_end();
    end_wait();
}

void weft_engine_wait_word(_Atomic uint32_t *word, uint32_t old,
                           _Atomic uint32_t *sleepers, const struct weft_wait_reason *why)
{
    const struct awaited a = {.word = word, .old = old, .sleepers = sleepers};

    weft_assert_locked();
    wait_for(&a, why);
}

enum weft_rc weft_engine_barrier(const char *call)
{
    const struct weft_wait_reason why = {call, "MPI_COMM_WORLD", -1, -2, 0};
    struct weft_segment_header *h = weft_engine.job->segment.header;
    const uint32_t local_rank = (uint32_t)weft_engine.job->who.local_rank;
    uint32_t generation;
    enum weft_rc rc;

    weft_lock();
    weft_engine_wait_sent();
    if (!weft_segment_arrive(&weft_engine.job->segment, local_rank, &generation)) {
        weft_engine.is_in_barrier = true;
        weft_engine.barrier_generation = generation;
        weft_unlock();
        (void)weft_wait_briefly(&h->generation, generation);
        weft_lock();
        weft_engine_wait_word(&h->generation, generation, &h->sleepers, &why);
        weft_engine.is_in_barrier = false;
    }
    if (weft_engine_has_failures()) {
        weft_engine_notice_failed();
    }
    rc = weft_engine.failed_count == 0 ||
                 weft_segment_all_came(&weft_engine.job->segment, generation)
             ? WEFT_OK
             : WEFT_ERR_PROC_FAILED;
    weft_engine_leave();
    weft_unlock();
    return rc;
}

void weft_engine_wait(const struct weft_wait *wait, const struct weft_wait_reason *why)
{
    const struct awaited a = {.events = wait};

    weft_assert_locked();
    wait_for(&a, why);
}
