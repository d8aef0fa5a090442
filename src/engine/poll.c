/*
 * poll.c - one look at everything that can go on, with the lock.
 */
#include "engine/engine.h"

#include "engine/held.h"
#include "engine/hot.h"
#include "engine/work.h"

enum { BUDGET = 64 /* packets handled at once */ };

/* Once: what the look brings may ask for another one, and the caller comes again. */
__attribute__((noinline)) void weft_engine_go_on(void)
{
    struct weft_engine *e = &weft_engine;

    if ((e->reasons & 1u << WEFT_REASON_AGAIN) != 0) {
        weft_reason_drop(WEFT_REASON_AGAIN);
        weft_transports_are_due();
        weft_transports_poll(BUDGET);
    }
    if ((e->reasons & 1u << WEFT_REASON_READY) != 0) {
        weft_engine_run_ready();
    }
}

void weft_engine_poll(void)
{
    struct weft_engine *e = &weft_engine;

    weft_assert_locked();
    weft_transports_poll(BUDGET);
    if (weft_engine_has_failures()) {
        weft_engine_notice_failed();
    }
    if (weft_unlikely(e->retrying != NULL || e->promoted != NULL)) {
        weft_engine_retry();
    }
    if (weft_unlikely(e->watched > 0)) {
        weft_engine_look();
    }
    if (weft_unlikely(!weft_engine_may_sleep())) {
        weft_engine_go_on();
    }
}

void weft_engine_work_and_poll(void)
{
    const uint32_t work = 1u << WEFT_REASON_WORK | 1u << WEFT_REASON_CALLS;

    weft_engine_poll();
    while (weft_unlikely((weft_engine.reasons & work) != 0) && weft_work_do()) {
        weft_engine_poll();
    }
}
