/*
 * doorbell.h - how processes of one node sleep and wake each other.
 *
 * A process that is about to stop polling publishes a wake level, looks once more at all
 * that it waits for, and sleeps if nothing is there. Whoever has published something for
 * it, a packet or the last chunk of a copy, reads the level (notice) and rings. No
 * wake-up is lost, because one of the two always sees the other: a sender that makes no
 * exchange relies on the barrier in weft_node_publish(), one that leaves MPI relies on
 * the exchange of weft_node_notice_urgent(); doorbell.c says which store pairs with which
 * load.
 *
 * The small packets of a schedule ring nobody who computes: WEFT_WAKE_STEPS does not ask
 * for them. A process that has waited for such a step for long says so to those who are
 * to make it (weft_node_await), and they ask for any packet while it waits.
 *
 * There are two bells, so that waking a thread that sleeps in MPI does not wake the
 * progress thread too.
 */
#ifndef WEFT_NODE_DOORBELL_H
#define WEFT_NODE_DOORBELL_H

#include "base/rc.h"
#include "node/node.h"

/* What a process that does not poll wants to be woken for. */
enum weft_wake_level {
    WEFT_WAKE_NONE,     /* it polls, or wants nothing */
    WEFT_WAKE_REQUESTS, /* its progress thread, for control packets and announcements */
    WEFT_WAKE_STEPS,    /* its progress thread, also for the end of a copy: the next step
                         * of a schedule follows */
    WEFT_WAKE_ANYTHING, /* its progress thread, for any packet */
    WEFT_WAKE_ALL,      /* for anything: a thread of the program sleeps in MPI */
};

/* ---- our own ---- */

/*
 * Publishes the level with a barrier on every processor that runs a rank; returns the
 * doorbell's count before, for weft_node_sleep(). The caller looks once more afterwards,
 * and takes the level back (weft_node_disarm) if something is there.
 */
uint32_t weft_node_publish(struct weft_node *node, enum weft_wake_level level);

/*
 * Publishes what wakes the progress thread of a process that leaves MPI. It is cheaper
 * than weft_node_publish(), because up to WEFT_WAKE_STEPS no barrier is needed.
 */
void weft_node_publish_leaving(struct weft_node *node, enum weft_wake_level level);
void weft_node_disarm(struct weft_node *node);

/*
 * Sleeps, after weft_node_publish(), until a peer rings, until *word differs from `old`
 * (NULL: no such word), or for `ns` nanoseconds (0: without limit). Without the lock.
 */
void weft_node_sleep(struct weft_node *node, uint32_t bell, _Atomic uint32_t *word,
                     uint32_t old, uint64_t ns);

/*
 * After publishing: may packets, or room, come without waking the progress thread? Then
 * it has to look now and then, for as long as the node is open.
 */
bool weft_node_may_miss(const struct weft_node *node);

/* After publishing: does a peer wait for a step of ours, so that any packet counts? */
static inline bool weft_node_is_awaited(const struct weft_node *node)
{
    return atomic_load_explicit(&node->area->awaited, memory_order_seq_cst) != 0;
}

/* Ends our own sleep, or wakes our progress thread, whichever has published. From any
 * thread. */
void weft_node_ring(struct weft_node *node);

/* How often peers have rung either bell, and the doorbell alone since opening. */
uint64_t weft_node_rings(const struct weft_node *node);
uint64_t weft_node_wakeups(const struct weft_node *node);

/* How often our progress thread was rung, by peers or by ourselves. */
static inline uint32_t weft_node_progress_bell(const struct weft_node *node)
{
    return atomic_load_explicit(&node->area->progress_bell, memory_order_relaxed);
}

/* Is a thread of this process inside MPI, so that it could help a peer? A hint. */
static inline void weft_node_set_inside(struct weft_node *node, bool is_inside)
{
    atomic_store_explicit(&node->area->is_inside, is_inside ? 1 : 0,
                          memory_order_relaxed);
}

/* For weft_node_open(). */
void weft_node_register_barrier(struct weft_node *node);

/* ---- a peer's, or our own; from any thread ---- */

/* Rings the bell of whoever has published a level; the first of many callers pays. */
void weft_node_ring_area(struct weft_node_area *area);

/* Wakes the peer if it has published at least this level, be it without a barrier. */
void weft_node_wake(struct weft_node_area *area, enum weft_wake_level needed);

/* We wait for a step of the peer, which is woken if it computes; we wait no longer. */
void weft_node_await(struct weft_node_area *area);
void weft_node_await_end(struct weft_node_area *area);

static inline bool weft_node_is_inside(const struct weft_node_area *area)
{
    return atomic_load_explicit(&area->is_inside, memory_order_relaxed) != 0;
}

/*
 * After something was published for the owner of `area`: wakes it if it asked for that.
 * Relaxed: the sleeper makes up for the missing barrier here with membarrier() between
 * publishing its level and its last look.
 */
static inline void weft_node_notice(struct weft_node_area *area,
                                    enum weft_wake_level needed)
{
    if (weft_unlikely(atomic_load_explicit(&area->wake_level, memory_order_relaxed) >=
                      (uint32_t)needed)) {
        weft_node_ring_area(area);
    }
}

/* After a packet worth a wake-up: sees also a process that leaves without a barrier. */
static inline void weft_node_notice_urgent(struct weft_node_area *area)
{
    if (weft_unlikely(atomic_fetch_or_explicit(&area->wake_level, 0,
                                               memory_order_acq_rel) != WEFT_WAKE_NONE)) {
        weft_node_ring_area(area);
    }
}

#endif
