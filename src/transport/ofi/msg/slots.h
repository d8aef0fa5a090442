/*
 * slots.h - buffers of packets on their way out, and of the pool for packets that come.
 *
 * A slot out carries a packet, or the frame in front of a zero-copy send, or stands for a
 * put or get; `op` and `mr` are set while it works on the user's memory. That memory is
 * registered for as long as the operation takes, where the provider wants it: a cache of
 * registrations is the provider's affair, which knows when memory is unmapped.
 */
#ifndef WEFT_OFI_MSG_SLOTS_H
#define WEFT_OFI_MSG_SLOTS_H

#include "transport/ofi/msg/msg.h"

/* Makes all slots, as many as the provider has room for, and posts the pool. */
WEFT_MUST_CHECK enum weft_rc weft_msg_slots_open(struct weft_transport *tp);
void weft_msg_slots_close(struct weft_transport *tp);

/* A slot for a packet; NULL: none is free, or the peer has its share under way. */
struct weft_msg_slot *weft_msg_slot_take(struct weft_transport *tp,
                                         struct weft_msg_stream *stream);
/* Takes a slot for an operation on the user's memory, which is registered for `access`.
 * NULL: not now. If there is no hope, the stream is given up. */
struct weft_msg_slot *weft_msg_slot_borrow(struct weft_transport *tp,
                                           struct weft_msg_stream *stream,
                                           const void *data, size_t len, uint64_t access,
                                           struct weft_op *op);
/* Frees a slot whose post was refused. */
void weft_msg_slot_give(struct weft_transport *tp, struct weft_msg_slot *slot);
/* The provider is through with a slot: frees it and completes its operation. */
void weft_msg_slot_done(struct weft_transport *tp, struct weft_msg_slot *slot,
                        enum weft_rc rc);

/* Is it a buffer of the pool? */
static inline bool weft_msg_slot_is_receive(const struct weft_transport *tp,
                                            const struct weft_msg_slot *slot)
{
    return slot >= tp->receives && slot < tp->receives + tp->receive_count;
}

/* Gives a buffer of the pool to the provider, now or in weft_msg_post_again(). */
void weft_msg_post(struct weft_transport *tp, struct weft_msg_slot *slot);
void weft_msg_post_again(struct weft_transport *tp);

#endif
