/*
 * pending.h - operations of this process on one member that are not complete here, in the
 * order in which they began. They end in any order. Whoever waits for those that have
 * begun waits for their numbers, and not for operations that other threads begin later.
 * With the lock.
 */
#ifndef WEFT_RMA_PENDING_H
#define WEFT_RMA_PENDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A part of an operation. */
struct weft_pending {
    struct weft_pending *next;
    struct weft_pending *before;
    uint64_t number; /* larger than those of older operations; never 0 */
};

struct weft_pending_list {
    struct weft_pending *oldest;
    struct weft_pending *newest;
};

static inline void weft_pending_add(struct weft_pending_list *list,
                                    struct weft_pending *pending, uint64_t number)
{
    *pending = (struct weft_pending){.before = list->newest, .number = number};
    if (list->newest != NULL) {
        list->newest->next = pending;
    } else {
        list->oldest = pending;
    }
    list->newest = pending;
}

static inline void weft_pending_remove(struct weft_pending_list *list,
                                       const struct weft_pending *pending)
{
    if (pending->before != NULL) {
        pending->before->next = pending->next;
    } else {
        list->oldest = pending->next;
    }
    if (pending->next != NULL) {
        pending->next->before = pending->before;
    } else {
        list->newest = pending->before;
    }
}

static inline bool weft_pending_is_any(const struct weft_pending_list *list)
{
    return list->oldest != NULL;
}

/* The number of the newest operation, or 0. */
static inline uint64_t weft_pending_last(const struct weft_pending_list *list)
{
    return list->newest != NULL ? list->newest->number : 0;
}

/* Have all operations up to this number ended? */
static inline bool weft_pending_are_over(const struct weft_pending_list *list,
                                         uint64_t number)
{
    return list->oldest == NULL || list->oldest->number > number;
}

#endif
