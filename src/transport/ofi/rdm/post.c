#include "transport/ofi/rdm/post.h"

#include "base/clock.h"
#include "transport/ofi/rdm/lost.h"

#include <string.h>

enum { INJECT_MOST = 256, PATIENCE_NS = 1000 * 1000 * 1000 };

/*
 * A provider may refuse for ever what goes to an endpoint that was closed, as it does for
 * a while where the peer has no room; ofi_rxm tries to connect each time. Who has left is
 * not waited for long, and who has failed not at all.
 */
static void note_refusal(struct weft_transport *tp, struct weft_rdm_peer *peer)
{
    const uint64_t now = weft_clock_ns();

    tp->needs_retry = true;
    if (weft_segment_has_failed(&tp->job->segment, weft_process_rank(peer->process))) {
        weft_rdm_lose(tp, peer, "that process has failed");
    } else if (!peer->has_left || peer->refused_since_ns == 0) {
        peer->refused_since_ns = now;
    } else if (now - peer->refused_since_ns > PATIENCE_NS) {
        weft_rdm_lose(tp, peer, "its endpoint takes nothing any more");
    }
}

enum weft_rc weft_rdm_outcome(struct weft_transport *tp, struct weft_rdm_peer *peer,
                              ssize_t code)
{
    if (weft_likely(code == 0)) {
        peer->refused_since_ns = 0;
        return WEFT_OK;
    }
    if (code == -FI_EAGAIN) {
        note_refusal(tp, peer);
        return WEFT_AGAIN;
    }
    weft_rdm_lose(tp, peer, weft_ofi_error(code));
    return weft_rdm_gone(peer);
}

static void fill(uint8_t *to, const struct weft_rdm_frame *frame, const void *data,
                 size_t len)
{
    memcpy(to, frame, sizeof(*frame));
    if (len > 0) { /* else there may be no data to point at */
        memcpy(to + sizeof(*frame), data, len);
    }
}

static enum weft_rc inject(struct weft_transport *tp, struct weft_rdm_peer *peer,
                           const struct weft_rdm_frame *frame, const void *data,
                           size_t len, size_t total)
{
    _Alignas(16) uint8_t packet[INJECT_MOST];

    fill(packet + tp->prefix, frame, data, len);
    return weft_rdm_outcome(tp, peer,
                            fi_inject(tp->ofi.endpoint, packet, total, peer->address));
}

enum weft_rc weft_rdm_post(struct weft_transport *tp, struct weft_rdm_peer *peer,
                           const struct weft_rdm_frame *frame, const void *data,
                           size_t len)
{
    const size_t total = tp->prefix + sizeof(*frame) + len;
    struct weft_ofi_slot *slot;
    enum weft_rc rc;

    if (total <= tp->inject_max && total <= INJECT_MOST) {
        return inject(tp, peer, frame, data, len, total);
    }
    slot = weft_ofi_slots_take(&tp->slots, peer, &peer->slots_used);
    if (slot == NULL) {
        return WEFT_AGAIN;
    }
    fill(slot->buffer + tp->prefix, frame, data, len);
    rc = weft_rdm_outcome(tp, peer,
                          fi_send(tp->ofi.endpoint, slot->buffer, total,
                                  weft_ofi_descriptor(tp->slots.send_mr), peer->address,
                                  &slot->context));
    if (rc != WEFT_OK) {
        weft_ofi_slots_give(&tp->slots, slot);
    }
    return rc;
}

struct weft_ofi_slot *weft_rdm_borrow(struct weft_transport *tp,
                                      struct weft_rdm_peer *peer, const void *data,
                                      size_t len, uint64_t access, struct weft_op *op)
{
    struct weft_ofi_slot *slot = weft_ofi_slots_take(&tp->slots, peer, &peer->slots_used);
    enum weft_rc rc;

    if (slot == NULL) {
        return NULL;
    }
    rc = weft_ofi_slots_attach(&tp->slots, slot, data, len, access, op);
    if (rc == WEFT_OK) {
        return slot;
    }
    tp->needs_retry = true;
    if (rc != WEFT_AGAIN) {
        weft_rdm_lose(tp, peer, WEFT_SLOTS_NO_MEMORY);
    }
    return NULL;
}
