/*
 * attach.h - the memory of a window: one block, or what is attached to a dynamic one.
 *
 * A member of a dynamic window shows what it has attached to the members on its node
 * (shown.h), in a table in the segment's heap. An origin there keeps a copy, compares its
 * version before each operation, and operates on the memory by itself. If the node has no
 * room for a table, the member shows nothing from then on, and operations on it go by
 * messages. They never go back: what comes straight to memory could overtake a message.
 *
 * All functions need the lock.
 */
#ifndef WEFT_RMA_ATTACH_H
#define WEFT_RMA_ATTACH_H

#include "rma/call.h"
#include "rma/near.h"

/* Attaches memory. WEFT_ERR_ARGUMENT: some of it is attached. */
WEFT_MUST_CHECK enum weft_rc weft_region_attach(struct weft_win *win, void *base,
                                                uint64_t bytes);

/* False: nothing was attached at this address. */
bool weft_region_detach(struct weft_win *win, const void *base);

/* Detaches everything. */
void weft_region_detach_all(struct weft_win *win);

/* Where a run of a packet begins in this process's memory; NULL: some of it is not in
 * the window. In a dynamic window each block of the run must be attached, be it in one
 * region or in several that touch. */
void *weft_region_find(const struct weft_win *win, const struct weft_rma_run *run);

/*
 * Is all that an operation is about attached by a member that is near? Of a window that
 * is not dynamic it always is: bindings have looked. WEFT_ERR_ARGUMENT: some of it is
 * not; WEFT_AGAIN: the member shows nothing, so the operation goes by messages; and
 * WEFT_ERR_NOMEM, WEFT_ERR_PROC_FAILED.
 */
WEFT_MUST_CHECK enum weft_rc weft_attached_check(struct weft_win *win,
                                                 struct weft_near *near,
                                                 const struct weft_rma_call *call);

/* Before weft_near_close() and weft_win_give(): forgets what is attached, and what others
 * have; gives the tables back. */
void weft_attached_close(struct weft_win *win);

#endif
