#include "transport/ofi/rdm/send.h"

#include "transport/ofi/rdm/flush.h"
#include "transport/ofi/rdm/greet.h"
#include "transport/ofi/rdm/post.h"

#include <string.h>

/* Whatever goes to a peer also says what was taken of what it has sent. */
static struct weft_rdm_frame frame_to(const struct weft_rdm_peer *peer,
                                      enum weft_rdm_kind kind, const void *header)
{
    struct weft_rdm_frame frame = {
        .version = WEFT_RDM_VERSION,
        .kind = (uint8_t)kind,
        .from = peer->ours.caller_index,
        .taken = peer->credits.taken,
        .taken_control = peer->credits.taken_control,
        .sequence = kind == WEFT_RDM_CONTROL ? peer->next_control : peer->next_ordered,
    };

    memcpy(frame.pass, peer->pass, sizeof(frame.pass));
    if (header != NULL) {
        memcpy(frame.header, header, WEFT_HEADER_BYTES);
    }
    return frame;
}

static void has_sent(struct weft_rdm_peer *peer, const struct weft_rdm_frame *frame,
                     size_t bytes)
{
    weft_credits_return(&peer->credits, frame->taken, frame->taken_control);
    peer->bytes_sent += bytes;
    if (frame->kind == WEFT_RDM_ORDERED) {
        peer->credits.sent += (uint32_t)bytes;
        peer->packets_sent++;
        peer->next_ordered++;
    } else if (frame->kind == WEFT_RDM_CONTROL) {
        peer->credits.sent_control++;
        peer->next_control++;
    }
}

enum weft_rc weft_rdm_may_send(struct weft_transport *tp, struct weft_rdm_peer *peer)
{
    if (weft_likely(peer->state == WEFT_RDM_OPEN)) {
        return WEFT_OK;
    }
    if (peer->state == WEFT_RDM_LOST) {
        return weft_rdm_gone(peer);
    }
    weft_rdm_greet(tp, peer);
    return WEFT_AGAIN;
}

/* A packet stays behind the puts before it, where the provider does not see to that. */
static enum weft_rc may_send_packet(struct weft_transport *tp, struct weft_rdm_peer *peer)
{
    const enum weft_rc rc = weft_rdm_may_send(tp, peer);

    return weft_likely(rc == WEFT_OK) && weft_unlikely(!weft_rdm_is_flushed(peer)) &&
                   !tp->has_put_order && !weft_rdm_try_flush(tp, peer)
               ? WEFT_AGAIN
               : rc;
}

static enum weft_rc send_frame(struct weft_transport *tp, struct weft_rdm_peer *peer,
                               const struct weft_rdm_frame *frame, const void *data,
                               size_t len)
{
    const enum weft_rc rc = weft_rdm_post(tp, peer, frame, data, len);

    if (weft_likely(rc == WEFT_OK)) {
        has_sent(peer, frame, sizeof(*frame) + len);
    }
    return rc;
}

enum weft_rc weft_rdm_send(struct weft_path *path, const void *header, const void *data,
                           size_t len, unsigned flags)
{
    struct weft_rdm_peer *peer = weft_rdm_peer_of(path);
    struct weft_transport *tp = path->transport;
    const bool is_control = (flags & WEFT_SEND_CONTROL) != 0;
    const enum weft_rc rc = may_send_packet(tp, peer);
    struct weft_rdm_frame frame;

    if (rc != WEFT_OK) {
        return rc;
    }
    if (is_control
            ? !weft_credits_allow_control(&peer->credits)
            : !weft_credits_allow(&peer->credits, tp->window, sizeof(frame) + len)) {
        return WEFT_AGAIN;
    }
    frame = frame_to(peer, is_control ? WEFT_RDM_CONTROL : WEFT_RDM_ORDERED, header);
    return send_frame(tp, peer, &frame, data, len);
}

enum weft_rc weft_rdm_send_zcopy(struct weft_path *path, const void *header,
                                 const void *head, size_t head_len, const void *data,
                                 size_t len, struct weft_op *op)
{
    struct weft_rdm_peer *peer = weft_rdm_peer_of(path);
    struct weft_transport *tp = path->transport;
    struct weft_rdm_frame frame;
    const size_t first = sizeof(frame) + head_len;
    struct weft_ofi_slot *slot;
    enum weft_rc rc = may_send_packet(tp, peer);

    if (rc != WEFT_OK) {
        return rc;
    }
    slot = weft_credits_allow(&peer->credits, tp->window, first + len)
               ? weft_rdm_borrow(tp, peer, data, len, FI_SEND, op)
               : NULL;
    if (slot == NULL) {
        return WEFT_AGAIN;
    }
    frame = frame_to(peer, WEFT_RDM_ORDERED, header);
    memcpy(slot->buffer + tp->prefix, &frame, sizeof(frame));
    if (head_len > 0) {
        memcpy(slot->buffer + tp->prefix + sizeof(frame), head, head_len);
    }
    {
        const struct iovec parts[] = {
            {.iov_base = slot->buffer, .iov_len = tp->prefix + first},
            {.iov_base = (void *)(uintptr_t)data, .iov_len = len},
        };
        void *descriptors[] = {weft_ofi_descriptor(tp->slots.send_mr),
                               weft_mr_descriptor(slot->mr)};

        rc = weft_rdm_outcome(tp, peer,
                              fi_sendv(tp->ofi.endpoint, parts, descriptors, 2,
                                       peer->address, &slot->context));
    }
    if (rc != WEFT_OK) {
        weft_ofi_slots_give(&tp->slots, slot);
        return rc;
    }
    has_sent(peer, &frame, first + len);
    return WEFT_PENDING;
}

/* ---- frames without a packet ---- */

bool weft_rdm_send_leave(struct weft_transport *tp, struct weft_rdm_peer *peer)
{
    struct weft_rdm_frame frame;

    if (peer->state != WEFT_RDM_OPEN || peer->has_left) {
        return true; /* nobody there wants to know */
    }
    frame = frame_to(peer, WEFT_RDM_LEAVE, NULL);
    memcpy(frame.header, &peer->next_control, sizeof(peer->next_control));
    return send_frame(tp, peer, &frame, NULL, 0) != WEFT_AGAIN;
}

/* Who was never sent anything is asked for a pass first. */
static bool try_to_return(struct weft_transport *tp, struct weft_rdm_peer *peer)
{
    struct weft_rdm_frame frame;

    if (peer->state == WEFT_RDM_LOST || weft_credits_are_returned(&peer->credits)) {
        return true;
    }
    if (weft_rdm_may_send(tp, peer) != WEFT_OK) {
        return false;
    }
    frame = frame_to(peer, WEFT_RDM_CREDIT, NULL);
    return send_frame(tp, peer, &frame, NULL, 0) != WEFT_AGAIN;
}

void weft_rdm_return_credits(struct weft_transport *tp, struct weft_rdm_peer *peer)
{
    if (!weft_credits_are_put_off(&peer->credits) && !try_to_return(tp, peer)) {
        weft_credits_put_off(&tp->credits_due, &peer->credits);
    }
}

static bool try_again(void *argument, struct weft_credits *credits)
{
    struct weft_rdm_peer *peer =
        (struct weft_rdm_peer *)(void *)((char *)credits -
                                         offsetof(struct weft_rdm_peer, credits));

    return try_to_return(argument, peer);
}

void weft_rdm_return_all_credits(struct weft_transport *tp)
{
    const bool needed_retry = tp->needs_retry;

    tp->needs_retry = false;
    weft_credits_try_again(&tp->credits_due, try_again, tp);
    tp->credits_due.is_refused = tp->needs_retry;
    tp->needs_retry = tp->needs_retry || needed_retry;
}
