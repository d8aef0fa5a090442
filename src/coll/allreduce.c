/*
 * allreduce.c - reduced to rank 0, which tells everyone: one rank has computed each bit,
 * so all have the same.
 */
#include "coll/coll.h"

enum weft_rc weft_allreduce(const struct weft_coll *coll, const void *send, void *recv,
                            size_t count, const struct weft_datatype *type, MPI_Op op)
{
    enum weft_rc rc = weft_reduce(coll, send, recv, count, type, op, 0);

    return rc == WEFT_OK ? weft_bcast(coll, recv, count * (size_t)type->extent, 0) : rc;
}
