/*
 * allgather.c - a ring: everyone hands the block it got last to the rank behind it, and
 * has all of them after size - 1 steps.
 */
#include "coll/step.h"

enum weft_rc weft_allgather(const struct weft_coll *coll, const void *send,
                            size_t send_bytes, void *recv, size_t recv_bytes)
{
    const struct weft_comm *comm = coll->comm;
    const int next = comm->rank + 1 < comm->size ? comm->rank + 1 : 0;
    const int previous = comm->rank > 0 ? comm->rank - 1 : comm->size - 1;
    int newest = comm->rank; /* whose block came last */
    enum weft_rc rc = WEFT_OK;

    if (recv_bytes == 0) {
        return WEFT_OK;
    }
    if (send != MPI_IN_PLACE) {
        rc = weft_coll_copy(send, send_bytes, weft_coll_block(recv, recv_bytes, newest),
                            recv_bytes);
    }
    for (int step = 1; step < comm->size && rc == WEFT_OK; step++) {
        int coming = newest > 0 ? newest - 1 : comm->size - 1;

        rc = weft_coll_exchange(coll, next, weft_coll_block(recv, recv_bytes, newest),
                                recv_bytes, previous,
                                weft_coll_block(recv, recv_bytes, coming), recv_bytes);
        newest = coming;
    }
    return rc;
}
