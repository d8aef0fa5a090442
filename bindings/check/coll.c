#include "check/coll.h"

#include "check/p2p.h"
#include "datatype/reduce.h"

int weft_check_coll(const char *function, MPI_Comm handle, struct weft_comm **out)
{
    int err = weft_check_comm(function, handle, out);

    if (weft_unlikely(err == MPI_SUCCESS && weft_comm_is_inter(*out))) {
        err = weft_raise_comm(*out, MPI_ERR_UNSUPPORTED_OPERATION, function,
                              "this version has no collectives on intercommunicators");
    }
    return err;
}

int weft_check_root(const char *function, struct weft_comm *comm, int root)
{
    if (weft_likely((unsigned)root < (unsigned)comm->size)) {
        return MPI_SUCCESS;
    }
    return weft_raise_comm(comm, MPI_ERR_ROOT, function,
                           "the root is %d, but ranks go from 0 to %d", root,
                           comm->size - 1);
}

int weft_check_blocks(const char *function, struct weft_comm *comm,
                      struct weft_blocks *blocks)
{
    size_t all;
    int err = weft_check_buffer(function, comm, blocks->buffer, blocks->count,
                                blocks->datatype, &blocks->bytes);

    if (weft_unlikely(err != MPI_SUCCESS)) {
        return err;
    }
    blocks->type = weft_datatype_from_handle(blocks->datatype);
    if (weft_unlikely(blocks->buffer == MPI_IN_PLACE)) {
        return weft_raise_comm(comm, MPI_ERR_BUFFER, function,
                               "MPI_IN_PLACE is not allowed for this buffer here");
    }
    if (weft_unlikely(blocks->is_for_each &&
                      __builtin_mul_overflow(blocks->bytes, (size_t)comm->size, &all))) {
        return weft_raise_comm(comm, MPI_ERR_COUNT, function,
                               "%lld elements for each of %d ranks are more than memory "
                               "can hold",
                               (long long)blocks->count, comm->size);
    }
    return MPI_SUCCESS;
}

int weft_check_sides(const char *function, struct weft_comm *comm,
                     struct weft_blocks *send, struct weft_blocks *recv)
{
    uintptr_t own;
    int err = weft_check_blocks(function, comm, recv);

    if (weft_unlikely(err != MPI_SUCCESS) || send->buffer == MPI_IN_PLACE) {
        return err;
    }
    err = weft_check_blocks(function, comm, send);
    if (weft_unlikely(err != MPI_SUCCESS) || recv->bytes == 0) {
        return err;
    }
    own = (uintptr_t)recv->buffer;
    if (recv->is_for_each && !send->is_for_each) {
        own += (uintptr_t)recv->count * (uintptr_t)recv->type->extent *
               (uintptr_t)comm->rank;
    }
    /* Types with absolute addresses all start at MPI_BOTTOM. */
    if (weft_unlikely((uintptr_t)send->buffer == own && own != 0)) {
        return weft_raise_comm(comm, MPI_ERR_BUFFER, function,
                               "both buffers are the same: use MPI_IN_PLACE");
    }
    return MPI_SUCCESS;
}

int weft_check_op(const char *function, struct weft_comm *comm, MPI_Op op,
                  const struct weft_datatype *type)
{
    const char *name = weft_reduce_name(op);
    char text[WEFT_DATATYPE_TEXT];

    if (weft_likely(weft_reduce_is_defined(op, type))) {
        return MPI_SUCCESS;
    }
    if (name != NULL) {
        return weft_raise_comm(comm, MPI_ERR_OP, function, "%s is not defined for %s",
                               name, weft_datatype_describe(type, text, sizeof(text)));
    }
    return weft_raise_comm(comm, MPI_ERR_OP, function, "%s",
                           weft_describe_handle(WEFT_KIND_OP, op, text, sizeof(text)));
}
