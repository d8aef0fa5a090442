/*
 * combine.h - small puts to one member over a network, combined in one packet.
 *
 * The first put of an epoch goes at once, by itself. Those behind it are copied into a
 * packet of the target, and are complete here by that. The packet goes out
 *
 *   when it is full;
 *   before any other operation on the target, so that the order stays;
 *   in front of the packet that a flush, unlock, fence or complete sends, and at a local
 *   flush;
 *   when a thread polls, because it waits in MPI or serves others.
 *
 * It does not go out by itself while the process computes. The program has no right to
 * more: an operation counts as begun as late as the call that ends its epoch (MPI-5.0,
 * 12.7.3). Nor does it lose time: the packet of a flush goes to the target and back in
 * any case, and this one travels in front of it.
 *
 * It is an ordinary packet of a put (packets.h) with a run for each place, or for several
 * at equal distances. All places are in the target's memory, so it is never refused. All
 * functions need the lock unless they say otherwise.
 */
#ifndef WEFT_RMA_COMBINE_H
#define WEFT_RMA_COMBINE_H

#include "rma/call.h"
#include "rma/win.h"

/* When the library opens: whoever polls is to send what there is. */
void weft_combine_open(void);

/* Takes an operation into the target's packet. False: it is to go another way, behind
 * weft_combine_send(). */
bool weft_combine_take(struct weft_win *win, struct weft_target *target,
                       const struct weft_rma_call *call);

/*
 * Takes the lock. The short way of a put whose data are one block: into a packet that is
 * there, which says that the target's epoch is open and the target was reached. False: go
 * the way that checks everything.
 */
bool weft_combine_more(struct weft_win *win, int rank, MPI_Aint disp, const void *from,
                       uint32_t bytes);

/* Does a member of this window have a packet? Without the lock. */
static inline bool weft_combine_is_any(const struct weft_win *win)
{
    return atomic_load_explicit(&win->combined, memory_order_relaxed) != 0;
}

/* Sends the target's packet if there is one. The next put goes at once again. */
void weft_combine_send(struct weft_target *target);

/* Drops what was for members that have failed, or for any member of a window. */
void weft_combine_fail(void);
void weft_combine_close(const struct weft_win *win);

#endif
