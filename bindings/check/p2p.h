/*
 * p2p.h - argument checks of point-to-point calls: see check.h for what they answer.
 */
#ifndef WEFT_CHECK_P2P_H
#define WEFT_CHECK_P2P_H

#include "check/check.h"
#include "datatype/datatype.h"

int weft_bad_buffer(const char *function, struct weft_comm *comm, const void *buffer,
                    MPI_Count count, MPI_Datatype datatype);

/*
 * Is it one block of a predefined type, of less than 4 GiB, and nothing to complain
 * about? Then *bytes is its size. Found without a call, so that the callers need not save
 * their arguments.
 */
static inline bool weft_is_plain_buffer(const void *buffer, MPI_Count count,
                                        MPI_Datatype datatype, uint32_t *bytes)
{
    const uintptr_t at = (uintptr_t)datatype - WEFT_DATATYPE_FIRST;

    return at < WEFT_DATATYPE_COUNT && weft_datatypes[at].is_plain && count >= 0 &&
           count <= INT32_MAX && buffer != NULL &&
           !__builtin_mul_overflow((uint32_t)count, (uint32_t)weft_datatypes[at].size,
                                   bytes);
}

/* The same for blocks of any size: the product of an int and the size of a predefined
 * type does not overflow. */
static inline bool weft_is_plain_block(const void *buffer, MPI_Count count,
                                       MPI_Datatype datatype, size_t *bytes)
{
    const uintptr_t at = (uintptr_t)datatype - WEFT_DATATYPE_FIRST;

    if (weft_unlikely(at >= WEFT_DATATYPE_COUNT || !weft_datatypes[at].is_plain ||
                      count < 0 || count > INT32_MAX || buffer == NULL)) {
        return false;
    }
    *bytes = (size_t)count * weft_datatypes[at].size;
    return true;
}

/*
 * Checks a buffer of `count` elements of a committed type; the size of their data goes to
 * *bytes. Derived types may have absolute addresses, so that NULL is MPI_BOTTOM for them.
 */
static inline int weft_check_buffer(const char *function, struct weft_comm *comm,
                                    const void *buffer, MPI_Count count,
                                    MPI_Datatype datatype, size_t *bytes)
{
    const struct weft_datatype *type = weft_datatype_from_handle(datatype);

    if (weft_likely(type != NULL && type->is_committed && count >= 0 &&
                    !__builtin_mul_overflow((size_t)count, type->size, bytes) &&
                    (buffer != NULL || *bytes == 0 || type->contents != NULL))) {
        return MPI_SUCCESS;
    }
    return weft_refused(weft_bad_buffer(function, comm, buffer, count, datatype));
}

int weft_bad_dest(const char *function, struct weft_comm *comm, int dest, int tag);
int weft_bad_source(const char *function, struct weft_comm *comm, int source, int tag);

/* A rank of the communicator and a tag, no wildcard and no MPI_PROC_NULL? */
static inline bool weft_is_plain_rank(const struct weft_comm *comm, int rank, int tag)
{
    return (unsigned)rank < (unsigned)comm->peers && tag >= 0;
}

/* MPI_PROC_NULL is allowed in both; wildcards where a message is received. */
static inline int weft_check_dest(const char *function, struct weft_comm *comm, int dest,
                                  int tag)
{
    return weft_likely(weft_is_plain_rank(comm, dest, tag))
               ? MPI_SUCCESS
               : weft_bad_dest(function, comm, dest, tag);
}

static inline int weft_check_source(const char *function, struct weft_comm *comm,
                                    int source, int tag)
{
    return weft_likely(weft_is_plain_rank(comm, source, tag))
               ? MPI_SUCCESS
               : weft_bad_source(function, comm, source, tag);
}

#endif
