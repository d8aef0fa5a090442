#include "transport/ofi/msg/slots.h"

#include "transport/ofi/msg/lost.h"

enum weft_rc weft_msg_slots_open(struct weft_transport *tp)
{
    const size_t frame = sizeof(struct weft_frame);

    return weft_ofi_slots_open(&tp->slots, &tp->ofi, tp->ofi.shared_receive,
                               frame + WEFT_MSG_PACKET_MAX,
                               frame + WEFT_HEAD_MAX + WEFT_MSG_ZCOPY_MAX);
}

struct weft_ofi_slot *weft_msg_slot_borrow(struct weft_transport *tp,
                                           struct weft_msg_stream *stream,
                                           const void *data, size_t len, uint64_t access,
                                           struct weft_op *op)
{
    struct weft_ofi_slot *slot =
        weft_ofi_slots_take(&tp->slots, stream, &stream->peer->slots_used);
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
        weft_msg_give_up(tp, stream, WEFT_SLOTS_NO_MEMORY);
    }
    return NULL;
}
