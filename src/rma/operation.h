/*
 * operation.h - one-sided operations, at their origin.
 *
 * An operation goes out in packets that each say which bytes of the target's memory they
 * are about (runs.h). It is complete here when its buffers are the user's again, and
 * there when a flush that follows it is answered. One that finds no room waits in its
 * peer's queue, in order, so accumulates are not overtaken; of a small put or accumulate
 * a copy waits. A get has at most GETS parts under way. It keeps its datatypes.
 */
#ifndef WEFT_RMA_OPERATION_H
#define WEFT_RMA_OPERATION_H

#include "rma/call.h"
#include "rma/win.h"

void weft_operations_open(void);

/*
 * Takes the lock. Starts an operation in an epoch that allows it. If `request` is not
 * NULL, *request gets a request that is complete when the buffers are the user's again;
 * it stays as it was if they are when the call returns.
 */
WEFT_MUST_CHECK enum weft_rc weft_rma_start(struct weft_win *win,
                                            const struct weft_rma_call *call,
                                            struct weft_request **request);

/* With the lock: what an operation has brought back. Returns what is wrong, or NULL. */
const char *weft_operation_on_data(struct weft_win *win, const struct weft_peer *from,
                                   const struct weft_pkt_rma_data *head,
                                   const void *bytes, size_t len);

/* With the lock: ends all operations on peers that have failed. */
void weft_operations_fail(void);

#endif
