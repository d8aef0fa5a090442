/*
 * bcast.c - a binomial tree: whoever has the data passes it on to the half of the ranks
 * behind it that does not, so that everyone has it after log2(size) steps.
 */
#include "coll/step.h"

enum weft_rc weft_bcast(const struct weft_coll *coll, void *buffer, size_t bytes,
                        int root)
{
    const struct weft_comm *comm = coll->comm;
    const int position = weft_coll_position(comm, comm->rank, root);
    int distance = 1; /* to the parent; the children are nearer */
    enum weft_rc rc = WEFT_OK;

    if (bytes == 0) {
        return WEFT_OK;
    }
    while (distance < comm->size && (position & distance) == 0) {
        distance *= 2;
    }
    if (position != 0) {
        rc = weft_coll_recv(coll, weft_coll_rank_at(comm, position - distance, root),
                            buffer, bytes);
    }
    for (distance /= 2; distance > 0 && rc == WEFT_OK; distance /= 2) {
        if (position + distance < comm->size) {
            rc = weft_coll_send(coll, weft_coll_rank_at(comm, position + distance, root),
                                buffer, bytes);
        }
    }
    return rc;
}
