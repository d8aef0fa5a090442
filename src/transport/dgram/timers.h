/*
 * timers.h - one timer for each busy peer, in a heap whose first is the earliest.
 */
#ifndef WEFT_DGRAM_TIMERS_H
#define WEFT_DGRAM_TIMERS_H

#include "transport/dgram/core.h"

/* Makes room for one more timer; false: no memory. Setting a timer cannot fail then. */
bool weft_dgram_timers_grow(struct weft_dgram_core *core);

/* Sets the timer of a busy peer, or moves it; WEFT_DGRAM_NEVER: it has none. */
void weft_dgram_timer_set(struct weft_dgram_core *core, struct weft_dgram_peer *peer,
                          uint64_t at);

/* The peer whose timer is the earliest, or NULL. */
static inline struct weft_dgram_peer *
weft_dgram_timer_first(const struct weft_dgram_core *core)
{
    return core->timer_count > 0 ? core->timers[0] : NULL;
}

#endif
