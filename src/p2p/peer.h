/*
 * peer.h - what p2p/ knows of a peer beyond what the engine does (engine/hot.h). Every
 * peer that was reached (weft_p2p_reach) has it. Needs the lock.
 */
#ifndef WEFT_P2P_PEER_H
#define WEFT_P2P_PEER_H

#include "engine/hot.h"

/* A part of an announced message that its receiver asked for, in pieces; or that we get,
 * being the receiver. */
struct weft_push {
    struct weft_retry retry; /* first */
    struct weft_peer *peer;
    const struct weft_p2p_request *send; /* which lives until all of it has arrived */
    uint64_t offset;
    uint64_t end;
    uint64_t request;          /* the receiver's */
    struct weft_endpoint *way; /* over a network: the message's stream */
    bool is_put;               /* into memory of the receiver's; then also: */
    uint64_t start;            /* the first offset, where that memory begins */
    bool is_get;               /* from memory of the sender's; `send` is NULL */
    uint64_t name;             /* of `send`, or of our receive */
    struct weft_key key;
};

/* A receive that the peer has posted for a message of ours (offer.c). */
struct weft_offer {
    struct weft_offer *next;
    uint64_t request; /* the receiver's */
    uint64_t share;   /* generation << 32 | number; at most one of each number */
    uint32_t context;
    int32_t tag;
    uint64_t length; /* of its buffer */
};

struct weft_p2p_peer {
    uint32_t announced_only;   /* messages that bring nothing along (far.c) */
    uint64_t announced_last;   /* the request of the last message announced there */
    struct weft_offer *offers; /* oldest first */
};

/* Forgets what it has offered. */
void weft_p2p_peer_forget(struct weft_peer *peer);

/* Frees it. */
void weft_p2p_peer_close(struct weft_peer *peer);

#endif
