/*
 * request.h - the request of a send or a receive, for the files of this room.
 *
 * All requests of the library come from one pool, sized by this struct.
 */
#ifndef WEFT_P2P_REQUEST_H
#define WEFT_P2P_REQUEST_H

#include "core/request.h"
#include "engine/work.h"
#include "match/match.h"
#include "node/copy_share.h"
#include "p2p/peer.h"
#include "transfer/data.h"

/*
 * What is packed, and then unpacked, at once of a message that is longer than a stage:
 * two packets for each cost little beside it, and two of them stay in the cache.
 */
enum { WEFT_PIECE = 64 * 1024 };

struct weft_staging;

struct weft_p2p_request {
    struct weft_request base; /* first */
    struct weft_peer *peer;   /* send: to whom; receive: from whom, NULL if from anyone */
    struct weft_data data;    /* send: read only; a type is kept until it is over */
    struct weft_posted posted;
    struct weft_header header;     /* send: what goes, or waits to go, in front */
    struct weft_p2p_request *next; /* among spare ones */
    struct weft_retry retry;       /* send: it has found no room */
    struct weft_work work;         /* copying, outside the lock */
    bool is_announced;             /* send: it goes as an announcement */
    bool is_along;                 /* send: and its first bytes with it, over a network */
    bool awaits_answer; /* send: the announcement went out: its receiver may answer */
    uint64_t pulled_to; /* send: the end of what its receiver asked for last */

    /* Long messages. */
    struct weft_p2p_request *next_transfer; /* in the list of transfers */
    struct weft_copy_share *share;          /* ours, the peer's, or own_share */
    struct weft_copy_share own_share;       /* where there is none that both see */
    uint32_t share_number;                  /* of one that we own */
    uint32_t share_generation;
    bool is_share_ours;           /* taken from our transport, to be given back */
    bool is_share_common;         /* the peer sees it too */
    bool is_pulled;               /* receive: bytes of it come as DATA */
    uint64_t other;               /* receive: the sender's request */
    uint64_t message_length;      /* receive: all of it, whatever fits */
    struct weft_peer *from;       /* receive: the sender, once it is known, or NULL */
    struct weft_staging *staging; /* of one that goes through stages, or NULL */
    struct weft_buffer *lender;   /* of data.memory; NULL: it was allocated, or a stage */
    uint64_t lent_as;             /* its number there */
    struct weft_endpoint *way;    /* send: its stream over a network; NULL: none yet */
    uint32_t lent;                /* send: parts that the network still needs */
    void *exposed;                /* memory that a sender puts into, a receiver gets */
    struct weft_key key;          /* send: to that memory */
    bool is_told;                 /* receive: the sender needs no FETCHED */
    bool is_sent_in_parts;        /* receive: the sender's data are in no one place */

    /* Of a long message, where WEFT_CHECKSUM is set (checksum.h). */
    uint32_t sums[WEFT_SUM_BLOCKS];    /* as sent */
    uint32_t arrived[WEFT_SUM_BLOCKS]; /* receive: where it lies now */
    bool owes_sums;                    /* send: they are not made yet, or not sent */
    bool awaits_sums;                  /* receive: the sender owes them */
    bool is_summed;                    /* receive: `arrived` is set */
};

#endif
