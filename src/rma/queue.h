/*
 * queue.h - the lock of one member's memory in a window, and who waits for it.
 *
 * Requests are granted in the order in which they came: a shared one at once if only
 * shared ones hold the lock and nobody waits, so that nobody starves. Who has it and who
 * waits is known by rank, so that a member that has failed can be taken out. Needs the
 * library's lock; only asking allocates.
 */
#ifndef WEFT_RMA_QUEUE_H
#define WEFT_RMA_QUEUE_H

#include "base/rc.h"

#include <stdbool.h>
#include <stdint.h>

struct weft_lock_request {
    struct weft_lock_request *next;
    int rank;
    bool is_exclusive;
};

struct weft_lock_queue {
    struct weft_lock_request *holders;
    struct weft_lock_request *waiting; /* the oldest first */
};

/* Asks for the lock. */
WEFT_MUST_CHECK enum weft_rc weft_lock_queue_ask(struct weft_lock_queue *queue, int rank,
                                                 bool is_exclusive);

/* The next rank that gets the lock now, or -1: nobody. To be called until it says so. */
int weft_lock_queue_grant(struct weft_lock_queue *queue);

/* A member gives the lock back, or has failed. False: it neither has it nor waits. */
bool weft_lock_queue_leave(struct weft_lock_queue *queue, int rank);

bool weft_lock_queue_is_free(const struct weft_lock_queue *queue);

void weft_lock_queue_close(struct weft_lock_queue *queue);

#endif
