#include "transport/ofi/msg/zcopy.h"

#include "transport/ofi/msg/send.h"
#include "transport/ofi/msg/slots.h"

#include <string.h>

enum weft_rc weft_msg_send_zcopy(struct weft_path *path, const void *header,
                                 const void *head, size_t head_len, const void *data,
                                 size_t len, struct weft_op *op)
{
    struct weft_msg_stream *stream = weft_msg_stream_of(path);
    struct weft_transport *tp = path->transport;
    struct weft_frame frame;
    const size_t total = sizeof(frame) + head_len + len;
    struct weft_ofi_slot *slot;
    enum weft_rc rc = weft_msg_may_send(tp, stream, total);

    if (rc != WEFT_OK) {
        return rc;
    }
    slot = weft_msg_slot_borrow(tp, stream, data, len, FI_SEND, op);
    if (slot == NULL) {
        return WEFT_AGAIN;
    }
    frame = weft_msg_frame(stream, WEFT_FRAME_ORDERED);
    memcpy(frame.header, header, WEFT_HEADER_BYTES);
    memcpy(slot->buffer, &frame, sizeof(frame));
    if (head_len > 0) {
        memcpy(slot->buffer + sizeof(frame), head, head_len);
    }
    {
        const struct iovec parts[] = {
            {.iov_base = slot->buffer, .iov_len = sizeof(frame) + head_len},
            {.iov_base = (void *)(uintptr_t)data, .iov_len = len},
        };
        void *descriptors[] = {weft_ofi_descriptor(tp->slots.send_mr),
                               weft_mr_descriptor(slot->mr)};

        rc = weft_msg_outcome(
            tp, stream, fi_sendv(stream->ep, parts, descriptors, 2, 0, &slot->context));
    }
    if (rc != WEFT_OK) {
        weft_ofi_slots_give(&tp->slots, slot);
        return rc;
    }
    weft_msg_has_sent(stream->peer, &frame, total);
    return WEFT_PENDING;
}
