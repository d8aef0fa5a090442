#include "rma/update.h"

#include "base/wait.h"
#include "engine/engine.h"

#include <sched.h>

enum { SPINS = 200, YIELDS = 100, TURNS = 1000 };

/* Whoever had the word has failed: what it has left undone stays so. */
static bool is_orphaned(const struct weft_win *win, uint32_t updater)
{
    return updater != 0 &&
           atomic_load_explicit(weft_engine.failures, memory_order_relaxed) != 0 &&
           weft_near_has_failed(win, updater - 1);
}

void weft_update_await(struct weft_win *win, struct weft_win_words *words)
{
    const uint32_t mine = win->near_number + 1;
    uint32_t seen = 0;

    for (int turn = 1; !atomic_compare_exchange_weak_explicit(
             &words->updater, &seen, mine, memory_order_acquire, memory_order_relaxed);
         turn++) {
        if (turn % TURNS == 0 && is_orphaned(win, seen)) {
            continue; /* `seen` is replaced */
        }
        seen = 0;
        for (int i = 0; i < SPINS && !weft_wait_is_crowded(); i++) {
            weft_wait_relax();
            if (atomic_load_explicit(&words->updater, memory_order_relaxed) == 0) {
                break;
            }
        }
        if (turn < YIELDS) {
            sched_yield();
        } else {
            weft_wait_moment();
        }
    }
}
