/*
 * ring.h - many senders, one receiver: the inbox and the control queue.
 *
 * A sender claims neighbouring cells by compare-and-swap on `claimed`, fills them, and
 * publishes each by storing its turn number with release order; the receiver loads these
 * with acquire order and gives cells back by advancing `taken`. Turn numbers start at 1,
 * so zeroed memory is an empty ring. A sender that stops between claim and publishing
 * stops those behind it, which is why those who speak often have lanes (lane.h).
 */
#ifndef WEFT_SHM_RING_H
#define WEFT_SHM_RING_H

#include "transport/shm/layout.h"

/* In front of header and data, in the first cell. */
struct weft_ring_head {
    uint32_t from;   /* rank of the sender in the job */
    uint32_t local;  /* and on the node */
    uint32_t number; /* how many ordered packets it sent us before this one */
    uint32_t len;
};

struct weft_ring_packet {
    struct weft_ring_head head;
    uint8_t header[WEFT_HEADER_BYTES];
    uint8_t data[WEFT_SHORT_MAX];
};

/* WEFT_AGAIN: full. */
WEFT_MUST_CHECK enum weft_rc weft_ring_push(struct weft_ring *ring,
                                            struct weft_ring_cell *cells, uint32_t count,
                                            const struct weft_ring_head *head,
                                            const void *header, const void *data);

/* Is a whole packet there? Its head is copied to `head`. */
bool weft_ring_peek(struct weft_ring *ring, struct weft_ring_cell *cells, uint32_t count,
                    struct weft_ring_head *head);

/* Takes the packet that was seen. */
void weft_ring_pop(struct weft_ring *ring, struct weft_ring_cell *cells, uint32_t count,
                   struct weft_ring_packet *out);

#endif
