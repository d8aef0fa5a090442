/*
 * protocol.h - what the protocols of this room have in common.
 *
 * A protocol is a table of functions; each transfer points to the table of its protocol.
 * The common code calls protocols through the table only, so the files of two protocols
 * never call each other.
 *
 * Needs the lock, unless a function says otherwise.
 */
#ifndef WEFT_TRANSFER_PROTOCOL_H
#define WEFT_TRANSFER_PROTOCOL_H

#include "transfer/transfer.h"

struct weft_push;

struct weft_transfer_ops {
    /* Copies what can be copied; drops the lock meanwhile. NULL: has nothing to copy. */
    void (*work)(struct weft_transfer *transfer);
    /* Sends the next bytes that were asked for; false: no room now. NULL: they go in DATA
     * packets. */
    bool (*push)(struct weft_peer *peer, struct weft_push *push);
    /* Called when all of them went out; or NULL. */
    void (*pushed)(struct weft_peer *peer, struct weft_push *push);
    /* Does the network still read the buffer of this send? NULL: it never does. */
    bool (*has_zcopies)(const struct weft_transfer *send);
    /* Gives back what the protocol has taken; or NULL. */
    void (*close)(struct weft_transfer *transfer);
};

/* A part of an announced message that its receiver asked for; or that we get, being the
 * receiver. */
struct weft_push {
    struct weft_retry retry; /* first */
    struct weft_peer *peer;
    const struct weft_transfer_ops *ops;
    struct weft_transfer *send; /* lives until all of it has arrived */
    uint64_t name;              /* of that, or of a receive of ours */
    uint64_t start;             /* the first offset */
    uint64_t offset;            /* of what is sent next */
    uint64_t end;
    uint64_t request;       /* the receiver's */
    struct weft_path *path; /* over a network: the message's stream */
    struct weft_key key;    /* of memory that is written or read; rndv_net.c */
    void *packed;           /* bytes at `offset` for which there was no room, or NULL */
    size_t packed_length;
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

/* The same over a network (offer_net.c). */
struct weft_key_offer {
    struct weft_key_offer *next;
    uint64_t request; /* the receiver's */
    struct weft_key key;
    uint64_t length; /* of its buffer */
    uint32_t context;
    int32_t tag;
    uint32_t doubtful_to; /* ordinary packets of ours, up to here, may have taken it */
};

/* What two processes know of each other's offers over a network (offer_net.h). */
struct weft_net_offers {
    struct weft_key_offer *first; /* the peer's, oldest first */
    uint32_t number;              /* of the peer's last offer */
    uint32_t seen;                /* ordinary packets of ours that the peer has taken */
    uint32_t stored;              /* packets STORED to it */
    uint32_t stored_here;         /* and those of its that were taken */
    uint32_t made;                /* offers to it */
    uint32_t open;                /* of them, those that hold */
    uint32_t heard;               /* of its packets, before our last long message */
    uint32_t patience;            /* messages to it that may wait for an offer */
    uint32_t paused;              /* receives that are not offered now */
    uint32_t next_pause;          /* so many, after the next offer in vain */
};

/* What transfers know of a peer. */
struct weft_peer_transfers {
    uint32_t announced_only;   /* messages that bring nothing along (rndv_net.c) */
    uint64_t announced_last;   /* the last message announced there */
    struct weft_offer *offers; /* oldest first */
    struct weft_net_offers net;
};

/* In the list of transfers that share a copy with their peer, and see its end there. */
void weft_transfer_add(struct weft_transfer *transfer);
void weft_transfer_remove(struct weft_transfer *transfer);
void weft_transfer_add_work(struct weft_transfer *transfer);

/* The message of a receive has come; what it needs is asked for next. */
void weft_transfer_came(struct weft_transfer *recv);

/* Counts bytes of a receive that are in their place; whoever counts the last wakes a peer
 * that sleeps until then. With or without the lock. */
void weft_transfer_count(const struct weft_transfer *transfer, uint64_t bytes);

/* Asks the sender for bytes as DATA. */
void weft_transfer_pull(struct weft_transfer *recv, uint64_t offset, uint64_t length);

/* The receiver `request` is to get some bytes of a send; NULL: it has died. */
struct weft_push *weft_transfer_start_push(struct weft_transfer *send, uint64_t offset,
                                           uint64_t length, uint64_t request);

/* Sends the next bytes of a push in a packet that is copied; false: no room now. */
bool weft_push_chunk(struct weft_peer *peer, struct weft_push *push);

/* A push as described, in no queue yet; begun, as far as there is room, then queued. It
 * is freed when all of it went out. */
struct weft_push *weft_push_make(struct weft_peer *peer, const struct weft_push *push);
void weft_push_begin(struct weft_push *push);

/* Is a part of a send on its way? */
bool weft_transfer_is_pushed(const struct weft_transfer *send);

/* In chunks, so that a peer that comes to wait can still help with the rest. */
uint64_t weft_transfer_choose_chunk(uint64_t length);

/* The transfer of this name, or NULL if it is over. */
struct weft_transfer *weft_transfer_find(uint64_t name, bool is_send);

/*
 * The transfer that an answer of the peer names: a send that was announced to it, or a
 * receive of a message of its. *out is NULL if it is over. Returns what is wrong, if it
 * belongs to another peer, or there never was such a transfer.
 */
const char *weft_transfer_find_announced(const struct weft_peer *from, uint64_t name,
                                         struct weft_transfer **out);
const char *weft_transfer_find_incoming(const struct weft_peer *from, uint64_t name,
                                        struct weft_transfer **out);

/* Is it the first time that the receiver asks for these bytes? It asks for the bytes of a
 * message from the front to the back, and for none twice. */
bool weft_transfer_is_first_pull(struct weft_transfer *send,
                                 const struct weft_pkt_pull *chunk);

/* Are they bytes of a message of this length? */
static inline bool weft_is_part(uint64_t offset, uint64_t length, uint64_t of)
{
    return offset <= of && length <= of - offset;
}

/* Bytes go by packets though the peer's memory can be reached, because they could not be
 * moved: ends the job if our own memory is the cause. */
void weft_transfer_end_if_inaccessible(const struct weft_transfer *transfer,
                                       uint64_t offset, uint64_t length);

#endif
