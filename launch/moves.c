#include "moves.h"

#include "wireup/polls.h"

static bool is_move(uint64_t where)
{
    const uint64_t call = where >> WEFT_TRACE_CALL_AT;

    return call > WEFT_CALL_NONE && call < WEFT_CALLS &&
           !weft_call_is_poll((unsigned)call);
}

/*
 * A slot that is just being written may have the time of the new event and the call of
 * the old one. If the new one only looks, it passes for a move then; but it does so once,
 * since all calls of that line of the program take the same slot afterwards. Slots behind
 * the first that was never written are not touched, so that no memory is made for them.
 */
uint64_t moves_newest(const struct weft_trace *trace)
{
    uint64_t newest = 0;

    for (int i = 0; i < WEFT_TRACE_EVENTS; i++) {
        const struct weft_trace_slot *slot = &trace->events[i];
        const uint64_t when = atomic_load_explicit(&slot->when, memory_order_acquire);

        if (when == 0) {
            break;
        }
        if (when > newest &&
            is_move(atomic_load_explicit(&slot->where, memory_order_acquire))) {
            newest = when;
        }
    }
    return newest;
}
