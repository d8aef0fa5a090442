/*
 * ticket.h - locks of members of a window that is on one node, by their words (words.h):
 * nobody has to answer. Without the library's lock.
 */
#ifndef WEFT_RMA_TICKET_H
#define WEFT_RMA_TICKET_H

#include "rma/near.h"

/* WEFT_ERR_PROC_FAILED: the member has failed; or another one, in the middle of a step,
 * and the lock is lost. */
WEFT_MUST_CHECK enum weft_rc weft_ticket_lock(struct weft_win *win,
                                              const struct weft_near *near,
                                              bool is_exclusive, const char *call);

void weft_ticket_unlock(struct weft_win *win, const struct weft_near *near,
                        bool is_exclusive);

#endif
