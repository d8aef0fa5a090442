/*
 * rdm.h - the state of the transport over endpoints without connections (FI_EP_RDM), for
 * providers that have no others. Its files, from the ground up; each uses those before
 * it:
 *
 *   frame.h     what precedes a packet
 *   endpoint.c  chooses a provider and opens its endpoint, as the provider wants it
 *   peer.c      peers
 *   address.c   publishes where this process is, and finds out where a peer is
 *   lost.c      peers that cannot be reached: the layer above is told
 *   post.c      frames out
 *   greet.c     first contact: a peer is asked for a pass
 *   flush.c     when what was put is there
 *   send.c      packets out, with and without a copy, against the peer's credits
 *   memory.c    puts, gets, and memory that peers may reach
 *   atomic.c    atomic operations
 *   ../tagged   messages that the provider matches, for the transport `tagged`
 *   poll.c      packets in; those that are not taken, or come too early, are kept
 *   rdm.c       opening, closing, leaving, the ops table
 *
 * One endpoint serves all peers. Reliable, says libfabric; nothing else is assumed: not
 * the order of packets, not who sent one, not that a write is there before what is sent
 * after it. Packets carry numbers, and one that comes before its turn is kept, within
 * the credits of its sender (common/credits.h). Puts are followed by packets either in
 * the provider's order (FI_ORDER_SAW), or when they are there (flush.h); where the
 * provider offers no way to know, paths have no memory.
 *
 * libfabric is loaded by open(), because the address of an endpoint has to be published.
 *
 * All functions are called with the library's lock held.
 */
#ifndef WEFT_OFI_RDM_H
#define WEFT_OFI_RDM_H

#include "base/process.h"
#include "base/table.h"
#include "transport/ofi/common/credits.h"
#include "transport/ofi/common/fabric.h"
#include "transport/ofi/common/index.h"
#include "transport/ofi/common/kept.h"
#include "transport/ofi/common/slots.h"
#include "transport/ofi/handshake.h"
#include "transport/ofi/rdm/frame.h"
#include "transport/transport.h"

enum {
    WEFT_RDM_PACKET_MAX = 4096, /* what send() copies */
    WEFT_RDM_ZCOPY_MAX = 64 * 1024,
    WEFT_RDM_HOST_BYTES = 64,
    WEFT_RDM_CAUSE_BYTES = 128,
};

/* Of what we may send to a peer. */
enum weft_rdm_state {
    WEFT_RDM_NONE,
    WEFT_RDM_ASKING, /* for a pass */
    WEFT_RDM_OPEN,
    WEFT_RDM_LOST,
};

/* How to know that what was put is there. */
enum weft_rdm_flush {
    WEFT_RDM_NOT_KNOWN,
    WEFT_RDM_BY_DELIVERY, /* a put is complete when it is there (FI_DELIVERY_COMPLETE) */
    WEFT_RDM_BY_READ,     /* a read after it returns after it (FI_ORDER_RMA_RAW) */
};

struct weft_rdm_peer {
    uint64_t process; /* first: the key */
    struct weft_path base;
    struct weft_peer *above; /* as the upcalls call it */
    uint32_t index;          /* in the transport's list */
    bool has_address;
    fi_addr_t address;
    char host[WEFT_RDM_HOST_BYTES]; /* its name; "" if it is not known */

    /* What we send. */
    enum weft_rdm_state state;
    struct weft_handshake ours;
    uint8_t pass[WEFT_PASS_BYTES]; /* once it is OPEN */
    uint32_t next_ordered;         /* numbers of the next packets */
    uint32_t next_control;
    uint32_t under_way; /* puts, or reads that tell of them (flush.h) */
    bool is_unread;     /* something was put that no read tells of yet, here: */
    struct weft_key put_to;
    struct weft_op *flushing;  /* those that wait for both */
    uint32_t slots_used;       /* packets on their way to it */
    uint64_t refused_since_ns; /* what was to be sent to it; 0: the last was not */
    uint64_t packets_sent;
    uint64_t bytes_sent;

    /* What it sends. */
    bool has_asked;  /* then the next four are valid */
    bool has_proved; /* that it knows the pass */
    struct weft_handshake theirs;
    uint32_t index_there; /* what it calls us */
    uint8_t answer[WEFT_ANSWER_BYTES];
    uint8_t pass_here[WEFT_PASS_BYTES];
    bool is_answer_due; /* in the list of those to which it could not be sent */
    struct weft_rdm_peer *next_answer;
    uint32_t expected_ordered; /* the numbers whose turn it is */
    uint32_t expected_control;
    struct weft_kept_queue ordered; /* not taken, or too early */
    struct weft_kept_queue control; /* too early */
    bool is_keeping;                /* in the list of peers with such packets */
    struct weft_rdm_peer *next_keeping;
    bool has_left; /* its LEAVE has come, and no packet from the numbers below on */
    uint32_t left_ordered;
    uint32_t left_control;

    struct weft_credits credits;
    char cause[WEFT_RDM_CAUSE_BYTES]; /* why it is LOST */
    bool is_reported_lost;            /* `lost` was called */
    uint64_t report_at_ns;            /* when `lost` is to be called */
    struct weft_rdm_peer *next_losing;
};

struct weft_transport {
    const struct weft_packet_ops *packets;
    const struct weft_memory_ops *memory; /* NULL: none */
    struct weft_upcalls *up;
    struct weft_job *job;
    uint32_t opening; /* of this transport in this process: which */
    uint32_t window;  /* bytes of ordered packets that may be under way to a peer */
    uint32_t packet_max;
    uint32_t zcopy_max;
    uint32_t inject_max; /* bytes of a frame and its packet */
    bool prefers_get;
    struct weft_ofi ofi;
    size_t prefix;      /* bytes in front of every packet, which are the provider's */
    bool has_wait;      /* there is a descriptor to sleep on */
    bool has_put_order; /* what is sent after a put arrives after it */
    bool is_tagged;     /* the provider matches messages, too (ofi/tagged) */
    bool needs_tick;    /* and wants to be polled by the clock */
    enum weft_rdm_flush flush;
    uint8_t atomics[WEFT_ATOMIC_OPS]; /* of each, the types that there are: bits */
    struct weft_ofi_slots slots;
    struct weft_handshake_self self;
    struct weft_table peers;
    struct weft_ofi_index index; /* of all peers */
    bool is_closing;
    bool needs_retry; /* a post was refused, and no event will announce free space */
    struct weft_rdm_peer *answers; /* that could not be sent */
    struct weft_rdm_peer *keeping;
    struct weft_rdm_peer *losing; /* lost, but the layer above is not told yet */
    struct weft_credits_due credits_due;
    uint64_t packets_received;
    uint64_t bytes_received;
    uint64_t bytes_put;
    uint64_t bytes_got;
    uint64_t rejected; /* packets of nobody of this job */
};

static inline struct weft_rdm_peer *weft_rdm_peer_of(const struct weft_path *path)
{
    return (struct weft_rdm_peer *)(void *)((char *)(uintptr_t)path -
                                            offsetof(struct weft_rdm_peer, base));
}

/* What becomes of a send to a peer that is lost: an error, once the layer above knows. */
static inline enum weft_rc weft_rdm_gone(const struct weft_rdm_peer *peer)
{
    return peer->is_reported_lost ? WEFT_ERR_PROC_FAILED : WEFT_AGAIN;
}

#endif
