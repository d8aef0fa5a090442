/*
 * peer.h - the processes that this one has spoken to, or waits for by name.
 *
 * Made on first use, found by the process's rank in the job through an open hash: a
 * process never spoken to costs nothing. Peers live until weft_peers_close(). Needs the
 * lock.
 */
#ifndef WEFT_P2P_PEER_H
#define WEFT_P2P_PEER_H

#include "base/ranks.h"
#include "engine/wire.h"

struct weft_p2p_request;

/* A control packet that found its queue full. */
struct weft_control {
    struct weft_control *next;
    struct weft_endpoint *way; /* the peer's, or a stream of it */
    struct weft_header header;
    struct weft_answer answer;
};

/* A part of an announced message that its receiver asked for, in pieces; or that we get,
 * being the receiver. */
struct weft_push {
    struct weft_push *next;
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
    uint64_t joint;   /* turn << 32 | number; at most one of each number */
    uint32_t context;
    int32_t tag;
    uint64_t length; /* of its buffer */
};

struct weft_peer {
    union {
        struct weft_ranked ranked; /* first */
        uint32_t rank;
    };
    bool is_self;
    bool is_waiting;          /* in the list of peers with a backlog */
    bool is_dead;             /* nothing goes to it, nothing comes any more (dead.c) */
    char *why_lost;           /* the way to it is, for this reason; NULL: it is not */
    bool has_left;            /* dead, but in good order: only what names it fails */
    uint32_t posted;          /* receives that name it */
    uint32_t incoming;        /* transfers that may wait for its DATA */
    uint32_t announced_only;  /* messages that bring nothing along (far.c) */
    uint64_t announced_last;  /* the request of the last message announced there */
    uint64_t next_sequence;   /* of our ordered packets to it; its lower half travels */
    struct weft_endpoint *ep; /* NULL: never sent to, or ourselves */
    struct weft_endpoint *free_ep;    /* ep, while a small message may go at once */
    struct weft_p2p_request *backlog; /* sends that found the queue full, oldest first */
    struct weft_p2p_request *backlog_last;
    struct weft_control *control;
    struct weft_control *control_last;
    struct weft_push *pushes;
    struct weft_offer *offers; /* oldest first */
    struct weft_peer *next_waiting;
};

/* The peer, or NULL if this process has not been heard of. */
static inline struct weft_peer *weft_peer_find(const struct weft_ranks *peers,
                                               uint32_t rank)
{
    return weft_ranks_find(peers, rank);
}

/* The peer, made if it is new; NULL: no memory. */
struct weft_peer *weft_peer_get(struct weft_ranks *peers, uint32_t rank);

/* What we were about to send besides messages, and what it has offered. */
void weft_peer_forget_queues(struct weft_peer *peer);

void weft_peers_close(struct weft_ranks *peers);

#endif
