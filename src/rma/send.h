/*
 * send.h - the packets of this room on their way out. Needs the lock.
 */
#ifndef WEFT_RMA_SEND_H
#define WEFT_RMA_SEND_H

#include "rma/win.h"

/* The most bytes behind the header of a packet to this peer. */
size_t weft_rma_packet_max(const struct weft_peer *peer);

/*
 * A thread that begins operations on a target faster than they end waits when there are
 * WEFT_RMA_MOST, until half of them are over (start.c): else they would take memory
 * without end, and a flush of another thread would have all of them before it. What
 * counts are operations that are pending, and packets of others that wait for room. Of
 * threads that have looked at the same time each may still begin one.
 */
enum { WEFT_RMA_MOST = 512 };

static inline void weft_target_more(struct weft_target *target)
{
    target->under_way++;
    target->is_full |= target->under_way >= WEFT_RMA_MOST;
}

static inline void weft_target_less(struct weft_target *target)
{
    target->under_way--;
    target->is_full &= target->under_way > WEFT_RMA_MOST / 2;
}

/* Sends a packet now. WEFT_AGAIN: there is no room, or others wait for it. */
WEFT_MUST_CHECK enum weft_rc weft_rma_try(const struct weft_win *win,
                                          struct weft_peer *peer, enum weft_packet kind,
                                          const void *data, size_t len);

/* Sends a packet, or keeps a copy until there is room. The job ends if there is no
 * memory for it. A peer that has failed gets nothing. */
void weft_rma_send(const struct weft_win *win, struct weft_peer *peer,
                   enum weft_packet kind, const void *data, size_t len);

/* The same, for operations that are complete here because the packet has their data. If
 * it is kept it counts among what is under way to the target. */
void weft_rma_send_copied(const struct weft_win *win, struct weft_target *target,
                          const void *data, size_t len);

/* Sends a step of an epoch. */
void weft_rma_sync(const struct weft_win *win, struct weft_peer *peer,
                   enum weft_rma_sync what, uint32_t number);

enum { WEFT_RMA_AT_ONCE = 1 }; /* small operations that go by themselves, where any do */

/*
 * Is a small put or accumulate the first of a passive epoch since all was flushed? Then
 * its packet asks for the answer that a flush would ask for, so that a flush that follows
 * sends nothing. The answer would not tell of an operation of which some parts begin
 * later.
 */
bool weft_rma_asks_at_once(const struct weft_win *win, const struct weft_target *target);

/* It does so: returns the number of the flush, for the packet that goes out now. */
uint32_t weft_rma_ask_at_once(struct weft_target *target);

#endif
