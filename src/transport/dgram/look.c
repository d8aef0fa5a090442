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
#include <stdio.h>

enum { WHY_BYTES = 192 };

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

static void lose(struct weft_dgram_core *core, struct weft_dgram_peer *peer,
                 const char *why)
{
    const struct weft_upcalls *up = core->config.up;

    peer->is_lost = true;
    up->lost(up->owner, peer->path.process, peer->has_left, why);
    /* Now: `lost` may have taken packets back. */
    weft_dgram_peer_empty(core, peer, WEFT_ERR_PROC_FAILED);
    weft_dgram_grant_end(core, peer);
}

/* It lives, but a message that does not reach it would be repeated for ever. */
static void lose_narrow(struct weft_dgram_core *core, struct weft_dgram_peer *peer)
{
    const struct weft_dgram_flight *oldest = peer->busy->oldest;
    const uint32_t part = weft_dgram_part_bytes(peer);
    const uint32_t left = oldest->out->length - oldest->part * part;
    char why[WHY_BYTES];

    snprintf(why, sizeof(why),
             "it answers, but a datagram of %u bytes does not reach it: a link may drop "
             "long ones (MTU); WEFT_TRANSPORT=shm+msg uses connections instead",
             (unsigned)sizeof(struct weft_dgram_header) + (left < part ? left : part));
    lose(core, peer, why);
}

/* Is this found now? */
static bool has_become_narrow(struct weft_dgram_core *core, struct weft_dgram_busy *busy)
{
    if (core->config.narrow_after == 0 || busy->is_narrow ||
        !weft_dgram_is_vain(busy, core->config.narrow_after)) {
        return false;
    }
    busy->is_narrow = true;
    core->counts.narrow++;
    return true;
}

/*
 * The time of the oldest datagram is over, or of a probe. What counts as silence is the
 * time-out as it was meant, and not how long it took: this process may have been stopped,
 * or the machine too busy for it, and then the peer could not be heard. True: the path
 * has become narrow.
 */
static bool repeat(struct weft_dgram_core *core, struct weft_dgram_peer *peer)
{
    struct weft_dgram_busy *busy = peer->busy;
    const uint64_t timeout = weft_dgram_doubled(core, peer);
    const bool is_short = weft_dgram_is_short(peer);
    const bool is_news = has_become_narrow(core, busy);

    if (busy->timeouts == 0) { /* who was idle for long is not silent for long */
        busy->asked_at = busy->oldest == NULL                     ? core->now
                         : busy->oldest->sent_at > peer->heard_at ? busy->oldest->sent_at
                                                                  : peer->heard_at;
    }
    if (busy->timeouts >= WEFT_DGRAM_REPEATS_LOST &&
        busy->unanswered + timeout > core->config.lost_after) {
        lose(core, peer, "it does not answer datagrams (UDP; WEFT_PORTS, WEFT_NET)");
        return false;
    }
    if (weft_dgram_is_vain(busy, core->config.lost_after)) {
        lose_narrow(core, peer);
        return false;
    }
    /* A time in which this process could not send says nothing of the peer. */
    if (busy->oldest != NULL ? weft_dgram_flights_timeout(core, peer)
                             : weft_dgram_probe(core, peer)) {
        weft_dgram_back_off(busy, timeout, is_short);
    }
    return is_news;
}

/* The owner may know another way there, and take back all that waits: see below. */
static void check_silence(struct weft_dgram_core *core, struct weft_dgram_peer *peer,
                          bool is_narrow)
{
    const struct weft_upcalls *up = core->config.up;
    const bool is_silent = weft_dgram_silent_due(core, peer) <= core->now;

    peer->busy->is_silent = peer->busy->is_silent || is_silent;
    if (is_silent || is_narrow) {
        up->silent(up->owner, peer->path.peer);
    }
}

static void check_timer(struct weft_dgram_core *core, struct weft_dgram_peer *peer,
                        bool is_drained)
{
    struct weft_dgram_busy *busy = peer->busy;
    bool is_narrow = false;

    if (busy->is_refused) {
        weft_dgram_pump(core, peer);
    }
    if (is_drained && weft_dgram_repeat_due(core, peer) <= core->now) {
        is_narrow = repeat(core, peer);
    }
    if (is_drained) {
        check_silence(core, peer, is_narrow);
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
    const struct weft_dgram_peer *before = NULL;
    uint32_t left = core->timer_count;

    /* One that is the first again has to wait until all is read. */
    while (peer != NULL && peer != before && peer->busy->timer_at <= core->now &&
           left-- > 0) {
        check_timer(core, peer, is_drained);
        weft_dgram_peer_rest(core, peer);
        before = is_drained ? NULL : peer;
        peer = weft_dgram_timer_first(core);
    }
}

int weft_dgram_end(struct weft_dgram_core *core, uint64_t now, bool is_drained)
{
    core->now = now > core->now ? now : core->now;
    weft_dgram_tell_over(core);
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

bool weft_dgram_is_late(const struct weft_dgram_core *core)
{
    const struct weft_dgram_peer *peer = weft_dgram_timer_first(core);

    return peer != NULL && peer->busy->timer_at <= core->now;
}

bool weft_dgram_may_take(const struct weft_dgram_core *core)
{
    const struct weft_upcalls *up = core->config.up;

    if (core->over != NULL || core->failed != NULL) {
        return true;
    }
    for (const struct weft_dgram_peer *peer = core->kept; peer != NULL;
         peer = peer->busy->next_kept) {
        const struct weft_dgram_in *in = peer->busy->in[WEFT_DGRAM_IN_ORDER].first;

        if (weft_dgram_is_next(peer, WEFT_DGRAM_AHEAD) ||
            (weft_dgram_is_next(peer, WEFT_DGRAM_IN_ORDER) &&
             up->may_take(up->owner, peer->path.peer, in->bytes, 0))) {
            return true;
        }
    }
    return false;
}
