/*
 * reduce.c - a binomial tree: each rank combines what it has with what its children send,
 * nearest first whoever is ready first, and passes the outcome to its parent. What it has
 * always comes from lower positions than what a child sends, so it is the left operand.
 */
#include "coll/step.h"

#include "datatype/reduce.h"

#include <stdlib.h>
#include <string.h>

/* What a rank has so far, and the two buffers that it and the next arrival lie in. */
struct partial {
    const void *have; /* the user's data, then one of the buffers */
    char *buffers;    /* NULL: a rank without children needs none */
    bool is_second;   /* the next arrival goes into the second one */
};

static enum weft_rc add_child(const struct weft_coll *coll, int child, size_t count,
                              const struct weft_datatype *type, MPI_Op op,
                              struct partial *partial)
{
    const size_t bytes = count * (size_t)type->extent;
    char *arrival;
    enum weft_rc rc;

    if (partial->buffers == NULL) {
        partial->buffers = reallocarray(NULL, 2, bytes);
        if (partial->buffers == NULL) {
            return WEFT_ERR_NOMEM;
        }
    }
    arrival = partial->buffers + (partial->is_second ? bytes : 0);
    rc = weft_coll_recv(coll, child, arrival, bytes);
    if (rc == WEFT_OK) {
        weft_reduce_apply(op, type, partial->have, arrival, count);
        partial->have = arrival;
        partial->is_second = !partial->is_second;
    }
    return rc;
}

enum weft_rc weft_reduce(const struct weft_coll *coll, const void *send, void *recv,
                         size_t count, const struct weft_datatype *type, MPI_Op op,
                         int root)
{
    const struct weft_comm *comm = coll->comm;
    const int position = weft_coll_position(comm, comm->rank, root);
    const size_t bytes = count * (size_t)type->extent;
    struct partial partial = {.have = send == MPI_IN_PLACE ? recv : send};
    int distance = 1;
    enum weft_rc rc = WEFT_OK;

    if (bytes == 0) {
        return WEFT_OK;
    }
    while (distance < comm->size && (position & distance) == 0 && rc == WEFT_OK) {
        if (position + distance < comm->size) {
            rc = add_child(coll, weft_coll_rank_at(comm, position + distance, root),
                           count, type, op, &partial);
        }
        distance *= 2;
    }
    if (rc == WEFT_OK && position != 0) {
        rc = weft_coll_send(coll, weft_coll_rank_at(comm, position - distance, root),
                            partial.have, bytes);
    } else if (rc == WEFT_OK && partial.have != recv) {
        memcpy(recv, partial.have, bytes);
    }
    free(partial.buffers);
    return rc;
}
