/*
 * transfer.h - long messages on their way: what a request points to while it lasts.
 *
 * A transfer is one side of a message that does not go in one packet. p2p/ takes it for a
 * send or a receive, says what it is to be told, and begins it:
 *
 *   rndv.h        announcements (RTS), sent and received: the protocol is chosen here
 *   offer.h       a posted receive tells its sender where the message goes
 *   offer_net.h   the same over a network
 *
 * The protocols, which do not know each other:
 *
 *   rndv_node.h   inside a node: both sides copy, or chunks go in packets
 *   staged.h      inside a node: packed into staging buffers, chunk by chunk
 *   rndv_net.h    over a network: zero copy, put, get
 *
 * and what all of them use: this file's part for protocols (protocol.h), sums.h
 * (checksums of long messages), late_sums.h, stage.h (staging buffers), iov_list.h,
 * data.h, packets.h (what travels).
 *
 * Ownership. A transfer describes data that the request owns and keeps until `done`. It
 * ends once, by weft_transfer_end(), which tells its owner and frees it; a receive that
 * was only offered may be dropped without this call (weft_transfer_drop).
 *
 * Peers name a transfer by a number that is never used again, so an answer to one that is
 * over finds nothing and is ignored.
 *
 * Needs the lock, unless a function says otherwise.
 */
#ifndef WEFT_TRANSFER_TRANSFER_H
#define WEFT_TRANSFER_TRANSFER_H

#include "engine/engine.h"
#include "engine/work.h"
#include "node/copy_share.h"
#include "node/doorbell.h"
#include "transfer/data.h"
#include "transfer/packets.h"
#include "transfer/stage.h"

struct weft_transfer;
struct weft_transfer_ops;

/* What the owner of a transfer is called for. */
struct weft_transfer_events {
    /* It has ended, and is freed when this returns. Of a receive, WEFT_ERR_CHECKSUM says
     * that other bytes arrived than were sent. */
    void (*done)(struct weft_transfer *transfer, enum weft_rc rc);
    /* A receive that was offered: its sender uses the offer. */
    void (*claimed)(struct weft_transfer *transfer);
    /* A receive that was offered and recalled: its sender will not use the offer. */
    void (*returned)(struct weft_transfer *transfer);
};

/* ---- what only one protocol needs; zero when a transfer begins to go by it ---- */

struct weft_rndv_node {
    void *list; /* receive: a stage with the list of our blocks, or NULL */
};

struct weft_staged {
    uint64_t next;   /* send: to be packed; receive: to be asked for */
    uint64_t end;    /* send: of what was asked for; receive: of all */
    uint64_t failed; /* receive: from where on the rest comes as DATA, if is_failed */
    uint64_t staged; /* receive: up to where packing was told to be done */
    struct {
        uint64_t offset;
        uint64_t length;
        uint64_t address;
    } chunk[2];
    struct weft_stage stage[2];
    uint8_t first; /* receive: of the chunks that can be fetched */
    uint8_t count;
    bool is_failed;
};

struct weft_rndv_net {
    void *mr;                      /* registered memory, or NULL */
    struct weft_key key;           /* send: to that memory */
    uint32_t zcopies;              /* send: parts that the network still needs */
    uint32_t readings;             /* send: packets whose bytes it may still read */
    bool is_over;                  /* send: but for these */
    struct weft_pkt_stored stored; /* send: into an offered buffer */
    struct weft_retry retry;       /* of the packet that says so */
};

struct weft_transfer {
    struct weft_transfer *next;          /* in the list of those that share a copy */
    struct weft_transfer **link;         /* what points to it there; NULL: in no list */
    const struct weft_transfer_ops *ops; /* the protocol */
    const struct weft_transfer_events *events;
    void *owner;
    uint64_t name;             /* what the peer calls it */
    struct weft_peer *peer;    /* the other side */
    struct weft_data data;     /* ours */
    struct weft_header header; /* send: what goes in front; receive: what came so */
    uint64_t other;            /* the peer's transfer, once it is known */
    uint64_t message_length;   /* receive: all of it, whatever fits */
    uint64_t pulled_to;        /* send: the end of what its receiver asked for last */
    struct weft_work work;     /* copying, outside the lock */
    bool is_send;
    bool awaits_answer;    /* send: the announcement went out: its receiver may answer */
    bool is_incoming;      /* receive: its message has come, or is being stored */
    bool is_offered;       /* receive: and no sender has used the offer yet */
    bool is_recalled;      /* receive: the offer is asked back, over a network */
    bool is_pulled;        /* receive: bytes of it come as DATA */
    bool is_told;          /* receive: the sender needs no FETCHED */
    bool is_sent_in_parts; /* receive: the sender's data are not contiguous */
    bool is_along;         /* send: the first bytes went with the announcement */

    bool is_share_ours;    /* taken from our node, to be given back */
    bool is_share_common;  /* the peer sees it too */
    uint32_t share_number; /* of one that we own */
    uint32_t share_generation;
    struct weft_copy_share *share;    /* ours, the peer's, or own_share */
    struct weft_copy_share own_share; /* where there is none that both see */

    struct weft_path *path; /* send over a network: its stream; NULL: none yet */
    union {                 /* which one, `ops` says */
        struct weft_rndv_node node;
        struct weft_staged staged;
        struct weft_rndv_net net;
    };

    /* Where WEFT_CHECKSUM is set (sums.h). */
    uint32_t sums[WEFT_SUM_BLOCKS];    /* as sent */
    uint32_t arrived[WEFT_SUM_BLOCKS]; /* receive: where it lies now */
    bool owes_sums;                    /* send: they are not made yet, or not sent */
    bool awaits_sums;                  /* receive: the sender owes them */
    bool is_summed;                    /* receive: `arrived` is set */
};

struct weft_transfers {
    void (*rested)(void);       /* called when a transfer's work was done; may be NULL */
    struct weft_transfer *list; /* those that share a copy */
    uint32_t incoming;          /* receives among all */
    uint32_t net_offers;        /* receives that were offered over a network */
    uint64_t chunks_sent;       /* DATA packets: they are no messages */
    uint64_t chunks_received;
};

extern struct weft_transfers weft_transfers;

/* `rested` is called when work was done that kept its transfer from ending. */
void weft_transfer_open(void (*rested)(void));
void weft_transfer_close(void);

/* A transfer to or from a peer that was reached; NULL: no memory. */
struct weft_transfer *weft_transfer_take(struct weft_peer *peer, bool is_send,
                                         const struct weft_data *data,
                                         const struct weft_transfer_events *events,
                                         void *owner);

/* Ends a transfer that is complete or has failed: calls `done`, and frees it. No thread
 * works on it. */
void weft_transfer_end(struct weft_transfer *transfer, enum weft_rc rc);

/* Frees a receive that was offered, without `done`: another message takes it, or it was
 * cancelled. */
void weft_transfer_drop(struct weft_transfer *transfer);

/* Ends transfers that are complete, and queues work for those that can continue. */
void weft_transfers_look(void);
/* Would weft_transfers_look() find something to do? */
bool weft_transfers_have_news(void);

/* What transfers know of a peer: the first makes it with the first transfer or the peer's
 * first offer (WEFT_ERR_NOMEM), the second drops it when the peer has failed, the third
 * frees it. A peer that gets only small messages has none. */
WEFT_MUST_CHECK enum weft_rc weft_transfer_meet(struct weft_peer *peer);
void weft_transfer_forget(struct weft_peer *peer);
void weft_transfer_leave(struct weft_peer *peer);

/* Is WEFT_CHECKSUM set in the whole job? */
static inline bool weft_has_checksum(void)
{
    return weft_unlikely(weft_engine.hooks.seal != NULL);
}

/* Does it share this node's memory, so that it sees our stages? */
static inline bool weft_peer_is_on_node(const struct weft_peer *peer)
{
    return peer->path != NULL && peer->path->packets->is_node_local;
}

/* Is it reached by a network? */
static inline bool weft_peer_is_on_net(const struct weft_peer *peer)
{
    return peer->path != NULL && !peer->path->packets->is_node_local;
}

/* Can any thread read and write its memory at any time? */
static inline bool weft_peer_can_reach(const struct weft_peer *peer)
{
    const struct weft_memory_ops *memory =
        peer->is_self ? NULL : weft_path_memory(peer->path);

    return peer->is_self || (memory != NULL && memory->is_unlocked);
}

#endif
