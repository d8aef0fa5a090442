#include "base/wait.h"

#include "base/clock.h"
#include "base/futex.h"

#include <limits.h>
#include <sched.h>

static bool is_crowded = true;

void weft_wait_set_crowded(bool crowded)
{
    is_crowded = crowded;
}

bool weft_wait_is_crowded(void)
{
    return is_crowded;
}

/* Acquire: what was written before the word changed is visible after it. */
static bool has_changed(_Atomic uint32_t *word, uint32_t old)
{
    return atomic_load_explicit(word, memory_order_acquire) != old;
}

void weft_wait_change(_Atomic uint32_t *word, uint32_t old, _Atomic uint32_t *sleepers)
{
    uint64_t start = weft_clock_ns();

    if (!is_crowded) {
        while (weft_clock_ns() - start < WEFT_SPIN_NS) {
            for (int i = 0; i < 32; i++) {
                if (has_changed(word, old)) {
                    return;
                }
                weft_wait_relax();
            }
        }
    }
    while (weft_clock_ns() - start < WEFT_YIELD_NS) {
        if (has_changed(word, old)) {
            return;
        }
        sched_yield();
    }
    atomic_fetch_add_explicit(sleepers, 1, memory_order_seq_cst);
    while (atomic_load_explicit(word, memory_order_seq_cst) == old) {
        weft_futex_wait(word, old, 0);
    }
    atomic_fetch_sub_explicit(sleepers, 1, memory_order_relaxed);
}

void weft_wait_wake(_Atomic uint32_t *word, _Atomic uint32_t *sleepers)
{
    if (atomic_load_explicit(sleepers, memory_order_seq_cst) != 0) {
        weft_futex_wake(word, INT_MAX);
    }
}
