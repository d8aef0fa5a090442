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

/* Is the next packet of this kind complete? The peer is busy. */
bool weft_dgram_is_next(const struct weft_dgram_peer *peer, enum weft_dgram_class class);

/* Offers packets that were not taken, as many as the look may. */
void weft_dgram_offer_kept(struct weft_dgram_core *core);

#endif
