/*
 * kept.h - packets that were copied aside because they were not taken, or because it is
 * not their turn yet: in the order of their sequence numbers, and of their coming where
 * these are equal. The packets are owned by the queue.
 */
#ifndef WEFT_OFI_KEPT_H
#define WEFT_OFI_KEPT_H

#include "transport/transport.h"

struct weft_kept {
    struct weft_kept *next;
    uint32_t sequence; /* differences matter, so it may wrap */
    uint32_t length;
    uint8_t header[WEFT_HEADER_BYTES];
    uint8_t data[];
};

struct weft_kept_queue {
    struct weft_kept *first;
    struct weft_kept *last;
};

/* A copy of a packet, which is the caller's; NULL: no memory. */
struct weft_kept *weft_kept_copy(uint32_t sequence, const void *header, const void *data,
                                 size_t len);

void weft_kept_insert(struct weft_kept_queue *queue, struct weft_kept *kept);
/* The first one, which is the caller's then. There is one. */
struct weft_kept *weft_kept_take(struct weft_kept_queue *queue);
void weft_kept_empty(struct weft_kept_queue *queue);

#endif
