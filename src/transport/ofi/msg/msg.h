/*
 * msg.h - the state of the transport over connected endpoints. Its files, from the ground
 * up; each uses those before it:
 *
 *   peer.c      peers and their streams
 *   address.c   where this process listens, and where a peer does
 *   lost.c      connections that have ended: the layer above is told
 *   slots.c     the buffers of packets (common/slots.h), and the user's memory
 *   connect.c   connections on first contact, the caller's side
 *   accept.c    the listener's side
 *   stream.c    the connection that a long message takes
 *   clock.c     what is due by the clock: silent peers, losses to be told
 *   events.c    reads what has happened to connections
 *   send.c      packets out, against the space that the peer has granted
 *   zcopy.c     packets whose data is the user's memory
 *   memory.c    puts, gets, and memory that peers may reach
 *   up.c        libfabric: brought up when it is needed, and down
 *   poll.c      packets in; those that are not taken yet are kept
 *   msg.c       opening, closing, leaving, the ops table
 *
 * One pool of receive buffers serves all peers: a shared receive queue. A packet that has
 * arrived is taken out of its buffer, or copied aside if the layer above does not take it
 * now, and the buffer goes back at once; so no peer can hold another up, however small
 * the pool. Credits bound what can be aside (credits.h). Control packets are always
 * taken. See tests/models/pool.pml.
 *
 * A peer has up to WEFT_STREAMS_MAX streams, each a connection. The first carries small
 * messages and control packets; the others are made when a long message wants them. The
 * sender decides how many (WEFT_STREAMS): a receiver accepts as many as it is asked for,
 * and both ends use them in both directions. Credits and loss are the peer's: a packet
 * that is not taken waits with its stream, within the window, and the end of one stream
 * is the end of all. The layer above restores the order among streams.
 *
 * All functions are called with the library's lock held.
 */
#ifndef WEFT_OFI_MSG_H
#define WEFT_OFI_MSG_H

#include "base/process.h"
#include "base/table.h"
#include "transport/ofi/common/credits.h"
#include "transport/ofi/common/fabric.h"
#include "transport/ofi/common/frame.h"
#include "transport/ofi/common/index.h"
#include "transport/ofi/common/kept.h"
#include "transport/ofi/common/slots.h"
#include "transport/ofi/handshake.h"
#include "transport/ofi/quirks/quirks.h"
#include "transport/transport.h"
#include "wireup/net.h"

enum {
    WEFT_MSG_PACKET_MAX = 4096, /* what send() copies */
    WEFT_MSG_ZCOPY_MAX = 64 * 1024,
    WEFT_MSG_HOST_BYTES = 64,
    WEFT_MSG_CAUSE_BYTES = 128,
};

enum weft_msg_state {
    WEFT_MSG_NONE,
    WEFT_MSG_ASKING,     /* step 1 is on its way */
    WEFT_MSG_CONFIRMING, /* step 3 is */
    WEFT_MSG_ACCEPTING,  /* step 3 was right */
    WEFT_MSG_OPEN,
    WEFT_MSG_LOST,
};

/* One connection to a peer. */
struct weft_msg_stream {
    struct weft_path base;
    struct weft_msg_peer *peer;
    struct fid_ep *ep;
    int socket; /* the provider's descriptor for it, or 0 */
    enum weft_msg_state state;
    uint8_t tries;
    bool has_answered;            /* their ask; then `theirs` is valid */
    uint64_t ask_at_ns;           /* not before: theirs is expected; 0: at any time */
    struct weft_handshake ours;   /* of a connection that we ask for */
    struct weft_handshake theirs; /* of one that they ask for */
    uint32_t index_there;         /* what the peer calls it: in our frames */
    struct weft_kept_queue kept;  /* packets that came by it and were not taken */
    bool is_keeping;              /* in the list of streams with such packets */
    struct weft_msg_stream *next_keeping;
};

struct weft_msg_peer {
    uint64_t process;             /* first: the key */
    struct weft_peer *above;      /* as the upcalls call it */
    uint32_t index;               /* in the transport's list */
    struct weft_msg_stream first; /* small messages, and control packets */
    struct weft_msg_stream *streams[WEFT_STREAMS_MAX]; /* the first, and those made */
    uint32_t next_stream; /* of the next long message; counts on and on */
    bool has_address;
    int unreached;  /* of its addresses, in order, those that were tried in vain */
    int candidates; /* those that can be tried; known once has_address was set */
    struct sockaddr_storage address;
    socklen_t address_bytes;
    uint8_t token[WEFT_TOKEN_BYTES]; /* its own: requests to it begin with it */
    char host[WEFT_MSG_HOST_BYTES];  /* its name; "" if it is not known */

    char cause[WEFT_MSG_CAUSE_BYTES]; /* why its streams are LOST */
    bool is_silent;                   /* because it does not answer */
    bool has_left;                    /* its last frame was LEAVE */
    bool is_reported_lost;            /* `lost` was called */
    uint64_t report_at_ns;            /* when `lost` is to be called */
    struct weft_msg_peer *next_losing;

    struct weft_credits credits;
    uint32_t slots_used; /* packets on their way to it */
    uint64_t packets_sent;
    uint64_t bytes_sent;
};

struct weft_transport {
    const struct weft_packet_ops *packets;
    const struct weft_memory_ops *memory;
    struct weft_upcalls *up;
    struct weft_job *job;
    uint32_t me;          /* rank in the job */
    uint32_t window;      /* bytes of ordered packets that may be under way to a peer */
    uint32_t return_each; /* bytes taken; at most half of any peer's window */
    uint32_t streams;     /* that our long messages take */
    uint32_t opening;     /* of this transport in this process: which */
    struct weft_ofi ofi;
    struct weft_quirks quirks;
    bool is_up;      /* libfabric is there, and all below that needs it */
    bool has_failed; /* to come up */
    bool has_moved;  /* other descriptors than before are to be waited for */
    uint32_t zcopy_max;
    bool is_fetching; /* receivers get long messages; else senders put them */
    struct weft_net_address own[WEFT_LISTENERS_MAX]; /* our addresses for jobs */
    int own_count;
    struct fid_pep *listeners[WEFT_LISTENERS_MAX];
    int listener_count;
    struct weft_handshake_self self;
    struct weft_table peers;
    struct weft_ofi_index index; /* of all peers */
    uint32_t pending;            /* connections that are being made */
    uint32_t connections;        /* that are open */
    uint32_t polls;
    bool is_closing;
    struct weft_msg_peer *losing; /* lost, but the layer above is not told yet */
    uint64_t check_at_ns;         /* when to look for silent connections again */
    uint64_t deadline;            /* when to poll at the latest; 0: never */
    bool needs_retry; /* a post was refused, and no event will announce free space */

    struct weft_ofi_slots slots;
    struct weft_msg_stream *keeping;
    struct weft_credits_due credits_due;
    uint64_t packets_received;
    uint64_t bytes_received;
    uint64_t bytes_put;
    uint64_t bytes_got;
};

static inline struct weft_msg_stream *weft_msg_stream_of(const struct weft_path *path)
{
    return (struct weft_msg_stream *)((char *)(uintptr_t)path -
                                      offsetof(struct weft_msg_stream, base));
}

/* What becomes of a send to a peer that is lost: an error, once the layer above knows. */
static inline enum weft_rc weft_msg_gone(const struct weft_msg_peer *peer)
{
    return peer->is_reported_lost ? WEFT_ERR_PROC_FAILED : WEFT_AGAIN;
}

#endif
