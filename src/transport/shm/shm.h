/*
 * shm.h - what the files of the shared-memory transport share.
 *
 *   shm.c          opening, connecting, the ops table
 *   send.c         lane or inbox, and the wake-up after it
 *   poll.c         control, inbox, lanes
 *   single_copy.c  another process's memory, by process_vm_readv and writev
 *   sleep.c        attention, doorbell
 */
#ifndef WEFT_SHM_SHM_H
#define WEFT_SHM_SHM_H

#include "transport/shm/lane.h"
#include "transport/shm/ring.h"

struct weft_transport {
    struct weft_upcalls *up;
    struct weft_job *job;
    struct weft_shm_area *area; /* mine */
    uint32_t me;                /* my rank in the job */
    uint32_t local;             /* and on the node */
    uint32_t lane_count;        /* of lanes below that exist */
    struct weft_lane_in lanes[WEFT_LANES];
    uint32_t poll_from;       /* which lane is polled first; lane_count: the inbox */
    uint32_t known_mask;      /* lanes of area->lane_mask that are in `lanes` */
    uint64_t *expected;       /* by local rank: number of its next ordered packet */
    uint64_t inbox_bytes;     /* taken from the inbox */
    uint32_t first_bell;      /* the doorbell's count at opening */
    _Atomic uint64_t fetched; /* bytes; counted by any thread, without the lock */
    _Atomic uint64_t stored;
    uint32_t joints_used;  /* a bit each */
    uint32_t windows_used; /* the same */
    bool has_membarrier;
    bool has_asked; /* for room in a lane, since the last barrier */
    uint64_t probe; /* the word others read to see that they can */
};

enum reach { REACH_UNKNOWN, REACH_YES, REACH_NO };

struct weft_shm_endpoint {
    struct weft_endpoint base;
    struct weft_shm_area *area;
    struct weft_lane_out out;
    uint32_t local;
    uint64_t number; /* of the next ordered packet; its lower half travels */
    uint64_t inbox_bytes;
    uint32_t by_inbox;
    uint64_t asked_at; /* out.head when it last asked for room */
    enum reach reach;
};

enum weft_rc weft_shm_send(struct weft_endpoint *ep, const void *header, const void *data,
                           size_t len, unsigned flags);
bool weft_shm_may_be_queued(struct weft_endpoint *ep,
                            bool (*is_it)(const void *header, const void *argument),
                            const void *argument);
int weft_shm_poll(struct weft_transport *tp, int budget);
bool weft_shm_has_work(struct weft_transport *tp);

enum weft_rc weft_shm_fetch(struct weft_endpoint *ep, const struct weft_key *key,
                            uint64_t offset, void *to, size_t len, struct weft_op *op);
enum weft_rc weft_shm_store(struct weft_endpoint *ep, const struct weft_key *key,
                            uint64_t offset, const void *from, size_t len,
                            struct weft_op *op);
enum weft_rc weft_shm_fetch_vectors(struct weft_endpoint *ep, const struct iovec *theirs,
                                    size_t their_count, const struct iovec *ours,
                                    size_t our_count);
enum weft_rc weft_shm_store_vectors(struct weft_endpoint *ep, const struct iovec *theirs,
                                    size_t their_count, const struct iovec *ours,
                                    size_t our_count);
bool weft_shm_can_reach(struct weft_endpoint *ep);
void weft_shm_introduce(struct weft_transport *tp);

enum weft_rc weft_shm_arm(struct weft_transport *tp, enum weft_attention level,
                          uint32_t *bell);
void weft_shm_sleep(struct weft_transport *tp, uint32_t bell, _Atomic uint32_t *word,
                    uint32_t old, uint64_t ns);
void weft_shm_disarm(struct weft_transport *tp);
void weft_shm_wake(struct weft_endpoint *ep, enum weft_attention level);
void weft_shm_register_barrier(struct weft_transport *tp);
bool weft_shm_may_miss(struct weft_transport *tp);

/* After something was published for `area`: wakes its owner if it asked for that. */
static inline void weft_shm_notice(struct weft_shm_area *area,
                                   enum weft_attention needed);
void weft_shm_ring_doorbell(struct weft_shm_area *area);
enum weft_rc weft_shm_attend(struct weft_transport *tp, enum weft_attention level);

/* After a packet worth a wake-up: sees also who leaves without a barrier (sleep.c). */
static inline void weft_shm_notice_urgent(struct weft_shm_area *area)
{
    if (weft_unlikely(
            atomic_fetch_or_explicit(&area->attention, 0, memory_order_acq_rel) !=
            WEFT_ATTENTION_NONE)) {
        weft_shm_ring_doorbell(area);
    }
}

/*
 * Relaxed: the sleeper makes up for the missing barrier here with membarrier() between
 * publishing its attention and its last look (sleep.c).
 */
static inline void weft_shm_notice(struct weft_shm_area *area, enum weft_attention needed)
{
    if (weft_unlikely(atomic_load_explicit(&area->attention, memory_order_relaxed) >=
                      (uint32_t)needed)) {
        weft_shm_ring_doorbell(area);
    }
}

#endif
