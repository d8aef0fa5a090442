#include "transport/ofi/msg/send.h"

#include "transport/ofi/msg/connect.h"
#include "transport/ofi/msg/lost.h"

#include <assert.h>
#include <string.h>

enum { INJECT_MOST = 256 };

enum weft_rc weft_msg_outcome(struct weft_transport *tp, struct weft_msg_stream *stream,
                              ssize_t code)
{
    if (weft_likely(code == 0)) {
        return WEFT_OK;
    }
    if (code == -FI_EAGAIN) {
        tp->needs_retry = true;
        return WEFT_AGAIN;
    }
    weft_msg_lose(tp, stream, weft_ofi_error(code));
    return weft_msg_gone(stream->peer);
}

/* Header and data of a packet are copied behind the frame's own fields. */
static void fill(struct weft_frame *frame, const void *header, const void *data,
                 size_t len)
{
    memcpy(frame->header, header, WEFT_HEADER_BYTES);
    if (len > 0) { /* else there may be no data to point at */
        memcpy(frame + 1, data, len);
    }
}

static enum weft_rc inject(struct weft_transport *tp, struct weft_msg_stream *stream,
                           struct weft_frame frame, const void *header, const void *data,
                           size_t len)
{
    union {
        struct weft_frame frame;
        uint8_t bytes[INJECT_MOST];
    } packet;

    packet.frame = frame;
    fill(&packet.frame, header, data, len);
    return weft_msg_outcome(tp, stream,
                            fi_inject(stream->ep, &packet, sizeof(frame) + len, 0));
}

static enum weft_rc post(struct weft_transport *tp, struct weft_msg_stream *stream,
                         struct weft_frame frame, const void *header, const void *data,
                         size_t len)
{
    struct weft_ofi_slot *slot =
        weft_ofi_slots_take(&tp->slots, stream, &stream->peer->slots_used);
    enum weft_rc rc;

    assert(len <= WEFT_MSG_PACKET_MAX);
    if (slot == NULL) {
        return WEFT_AGAIN;
    }
    memcpy(slot->buffer, &frame, sizeof(frame));
    fill((struct weft_frame *)(void *)slot->buffer, header, data, len);
    rc = weft_msg_outcome(tp, stream,
                          fi_send(stream->ep, slot->buffer, sizeof(frame) + len,
                                  weft_ofi_descriptor(tp->slots.send_mr), 0,
                                  &slot->context));
    if (rc != WEFT_OK) {
        weft_ofi_slots_give(&tp->slots, slot);
    }
    return rc;
}

/* Whatever goes to a peer also says what was taken of what it has sent. */
struct weft_frame weft_msg_frame(const struct weft_msg_stream *stream,
                                 enum weft_frame_kind kind)
{
    const struct weft_msg_peer *peer = stream->peer;

    return (struct weft_frame){
        .kind = (uint8_t)kind,
        .from = stream->index_there,
        .taken = peer->credits.taken,
        .taken_control = peer->credits.taken_control,
    };
}

void weft_msg_has_sent(struct weft_msg_peer *peer, const struct weft_frame *frame,
                       size_t bytes)
{
    weft_credits_return(&peer->credits, frame->taken, frame->taken_control);
    peer->bytes_sent += bytes;
    if (frame->kind == WEFT_FRAME_ORDERED) {
        peer->credits.sent += (uint32_t)bytes;
        peer->packets_sent++;
    } else if (frame->kind == WEFT_FRAME_CONTROL) {
        peer->credits.sent_control++;
    }
}

static enum weft_rc send_frame(struct weft_transport *tp, struct weft_msg_stream *stream,
                               enum weft_frame_kind kind, const void *header,
                               const void *data, size_t len)
{
    const struct weft_frame frame = weft_msg_frame(stream, kind);
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

/* There is a connection soon, or there never will be. */
static enum weft_rc not_open(struct weft_transport *tp, struct weft_msg_stream *stream)
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
    if (weft_unlikely(stream->state != WEFT_MSG_OPEN)) {
        return not_open(tp, stream);
    }
    return weft_credits_allow(&stream->peer->credits, tp->window, bytes) ? WEFT_OK
                                                                         : WEFT_AGAIN;
}

static enum weft_rc may_send_control(struct weft_transport *tp,
                                     struct weft_msg_stream *stream)
{
    if (weft_unlikely(stream->state != WEFT_MSG_OPEN)) {
        return not_open(tp, stream);
    }
    return weft_credits_allow_control(&stream->peer->credits) ? WEFT_OK : WEFT_AGAIN;
}

enum weft_rc weft_msg_send(struct weft_path *path, const void *header, const void *data,
                           size_t len, unsigned flags)
{
    struct weft_msg_stream *stream = weft_msg_stream_of(path);
    struct weft_transport *tp = path->transport;
    const bool is_control = (flags & WEFT_SEND_CONTROL) != 0;
    const enum weft_rc rc =
        is_control ? may_send_control(tp, stream)
                   : weft_msg_may_send(tp, stream, sizeof(struct weft_frame) + len);

    return rc != WEFT_OK
               ? rc
               : send_frame(tp, stream,
                            is_control ? WEFT_FRAME_CONTROL : WEFT_FRAME_ORDERED, header,
                            data, len);
}

/* ---- frames without a packet ---- */

bool weft_msg_send_bare(struct weft_transport *tp, struct weft_msg_peer *peer,
                        enum weft_frame_kind kind)
{
    static const uint8_t nothing[WEFT_HEADER_BYTES];

    return send_frame(tp, &peer->first, kind, nothing, nothing, 0) != WEFT_AGAIN;
}

static bool try_to_return(struct weft_transport *tp, struct weft_msg_peer *peer)
{
    return peer->first.state != WEFT_MSG_OPEN ||
           weft_credits_are_returned(&peer->credits) ||
           weft_msg_send_bare(tp, peer, WEFT_FRAME_CREDIT);
}

void weft_msg_return_credits(struct weft_transport *tp, struct weft_msg_peer *peer)
{
    if (!weft_credits_are_put_off(&peer->credits) && !try_to_return(tp, peer)) {
        weft_credits_put_off(&tp->credits_due, &peer->credits);
    }
}

static bool try_again(void *argument, struct weft_credits *credits)
{
    struct weft_msg_peer *peer =
        (struct weft_msg_peer *)(void *)((char *)credits -
                                         offsetof(struct weft_msg_peer, credits));

    return try_to_return(argument, peer);
}

void weft_msg_return_all_credits(struct weft_transport *tp)
{
    const bool needed_retry = tp->needs_retry;

    tp->needs_retry = false;
    weft_credits_try_again(&tp->credits_due, try_again, tp);
    tp->credits_due.is_refused = tp->needs_retry;
    tp->needs_retry = tp->needs_retry || needed_retry;
}
