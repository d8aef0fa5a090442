/*
 * coll.h - collective operations, each in a file of its own, over messages.
 *
 * The functions trust their arguments: bindings/ have checked them. Sizes are bytes: of
 * the whole buffer, or of one rank's block where there is one for each. Where the
 * standard allows MPI_IN_PLACE as `send`, it comes down to here as it is. The caller owns
 * every buffer. They take the lock themselves, return when this rank's part is done and
 * never return WEFT_AGAIN.
 *
 * All messages travel on the communicator's collective plane. Two ranks' messages stay in
 * order there and all ranks call in the same order, so a constant tag is enough; one of
 * its own for each kind keeps calls apart that do not belong together.
 *
 * The rank that finds a failure returns it; the other ranks may then wait for ever. If a
 * member has died, no rank waits: operations that depend on it fail, or end as if their
 * messages had been received, and every later call on that communicator fails.
 */
#ifndef WEFT_COLL_COLL_H
#define WEFT_COLL_COLL_H

#include "core/comm.h"
#include "datatype/datatype.h"

enum weft_coll_kind {
    WEFT_COLL_BCAST,
    WEFT_COLL_REDUCE,
    WEFT_COLL_ALLREDUCE,
    WEFT_COLL_GATHER,
    WEFT_COLL_ALLGATHER,
    WEFT_COLL_ALLTOALL,
    WEFT_COLL_BARRIER,
    WEFT_COLL_KINDS,
};

/* The communicator and the MPI name of the call, which a hanging job's report shows. */
struct weft_coll {
    struct weft_comm *comm;
    const char *name;
    enum weft_coll_kind kind;
};

/* Returns when every member has called it. */
WEFT_MUST_CHECK enum weft_rc weft_barrier(const struct weft_coll *coll);

WEFT_MUST_CHECK enum weft_rc weft_bcast(const struct weft_coll *coll, void *buffer,
                                        size_t bytes, int root);

/*
 * Elements are combined in an order that depends on size and root alone, so that a
 * program that runs twice gets the same bits twice. `recv` is written at the root only.
 */
WEFT_MUST_CHECK enum weft_rc weft_reduce(const struct weft_coll *coll, const void *send,
                                         void *recv, size_t count,
                                         const struct weft_datatype *type, MPI_Op op,
                                         int root);

/* All ranks get the same bits. */
WEFT_MUST_CHECK enum weft_rc weft_allreduce(const struct weft_coll *coll,
                                            const void *send, void *recv, size_t count,
                                            const struct weft_datatype *type, MPI_Op op);

/* `recv` and its size matter at the root only, `send` and its size not if in place. */
WEFT_MUST_CHECK enum weft_rc weft_gather(const struct weft_coll *coll, const void *send,
                                         size_t send_bytes, void *recv, size_t recv_bytes,
                                         int root);
WEFT_MUST_CHECK enum weft_rc weft_allgather(const struct weft_coll *coll,
                                            const void *send, size_t send_bytes,
                                            void *recv, size_t recv_bytes);
WEFT_MUST_CHECK enum weft_rc weft_alltoall(const struct weft_coll *coll, const void *send,
                                           size_t send_bytes, void *recv,
                                           size_t recv_bytes);

#endif
