/*
 * lock.h - the one lock that guards the library's state.
 *
 * Held for short: nothing over 4 KiB is copied, nothing sleeps and no callback of the
 * user runs under it. It works before MPI_Init too, because info objects and error
 * handlers may be made at any time. Uncontended it costs two atomic exchanges, 10-16 ns;
 * while the program has promised that one thread at a time calls MPI, and no thread of
 * our own runs, it is off and costs a branch (weft_lock_set_needed).
 *
 * Who polls yields to who posts: a poller tries (weft_lock_try) and lets go as soon as
 * weft_lock_is_wanted(), else threads that post would starve behind one that waits.
 */
#ifndef WEFT_PROGRESS_LOCK_H
#define WEFT_PROGRESS_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct weft_lock_word {
    _Atomic uint32_t state;   /* 0: free, 1: held, 2: held and somebody sleeps */
    _Atomic uint32_t waiters; /* threads in weft_lock() that do not have it yet */
};

extern struct weft_lock_word weft_the_lock;
extern bool weft_lock_is_off;

/* Called when no other thread can be inside the library: in MPI_Init and MPI_Finalize. */
void weft_lock_set_needed(bool is_needed);

void weft_lock_slow(void);
void weft_unlock_slow(void);

static inline bool weft_lock_take(void)
{
    uint32_t free_state = 0;

    /* Acquire pairs with the release in weft_unlock(). */
    return atomic_compare_exchange_strong_explicit(
        &weft_the_lock.state, &free_state, 1, memory_order_acquire, memory_order_relaxed);
}

static inline void weft_lock(void)
{
    if (__builtin_expect(!weft_lock_is_off && !weft_lock_take(), 0)) {
        weft_lock_slow();
    }
}

static inline void weft_unlock(void)
{
    if (weft_lock_is_off) {
        return;
    }
    if (__builtin_expect(
            atomic_exchange_explicit(&weft_the_lock.state, 0, memory_order_release) == 2,
            0)) {
        weft_unlock_slow();
    }
}

static inline bool weft_lock_is_wanted(void)
{
    return atomic_load_explicit(&weft_the_lock.waiters, memory_order_relaxed) != 0;
}

/* For pollers: false if it is held, or wanted by somebody who has more to do. */
static inline bool weft_lock_try(void)
{
    return weft_lock_is_off || (!weft_lock_is_wanted() && weft_lock_take());
}

#endif
