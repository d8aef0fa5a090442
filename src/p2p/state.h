/*
 * state.h - the state of this room. The library's lock guards it.
 */
#ifndef WEFT_P2P_STATE_H
#define WEFT_P2P_STATE_H

#include "core/request.h"
#include "match/match.h"
#include "match/unexpected.h"
#include "transfer/transfer.h"

struct weft_p2p_request;

struct weft_p2p {
    bool is_open;
    bool has_checksum;
    bool drops;        /* some messages without a receive are dropped (failed.c) */
    bool has_unfailed; /* a request of a failed peer is at work, outside the lock */
    /* Refuses a message that has no receive, in a way of its sender's room; or NULL. */
    bool (*refuses)(const struct weft_header *header);
    bool (*is_left)(uint32_t context);
    struct weft_instance *network; /* that matches messages; NULL: `match` does */
    struct weft_match match;
    struct weft_unexpected_store unexpected;
    struct weft_probe *probes;      /* that wait for a message (probe.h) */
    struct weft_p2p_request *spare; /* for blocking calls */
    uint64_t bytes_thrown_away;     /* that came with announcements nobody waited for */
};

extern struct weft_p2p weft_p2p;

#endif
