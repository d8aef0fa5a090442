/*
 * start.h - where operations begin: straight to memory (direct.h), into a packet with
 * others (combine.h), straight to memory over a network (far.h), or by packets
 * (operation.h).
 */
#ifndef WEFT_RMA_START_H
#define WEFT_RMA_START_H

#include "rma/call.h"
#include "rma/win.h"

/*
 * Takes the lock. Starts an operation in an epoch that allows it. If `request` is not
 * NULL, *request gets a request that is complete when the buffers are the user's again;
 * it stays as it was if they are when the call returns.
 */
WEFT_MUST_CHECK enum weft_rc weft_rma_start(struct weft_win *win,
                                            const struct weft_rma_call *call,
                                            struct weft_request **request);

#endif
