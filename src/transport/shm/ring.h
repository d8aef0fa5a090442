/*
 * ring.h - an MPSC ring (many senders, one receiver): the inbox and the control queue.
 *
 * A sender claims neighbouring cells by compare-and-swap on `claimed`, fills them, and
 * publishes each by storing its generation with release order; the receiver loads these
 * with acquire order and gives cells back by advancing `taken`. Generations start at 1,
 * so zeroed memory is an empty ring. A sender that stops between claim and publishing
 * stops those behind it, which is why those who speak often have lanes (lane.h). One that
 * dies there would stop them for ever; so each writes down what it is about to claim, in
 * memory of its own that outlives it.
 */
#ifndef WEFT_SHM_RING_H
#define WEFT_SHM_RING_H

#include "transport/shm/layout.h"

/* In front of header and data, in the first cell. */
struct weft_ring_head {
    uint32_t from;  /* rank of the sender in the job */
    uint32_t local; /* and on the node */
    uint32_t len;
};

struct weft_ring_packet {
    struct weft_ring_head head;
    uint8_t header[WEFT_HEADER_BYTES];
    uint8_t data[WEFT_SHORT_MAX];
};

/*
 * WEFT_AGAIN: full. `mine` is the writer's, and `name` that of the ring in it. Stores
 * whether another writer has claimed cells behind these meanwhile. That one may have rung
 * for a packet that nobody could take before ours was there: so we ring, whatever ours
 * is.
 */
WEFT_MUST_CHECK enum weft_rc weft_ring_push(struct weft_ring *ring,
                                            struct weft_ring_cell *cells, uint32_t count,
                                            struct weft_ring_claim *mine, uint32_t name,
                                            const struct weft_ring_head *head,
                                            const void *header, const void *data,
                                            bool *is_followed);

/* Claims of one writer, for weft_ring_mend(). */
struct weft_ring_writer {
    const struct weft_ring_claim *claim;
    bool is_failed;
};

/*
 * The receiver skips the cells that a failed writer has claimed and not published, if
 * they are the next ones. `writer` returns the nth of `writers`.
 */
void weft_ring_mend(struct weft_ring *ring, struct weft_ring_cell *cells, uint32_t count,
                    uint32_t name, uint32_t writers,
                    struct weft_ring_writer (*writer)(const void *of, uint32_t n),
                    const void *of);

/* Is the first cell of a packet there? Else weft_ring_peek() finds none. */
static inline bool weft_ring_has_first(const struct weft_ring *ring,
                                       const struct weft_ring_cell *cells, uint32_t count)
{
    const uint64_t at = atomic_load_explicit(&ring->taken, memory_order_relaxed);

    return atomic_load_explicit(&cells[at % count].generation, memory_order_relaxed) ==
           (uint32_t)(at / count) + 1;
}

/*
 * Is a whole packet there? Its head is copied to `head`. A length of UINT32_MAX in it:
 * what is written there is no packet.
 */
bool weft_ring_peek(struct weft_ring *ring, struct weft_ring_cell *cells, uint32_t count,
                    struct weft_ring_head *head);

/* Copies the packet whose head was seen, which is one; and gives its cells back. */
void weft_ring_read(const struct weft_ring *ring, const struct weft_ring_cell *cells,
                    uint32_t count, const struct weft_ring_head *head,
                    struct weft_ring_packet *out);
void weft_ring_drop(struct weft_ring *ring, const struct weft_ring_head *head);

#endif
