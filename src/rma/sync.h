/*
 * sync.h - epochs in which the target takes part: fence, and post, start, complete, wait
 * (MPI-5.0, 12.5.1 and 12.5.2). The epoch was checked. Each takes the lock.
 *
 * MPI_Win_start returns at once; the first operation on a target returns when that has
 * posted. MPI_Win_complete returns when all have, and the operations are complete here;
 * the packet by which it tells a target follows them. Members on this node are told by
 * words (words.h). A target that
 * has failed is told of by its first operation and by MPI_Win_complete.
 */
#ifndef WEFT_RMA_SYNC_H
#define WEFT_RMA_SYNC_H

#include "rma/win.h"

/* `assertion`: MPI_MODE_*. */
WEFT_MUST_CHECK enum weft_rc weft_rma_fence(struct weft_win *win, int assertion,
                                            const char *call);
WEFT_MUST_CHECK enum weft_rc weft_rma_post(struct weft_win *win, struct weft_group *group,
                                           int assertion);
WEFT_MUST_CHECK enum weft_rc
weft_rma_start_epoch(struct weft_win *win, struct weft_group *group, int assertion);
/* With the lock of the library, which it may drop meanwhile: before an operation on a
 * target, takes the lock of MPI_Win_lock_all, or awaits the post. */
WEFT_MUST_CHECK enum weft_rc weft_rma_enter(struct weft_win *win,
                                            struct weft_target *target, const char *call);
WEFT_MUST_CHECK enum weft_rc weft_rma_complete(struct weft_win *win, const char *call);
WEFT_MUST_CHECK enum weft_rc weft_rma_wait_epoch(struct weft_win *win, const char *call);
WEFT_MUST_CHECK enum weft_rc weft_rma_test_epoch(struct weft_win *win, bool *is_over,
                                                 const char *call);

#endif
