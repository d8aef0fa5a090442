/*
 * operation.h - one-sided operations by packets, at their origin.
 *
 * An operation goes out in packets that each say which bytes of the target's memory they
 * are about (runs.h). It is complete here when its buffers are the user's again, and
 * there when a flush that follows it is answered. One that finds no room waits in its
 * peer's queue, in order, so accumulates are not overtaken; of a small put or accumulate
 * a copy waits. A get has at most GETS parts under way, and of packets with several small
 * gets as many are to one target; more are held here, so that no target has more answers
 * to keep than that. An operation keeps its datatypes. All functions need the lock.
 */
#ifndef WEFT_RMA_OPERATION_H
#define WEFT_RMA_OPERATION_H

#include "rma/call.h"
#include "rma/gets.h"
#include "rma/win.h"

void weft_operations_open(void);

/* With the lock: the number of the next operation of any kind. */
uint64_t weft_operation_number(void);

/* Starts an operation; `request`, or NULL, is complete when the buffers are the user's
 * again. */
WEFT_MUST_CHECK enum weft_rc weft_operation_start(struct weft_win *win,
                                                  struct weft_target *target,
                                                  const struct weft_rma_call *call,
                                                  struct weft_request *request);

/* Starts several small gets, whose memory it takes. What goes wrong is told as by any
 * other operation: by the call that ends it. */
void weft_operation_start_gets(struct weft_win *win, struct weft_target *target,
                               struct weft_gets *gets);

/* What an operation has brought back. Returns what is wrong, or NULL. */
const char *weft_operation_on_data(struct weft_win *win, const struct weft_peer *from,
                                   const struct weft_pkt_rma_data *head,
                                   const void *bytes, size_t len);

/* Ends all operations on peers that have failed. */
void weft_operations_fail(void);

#endif
