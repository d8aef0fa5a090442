#include "transport/ofi/msg/lost.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/texts.h"
#include "transport/ofi/msg/address.h"
#include "transport/ofi/msg/peer.h"
#include "transport/ofi/quirks/silence.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ADVICE                                                                           \
    "; can the hosts reach each other's ports (WEFT_PORTS) on that network (WEFT_NET)?"

enum { GRACE_NS = 1000 * 1000 * 1000, WHY_BYTES = 384 };

static void report_lost(struct weft_transport *tp, struct weft_msg_peer *peer,
                        const char *what, const char *advice)
{
    char own[WEFT_MSG_HOST_BYTES] = "this host";
    char name[WEFT_MSG_NAME_BYTES];
    char why[WHY_BYTES];

    if (!peer->has_address) { /* it has connected to us; by now it may be known */
        (void)weft_msg_find(tp, peer);
    }
    (void)gethostname(own, sizeof(own) - 1);
    weft_msg_name_peer(peer, name, sizeof(name));
    snprintf(why, sizeof(why), "%s from %s to %s: %s%s", what, own, name, peer->cause,
             advice);
    weft_log_info("%s", why);
    peer->is_reported_lost = true;
    tp->up->lost(tp->up->owner, peer->process, peer->has_left, why);
}

/* The end of one stream is the end of all. Operations under way fail. A connection that
 * is being made is given up, so that no stream of a lost peer opens later. */
static void end_streams(struct weft_transport *tp, struct weft_msg_peer *peer)
{
    for (uint32_t i = 0; i < WEFT_STREAMS_MAX; i++) {
        struct weft_msg_stream *stream = peer->streams[i];

        if (stream == NULL) {
            continue;
        }
        if (stream->state == WEFT_MSG_OPEN) {
            (void)fi_shutdown(stream->ep, 0);
        } else if (stream->state != WEFT_MSG_LOST) {
            weft_msg_close_endpoint(stream);
        }
        weft_msg_set_state(tp, stream, WEFT_MSG_LOST);
    }
}

static void note_cause(struct weft_msg_peer *peer, const char *cause)
{
    snprintf(peer->cause, sizeof(peer->cause), "%s", cause);
}

/* A connection that was open has ended. */
static void note_loss(struct weft_transport *tp, struct weft_msg_peer *peer,
                      uint64_t grace_ns)
{
    assert(peer->report_at_ns == 0); /* it is in the list once */
    if (!peer->has_address) {        /* begins to ask for it */
        (void)weft_msg_find(tp, peer);
    }
    peer->report_at_ns = weft_clock_ns() + grace_ns;
    if (tp->deadline == 0 || peer->report_at_ns < tp->deadline) {
        tp->deadline = peer->report_at_ns;
    }
    peer->next_losing = tp->losing;
    tp->losing = peer;
}

static void lose(struct weft_transport *tp, struct weft_msg_stream *stream,
                 const char *cause, uint64_t grace_ns)
{
    struct weft_msg_peer *peer = stream->peer;
    const bool was_open = stream->state == WEFT_MSG_OPEN;
    char name[WEFT_MSG_NAME_BYTES];

    if (stream->state == WEFT_MSG_LOST || tp->is_closing) {
        return;
    }
    if (!was_open && !weft_msg_is_first(stream)) {
        weft_msg_name_peer(peer, name, sizeof(name));
        weft_log_warn(WEFT_S_STREAM, (unsigned)stream->base.number, name, cause);
        weft_msg_close_endpoint(stream);
        weft_msg_set_state(tp, stream, WEFT_MSG_LOST);
        return;
    }
    note_cause(peer, cause);
    end_streams(tp, peer);
    weft_mr_cache_forget_peers(&tp->slots.cache);
    if (was_open) {
        note_loss(tp, peer, grace_ns);
    } else {
        report_lost(tp, peer, "no connection", ADVICE);
    }
}

void weft_msg_lose(struct weft_transport *tp, struct weft_msg_stream *stream,
                   const char *cause)
{
    lose(tp, stream, cause, GRACE_NS);
}

/* Before the peer says that the connection was closed; meanwhile its address is looked
 * up, if it has connected to us. */
void weft_msg_give_up(struct weft_transport *tp, struct weft_msg_stream *stream,
                      const char *cause)
{
    lose(tp, stream, cause, GRACE_NS / 2);
}

/* The launcher has had time enough. */
void weft_msg_lose_silent(struct weft_transport *tp, struct weft_msg_stream *stream)
{
    char cause[WEFT_MSG_CAUSE_BYTES];

    snprintf(cause, sizeof(cause), "no answer for %.1f s (WEFT_HEARTBEAT)",
             (double)weft_silence_ms() / 1e3);
    stream->peer->is_silent = true;
    lose(tp, stream, cause, 0);
}

uint64_t weft_msg_report_losses(struct weft_transport *tp)
{
    struct weft_msg_peer **at = &tp->losing;
    const uint64_t now = weft_clock_ns();
    uint64_t next = 0;

    while (*at != NULL) {
        struct weft_msg_peer *peer = *at;

        if (now >= peer->report_at_ns) {
            *at = peer->next_losing;
            report_lost(tp, peer,
                        peer->has_left ? "that process has ended its use of MPI; "
                                         "lost the connection"
                                       : "lost the connection",
                        peer->is_silent ? ADVICE : "");
        } else {
            next = next == 0 || peer->report_at_ns < next ? peer->report_at_ns : next;
            at = &peer->next_losing;
        }
    }
    return next;
}
