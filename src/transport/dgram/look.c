/* look.c - the ends of looks: see look.h. */
#include "transport/dgram/look.h"

#include "transport/dgram/assemble.h"
#include "transport/dgram/emit.h"
#include "transport/dgram/estimate.h"
#include "transport/dgram/flights.h"
#include "transport/dgram/grant.h"
#include "transport/dgram/peer.h"
#include "transport/dgram/pump.h"
#include "transport/dgram/timers.h"

#include <assert.h>

void weft_dgram_begin(struct weft_dgram_core *core, uint64_t now, uint64_t away,
                      int budget)
{
    core->now = now > core->now ? now : core->now;
    weft_dgram_was_away(&core->away, away, core->now - core->looked_at);
    core->looked_at = core->now;
    core->away_shown = weft_dgram_time(away);
    core->most = budget;
    core->handled = 0;
}

/* Acknowledges now or later what has come from a busy peer, unless what was sent to it
 * has done so. */
static void acknowledge(struct weft_dgram_core *core, struct weft_dgram_peer *peer)
{
    struct weft_dgram_busy *busy = peer->busy;
    const bool is_asked = busy->unacked > 0 || peer->backlog > 0;

    if (is_asked || busy->must_ack || peer->told < peer->expected) {
        weft_dgram_grant(core, peer);
    }
    if (busy->must_ack || busy->unacked >= WEFT_DGRAM_ACK_EACH ||
        weft_dgram_grant_is_news(core, peer)) {
        const bool was_stuck = busy->told_sent < peer->expected && peer->backlog > 0;

        if (!weft_dgram_emit_ack(core, peer, WEFT_DGRAM_ACK)) {
            busy->ack_at = core->now + WEFT_DGRAM_RETRY;
        } else if (was_stuck && peer->told >= peer->expected) {
            busy->ack_at = core->now + WEFT_DGRAM_ACK_DELAY; /* once more: see Probe */
        }
    } else if (busy->ack_at == 0 && is_asked &&
               (busy->unacked > 0 || peer->told > busy->told_sent)) {
        busy->ack_at = core->now + WEFT_DGRAM_ACK_DELAY;
    }
}

/* Those from whom something came. All of it is known by now, so what it grants goes out
 * in whole trains. */
static void answer_all(struct weft_dgram_core *core)
{
    while (core->due != NULL) {
        struct weft_dgram_peer *peer = core->due;

        core->due = peer->busy->next_due;
        peer->busy->is_due = false;
        if (!peer->is_lost) {
            weft_dgram_pump(core, peer);
            acknowledge(core, peer);
        }
        weft_dgram_peer_rest(core, peer);
    }
}

/* Grants to those who wait what has become free. */
static void grant_all(struct weft_dgram_core *core)
{
    for (uint32_t left = core->waiters; left > 0; left--) {
        struct weft_dgram_peer *peer = weft_dgram_grant_next(core);

        if (peer == NULL) {
            return;
        }
        if (weft_dgram_peer_wake(core, peer) != NULL) {
            weft_dgram_grant(core, peer);
            if (peer->told > peer->busy->told_sent &&
                !weft_dgram_emit_ack(core, peer, WEFT_DGRAM_ACK)) {
                peer->busy->ack_at = core->now + WEFT_DGRAM_RETRY;
            }
            weft_dgram_peer_rest(core, peer);
        }
    }
}

static void lose(struct weft_dgram_core *core, struct weft_dgram_peer *peer)
{
    const struct weft_upcalls *up = core->config.up;

    peer->is_lost = true;
    up->lost(up->owner, peer->process, peer->has_left, "it does not answer datagrams");
    weft_dgram_peer_empty(core, peer); /* now: `lost` may have taken packets back */
    weft_dgram_grant_end(core, peer);
}

/*
 * The time of the oldest datagram is over, or of a probe. What counts as silence is the
 * time-out as it was meant, and not how long it took: this process may have been stopped,
 * or the machine too busy for it, and then the peer could not be heard.
 */
static void repeat(struct weft_dgram_core *core, struct weft_dgram_peer *peer)
{
    struct weft_dgram_busy *busy = peer->busy;
    const uint64_t timeout = weft_dgram_doubled(core, peer);

    if (busy->timeouts == 0) { /* who was idle for long is not silent for long */
        busy->asked_at = busy->oldest != NULL ? busy->oldest->sent_at : core->now;
    }
    if (busy->timeouts >= WEFT_DGRAM_REPEATS_LOST &&
        busy->unanswered + timeout > core->config.lost_after) {
        lose(core, peer);
        return;
    }
    if (busy->oldest != NULL) {
        weft_dgram_flights_timeout(core, peer);
    } else {
        weft_dgram_probe(core, peer);
    }
    weft_dgram_back_off(busy, timeout);
}

/* The owner may know another way there. */
static void check_silence(struct weft_dgram_core *core, struct weft_dgram_peer *peer)
{
    const struct weft_upcalls *up = core->config.up;

    if (weft_dgram_silent_due(core, peer) <= core->now) {
        peer->busy->is_silent = true;
        up->silent(up->owner, peer->above);
    }
}

static void check_timer(struct weft_dgram_core *core, struct weft_dgram_peer *peer,
                        bool is_drained)
{
    struct weft_dgram_busy *busy = peer->busy;

    if (busy->is_refused) {
        weft_dgram_pump(core, peer);
    }
    if (is_drained && weft_dgram_repeat_due(core, peer) <= core->now) {
        repeat(core, peer);
    }
    if (is_drained) {
        check_silence(core, peer);
    }
    if (peer->busy == NULL) {
        return; /* the owner has taken back all that waited */
    }
    if (busy->ack_at != 0 && busy->ack_at <= core->now &&
        !weft_dgram_emit_ack(core, peer, WEFT_DGRAM_ACK)) {
        busy->ack_at = core->now + WEFT_DGRAM_RETRY;
    }
}

static void check_timers(struct weft_dgram_core *core, bool is_drained)
{
    struct weft_dgram_peer *peer = weft_dgram_timer_first(core);
    uint32_t left = core->timer_count;

    while (peer != NULL && peer->busy->timer_at <= core->now && left-- > 0) {
        check_timer(core, peer, is_drained);
        weft_dgram_peer_rest(core, peer);
        peer = weft_dgram_timer_first(core);
    }
}

int weft_dgram_end(struct weft_dgram_core *core, uint64_t now, bool is_drained)
{
    core->now = now > core->now ? now : core->now;
    weft_dgram_offer_kept(core);
    answer_all(core);
    grant_all(core);
    check_timers(core, is_drained);
    return core->handled;
}

uint64_t weft_dgram_deadline(const struct weft_dgram_core *core)
{
    const struct weft_dgram_peer *peer = weft_dgram_timer_first(core);

    return peer != NULL ? peer->busy->timer_at : 0;
}

bool weft_dgram_may_take(const struct weft_dgram_core *core)
{
    const struct weft_upcalls *up = core->config.up;

    for (const struct weft_dgram_peer *peer = core->kept; peer != NULL;
         peer = peer->busy->next_kept) {
        const struct weft_dgram_in *in = peer->busy->in[WEFT_DGRAM_IN_ORDER].first;

        if (weft_dgram_is_next(peer, WEFT_DGRAM_AHEAD) ||
            (in != NULL && up->may_take(up->owner, peer->above, in->bytes, 0))) {
            return true;
        }
    }
    return false;
}
