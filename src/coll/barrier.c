/*
 * barrier.c - a binomial tree: up goes that all below have come, down that all have.
 */
#include "coll/step.h"

enum weft_rc weft_barrier(const struct weft_coll *coll)
{
    const struct weft_comm *comm = coll->comm;
    int distance = 1; /* to the parent; the children are nearer */
    enum weft_rc rc = WEFT_OK;

    while (distance < comm->size && (comm->rank & distance) == 0 && rc == WEFT_OK) {
        if (comm->rank + distance < comm->size) {
            rc = weft_coll_recv(coll, comm->rank + distance, NULL, 0);
        }
        distance *= 2;
    }
    if (comm->rank != 0 && rc == WEFT_OK) {
        rc = weft_coll_send(coll, comm->rank - distance, NULL, 0);
        if (rc == WEFT_OK) {
            rc = weft_coll_recv(coll, comm->rank - distance, NULL, 0);
        }
    }
    for (distance /= 2; distance > 0 && rc == WEFT_OK; distance /= 2) {
        if (comm->rank + distance < comm->size) {
            rc = weft_coll_send(coll, comm->rank + distance, NULL, 0);
        }
    }
    return rc;
}
