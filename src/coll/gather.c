/*
 * gather.c - everyone sends to the root, which has receives posted for a few ranks at a
 * time: messages go straight to their place, and the list of receives stays short.
 */
#include "coll/step.h"

enum { WINDOW = 64 };

/* From ranks `first` up to `end`; waits for every receive that was posted. */
static enum weft_rc gather_from(const struct weft_coll *coll, void *recv, size_t bytes,
                                int first, int end)
{
    struct weft_coll_step steps[WINDOW];
    int posted = 0;
    enum weft_rc rc = WEFT_OK;

    for (int rank = first; rank < end && rc == WEFT_OK; rank++) {
        if (rank != coll->comm->rank) {
            rc = weft_coll_post(coll, rank, weft_coll_block(recv, bytes, rank), bytes,
                                &steps[posted]);
            posted += rc == WEFT_OK;
        }
    }
    for (int i = 0; i < posted; i++) {
        enum weft_rc finished = weft_coll_finish(coll, &steps[i]);

        rc = rc == WEFT_OK ? finished : rc;
    }
    return rc;
}

enum weft_rc weft_gather(const struct weft_coll *coll, const void *send,
                         size_t send_bytes, void *recv, size_t recv_bytes, int root)
{
    const struct weft_comm *comm = coll->comm;
    enum weft_rc rc = WEFT_OK;

    if (comm->rank != root) {
        return send_bytes > 0 ? weft_coll_send(coll, root, send, send_bytes) : WEFT_OK;
    }
    if (recv_bytes == 0) {
        return WEFT_OK;
    }
    for (int first = 0; first < comm->size && rc == WEFT_OK; first += WINDOW) {
        int end = comm->size - first < WINDOW ? comm->size : first + WINDOW;

        rc = gather_from(coll, recv, recv_bytes, first, end);
    }
    if (rc == WEFT_OK && send != MPI_IN_PLACE) {
        rc = weft_coll_copy(send, send_bytes, weft_coll_block(recv, recv_bytes, root),
                            recv_bytes);
    }
    return rc;
}
