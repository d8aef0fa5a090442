/*
 * bcast.c - a binomial tree: whoever has the data passes it on to the half of the ranks
 * behind it that does not, so that everyone has it after log2(size) steps.
 */
#include "coll/step.h"

enum weft_rc weft_bcast(const struct weft_coll *coll, void *buffer, size_t bytes,
                        int root)
{
    const struct weft_comm *comm = coll->comm;
    const int place = weft_coll_place(comm, comm->rank, root);
    int distance = 1; /* to the parent; the children are nearer */
    enum weft_rc rc = WEFT_OK;

    if (bytes == 0) {
        return WEFT_OK;
    }
    while (distance < comm->size && (place & distance) == 0) {
        distance *= 2;
    }
    if (place != 0) {
        rc = weft_coll_recv(coll, weft_coll_rank_at(comm, place - distance, root), buffer,
                            bytes);
    }
    for (distance /= 2; distance > 0 && rc == WEFT_OK; distance /= 2) {
        if (place + distance < comm->size) {
            rc = weft_coll_send(coll, weft_coll_rank_at(comm, place + distance, root),
                                buffer, bytes);
        }
    }
    return rc;
}
