/*
 * promote.h - which of two networks leads to a peer (docs/dgram.md, Two paths).
 *
 * Where two networks are open, every peer on another node begins by the first one, which
 * needs no connection. A peer to whom more than WEFT_PROMOTE_MESSAGES ordered packets or
 * one long message goes is promoted: a connection of the second network is made while
 * packets still go by the first one. When it stands, whichever side has asked for it,
 * control packets and memory take it at once; ordered packets wait until those that went
 * before have arrived, and take it then. If these get no answer they are handed back and
 * sent once more by the connection; what had arrived is dropped by its number.
 *
 * If neither network leads to a peer any more, the peer has failed, with a reason that
 * names it, both networks and the number of packets that were not acknowledged. If one of
 * these belongs to a send that has ended, nothing here would notice that it is lost:
 * `undelivered` of the engine is called first.
 *
 * All functions need the lock. Without a second network they do nothing.
 */
#ifndef WEFT_ENGINE_PROMOTE_H
#define WEFT_ENGINE_PROMOTE_H

#include "engine/hot.h"

enum {
    WEFT_PROMOTE_MESSAGES = 64,     /* ordered packets that a peer gets before */
    WEFT_PROMOTE_BYTES = 64 * 1024, /* a message that is longer promotes at once */
    WEFT_PROMOTE_CONNECTIONS = 64,  /* while fewer stand, or are being made */
};

/* A network was opened as the last of the list. */
void weft_promote_add(struct weft_instance *network);

/* May the peer, which is new, begin by this transport? */
bool weft_promote_may_begin(const struct weft_peer *peer, const struct weft_instance *t);

/* The peer has got its first path. */
void weft_promote_begin(struct weft_peer *peer);

/* An ordered packet went to a peer on trial. */
void weft_promote_count(struct weft_peer *peer);

/* May packets to this peer be handed on to the second network? They may be too long for
 * its send() then. */
bool weft_promote_may_move(const struct weft_peer *peer);

/* A long message is to go there, or its memory is wanted. */
void weft_promote_long(struct weft_peer *peer, uint64_t bytes);

/* Looks at those that are being promoted; whoever polls calls it. */
void weft_promote_go_on(void);

/* Does one of them wait for something that no event will announce? */
bool weft_promote_needs_tick(void);

/* A path that reaches the peer's memory if there is one, by a connection that stands or
 * is still to be made; else the peer's path. */
struct weft_path *weft_promote_memory_path(struct weft_peer *peer);

/* Forgets what is known of hosts. */
void weft_promote_close(void);

#endif
