/*
 * send.c - packets out. Small ones are injected where the provider can; others are copied
 * into a buffer of ours, which is free again when the provider says so.
 */
#include "transport/ofi/msg/msg.h"

#include "base/clock.h"

#include <sched.h>
#include <string.h>

enum { INJECT_MOST = 256, LEAVING_NS = 1000 * 1000 * 1000 };

/* How many packets one peer may have on their way, so that one that does not read leaves
 * room for others. */
static bool has_share(const struct weft_transport *tp, const struct weft_msg_peer *peer)
{
    return peer->slots_used < tp->send_count / 4;
}

struct weft_msg_slot *weft_msg_take_slot(struct weft_transport *tp,
                                         struct weft_msg_stream *stream)
{
    struct weft_msg_slot *slot = tp->free_sends;

    if (slot == NULL || !has_share(tp, stream->peer)) {
        return NULL;
    }
    tp->free_sends = slot->next;
    slot->stream = stream;
    slot->op = NULL;
    stream->peer->slots_used++;
    return slot;
}

void weft_msg_slot_is_free(struct weft_transport *tp, struct weft_msg_slot *slot)
{
    slot->stream->peer->slots_used--;
    slot->next = tp->free_sends;
    tp->free_sends = slot;
}

enum weft_rc weft_msg_outcome(struct weft_transport *tp, struct weft_msg_stream *stream,
                              ssize_t code)
{
    if (weft_likely(code == 0)) {
        return WEFT_OK;
    }
    if (code == -FI_EAGAIN) {
        tp->has_stumbled = true;
        return WEFT_AGAIN;
    }
    weft_msg_lose(tp, stream, weft_ofi_error(code));
    return weft_msg_gone(stream->peer);
}

/* Header and data of a packet are copied behind the frame's own fields. */
static void fill(struct weft_msg_frame *frame, const void *header, const void *data,
                 size_t len)
{
    memcpy(frame->header, header, WEFT_HEADER_BYTES);
    if (len > 0) { /* else there may be no data to point at */
        memcpy(frame + 1, data, len);
    }
}

static enum weft_rc inject(struct weft_transport *tp, struct weft_msg_stream *stream,
                           struct weft_msg_frame frame, const void *header,
                           const void *data, size_t len)
{
    union {
        struct weft_msg_frame frame;
        uint8_t bytes[INJECT_MOST];
    } packet;

    packet.frame = frame;
    fill(&packet.frame, header, data, len);
    return weft_msg_outcome(tp, stream,
                            fi_inject(stream->ep, &packet, sizeof(frame) + len, 0));
}

static enum weft_rc post(struct weft_transport *tp, struct weft_msg_stream *stream,
                         struct weft_msg_frame frame, const void *header,
                         const void *data, size_t len)
{
    struct weft_msg_slot *slot = weft_msg_take_slot(tp, stream);
    enum weft_rc rc;

    if (slot == NULL) {
        return WEFT_AGAIN;
    }
    memcpy(slot->buffer, &frame, sizeof(frame));
    fill((struct weft_msg_frame *)(void *)slot->buffer, header, data, len);
    rc = weft_msg_outcome(tp, stream,
                          fi_send(stream->ep, slot->buffer, sizeof(frame) + len,
                                  weft_ofi_descriptor(tp->send_mr), 0, &slot->context));
    if (rc != WEFT_OK) {
        weft_msg_slot_is_free(tp, slot);
    }
    return rc;
}

/* Whatever goes to a peer also says what was taken of what it has sent. */
struct weft_msg_frame weft_msg_frame(const struct weft_transport *tp,
                                     const struct weft_msg_stream *stream,
                                     enum weft_msg_kind kind)
{
    const struct weft_msg_peer *peer = stream->peer;

    return (struct weft_msg_frame){
        .version = WEFT_MSG_FRAME_VERSION,
        .kind = (uint8_t)kind,
        .stream = (uint8_t)stream->base.stream,
        .from = tp->me,
        .number = peer->number_out,
        .taken = peer->taken,
        .taken_control = peer->taken_control,
    };
}

void weft_msg_has_sent(struct weft_msg_peer *peer, const struct weft_msg_frame *frame,
                       size_t bytes)
{
    peer->told = frame->taken;
    peer->told_control = frame->taken_control;
    peer->bytes_sent += bytes;
    if (frame->kind == WEFT_MSG_ORDERED) {
        peer->number_out++;
        peer->sent += (uint32_t)bytes;
        peer->packets_sent++;
    } else if (frame->kind == WEFT_MSG_CONTROL) {
        peer->sent_control++;
    }
}

static enum weft_rc send_frame(struct weft_transport *tp, struct weft_msg_stream *stream,
                               enum weft_msg_kind kind, const void *header,
                               const void *data, size_t len)
{
    const struct weft_msg_frame frame = weft_msg_frame(tp, stream, kind);
    const size_t total = sizeof(frame) + len;
    enum weft_rc rc;

    rc = total <= tp->ofi.info->tx_attr->inject_size && total <= INJECT_MOST
             ? inject(tp, stream, frame, header, data, len)
             : post(tp, stream, frame, header, data, len);
    if (rc == WEFT_OK) {
        weft_msg_has_sent(stream->peer, &frame, total);
    }
    return rc;
}

/* Without a connection there is one soon, or there never will be. */
static enum weft_rc no_way(struct weft_transport *tp, struct weft_msg_stream *stream)
{
    if (stream->state == WEFT_MSG_LOST) {
        return weft_msg_gone(stream->peer);
    }
    weft_msg_connect(tp, stream);
    return WEFT_AGAIN;
}

enum weft_rc weft_msg_may_send(struct weft_transport *tp, struct weft_msg_stream *stream,
                               size_t bytes)
{
    const struct weft_msg_peer *peer = stream->peer;

    if (weft_unlikely(stream->state != WEFT_MSG_OPEN)) {
        return no_way(tp, stream);
    }
    return peer->sent - peer->acknowledged + bytes <= tp->window ? WEFT_OK : WEFT_AGAIN;
}

static enum weft_rc may_send_control(struct weft_transport *tp,
                                     struct weft_msg_stream *stream)
{
    const struct weft_msg_peer *peer = stream->peer;

    if (weft_unlikely(stream->state != WEFT_MSG_OPEN)) {
        return no_way(tp, stream);
    }
    return peer->sent_control - peer->acknowledged_control < WEFT_MSG_CONTROL_WINDOW
               ? WEFT_OK
               : WEFT_AGAIN;
}

enum weft_rc weft_msg_send(struct weft_endpoint *ep, const void *header, const void *data,
                           size_t len, unsigned flags)
{
    struct weft_msg_stream *stream = weft_msg_stream_of(ep);
    struct weft_transport *tp = ep->transport;
    const bool is_control = (flags & WEFT_SEND_CONTROL) != 0;
    const enum weft_rc rc =
        is_control ? may_send_control(tp, stream)
                   : weft_msg_may_send(tp, stream, sizeof(struct weft_msg_frame) + len);

    return rc != WEFT_OK
               ? rc
               : send_frame(tp, stream, is_control ? WEFT_MSG_CONTROL : WEFT_MSG_ORDERED,
                            header, data, len);
}

/* ---- frames without a packet ---- */

/* False: there is no room now. */
static bool send_bare(struct weft_transport *tp, struct weft_msg_peer *peer,
                      enum weft_msg_kind kind)
{
    static const uint8_t nothing[WEFT_HEADER_BYTES];

    return send_frame(tp, &peer->first, kind, nothing, nothing, 0) != WEFT_AGAIN;
}

/* A peer that does not read, so that nothing can be sent to it, is not waited for long.
 */
void weft_msg_leave(struct weft_transport *tp)
{
    const uint64_t until = weft_clock_ns() + LEAVING_NS;
    struct weft_msg_peer *peer;
    uint32_t at = 0;

    while ((peer = weft_ranks_next(&tp->peers, &at)) != NULL) {
        while (peer->first.state == WEFT_MSG_OPEN &&
               !send_bare(tp, peer, WEFT_MSG_LEAVE) && weft_clock_ns() < until) {
            weft_msg_poll(tp, 0);
            sched_yield();
        }
    }
}

static bool try_to_tell(struct weft_transport *tp, struct weft_msg_peer *peer)
{
    return peer->first.state != WEFT_MSG_OPEN ||
           (peer->told == peer->taken && peer->told_control == peer->taken_control) ||
           send_bare(tp, peer, WEFT_MSG_CREDIT);
}

void weft_msg_tell(struct weft_transport *tp, struct weft_msg_peer *peer)
{
    if (!peer->is_owing && !try_to_tell(tp, peer)) {
        tp->is_telling_refused = true; /* perhaps; the next poll finds out */
        peer->is_owing = true;
        peer->next_owing = tp->owing;
        tp->owing = peer;
    }
}

void weft_msg_tell_all(struct weft_transport *tp)
{
    struct weft_msg_peer **at = &tp->owing;
    const bool had_stumbled = tp->has_stumbled;

    tp->has_stumbled = false;
    while (*at != NULL) {
        struct weft_msg_peer *peer = *at;

        if (try_to_tell(tp, peer)) {
            peer->is_owing = false;
            *at = peer->next_owing;
        } else {
            at = &peer->next_owing;
        }
    }
    tp->is_telling_refused = tp->has_stumbled;
    tp->has_stumbled = tp->has_stumbled || had_stumbled;
}
