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

/* WEFT_ERR_ADDRESS: memory cannot be read or written; WEFT_ERR_ARGUMENT: the member has
 * taken its memory back; WEFT_ERR_PROC_FAILED: the member has failed;
 * WEFT_ERR_UNSUPPORTED: the kernel forbids it by now, and the operation is to go another
 * way, as no part of an accumulate was done. */
WEFT_MUST_CHECK enum weft_rc weft_direct_run(struct weft_win *win,
                                             const struct weft_near *near,
                                             const struct weft_rma_call *call);

/* One block, from the member's byte `at` on, to or from its memory, which is reached by
 * copies. False: it could not be copied. */
WEFT_MUST_CHECK bool weft_direct_copy(const struct weft_win *win,
                                      const struct weft_near *near, uint64_t at,
                                      void *ours, size_t bytes, bool is_put);

/* An accumulate of one block, or a compare and swap of one element. */
struct weft_direct_update {
    MPI_Op op;
    const struct weft_datatype *type;
    const void *in;
    const void
        *compare;   /* NULL: an accumulate, whose operation is defined for the type */
    void *old;      /* where the values before go, or NULL */
    uint32_t bytes; /* at most WEFT_DIRECT_UPDATE */
};
enum { WEFT_DIRECT_UPDATE = 1024 };

/* The same for an update, under the member's word: a read and a write. False: memory
 * could not be copied, and what is there is as before, unless a part of it could be
 * written. */
WEFT_MUST_CHECK bool weft_direct_change(struct weft_win *win,
                                        const struct weft_near *near, uint64_t at,
                                        const struct weft_direct_update *update);

#endif
