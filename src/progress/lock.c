#include "progress/lock.h"

#include "base/futex.h"

#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SPINS = 100 };

struct weft_lock_word weft_the_lock;
bool weft_lock_is_biased;

static int membarrier(int command)
{
    return (int)syscall(SYS_membarrier, command, 0, 0);
}

void weft_lock_set_shared(bool is_shared)
{
    weft_lock_is_biased =
        !is_shared && membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0;
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

/* Returns when the helper neither has the lock nor tries to get it. */
static void await_no_helper(void)
{
    for (int i = 0; i < SPINS; i++) {
        if (atomic_load_explicit(&weft_the_lock.helper, memory_order_acquire) == 0) {
            return;
        }
    }
    for (;;) {
        uint32_t helper = 1;

        if (atomic_compare_exchange_strong_explicit(&weft_the_lock.helper, &helper, 2,
                                                    memory_order_acquire,
                                                    memory_order_acquire) ||
            helper == 2) {
            weft_futex_wait(&weft_the_lock.helper, 2, 0);
        } else {
            return;
        }
    }
}

/* The program's thread gives way: `inside` is taken back while the helper is there. */
void weft_lock_await_helper(void)
{
    do {
        atomic_store_explicit(&weft_the_lock.inside, 0, memory_order_release);
        await_no_helper();
        atomic_store_explicit(&weft_the_lock.inside, 1, memory_order_relaxed);
        __asm__ volatile("" ::: "memory");
    } while (atomic_load_explicit(&weft_the_lock.helper, memory_order_acquire) != 0);
}

void weft_lock_as_helper(void)
{
    if (!weft_lock_is_biased) {
        weft_lock();
        return;
    }
    atomic_fetch_add_explicit(&weft_the_lock.waiters, 1, memory_order_relaxed);
    atomic_store_explicit(&weft_the_lock.helper, 1, memory_order_relaxed);
    membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
    while (atomic_load_explicit(&weft_the_lock.inside, memory_order_acquire) != 0) {
        sched_yield();
    }
    atomic_fetch_sub_explicit(&weft_the_lock.waiters, 1, memory_order_relaxed);
}

bool weft_lock_try_as_helper(void)
{
    if (!weft_lock_is_biased) {
        return weft_lock_try();
    }
    /* The barrier interrupts the program's thread: not while that is seen to be inside.
     */
    if (atomic_load_explicit(&weft_the_lock.inside, memory_order_relaxed) != 0) {
        return false;
    }
    atomic_store_explicit(&weft_the_lock.helper, 1, memory_order_relaxed);
    membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
    if (atomic_load_explicit(&weft_the_lock.inside, memory_order_acquire) == 0) {
        return true;
    }
    weft_lock_leave_as_helper();
    return false;
}

void weft_lock_leave_as_helper(void)
{
    if (!weft_lock_is_biased) {
        weft_unlock();
    } else if (atomic_exchange_explicit(&weft_the_lock.helper, 0, memory_order_release) ==
               2) {
        weft_futex_wake(&weft_the_lock.helper, 1);
    }
}
