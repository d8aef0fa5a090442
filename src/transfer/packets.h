/*
 * packets.h - what the packets of long messages carry behind their header: one struct for
 * each kind. The kinds are numbered in engine/wire.h.
 *
 * A struct is as large as it has to be, and travels as it lies in memory. Packets are not
 * aligned, so a handler is given a copy.
 */
#ifndef WEFT_TRANSFER_PACKETS_H
#define WEFT_TRANSFER_PACKETS_H

#include "engine/wire.h"

enum { WEFT_SUM_BLOCKS = 8 }; /* parts of an announced message that are summed (sums.h) */

/*
 * Flags of an address in a packet. WEFT_IN_STAGE: the lower bits are the number of a
 * stage of the sender of the packet. WEFT_IS_LIST: the stage holds a list of blocks
 * (iov_list.h); otherwise it holds the bytes.
 */
#define WEFT_IN_STAGE (UINT64_C(1) << 63)
#define WEFT_IS_LIST  (UINT64_C(1) << 62)

#define WEFT_NO_SHARE UINT64_MAX

/* ANNOUNCE, RTS: a message that the receiver is to fetch. WEFT_SUM_BLOCKS checksums of 4
 * bytes follow where they are set, but for a message with a share, whose checksums may
 * come later, in SUMS. */
struct weft_pkt_announce {
    uint64_t length;  /* of the message */
    uint64_t address; /* in the sender's memory, or a stage; 0: not contiguous */
    uint64_t request; /* the sender's, to be named in every answer */
    uint64_t share;   /* the sender's, generation << 32 | number, or WEFT_NO_SHARE */
};
_Static_assert(sizeof(struct weft_pkt_announce) == 32, "WEFT_WIRE_VERSION");

/* DATA: precedes a chunk of an announced message, which is the rest of the packet. */
struct weft_pkt_data {
    uint64_t request; /* the receiver's */
    uint64_t offset;
};
_Static_assert(sizeof(struct weft_pkt_data) == 16, "WEFT_WIRE_VERSION");

/* PULL, RTR: send me a chunk of what you announced, as DATA. */
struct weft_pkt_pull {
    uint64_t request;  /* the sender's */
    uint64_t receiver; /* the receiver's request */
    uint64_t offset;
    uint64_t length;
};
_Static_assert(sizeof(struct weft_pkt_pull) == 32, "WEFT_WIRE_VERSION");

/* PULL_PUT, RTR: put a chunk of what you announced into my memory. */
struct weft_pkt_pull_put {
    struct weft_pkt_pull chunk; /* first */
    uint64_t address;           /* of the memory from `offset` on, and its key */
    uint64_t key;
};
_Static_assert(sizeof(struct weft_pkt_pull_put) == 48, "WEFT_WIRE_VERSION");

/* PLACED, ATP: the chunk that you asked for by PULL_PUT is in your memory. */
struct weft_pkt_placed {
    uint64_t request; /* the receiver's */
    uint64_t length;
};
_Static_assert(sizeof(struct weft_pkt_placed) == 16, "WEFT_WIRE_VERSION");

/* FETCHED, ATS: I have all of what you announced without a share. */
struct weft_pkt_fetched {
    uint64_t request; /* the sender's */
};
_Static_assert(sizeof(struct weft_pkt_fetched) == 8, "WEFT_WIRE_VERSION");

/* OFFER: a receive is posted; store its message into its buffer. */
struct weft_pkt_offer {
    uint64_t request; /* the receiver's */
    uint64_t share;   /* the receiver's, generation << 32 | number */
    uint64_t length;  /* of its buffer */
    uint32_t context;
    int32_t tag;
};
_Static_assert(sizeof(struct weft_pkt_offer) == 32, "WEFT_WIRE_VERSION");

/* STAGE: pack a chunk of what you announced, for me to fetch. */
struct weft_pkt_stage {
    uint64_t request;  /* the sender's */
    uint64_t receiver; /* the receiver's request */
    uint64_t offset;
    uint64_t length;
};
_Static_assert(sizeof(struct weft_pkt_stage) == 32, "WEFT_WIRE_VERSION");

/* STAGED: the chunk that you asked for by STAGE is at this address. */
struct weft_pkt_staged {
    uint64_t request; /* the receiver's */
    uint64_t address; /* in the sender's memory, or a stage */
    uint64_t offset;
    uint64_t length;
};
_Static_assert(sizeof(struct weft_pkt_staged) == 32, "WEFT_WIRE_VERSION");

/* SUMS: the checksums of what you receive from me. */
struct weft_pkt_sums {
    uint64_t request; /* the receiver's */
    uint32_t sums[WEFT_SUM_BLOCKS];
};
_Static_assert(sizeof(struct weft_pkt_sums) == 40, "WEFT_WIRE_VERSION");

/* KEY_OFFER: a receive is posted; put its message into its buffer (offer_net.h). */
struct weft_pkt_key_offer {
    uint64_t request; /* the receiver's */
    uint64_t address; /* of its buffer, and the key */
    uint64_t key;
    uint64_t length; /* of its buffer */
    uint32_t context;
    int32_t tag;
    uint32_t number; /* of this offer, among all to this peer */
    uint32_t seen;   /* of the peer's ordered packets but STORED: those taken so far */
};
_Static_assert(sizeof(struct weft_pkt_key_offer) == 48, "WEFT_WIRE_VERSION");

/* STORED: a message that was put into the buffer that you offered. It is ordered, as it
 * takes its receive at this place. WEFT_SUM_BLOCKS checksums follow where they are set.
 */
struct weft_pkt_stored {
    uint64_t request; /* the receiver's */
    uint64_t length;  /* of the message; what did not fit was not put */
};
_Static_assert(sizeof(struct weft_pkt_stored) == 16, "WEFT_WIRE_VERSION");

/* GONE: another message has taken the receive that I offered. */
struct weft_pkt_gone {
    uint64_t request; /* the receiver's */
    uint32_t seen;    /* as in KEY_OFFER */
    uint32_t zero;
};
_Static_assert(sizeof(struct weft_pkt_gone) == 16, "WEFT_WIRE_VERSION");

/* RECALL: I want the receive back that I offered; and RETURNED: I will not store there.
 */
struct weft_pkt_recall {
    uint64_t request; /* the receiver's */
};
_Static_assert(sizeof(struct weft_pkt_recall) == 8, "WEFT_WIRE_VERSION");

/* A control packet of any kind. */
union weft_pkt_control {
    struct weft_pkt_pull pull;
    struct weft_pkt_pull_put pull_put;
    struct weft_pkt_placed placed;
    struct weft_pkt_fetched fetched;
    struct weft_pkt_offer offer;
    struct weft_pkt_stage stage;
    struct weft_pkt_staged staged;
    struct weft_pkt_sums sums;
    struct weft_pkt_key_offer key_offer;
    struct weft_pkt_gone gone;
    struct weft_pkt_recall recall;
};
_Static_assert(sizeof(union weft_pkt_control) <= WEFT_CONTROL_MAX, "WEFT_WIRE_VERSION");

#endif
