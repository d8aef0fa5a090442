/*
 * hot.h - the engine's state, for the few files on the way of a message that read it.
 *
 * Everybody else includes engine.h. All fields need the lock. A peer is a process that
 * this one has spoken to, has heard of, or waits for by name. Peers are made on first
 * use, found by the process's rank in the job through an open hash, and live until
 * weft_peers_close(): a process never spoken to costs nothing, and pointers to peers stay
 * valid.
 */
#ifndef WEFT_ENGINE_HOT_H
#define WEFT_ENGINE_HOT_H

#include "base/ranks.h"
#include "engine/wire.h"
#include "node/node.h"

enum { WEFT_KINDS = 64 };

struct weft_peer;

/*
 * What a kind of packet may be, and who takes it. A packet with less than `least` bytes
 * behind its header, or more than `span` beyond them, never reaches the handler. The
 * handler calls weft_engine_reject() if something else is wrong with the packet. It may
 * send, start operations and complete requests; it may not wait. Its arguments are those
 * of the upcall arrived(), so that handing a packet on is one jump.
 */
typedef void weft_handler(void *owner, struct weft_peer *from,
                          const struct weft_header *header, const void *data, size_t len);

struct weft_packet_kind {
    weft_handler *handler;
    uint32_t least;
    uint32_t span;
    const char *name;
    bool is_ordered;
};

/* A control packet that found its queue full. */
struct weft_control {
    struct weft_control *next;
    struct weft_endpoint *way; /* the peer's, or a stream of it */
    struct weft_header header;
    struct weft_answer answer;
};

struct weft_p2p_request;
struct weft_p2p_peer;

struct weft_peer {
    union {
        struct weft_ranked ranked; /* first */
        uint32_t rank;
    };
    bool is_self;
    bool is_waiting;        /* in the list of peers with a backlog */
    bool is_dead;           /* nothing goes to it, nothing comes any more */
    bool has_left;          /* dead, but in good order: only what names it fails */
    uint32_t wanted;        /* receives and transfers that wait for it: the grant rule */
    uint64_t next_sequence; /* of our ordered packets to it; its lower half travels */
    struct weft_endpoint *ep;         /* NULL: never sent to, or ourselves */
    struct weft_node_area *area;      /* NULL: none, or a network leads to it */
    struct weft_endpoint *fast;       /* ep, while a small message may go at once */
    struct weft_p2p_request *backlog; /* sends that found the queue full, oldest first */
    struct weft_p2p_request *backlog_last;
    struct weft_control *control;
    struct weft_control *control_last;
    struct weft_peer *next_waiting;
    struct weft_p2p_peer *p2p; /* what p2p/ knows of it, or NULL */
    char *why_lost;            /* the way to it is, for this reason; NULL: it is not */
};

struct weft_engine {
    struct weft_upcalls up;
    struct weft_job *job;
    struct weft_node node;
    uint32_t me; /* our rank in the job */
    struct weft_ranks peers;
    struct weft_packet_kind kinds[WEFT_KINDS];
};

extern struct weft_engine weft_engine;

/* The peer, or NULL if this process has not been heard of. */
static inline struct weft_peer *weft_peer_find(uint32_t rank)
{
    return weft_ranks_find(&weft_engine.peers, rank);
}

/* One that is new; NULL: no memory. */
struct weft_peer *weft_peer_make(uint32_t rank);

/* The peer, made if it is new; NULL: no memory. */
static inline struct weft_peer *weft_peer_get(uint32_t rank)
{
    struct weft_peer *peer = weft_peer_find(rank);

    return weft_likely(peer != NULL) ? peer : weft_peer_make(rank);
}

#endif
