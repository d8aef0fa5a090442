/*
 * combine.h - small puts to one member over a network, or small gets from it, combined in
 * one packet.
 *
 * Puts are copied into a packet of the target, and are complete here by that. Of gets the
 * packet asks for all, and one packet brings all back (gets.h). A target has puts or gets
 * that wait, not both. What there is goes out
 *
 *   when the packet, or its answer, is full;
 *   before any other operation on the target, so that the order stays;
 *   at a flush, unlock, fence or complete, and at a local flush;
 *   when a thread polls, because it waits in MPI or serves others.
 *
 * A packet of puts takes the step that ends the epoch along (weft_combine_tell): small
 * puts and their flush are one packet and its answer.
 *
 * The first small operation since all were sent goes at once. A get, and a put where the
 * network tells by itself that puts are there (`flush` in transport.h), go by themselves:
 * straight from memory to memory, where that is reached. Another put of a passive epoch
 * goes in a packet that asks for the answer of a flush already (weft_rma_asks_at_once),
 * so that a flush that follows sends nothing. What follows the first one does not go out
 * by itself while the process computes. The program has no right to more: an operation
 * counts as begun as late as the call that ends its epoch (MPI-5.0, 12.7.3).
 *
 * It is an ordinary packet of a put or get (packets.h) with a run for each place, or for
 * several at equal distances. All places are in the target's memory, so it is never
 * refused. All functions need the lock unless they say otherwise.
 */
#ifndef WEFT_RMA_COMBINE_H
#define WEFT_RMA_COMBINE_H

#include "rma/call.h"
#include "rma/win.h"

/* When the library opens: whoever polls is to send what there is. */
void weft_combine_open(void);

/* Takes a put into the target's packet. False: it is to go another way, behind
 * weft_combine_send(). */
bool weft_combine_put(struct weft_win *win, struct weft_target *target,
                      const struct weft_rma_call *call);

/* The same of a get; `request`, or NULL, is complete when the data are there. */
bool weft_combine_get(struct weft_win *win, struct weft_target *target,
                      const struct weft_rma_call *call, struct weft_request *request);

/*
 * Takes the lock. The short way of a put or get whose data are one block: into a packet
 * that is there, which says that the target's epoch is open and the target was reached.
 * False: go the way that checks everything.
 */
bool weft_combine_more(struct weft_win *win, int rank, MPI_Aint disp, void *ours,
                       uint32_t bytes, bool is_put);

/* Does a member of this window have a packet? Without the lock. */
static inline bool weft_combine_is_any(const struct weft_win *win)
{
    return atomic_load_explicit(&win->combined, memory_order_relaxed) != 0;
}

/* Sends the target's packet if there is one. The next one may go at once again. */
void weft_combine_send(struct weft_target *target);

/* The same, and a step of an epoch behind it: in the same packet, if it is one of puts.
 */
void weft_combine_tell(struct weft_win *win, struct weft_target *target,
                       enum weft_rma_sync what, uint32_t number);

/* Sends small gets, if they wait. Small puts go on waiting for a step. */
void weft_combine_send_gets(struct weft_target *target);

/* Drops what was for members that have failed, or for any member of a window. */
void weft_combine_fail(void);
void weft_combine_close(const struct weft_win *win);

#endif
