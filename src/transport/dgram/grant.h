/*
 * grant.h - which peers may send how much, so that all fits the port's receive buffer.
 *
 * A peer's grant is the limit `told`; what it may still send is told - expected, and the
 * sum of these is `outstanding`, below `budget`. Peers that get less than they want wait
 * in a queue.
 */
#ifndef WEFT_DGRAM_GRANT_H
#define WEFT_DGRAM_GRANT_H

#include "transport/dgram/core.h"

/* Something has come from this peer: its `expected` may be higher, and it is the last one
 * whose grants are taken back. */
void weft_dgram_grant_heard(struct weft_dgram_core *core, struct weft_dgram_peer *peer);

/* Raises the limit of a busy peer as far as it should and can be. */
void weft_dgram_grant(struct weft_dgram_core *core, struct weft_dgram_peer *peer);

/* Is it worth a datagram of its own to tell the peer its limit? */
bool weft_dgram_grant_is_news(const struct weft_dgram_core *core,
                              const struct weft_dgram_peer *peer);

/* The first of those who wait, if something can be granted now; it no longer waits. */
struct weft_dgram_peer *weft_dgram_grant_next(struct weft_dgram_core *core);

/* The peer is lost, or begins anew: it holds nothing and waits for nothing. */
void weft_dgram_grant_end(struct weft_dgram_core *core, struct weft_dgram_peer *peer);

/* The limit as headers say it. */
uint8_t weft_dgram_room(const struct weft_dgram_peer *peer);

#endif
