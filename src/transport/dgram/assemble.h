/*
 * assemble.h - parts become packets, which are offered in their order.
 */
#ifndef WEFT_DGRAM_ASSEMBLE_H
#define WEFT_DGRAM_ASSEMBLE_H

#include "transport/dgram/core.h"

/* What becomes of a part. */
enum weft_dgram_part {
    WEFT_DGRAM_PART_TAKEN,
    WEFT_DGRAM_PART_NO_ROOM,  /* it has to come again */
    WEFT_DGRAM_PART_NONSENSE, /* no rank sends this */
};

/* Is there a place for the part of a packet that this datagram of a busy peer brings?
 * After WEFT_DGRAM_PART_TAKEN weft_dgram_part_add() cannot fail. */
enum weft_dgram_part weft_dgram_part_check(struct weft_dgram_core *core,
                                           struct weft_dgram_peer *peer,
                                           const struct weft_dgram_header *header,
                                           const void *data, size_t length);

/* Adds it; packets that are complete now are offered. */
void weft_dgram_part_add(struct weft_dgram_core *core, struct weft_dgram_peer *peer,
                         const struct weft_dgram_header *header, const void *data,
                         size_t length);

/*
 * Between these two calls the caller keeps all bytes that it gives to
 * weft_dgram_receive(). A packet whose parts all come in this time is offered to
 * arrived_in_pieces() without a copy. weft_dgram_batch_end() copies the parts of a packet
 * that is not complete. Outside of a batch every part is copied at once.
 */
void weft_dgram_batch_begin(struct weft_dgram_core *core);
void weft_dgram_batch_end(struct weft_dgram_core *core);

/* Is the next packet of this kind complete? The peer is busy. */
bool weft_dgram_is_next(const struct weft_dgram_peer *peer, enum weft_dgram_class class);

/* Offers packets that were not taken, as many as the look may. */
void weft_dgram_offer_kept(struct weft_dgram_core *core);

#endif
