/*
 * event.h - an event that happens once, and the thread that sleeps until it does.
 *
 * Requests begin with one. It is set with the lock; `is_set` may be read without
 * (acquire), and pairs with the release in weft_event_set(): a thread that sees it set
 * sees what was written before.
 */
#ifndef WEFT_ENGINE_EVENT_H
#define WEFT_ENGINE_EVENT_H

#include "base/futex.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct weft_event {
    _Atomic uint32_t is_set;
    _Atomic uint32_t *futex; /* a futex that a thread waiting for it sleeps on, or NULL */
};

static inline bool weft_event_is_set(const struct weft_event *event)
{
    return atomic_load_explicit(&event->is_set, memory_order_acquire) != 0;
}

/* Prepares an event, before other threads see it. */
static inline void weft_event_clear(struct weft_event *event)
{
    atomic_store_explicit(&event->is_set, 0, memory_order_relaxed);
    event->futex = NULL;
}

/* Sets an event for which no thread can wait. */
static inline void weft_event_set_quietly(struct weft_event *event)
{
    atomic_store_explicit(&event->is_set, 1, memory_order_relaxed);
}

/* Sets an event; if a thread sleeps, weft_event_wake() follows. */
static inline void weft_event_set(struct weft_event *event)
{
    atomic_store_explicit(&event->is_set, 1, memory_order_release);
}

static inline void weft_event_wake(struct weft_event *event)
{
    if (event->futex != NULL) {
        atomic_fetch_add_explicit(event->futex, 1, memory_order_release);
        weft_futex_wake(event->futex, 1);
    }
}

#endif
