/*
 * request.h - the request of a send or a receive, for the files of this room.
 *
 * All requests of the library come from one pool, sized by this struct.
 */
#ifndef WEFT_P2P_REQUEST_H
#define WEFT_P2P_REQUEST_H

#include "core/request.h"
#include "match/match.h"
#include "transfer/transfer.h"

/* The owner of memory that a send reads. give_back() is called when the send does not
 * need the memory any more; `memory_number` is the number that the owner gave it. */
struct weft_memory_owner {
    void (*give_back)(struct weft_memory_owner *memory_owner, void *memory,
                      uint64_t memory_number);
};

struct weft_tagged;

struct weft_p2p_request {
    struct weft_request base; /* first */
    struct weft_peer *peer;   /* send: to whom; receive: from whom, NULL if from anyone */
    struct weft_data data;    /* send: read only; a type is kept until it is over */
    struct weft_posted posted;
    struct weft_header header;      /* send: what goes, or waits to go, in front */
    struct weft_p2p_request *next;  /* among spare ones */
    struct weft_retry retry;        /* send: it has found no room */
    struct weft_transfer *transfer; /* of a long message, until that is over; or NULL */
    bool is_announced;              /* send: it goes as an announcement */
    struct weft_memory_owner
        *memory_owner;          /* of data.memory; NULL: it was allocated, or a stage */
    uint64_t memory_number;     /* its number there */
    struct weft_tagged *tagged; /* of a message that the network matches (tagged.h) */
};

#endif
