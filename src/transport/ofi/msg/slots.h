/* slots.h - the buffers of packets of this transport, and slots for operations on the
 * user's memory: common/slots.h. */
#ifndef WEFT_OFI_MSG_SLOTS_H
#define WEFT_OFI_MSG_SLOTS_H

#include "transport/ofi/msg/msg.h"

/* Makes all slots, and posts the pool. */
WEFT_MUST_CHECK enum weft_rc weft_msg_slots_open(struct weft_transport *tp);

/* Takes a slot for an operation on the user's memory, which is registered for `access`.
 * NULL: not now. If there is no hope, the stream is given up. */
struct weft_ofi_slot *weft_msg_slot_borrow(struct weft_transport *tp,
                                           struct weft_msg_stream *stream,
                                           const void *data, size_t len, uint64_t access,
                                           struct weft_op *op);

#endif
