/*
 * estimate.h - how long to wait for an acknowledgement.
 */
#ifndef WEFT_DGRAM_ESTIMATE_H
#define WEFT_DGRAM_ESTIMATE_H

#include "transport/dgram/core.h"

/* A datagram and its acknowledgement took so many microseconds, without those during
 * which the peer had it or was not running. */
void weft_dgram_sample(struct weft_dgram_peer *peer, uint64_t microseconds);

/* A process was not running for so many microseconds; `away` is the estimate of it, which
 * falls by a sixteenth of the time that has passed since it was made, in nanoseconds. */
void weft_dgram_was_away(uint32_t *away, uint64_t microseconds, uint64_t passed);

/* Nanoseconds until the oldest datagram is repeated for the first time. */
uint64_t weft_dgram_timeout(const struct weft_dgram_core *core,
                            const struct weft_dgram_peer *peer);

/* When the timer of a busy peer has to end, for whatever reason; WEFT_DGRAM_NEVER: it
 * needs none. */
uint64_t weft_dgram_timer_due(const struct weft_dgram_core *core,
                              const struct weft_dgram_peer *peer);

/* The part of it that is about repeats and probes. */
uint64_t weft_dgram_repeat_due(const struct weft_dgram_core *core,
                               const struct weft_dgram_peer *peer);

/* The time-out that repeat_due() waits for now: doubled as often as nothing came. */
uint64_t weft_dgram_doubled(const struct weft_dgram_core *core,
                            const struct weft_dgram_peer *peer);

/* When a peer that has not answered since `asked_at` counts as silent: `silent_after`,
 * and twice the time for which processes were away lately, as in a time-out. */
uint64_t weft_dgram_silent_due(const struct weft_dgram_core *core,
                               const struct weft_dgram_peer *peer);

/* Is the time-out that repeat_due() waits for a short one? It is while the peer has shown
 * a hole: it acknowledges at once then, and was running a moment ago. A hole that the
 * peer has no room for is not filled sooner by asking often. */
static inline bool weft_dgram_is_short(const struct weft_dgram_peer *peer)
{
    const struct weft_dgram_busy *busy = peer->busy;

    return busy->has_hole && !busy->is_full && busy->oldest != NULL &&
           busy->doublings == 0 && busy->timeouts < WEFT_DGRAM_REPEATS_SHORT &&
           peer->srtt != 0;
}

/* One more time-out of so many nanoseconds without an answer. */
static inline void weft_dgram_back_off(struct weft_dgram_busy *busy, uint64_t timeout,
                                       bool is_short)
{
    busy->unanswered += timeout;
    if (busy->oldest != NULL && busy->timeouts == 0) {
        busy->vain_time += timeout;
    }
    if (busy->doublings < 20 && !is_short) { /* more than 1 s in any case */
        busy->doublings++;
    }
    if (busy->timeouts < 255) {
        busy->timeouts++;
    }
}

/*
 * A peer that answers others: was the oldest repeated in vain for so long? Asked when its
 * time is over once more. Only time-outs count in which the peer was heard: who is not
 * heard is silent, or does not run.
 */
static inline bool weft_dgram_is_vain(const struct weft_dgram_busy *busy, uint64_t after)
{
    return busy->oldest != NULL && busy->oldest->times > WEFT_DGRAM_REPEATS_VAIN &&
           busy->timeouts == 0 && busy->vain_time > after;
}

#endif
