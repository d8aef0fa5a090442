/*
 * state.h - what this process knows of its messages. Guarded by the library's lock.
 */
#ifndef WEFT_P2P_STATE_H
#define WEFT_P2P_STATE_H

#include "core/request.h"
#include "match/match.h"
#include "match/unexpected.h"
#include "p2p/peer.h"

struct weft_p2p {
    bool is_open;
    bool has_checksum;
    bool has_unfailed; /* a request of a failed peer is at work, outside the lock */
    struct weft_match match;
    struct weft_unexpected_store unexpected;
    struct weft_probe *probes;          /* that wait for a message (probe.h) */
    struct weft_p2p_request *spare;     /* for blocking calls */
    struct weft_p2p_request *transfers; /* long messages that are not over */
    uint32_t incoming;                  /* of them, receives */
    uint64_t pieces_sent;               /* DATA packets: they are no messages */
    uint64_t pieces_received;
    uint64_t bytes_thrown_away; /* that came with announcements nobody waited for */
};

extern struct weft_p2p weft_p2p;

#endif
