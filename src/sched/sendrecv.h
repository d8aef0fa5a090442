/*
 * sendrecv.h - one request for a send and a receive.
 */
#ifndef WEFT_SCHED_SENDRECV_H
#define WEFT_SCHED_SENDRECV_H

#include "core/request.h"
#include "transfer/data.h"

/* What one of the two moves, and where. */
struct weft_side {
    int rank; /* or MPI_PROC_NULL: it is over at once */
    int tag;
    struct weft_data data;
};

/*
 * The request is complete when both are over, with the status of the receive. The error
 * of the receive counts before that of the send. A send that cannot start takes the
 * receive back. `copy`, or NULL, is memory that the send reads; it is freed at the end.
 * On failure nothing has begun, and `copy` is still the caller's. Takes the lock.
 */
WEFT_MUST_CHECK enum weft_rc weft_isendrecv(struct weft_comm *comm,
                                            const struct weft_side *send,
                                            const struct weft_side *recv, void *copy,
                                            struct weft_request **out);

/* After weft_p2p_open(), and before weft_p2p_close(). */
void weft_sendrecv_open(void);
void weft_sendrecv_close(void);

#endif
