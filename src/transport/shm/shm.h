/*
 * shm.h - what the files of the shared-memory transport share.
 *
 *   shm.c          opening, connecting, the ops table
 *   send.c         lane or inbox, and the wake-up after it
 *   poll.c         control, inbox, lanes
 *   single_copy.c  another process's memory, by process_vm_readv and writev
 */
#ifndef WEFT_SHM_SHM_H
#define WEFT_SHM_SHM_H

#include "node/doorbell.h"
#include "transport/shm/lane.h"
#include "transport/shm/ring.h"

struct weft_transport {
    struct weft_upcalls *up;
    struct weft_node *node;
    struct weft_job *job;
    struct weft_shm_area *area; /* mine */
    uint32_t me;                /* my rank in the job */
    uint32_t local;             /* and on the node */
    uint32_t lane_count;        /* of lanes below that exist */
    struct weft_lane_in lanes[WEFT_LANES];
    uint32_t poll_from;   /* which lane is polled first; lane_count: the inbox */
    uint32_t known_mask;  /* lanes of area->lane_mask that are in `lanes` */
    uint64_t packets;     /* ordered ones, taken */
    uint64_t inbox_bytes; /* taken from the inbox */
    struct weft_shm_path *paths;
    _Atomic uint64_t fetched; /* bytes; counted by any thread, without the lock */
    _Atomic uint64_t stored;
};

struct weft_shm_path {
    struct weft_path base;
    struct weft_shm_area *area;
    struct weft_node_area *node;        /* where the peer is woken */
    const struct weft_slot_entry *slot; /* its process */
    struct weft_lane_out out;
    uint32_t local;
    uint64_t number; /* ordered packets sent */
    uint64_t before; /* of them, those that did not take the lane */
    uint64_t inbox_bytes;
    uint32_t by_inbox;
    uint64_t asked_at; /* out.head when it last asked for room */
    bool is_memory_tried;
    struct weft_shm_path *next; /* of the transport's */
    struct weft_shm_path **link;
};

enum weft_rc weft_shm_send(struct weft_path *path, const void *header, const void *data,
                           size_t len, unsigned flags);
bool weft_shm_may_be_queued(struct weft_path *path,
                            bool (*is_it)(const void *header, const void *argument),
                            const void *argument);
int weft_shm_poll(struct weft_transport *tp, int budget);
bool weft_shm_has_work(struct weft_transport *tp);

void weft_shm_try_memory(struct weft_path *path);

#endif
