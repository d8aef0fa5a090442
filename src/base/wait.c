#include "base/wait.h"

#include "base/clock.h"
#include "base/futex.h"

#include <limits.h>
#include <sched.h>
#include <time.h>

enum {
    LOOKS = 64, /* 1 us or so */
    MOMENT_NS = 20000,
    YIELDS = 8,           /* more of them are the engine's, which serves messages */
    ABSENCE_NS = 1000000, /* a yield that took so long met somebody who computes */
    ABSENCE_PAYS = 64,    /* so many times as long nothing is given away */
};

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

static bool look(_Atomic uint32_t *word, uint32_t old)
{
    for (int i = 0; i < LOOKS; i++) {
        if (has_changed(word, old)) {
            return true;
        }
        weft_wait_relax();
    }
    return false;
}

static bool yield(_Atomic uint32_t *word, uint32_t old)
{
    static _Atomic uint64_t not_before; /* relaxed: a hint */
    uint64_t now = weft_clock_ns();
    const bool may = now >= atomic_load_explicit(&not_before, memory_order_relaxed);

    for (int i = 0; may && i < YIELDS && !has_changed(word, old); i++) {
        const uint64_t before = now;

        sched_yield();
        now = weft_clock_ns();
        if (now - before > ABSENCE_NS) {
            atomic_store_explicit(&not_before, now + ABSENCE_PAYS * (now - before),
                                  memory_order_relaxed);
            break;
        }
    }
    return has_changed(word, old);
}

bool weft_wait_briefly(_Atomic uint32_t *word, uint32_t old)
{
    return is_crowded ? yield(word, old) : look(word, old);
}

void weft_wait_moment(void)
{
    const struct timespec moment = {.tv_nsec = MOMENT_NS};

    (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &moment, NULL);
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
