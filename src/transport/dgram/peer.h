/*
 * peer.h - the peers of a core, and what they have while they are busy.
 */
#ifndef WEFT_DGRAM_PEER_H
#define WEFT_DGRAM_PEER_H

#include "transport/dgram/core.h"

/* Makes a peer that there is not yet, with both keys; NULL: no memory. `place` and
 * `above` are to be filled in. `datagram` is the longest one that its port takes. */
struct weft_dgram_peer *weft_dgram_peer_make(struct weft_dgram_core *core,
                                             const struct weft_dgram_end *end,
                                             uint32_t datagram);

/* The process has a new port: everything begins anew. The peer is idle. */
void weft_dgram_peer_renew(struct weft_dgram_core *core, struct weft_dgram_peer *peer,
                           const struct weft_dgram_end *end, uint32_t datagram);

/* The peer's `busy`, which is made if there is none; NULL: no memory. */
struct weft_dgram_busy *weft_dgram_peer_wake(struct weft_dgram_core *core,
                                             struct weft_dgram_peer *peer);

/* Sets the timer of a busy peer as its state asks for, or makes the peer idle if nothing
 * is under way. Called at the end of whatever changes that state. */
void weft_dgram_peer_rest(struct weft_dgram_core *core, struct weft_dgram_peer *peer);

/* The look's end has to look at this busy peer. */
void weft_dgram_peer_due(struct weft_dgram_core *core, struct weft_dgram_peer *peer);

/* Frees all packets to a peer, which is busy, and forgets the datagrams on their way. */
void weft_dgram_peer_empty_out(struct weft_dgram_core *core,
                               struct weft_dgram_peer *peer);

/* Frees all packets of a peer, both ways; it is busy or not. */
void weft_dgram_peer_empty(struct weft_dgram_core *core, struct weft_dgram_peer *peer);

#endif
