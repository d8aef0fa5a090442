#include "engine/lock.h"

#include "base/futex.h"

#include <limits.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SPINS = 100, ASIDE_NS = 50 * 1000, ASIDE_MOST_NS = 1000 * 1000 };

struct weft_lock_word weft_the_lock;
_Atomic bool weft_lock_biased;

#ifndef NDEBUG
_Thread_local bool weft_lock_is_mine;
_Thread_local bool weft_object_lock_is_mine;
_Atomic bool weft_lock_is_checked;
#endif

/* Biased: the progress thread sleeps until the program's thread is outside. */
static _Atomic bool is_aside;

static pthread_mutex_t progress_role = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t objects = PTHREAD_MUTEX_INITIALIZER;

static int membarrier(int command)
{
    return (int)syscall(SYS_membarrier, command, 0, 0);
}

void weft_object_lock(void)
{
    pthread_mutex_lock(&objects);
    weft_object_lock_note(true);
}

void weft_object_unlock(void)
{
    weft_object_lock_note(false);
    pthread_mutex_unlock(&objects);
}

void weft_progress_role_take(void)
{
    pthread_mutex_lock(&progress_role);
}

void weft_progress_role_give(void)
{
    pthread_mutex_unlock(&progress_role);
}

void weft_lock_bias(void)
{
    weft_progress_role_take();
    if (membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0) {
        atomic_store_explicit(&weft_the_lock.progress, 0, memory_order_relaxed);
        atomic_store_explicit(&weft_lock_biased, true, memory_order_relaxed);
    }
    weft_progress_role_give();
}

void weft_lock_share(void)
{
    weft_progress_role_take();
    if (weft_lock_is_biased()) {
        weft_lock_as_progress();
        weft_lock_note(false);
        atomic_store_explicit(&weft_lock_biased, false, memory_order_relaxed);
        /* Release: a thread that sees the mark sees the other form. */
        if (atomic_exchange_explicit(&weft_the_lock.progress, WEFT_LOCK_SHARED,
                                     memory_order_release) == 2) {
            weft_futex_wake(&weft_the_lock.progress, INT_MAX);
        }
    }
    weft_progress_role_give();
}

void weft_lock_slow(void)
{
    atomic_fetch_add_explicit(&weft_the_lock.waiters, 1, memory_order_relaxed);
    for (int i = 0; i < SPINS; i++) {
        if (weft_lock_take()) {
            atomic_fetch_sub_explicit(&weft_the_lock.waiters, 1, memory_order_relaxed);
            return;
        }
        if (i % 16 == 15) {
            sched_yield();
        }
    }
    /* State 2 says that somebody sleeps; whoever gets the lock this way keeps saying so.
     */
    while (atomic_exchange_explicit(&weft_the_lock.state, 2, memory_order_acquire) != 0) {
        weft_futex_wait(&weft_the_lock.state, 2, 0);
    }
    atomic_fetch_sub_explicit(&weft_the_lock.waiters, 1, memory_order_relaxed);
}

void weft_unlock_slow(void)
{
    weft_futex_wake(&weft_the_lock.state, 1);
}

/* Returns when the progress thread neither has the lock nor tries to get it: 0, or the
 * mark. */
static uint32_t await_no_progress(void)
{
    uint32_t seen = 1;

    for (int i = 0; i < SPINS; i++) {
        seen = atomic_load_explicit(&weft_the_lock.progress, memory_order_acquire);
        if (seen == 0 || seen == WEFT_LOCK_SHARED) {
            return seen;
        }
    }
    for (;;) {
        seen = 1;
        if (atomic_compare_exchange_strong_explicit(&weft_the_lock.progress, &seen, 2,
                                                    memory_order_acquire,
                                                    memory_order_acquire) ||
            seen == 2) {
            weft_futex_wait(&weft_the_lock.progress, 2, 0);
        } else {
            return seen;
        }
    }
}

/* The program's thread gives way: `inside` is taken back while the progress thread is
 * there. Sequentially consistent: either that is seen to sleep, or it sees `inside` (see
 * await_outside). */
void weft_lock_await_progress(void)
{
    do {
        atomic_store_explicit(&weft_the_lock.inside, 0, memory_order_seq_cst);
        if (atomic_load_explicit(&is_aside, memory_order_seq_cst)) {
            weft_futex_wake(&weft_the_lock.inside, 1);
        }
        if (await_no_progress() == WEFT_LOCK_SHARED) {
            if (!weft_lock_take()) {
                weft_lock_slow();
            }
            return;
        }
        atomic_store_explicit(&weft_the_lock.inside, 1, memory_order_relaxed);
        __asm__ volatile("" ::: "memory");
    } while (atomic_load_explicit(&weft_the_lock.progress, memory_order_acquire) != 0);
}

/*
 * Returns when the program's thread is outside. That lets go soon, and says so where it
 * gives way; where it only unlocks, as its hot path does, the time-out finds that. A
 * thread that yields here in a loop would lose its turns to others for long
 * (docs/engine.md, 3).
 */
static void await_outside(void)
{
    uint64_t ns = ASIDE_NS;

    for (int i = 0; i < SPINS; i++) {
        if (atomic_load_explicit(&weft_the_lock.inside, memory_order_acquire) == 0) {
            return;
        }
    }
    atomic_store_explicit(&is_aside, true, memory_order_seq_cst);
    while (atomic_load_explicit(&weft_the_lock.inside, memory_order_seq_cst) != 0) {
        weft_futex_wait(&weft_the_lock.inside, 1, ns);
        ns = ns < ASIDE_MOST_NS ? 2 * ns : ns;
    }
    atomic_store_explicit(&is_aside, false, memory_order_relaxed);
}

void weft_lock_as_progress(void)
{
    if (!weft_lock_is_biased()) {
        weft_lock();
        return;
    }
    atomic_fetch_add_explicit(&weft_the_lock.waiters, 1, memory_order_relaxed);
    atomic_store_explicit(&weft_the_lock.progress, 1, memory_order_relaxed);
    membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
    await_outside();
    atomic_fetch_sub_explicit(&weft_the_lock.waiters, 1, memory_order_relaxed);
    weft_lock_note(true);
}

static void give_progress(void)
{
    if (atomic_exchange_explicit(&weft_the_lock.progress, 0, memory_order_release) == 2) {
        weft_futex_wake(&weft_the_lock.progress, 1);
    }
}

bool weft_lock_try_as_progress(void)
{
    if (!weft_lock_is_biased()) {
        return weft_lock_try();
    }
    /* The barrier interrupts the program's thread: not while that is seen to be inside.
     */
    if (atomic_load_explicit(&weft_the_lock.inside, memory_order_relaxed) != 0) {
        return false;
    }
    atomic_store_explicit(&weft_the_lock.progress, 1, memory_order_relaxed);
    membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
    if (atomic_load_explicit(&weft_the_lock.inside, memory_order_acquire) == 0) {
        weft_lock_note(true);
        return true;
    }
    give_progress();
    return false;
}

void weft_lock_leave_as_progress(void)
{
    if (!weft_lock_is_biased()) {
        weft_unlock();
        return;
    }
    weft_lock_note(false);
    give_progress();
}

bool weft_lock_is_awaited(void)
{
    return weft_lock_is_biased()
               ? atomic_load_explicit(&weft_the_lock.progress, memory_order_relaxed) == 2
               : weft_lock_is_wanted();
}

void weft_lock_as_visitor(void)
{
    weft_progress_role_take();
    weft_lock_as_progress();
}

void weft_lock_leave_as_visitor(void)
{
    weft_lock_leave_as_progress();
    weft_progress_role_give();
}
