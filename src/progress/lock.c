#include "progress/lock.h"

#include "base/futex.h"

#include <sched.h>

enum { SPINS = 100 };

struct weft_lock_word weft_the_lock;
bool weft_lock_is_off;

void weft_lock_set_needed(bool is_needed)
{
    weft_lock_is_off = !is_needed;
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
