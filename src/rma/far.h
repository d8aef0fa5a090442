/*
 * far.h - puts and gets straight to memory of members that a network leads to.
 *
 * Each member registers its memory when the window is made, and its key travels with its
 * part. An origin writes there and reads from there by the path to the member (number 0),
 * by which its packets go, too: what it sends later arrives later. So packets that end an
 * epoch need nothing else, and a flush asks the path, or sends a packet where that cannot
 * tell.
 *
 * Places that are several blocks are moved one by one, if they are long. Data that are
 * several blocks go through buffers, of which an operation has a few.
 *
 * What goes by messages: accumulates, which the member's process does for all who are not
 * near it; places that are short blocks; short data that are several blocks; members
 * without a key, because they could not register; all windows of a job with checksums,
 * which only packets have; and windows of which one member says so (WEFT_RMA).
 *
 * All functions are called with the library's lock, but for the first two.
 */
#ifndef WEFT_RMA_FAR_H
#define WEFT_RMA_FAR_H

#include "rma/call.h"
#include "rma/win.h"

/* When a window is made, by all members, without the lock: registers the memory, before
 * the members know of each other; decides who is reached, afterwards. */
void weft_far_prepare(struct weft_win *win, struct weft_win_offer *mine);
void weft_far_open(struct weft_win *win, const struct weft_win_offer *offers);

/* Does a network lead to this member? */
bool weft_far_is_member(const struct weft_win *win, int rank);

/* A member takes its memory back (withdraw.h). This step is answered when nothing of ours
 * is under way there. */
void weft_far_leave(struct weft_win *win, struct weft_target *target, uint32_t number);

/* Deregisters the memory. No member may use it any more. */
void weft_far_close(struct weft_win *win);

/* Does this operation go straight to the member's memory? */
bool weft_far_is_reached(const struct weft_win *win, const struct weft_target *target,
                         const struct weft_rma_call *call);

/* Starts an operation that does; `request`, or NULL, is complete when the buffer is the
 * user's again. It is in target->pending. */
WEFT_MUST_CHECK enum weft_rc weft_far_start(struct weft_win *win,
                                            struct weft_target *target,
                                            const struct weft_rma_call *call,
                                            struct weft_request *request);

/* Begins to find out whether all that was put is there: it is when nothing is pending.
 * Where the path cannot tell, the target becomes dirty: a packet tells. */
void weft_far_flush(struct weft_win *win, struct weft_target *target);

/* Ends all operations on peers that have failed. */
void weft_far_fail(void);

#endif
