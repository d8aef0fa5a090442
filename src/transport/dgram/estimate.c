/* estimate.c - round trips and time-outs: see estimate.h. */
#include "transport/dgram/estimate.h"

enum { AWAY_MOST = 1000000 }; /* microseconds: no time-out is longer */

void weft_dgram_sample(struct weft_dgram_peer *peer, uint64_t microseconds)
{
    const uint32_t sample = (uint32_t)(microseconds < 1           ? 1
                                       : microseconds > AWAY_MOST ? AWAY_MOST
                                                                  : microseconds);
    uint32_t off;

    if (peer->srtt == 0) {
        peer->srtt = sample;
        peer->rttvar = sample / 2;
        return;
    }
    off = sample > peer->srtt ? sample - peer->srtt : peer->srtt - sample;
    peer->rttvar = (3 * peer->rttvar + off) / 4;
    peer->srtt = (7 * peer->srtt + sample) / 8;
    if (peer->srtt == 0) {
        peer->srtt = 1;
    }
}

void weft_dgram_was_away(uint32_t *away, uint64_t microseconds, uint64_t passed)
{
    const uint64_t falls = passed / 16000;
    const uint64_t rest = *away > falls ? *away - falls : 0;

    if (microseconds > AWAY_MOST) {
        microseconds = AWAY_MOST;
    }
    *away = (uint32_t)(microseconds > rest ? microseconds : rest);
}

/* Twice the time for which processes were away lately, in nanoseconds. */
static uint64_t twice_away(const struct weft_dgram_core *core,
                           const struct weft_dgram_peer *peer)
{
    return UINT64_C(2000) * (peer->away > core->away ? peer->away : core->away);
}

uint64_t weft_dgram_timeout(const struct weft_dgram_core *core,
                            const struct weft_dgram_peer *peer)
{
    uint64_t timeout = twice_away(core, peer);

    if (peer->srtt == 0) {
        timeout += WEFT_DGRAM_TIMEOUT_FIRST;
    } else {
        timeout += UINT64_C(1000) * peer->srtt + UINT64_C(4000) * peer->rttvar;
    }
    if (timeout < WEFT_DGRAM_TIMEOUT_LEAST) {
        return WEFT_DGRAM_TIMEOUT_LEAST;
    }
    return timeout < WEFT_DGRAM_TIMEOUT_MOST ? timeout : WEFT_DGRAM_TIMEOUT_MOST;
}

/* Two round trips, or what the variance asks for. A peer that stops running in this
 * moment gets WEFT_DGRAM_REPEATS_SHORT datagrams in vain, no more. */
static uint64_t short_timeout(const struct weft_dgram_peer *peer)
{
    const uint64_t round = UINT64_C(1000) * peer->srtt;
    const uint64_t spread = UINT64_C(4000) * peer->rttvar;
    const uint64_t timeout = round + (spread > round ? spread : round);

    return timeout > WEFT_DGRAM_TIMEOUT_SHORT ? timeout : WEFT_DGRAM_TIMEOUT_SHORT;
}

/* Doubled, and longer by up to an eighth, which differs from peer to peer. */
uint64_t weft_dgram_doubled(const struct weft_dgram_core *core,
                            const struct weft_dgram_peer *peer)
{
    uint64_t timeout = weft_dgram_is_short(peer)
                           ? short_timeout(peer)
                           : weft_dgram_timeout(core, peer) << peer->busy->doublings;
    const uint64_t drawn =
        (peer->next + peer->busy->doublings + core->config.self.process) *
        UINT64_C(0x9E3779B97F4A7C15);

    if (timeout > WEFT_DGRAM_TIMEOUT_MOST) {
        timeout = WEFT_DGRAM_TIMEOUT_MOST;
    }
    return timeout + timeout / 512 * (drawn >> 58);
}

uint64_t weft_dgram_repeat_due(const struct weft_dgram_core *core,
                               const struct weft_dgram_peer *peer)
{
    const struct weft_dgram_busy *busy = peer->busy;
    uint64_t from;

    if (peer->is_lost || (busy->oldest == NULL && busy->waiting == 0)) {
        return WEFT_DGRAM_NEVER;
    }
    from = busy->oldest != NULL ? busy->oldest->sent_at : busy->probed_at;
    if (busy->restart_at > from) {
        from = busy->restart_at;
    }
    return from + weft_dgram_doubled(core, peer);
}

uint64_t weft_dgram_silent_due(const struct weft_dgram_core *core,
                               const struct weft_dgram_peer *peer)
{
    const struct weft_dgram_busy *busy = peer->busy;

    if (core->config.silent_after == 0 || busy->timeouts == 0 || busy->is_silent ||
        peer->is_lost || (busy->oldest == NULL && busy->waiting == 0)) {
        return WEFT_DGRAM_NEVER;
    }
    return busy->asked_at + core->config.silent_after + twice_away(core, peer);
}

uint64_t weft_dgram_timer_due(const struct weft_dgram_core *core,
                              const struct weft_dgram_peer *peer)
{
    const uint64_t silent = weft_dgram_silent_due(core, peer);
    uint64_t due = weft_dgram_repeat_due(core, peer);

    due = silent < due ? silent : due;
    if (peer->busy->ack_at != 0 && peer->busy->ack_at < due) {
        due = peer->busy->ack_at;
    }
    if (peer->busy->is_refused && core->now + WEFT_DGRAM_RETRY < due) {
        due = core->now + WEFT_DGRAM_RETRY;
    }
    return due;
}
