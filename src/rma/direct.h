/*
 * direct.h - operations on members whose memory this process reaches by itself (near.h):
 * they are over, here and there, when the call returns. Without the library's lock.
 *
 * Accumulates are done by plain arithmetic, under the member's word (update.h).
 */
#ifndef WEFT_RMA_DIRECT_H
#define WEFT_RMA_DIRECT_H

#include "rma/call.h"
#include "rma/near.h"

/* WEFT_ERR_ADDRESS: memory cannot be read or written; WEFT_ERR_PROC_FAILED: the member
 * has failed. */
WEFT_MUST_CHECK enum weft_rc weft_direct_run(struct weft_win *win,
                                             const struct weft_near *near,
                                             const struct weft_rma_call *call);

/* One block, from the member's byte `at` on, to or from its memory, which is reached by
 * copies. False: it could not be copied. */
WEFT_MUST_CHECK bool weft_direct_copy(const struct weft_near *near, uint64_t at,
                                      void *ours, size_t bytes, bool is_put);

#endif
