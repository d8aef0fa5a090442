/*
 * lock.h - the lock that guards the library's state, and the one for objects that may be
 * used at any time.
 *
 * Held for short: nothing over 4 KiB is copied, nothing sleeps and no callback of the
 * user runs under it. It has two forms:
 *
 *   shared  Several threads of the program may call MPI: a futex lock, two atomic
 *           exchanges when nobody else wants it, 10-16 ns.
 *   biased  One thread at a time calls MPI, as the program has promised. The only other
 *           one is the progress thread, which wants the lock rarely. So the program's
 *           thread takes it with a plain store and a load (`inside`, then `progress`),
 *           and the progress thread pays for both: it stores `progress`, passes a full
 *           barrier on every processor that runs a thread of this process (membarrier),
 *           and looks at `inside`. Either the program's thread sees `progress` and gives
 *           way, or the progress thread sees `inside` and waits or gives up.
 *
 * A biased lock becomes a shared one at any moment (weft_lock_share), as MPI_Session_init
 * demands, which may be called by any thread. The thread that shares it takes it as the
 * progress thread would, and leaves a mark in `progress` that stays, so that a thread
 * that has read the old form finds it and takes the other.
 *
 * Several threads take the lock as the progress thread does: itself, the network thread,
 * threads for blocking work, visitors, and whoever shares the lock. Each takes the
 * progress role first (weft_progress_role_take), which one thread at a time has. So the
 * form does not change under them.
 *
 * Objects that the standard lets any thread use at any time, whatever the program has
 * promised (info objects, error handlers, error codes, the list of sessions), have a lock
 * of their own, which knows one form. It may be taken with the other held, and nothing is
 * called under it.
 *
 * A polling thread yields to a posting one: a poller tries (weft_lock_try) and lets go as
 * soon as weft_lock_is_wanted(), else threads that post would starve behind one that
 * waits.
 */
#ifndef WEFT_ENGINE_LOCK_H
#define WEFT_ENGINE_LOCK_H

#include "base/rc.h"
#include "engine/held.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct weft_lock_word {
    _Atomic uint32_t state;    /* 0: free, 1: held, 2: held and somebody sleeps */
    _Atomic uint32_t waiters;  /* threads in weft_lock() that do not have it yet */
    _Atomic uint32_t inside;   /* biased: the program's thread has it */
    _Atomic uint32_t progress; /* biased: 1: the progress thread has it or tries, 2: it is
                                * awaited; WEFT_LOCK_SHARED: biased no longer */
};

enum { WEFT_LOCK_SHARED = 3 };

extern WEFT_OURS struct weft_lock_word weft_the_lock;
extern WEFT_OURS _Atomic bool weft_lock_biased;

/* Relaxed: a thread that takes the lock in the old form finds that out in `progress`. */
static inline bool weft_lock_is_biased(void)
{
    return atomic_load_explicit(&weft_lock_biased, memory_order_relaxed);
}

/*
 * To the biased form: in MPI_Init, when the threads of the library have ended, by a
 * thread that has not got the lock. Visitors may be inside, because functions such as
 * MPI_Error_string may be called at any time: they have the progress role meanwhile, for
 * which this waits, so that they give the lock back in the form in which they took it.
 * Where the kernel has no membarrier the lock stays shared.
 */
void weft_lock_bias(void);

/* To the shared form: at any time, from any thread that has not got it. */
void weft_lock_share(void);

/* The lock of objects that any thread may use at any time. */
void weft_object_lock(void);
void weft_object_unlock(void);

void weft_lock_slow(void);
void weft_unlock_slow(void);
void weft_lock_await_progress(void);

static inline bool weft_lock_take(void)
{
    uint32_t free_state = 0;

    /* Acquire pairs with the release in weft_unlock(). */
    return atomic_compare_exchange_strong_explicit(
        &weft_the_lock.state, &free_state, 1, memory_order_acquire, memory_order_relaxed);
}

static inline void weft_lock_take_biased(void)
{
    atomic_store_explicit(&weft_the_lock.inside, 1, memory_order_relaxed);
    __asm__ volatile("" ::: "memory"); /* the processor's part is the other's barrier */
    /* Acquire pairs with the release in weft_lock_leave_as_progress(). */
    if (__builtin_expect(
            atomic_load_explicit(&weft_the_lock.progress, memory_order_acquire) != 0,
            0)) {
        weft_lock_await_progress();
    }
}

static inline void weft_lock(void)
{
    if (__builtin_expect(weft_lock_is_biased(), 1)) {
        weft_lock_take_biased();
    } else if (__builtin_expect(!weft_lock_take(), 0)) {
        weft_lock_slow();
    }
    weft_lock_note(true);
}

static inline void weft_unlock(void)
{
    weft_lock_note(false);
    if (__builtin_expect(weft_lock_is_biased(), 1)) {
        /* Release pairs with the acquire in weft_lock_try_as_progress(). */
        atomic_store_explicit(&weft_the_lock.inside, 0, memory_order_release);
    } else if (atomic_exchange_explicit(&weft_the_lock.state, 0, memory_order_release) ==
               2) {
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
    if (weft_lock_is_biased()) {
        weft_lock_take_biased();
    } else if (weft_lock_is_wanted() || !weft_lock_take()) {
        return false;
    }
    weft_lock_note(true);
    return true;
}

/*
 * For the progress thread, in both forms, with the role. A try fails if a thread of the
 * program has it; a thread that polls is asked to let go (weft_lock_is_wanted) by the
 * other.
 */
bool weft_lock_try_as_progress(void);
void weft_lock_as_progress(void);
void weft_lock_leave_as_progress(void);

/* For the progress thread, which has it: does a thread of the program sleep for it? */
bool weft_lock_is_awaited(void);

void weft_progress_role_take(void);
void weft_progress_role_give(void);

/*
 * For a thread of the program that may not be the one that the lock is biased to: role
 * and lock. Dearer than weft_lock() where it is biased.
 */
void weft_lock_as_visitor(void);
void weft_lock_leave_as_visitor(void);

#endif
