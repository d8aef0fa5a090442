/*
 * flush.h - until operations are complete.
 *
 * At the origin an operation is complete when nothing of it is to be sent or awaited. At
 * the target it is when a packet that was sent later is answered: packets are ordered,
 * and applied one after the other. Needs the lock, but for the first.
 */
#ifndef WEFT_RMA_FLUSH_H
#define WEFT_RMA_FLUSH_H

#include "rma/win.h"

enum { WEFT_RMA_ALL_RANKS = -1 };

/* Takes the lock: MPI_Win_flush and its kin. */
WEFT_MUST_CHECK enum weft_rc weft_rma_flush(struct weft_win *win, int rank, bool is_local,
                                            const char *call);

/* Returns when operations there are complete here, or here and there. What failed since
 * the last look is told once: WEFT_ERR_ARGUMENT is memory outside the window. */
WEFT_MUST_CHECK enum weft_rc weft_target_wait_local(struct weft_win *win,
                                                    struct weft_target *target,
                                                    const char *call);
/* The first again, but small puts go on waiting for a step (combine.h). */
WEFT_MUST_CHECK enum weft_rc
weft_target_wait_ours(struct weft_win *win, struct weft_target *target, const char *call);
WEFT_MUST_CHECK enum weft_rc
weft_target_flush(struct weft_win *win, struct weft_target *target, const char *call);
WEFT_MUST_CHECK enum weft_rc weft_targets_flush(struct weft_win *win, const char *call);

/* Sends a step that the target answers, and returns when it has. */
WEFT_MUST_CHECK enum weft_rc weft_target_ask(struct weft_win *win,
                                             struct weft_target *target,
                                             enum weft_rma_sync what, const char *call);

/* The same in two steps: for several targets, all of the first before any of the second.
 */
void weft_target_begin_ask(struct weft_win *win, struct weft_target *target,
                           enum weft_rma_sync what);
WEFT_MUST_CHECK enum weft_rc
weft_target_end_ask(struct weft_win *win, struct weft_target *target, const char *call);

#endif
