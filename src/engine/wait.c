/*
 * wait.c - waiting: poll while it pays, give the processor away for a bounded time, then
 * sleep.
 *
 * One thread at a time polls, with the lock, and lets go as soon as another wants to
 * post. A thread that goes to sleep arms the doorbell, so that peers wake the process.
 * It stays armed when another thread of the process polls meanwhile: what that one
 * completes wakes the sleeper, and what that one leaves behind is armed for again by
 * weft_engine_publish(). Only a sleeper that is rung while the others poll all the time
 * would be disturbed for nothing: it watches its own event then, a millisecond at a time,
 * for as long as they go on.
 *
 * A thread that wants to sleep while another one is armed stands by: it sleeps on a gate
 * of its own until its event has happened, or until it is called. A thread that ends its
 * wait calls one, if nobody else is armed or polls (end_wait); one that polls or arms
 * calls those whose word has changed. So at any moment one of the threads that wait is
 * armed, or will look again, and no other needs a clock. tests/models/standby.pml has
 * this rule.
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

#include <pthread.h>
#include <sched.h>

enum {
    BURST = 64,       /* polls between two looks at the clock */
    SPINS_FIRST = 64, /* calls of MPI_Test and its like before the first note, */
    SPINS = 1024,     /* and between two: a note costs 0.5 us, as 20 such calls */
    TICK_NS = 1000000,
    ABSENCE_NS = 1000000, /* a yield that took so long met somebody who computes */
    ABSENCE_PAYS = 64,    /* so many times as long nothing is given away */
    OFTEN_NS = 100000,    /* threads that poll that often are not disturbed, */
    OFTEN_POLLS = 8,      /* once they have done so this many times in a row */
    AWAIT_NS = 50000,     /* so long a step of a peer that computes may take */
    TO_DO = WEFT_REASONS_NOW | 1 << WEFT_REASON_WORK | 1 << WEFT_REASON_CALLS,
};

/* Under the lock: who waits before that time does not yield before it sleeps. */
static uint64_t sleep_at_once_until;

/* With the lock: a thread of the program begins to poll. */
static void count_poll(void)
{
    struct weft_engine *e = &weft_engine;

    e->polls++;
    if (weft_unlikely(weft_node_progress_bell(&e->node) != e->bell_seen)) {
        weft_progress_thread_judge(weft_engine_away_ns());
    }
}

/* ---- a look without waiting ---- */

void weft_engine_poll_as_thread(const char *call)
{
    weft_assert_locked();
    count_poll();
    weft_engine_work_and_poll();
    weft_doing_count(&weft_engine.job->slice->doing.polls);
    if (weft_unlikely(++weft_engine.spins % SPINS == SPINS_FIRST)) {
        weft_engine_note_spin(call);
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

/* ---- timers of waits ---- */

void weft_engine_timer_start(struct weft_timer *timer)
{
    weft_assert_locked();
    timer->due_ns = 0;
    timer->next = weft_engine.timers;
    weft_engine.timers = timer;
}

void weft_engine_timer_stop(const struct weft_timer *timer)
{
    struct weft_timer **at = &weft_engine.timers;

    weft_assert_locked();
    while (*at != timer) {
        at = &(*at)->next;
    }
    *at = timer->next;
}

void weft_engine_timer_expire(struct weft_timer *timer)
{
    weft_assert_locked();
    timer->due_ns = 1;
    if (weft_engine.is_armed) {
        weft_node_ring(&weft_engine.node);
    }
}

/* A timer's run() ends waits, but the list stays until the threads that wait have the
 * lock. */
static void run_timers(uint64_t now)
{
    for (struct weft_timer *at = weft_engine.timers; at != NULL; at = at->next) {
        if (at->due_ns == 0) {
            at->due_ns = now + at->after_ns;
        } else if (now >= at->due_ns) {
            at->run(at, now);
        }
    }
}

/* For how long a thread may sleep that would sleep for `ns`, or without end if that is 0.
 */
static uint64_t until_timers(uint64_t ns)
{
    uint64_t now;

    if (weft_likely(weft_engine.timers == NULL)) {
        return ns;
    }
    now = weft_clock_ns();
    for (const struct weft_timer *at = weft_engine.timers; at != NULL; at = at->next) {
        const uint64_t left = at->due_ns == 0    ? at->after_ns
                              : at->due_ns > now ? at->due_ns - now
                                                 : 1;

        ns = ns == 0 || left < ns ? left : ns;
    }
    return ns;
}

/* ---- threads that sleep beside the one that is armed ---- */

struct weft_standby {
    struct weft_standby *next;
    const struct awaited *awaited;
    _Atomic uint32_t gate; /* changes when the thread is to look */
    bool is_called;        /* it is in the list no longer */
};

static void leave_list(const struct weft_standby *self)
{
    struct weft_standby **at = &weft_engine.standby;

    while (*at != self) {
        at = &(*at)->next;
    }
    *at = self->next;
    weft_engine.standby_count--;
}

static void call(struct weft_standby *thread)
{
    leave_list(thread);
    thread->is_called = true;
    atomic_fetch_add_explicit(&thread->gate, 1, memory_order_release);
    weft_futex_wake(&thread->gate, 1);
}

/*
 * With the lock: calls the threads whose word has changed. A process that changes a word
 * may ring the doorbell in place of the word, or ring nobody, while one of our threads
 * polls.
 */
static void call_for_words(void)
{
    struct weft_standby *at = weft_engine.standby;

    while (at != NULL) {
        struct weft_standby *next = at->next;

        if (at->awaited->word != NULL && is_over(at->awaited)) {
            call(at);
        }
        at = next;
    }
}

/*
 * Another thread is armed: sleeps until our event has happened, or we are called. What we
 * have begun or found since the other one armed is left to that one, as by a thread that
 * leaves MPI. A thread that waits until everything is sent is told by nobody, and looks
 * now and then.
 */
static void stand_by(const struct awaited *a)
{
    struct weft_engine *e = &weft_engine;
    struct weft_standby self = {.next = e->standby, .awaited = a};
    uint64_t ns;

    weft_engine_await_steps();
    weft_engine_leave(); /* which may do what is ready */
    if (is_over(a) || !e->is_armed) {
        return;
    }
    e->standby = &self;
    e->standby_count++;
    set_futex(a, &self.gate);
    ns = until_timers(a->is_room ? TICK_NS : 0);
    weft_unlock();
    if (a->word != NULL) { /* pairs with weft_wait_wake() */
        atomic_fetch_add_explicit(a->sleepers, 1, memory_order_seq_cst);
    }
    if (!is_over(a)) {
        weft_assert_unlocked();
        weft_futex_wait_two(&self.gate, 0, a->word, a->old, ns);
    }
    if (a->word != NULL) {
        atomic_fetch_sub_explicit(a->sleepers, 1, memory_order_relaxed);
    }
    weft_lock();
    set_futex(a, NULL);
    if (!self.is_called) {
        leave_list(&self);
    }
}

/* Others poll all the time: sleeps until our event has happened, or they do so no more.
 */
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
        call_for_words();
        if (e->timers != NULL) {
            run_timers(weft_clock_ns());
        }
    } while (!is_over(a) && e->polls - seen >= TICK_NS / OFTEN_NS);
}

/* Have the others polled so often since then that rings for us would disturb them? */
static bool is_polled_often(uint64_t polls, uint64_t since)
{
    const uint64_t count = weft_engine.polls - polls;

    return count >= OFTEN_POLLS && (weft_clock_ns() - since) / count < OFTEN_NS;
}

/* Is there something that nobody would ring for? */
static bool has_something_to_do(void)
{
    const struct weft_engine *e = &weft_engine;

    return (e->watched > 0 && weft_engine_has_news()) || (e->reasons & TO_DO) != 0 ||
           weft_engine_has_failures() || e->has_new_retry;
}

/* Publishes what is to wake us; false, and it is taken back: something is there already.
 */
static bool has_armed(const struct awaited *a, const struct weft_wait_reason *why,
                      uint32_t *bell)
{
    struct weft_engine *e = &weft_engine;

    e->has_new_retry = false;
    weft_engine_await_steps();
    weft_modules_refresh();
    weft_engine_note(a->events, why);
    *bell = weft_node_publish(&e->node, WEFT_WAKE_ALL);
    if (weft_transports_arm() != WEFT_OK) {
        weft_node_disarm(&e->node); /* something has come */
        return false;
    }
    /* Looked at after arming, so nothing is missed. */
    call_for_words();
    if (e->retrying != NULL) {
        weft_engine_retry();
    }
    if (has_something_to_do() || (a->is_room && e->retrying == NULL)) {
        weft_node_disarm(&e->node);
        return false;
    }
    return true;
}

/* Sleeps until a peer rings, another thread completes what we wait for, or the word
 * changes. */
static void sleep_armed(const struct awaited *a, const struct weft_wait_reason *why)
{
    struct weft_engine *e = &weft_engine;
    uint64_t since, polls;
    uint32_t bell;
    uint64_t ns;

    if (e->is_armed) { /* another thread sleeps there already */
        stand_by(a);
        return;
    }
    if (!has_armed(a, why, &bell)) {
        return;
    }
    ns = until_timers(weft_transports_need_tick() ? TICK_NS : 0);
    assert((e->reasons & TO_DO) == 0);
    e->is_armed = true;
    e->is_room_awaited = a->is_room;
    set_futex(a, &e->node.area->doorbell);
    e->polls_armed = polls = e->polls;
    e->sleeps++;
    since = weft_clock_ns();
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
    if (!is_over(a) && is_polled_often(polls, since)) {
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

/* Two threads that wait at a time, where the program has asked for less than
 * MPI_THREAD_MULTIPLE, are noted: mpiexec says so if the process crashes. A call inside a
 * call, of a function of the user, is of the same thread. */
static void look_for_second_thread(void)
{
    static pthread_t first;

    if (weft_engine.waiting_threads <= 1) {
        first = pthread_self();
    } else if (weft_lock_is_biased() && !pthread_equal(first, pthread_self())) {
        atomic_store_explicit(&weft_engine.job->slice->has_met, 1, memory_order_relaxed);
    }
}

/* It takes longer: gives the processor away, then sleeps. With the lock, at both ends. */
static void wait_longer(const struct awaited *a, const struct weft_wait_reason *why)
{
    struct weft_engine *e = &weft_engine;
    const uint64_t spin_ns = weft_wait_is_crowded() ? 0 : WEFT_SPIN_NS;
    uint64_t start = weft_clock_ns();
    bool has_told = false;

    weft_doing_count(&weft_engine.job->slice->doing.waits);
    weft_recorder_wait(1);
    look_for_second_thread();
    e->spins = 0;
    begin_long(start);
    weft_node_set_inside(&e->node, true);
    while (!poll_burst(a, spin_ns == 0 ? 1 : BURST)) {
        const uint64_t now = weft_clock_ns();

        call_for_words();
        if (weft_unlikely(e->timers != NULL)) {
            run_timers(now);
        }
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

/* What we wait for while the progress thread is responsible is its matter. If all who
 * still wait stand by, one of them has to look from now on. */
static void end_wait(void)
{
    struct weft_engine *e = &weft_engine;

    if (--e->waiting_threads == 0) {
        if (weft_unlikely(e->awaited != NULL) &&
            !atomic_load_explicit(&e->is_delegated, memory_order_relaxed)) {
            weft_engine_await_end();
        }
    } else if (weft_unlikely(e->waiting_threads == e->standby_count)) {
        call(e->standby);
    }
}

/* With the lock, at both ends. What comes at once never leaves the first lines. */
static void wait_for(const struct awaited *a, const struct weft_wait_reason *why)
{
    count_poll();
    if (a->events == NULL || !a->events->is_brief) {
        weft_engine_enter();
    }
    if (a->events != NULL && a->events->is_far && !weft_engine.is_armed) {
        weft_descriptors_ignore(); /* who is armed relies on them */
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
    count_poll();
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

bool weft_engine_has_come(uint32_t local_rank)
{
    return weft_segment_has_come(&weft_engine.job->segment, local_rank,
                                 weft_engine.barrier_generation);
}

enum weft_rc weft_engine_barrier(const char *call, struct weft_wait_watch *watch)
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
        if (watch != NULL) {
            watch->begin(watch);
        }
        weft_engine_wait_word(&h->generation, generation, &h->sleepers, &why);
        if (watch != NULL) {
            watch->end(watch);
        }
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
