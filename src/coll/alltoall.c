/*
 * alltoall.c - pairs: in step s the ranks whose sum is s, modulo the size, exchange their
 * blocks. Everyone meets everyone once, and both sides of a pair at the same step, so
 * that an exchange in place needs to set aside no more than one block.
 */
#include "coll/step.h"

#include <stdlib.h>
#include <string.h>

enum weft_rc weft_alltoall(const struct weft_coll *coll, const void *send,
                           size_t send_bytes, void *recv, size_t recv_bytes)
{
    const struct weft_comm *comm = coll->comm;
    void *aside = NULL;
    enum weft_rc rc = WEFT_OK;

    if (recv_bytes == 0) {
        return WEFT_OK;
    }
    if (send == MPI_IN_PLACE) {
        send_bytes = recv_bytes;
        aside = malloc(recv_bytes);
        if (aside == NULL) {
            return WEFT_ERR_NOMEM;
        }
    }
    for (int step = 0; step < comm->size && rc == WEFT_OK; step++) {
        const int peer = weft_coll_position(comm, step, comm->rank);
        char *to = weft_coll_block(recv, recv_bytes, peer);
        const char *from = aside != NULL ? memcpy(aside, to, recv_bytes)
                                         : (const char *)send + send_bytes * (size_t)peer;

        if (peer != comm->rank) {
            rc = weft_coll_exchange(coll, peer, from, send_bytes, peer, to, recv_bytes);
        } else if (aside == NULL) {
            rc = weft_coll_copy(from, send_bytes, to, recv_bytes);
        }
    }
    free(aside);
    return rc;
}
