/* queue.h - packets that were copied aside because they were not taken. First in, first
 * out; the packets are owned by the queue. */
#ifndef WEFT_OFI_MSG_QUEUE_H
#define WEFT_OFI_MSG_QUEUE_H

#include "transport/ofi/common/frame.h"

struct weft_msg_kept {
    struct weft_msg_kept *next;
    uint32_t length;
    uint8_t header[WEFT_HEADER_BYTES];
    uint8_t data[];
};

struct weft_msg_queue {
    struct weft_msg_kept *first;
    struct weft_msg_kept *last;
};

/* A copy of a packet with `len` bytes of data, which is the caller's; NULL: no memory. */
struct weft_msg_kept *weft_msg_copy(const struct weft_frame *frame, size_t len);

void weft_msg_enqueue(struct weft_msg_queue *queue, struct weft_msg_kept *kept);
/* The oldest one, which is the caller's then. There is one. */
struct weft_msg_kept *weft_msg_dequeue(struct weft_msg_queue *queue);
void weft_msg_empty(struct weft_msg_queue *queue);

#endif
