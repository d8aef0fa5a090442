/*
 * state.h - what this process knows of its messages, its transports and its own threads.
 *
 * Guarded by the library's lock. Rooms above use weft_p2p_leave().
 */
#ifndef WEFT_P2P_STATE_H
#define WEFT_P2P_STATE_H

#include "core/request.h"
#include "match/match.h"
#include "match/unexpected.h"
#include "p2p/peer.h"

struct weft_p2p {
    const struct weft_transport_ops *ops;
    struct weft_transport *transport;
    const struct weft_transport_ops *net_ops; /* NULL: no network is open */
    struct weft_transport *net;
    bool is_net_only;       /* inside the node too */
    bool is_net_due;        /* the next poll looks at the network */
    bool is_net_busy;       /* every poll does: what came last came from there */
    uint32_t polls_of_node; /* since the network was polled */
    bool is_open;
    bool has_checksum;
    struct weft_match match;
    struct weft_unexpected_store unexpected;
    struct weft_probe *probes;       /* that wait for a message (probe.h) */
    struct weft_peer *waiting_peers; /* those with a backlog */
    struct weft_p2p_request *spare;  /* for blocking calls */
    struct weft_p2p_request *work;   /* to be done outside the lock, oldest first */
    struct weft_p2p_request *work_last;
    struct weft_p2p_request *transfers; /* long messages that are not over */
    uint32_t incoming;                  /* of them, receives */
    uint32_t awaits_data;               /* of those, what comes in pieces */
    uint32_t waiting_threads;           /* threads of the program that wait, and poll */
    bool has_progress;                  /* messages advance also outside MPI */
    bool is_helper_inside;              /* the helper has the lock */
    _Atomic bool is_attending;          /* the helper is responsible (attend.c) */
    uint64_t helper_wakeups;            /* written by the helper */
    uint64_t polls;                     /* how often somebody began to poll */
    const _Atomic uint32_t *deaths;     /* how many the launcher has listed */
    uint32_t deaths_seen;               /* of them */
    uint32_t dead_count;                /* peers that are dead */
    bool has_unburied;     /* a request of a dead peer is at work, outside the lock */
    bool is_in_barrier;    /* of all ranks of the node */
    uint32_t barrier_turn; /* which one */
    bool is_armed;         /* a thread sleeps on the doorbell */
    bool is_room_awaited;  /* and it sleeps until no peer has a backlog */
    bool has_new_backlog;  /* a peer has got one since somebody last armed for it */
    bool is_taken_over;    /* another thread polls in its place */
    uint64_t sleeps;       /* how often a thread did */
    uint64_t pieces_sent;  /* DATA packets: they are no messages */
    uint64_t pieces_received;
    uint64_t bytes_thrown_away; /* that came with announcements nobody waited for */
};

extern struct weft_p2p weft_p2p;

/* The slow part of weft_p2p_leave(). */
void weft_p2p_leave_slow(void);

/*
 * A thread is about to leave MPI: what is outstanding is left to a thread that waits in
 * MPI, or to the helper.
 */
static inline void weft_p2p_leave(void)
{
    if (weft_unlikely(
            weft_outstanding > 0 &&
            (!atomic_load_explicit(&weft_p2p.is_attending, memory_order_relaxed) ||
             weft_schedules_ready != NULL || weft_p2p.work != NULL ||
             weft_p2p.waiting_peers != NULL || weft_p2p.awaits_data > 0 ||
             weft_schedule_steps > 0))) {
        weft_p2p_leave_slow();
    }
}

#endif
