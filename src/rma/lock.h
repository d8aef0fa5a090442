/*
 * lock.h - locks of members' memory (MPI-5.0, 12.5.3). Each target has a queue of its own
 * (queue.h) and grants in order. MPI_Win_lock_all takes nothing: the first operation on a
 * target takes a shared lock there.
 */
#ifndef WEFT_RMA_LOCK_H
#define WEFT_RMA_LOCK_H

#include "rma/win.h"

/* Each takes the lock of the library; the epoch was checked. */
WEFT_MUST_CHECK enum weft_rc weft_rma_lock(struct weft_win *win, int rank,
                                           bool is_exclusive, bool is_unchecked,
                                           const char *call);
WEFT_MUST_CHECK enum weft_rc weft_rma_unlock(struct weft_win *win, int rank,
                                             const char *call);
void weft_rma_lock_all(struct weft_win *win, bool is_unchecked);
WEFT_MUST_CHECK enum weft_rc weft_rma_unlock_all(struct weft_win *win, const char *call);

/* With the lock of the library: before an operation on a target. */
WEFT_MUST_CHECK enum weft_rc
weft_rma_lock_for(struct weft_win *win, struct weft_target *target, const char *call);

/* With the lock of the library, at the target: a member asks, or gives back. Return what
 * is wrong, or NULL. */
const char *weft_rma_on_lock(struct weft_win *win, struct weft_target *from,
                             bool is_exclusive);
const char *weft_rma_on_unlock(struct weft_win *win, struct weft_target *from,
                               uint32_t number);

/* With the lock of the library: tells those who get the lock now. */
void weft_rma_grant(struct weft_win *win);

#endif
