/*
 * coll.h - argument checks of collective calls: see check.h for what they answer.
 */
#ifndef WEFT_CHECK_COLL_H
#define WEFT_CHECK_COLL_H

#include "check/check.h"
#include "check/record.h"
#include "coll/coll.h"

/* One side of a call, as the user wrote it: see struct weft_coll_side. */
struct weft_call_side {
    const void *buffer;
    MPI_Count count;
    MPI_Datatype datatype;
    const void *counts;
    const void *displs;
    const MPI_Datatype *datatypes;
    bool has_large_counts;
    bool has_large_displs;
};

/* A collective call, as the user wrote it. */
struct weft_call {
    const char *function;
    enum weft_call_number number;
    const void *site; /* the caller's return address */
    enum weft_coll_kind kind;
    MPI_Comm comm;
    int root;
    MPI_Op op;
    struct weft_call_side send;
    struct weft_call_side recv;
};

/*
 * Checks all arguments that matter on this rank, and describes the call. What it needs
 * besides is freed by weft_coll_forget(), also after a failure.
 */
int weft_check_call(const struct weft_call *call, struct weft_coll *coll);
void weft_coll_forget_lists(struct weft_coll *coll);

/* Only calls with types of their own, and those of neighbourhoods, have lists. */
static inline void weft_coll_forget(struct weft_coll *coll)
{
    if (weft_unlikely(coll->send.types != NULL || coll->recv.types != NULL ||
                      coll->around.sources != NULL)) {
        weft_coll_forget_lists(coll);
    }
}

/* An operation that is defined for a type. */
int weft_check_op(const char *function, struct weft_comm *comm, MPI_Op op,
                  const struct weft_datatype *type, struct weft_operation **out);

#endif
