/*
 * peer.h - the peers of a core, and what they have while they are busy.
 */
#ifndef WEFT_DGRAM_PEER_H
#define WEFT_DGRAM_PEER_H

#include "transport/dgram/core.h"

/* The peer of a process, for the owner to keep its path in. If it was not met, it is
 * known to nobody else until weft_dgram_connect() or its HELLO. NULL: no memory. */
struct weft_dgram_peer *weft_dgram_peer_reserve(struct weft_dgram_core *core,
                                                uint64_t process);

/* Makes a peer that was not met yet, with both keys; NULL: no memory. `place` and the
 * path's `peer` are to be filled in. `datagram` is the longest one that its port takes.
 */
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

/* Frees a packet that is in no queue any more. A zero-copy send ends with `rc`, WEFT_OK
 * or WEFT_ERR_PROC_FAILED; its owner is told by weft_dgram_tell_over(). */
void weft_dgram_out_free(struct weft_dgram_core *core, struct weft_dgram_out *out,
                         enum weft_rc rc);

/* Calls `done` of zero-copy sends that are over. They may send. */
void weft_dgram_tell_over(struct weft_dgram_core *core);

/* Frees all packets to a peer, which is busy, and forgets the datagrams on their way.
 * Zero-copy sends end with `rc`. */
void weft_dgram_peer_empty_out(struct weft_dgram_core *core, struct weft_dgram_peer *peer,
                               enum weft_rc rc);

/* Frees all packets of a peer, both ways; it is busy or not. */
void weft_dgram_peer_empty(struct weft_dgram_core *core, struct weft_dgram_peer *peer,
                           enum weft_rc rc);

#endif
