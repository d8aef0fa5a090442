/*
 * call.h - a one-sided operation as the program has called it.
 */
#ifndef WEFT_RMA_CALL_H
#define WEFT_RMA_CALL_H

#include "rma/runs.h"
#include "transfer/data.h"

/* What the user wants; checked in bindings/. */
struct weft_rma_call {
    const char *name; /* of the MPI function */
    enum weft_rma_kind kind;
    struct weft_data origin;           /* what goes there */
    struct weft_data compare;          /* of a compare and swap */
    struct weft_data result;           /* where what comes back goes */
    struct weft_where where;           /* `at` in bytes from the target's base */
    const struct weft_datatype *basic; /* of an accumulate's elements, or NULL */
    MPI_Op op;
    uint64_t bytes; /* that move */
    int target;
};

/* A datatype of a call, or NULL, stays until it is released as often; with the lock. */
static inline void weft_call_keep_type(struct weft_datatype *type)
{
    if (type != NULL) {
        weft_datatype_keep(type);
    }
}

static inline void weft_call_release_type(struct weft_datatype *type)
{
    if (type != NULL) {
        weft_datatype_release(type);
    }
}

/* Where an operation lies in its target's memory of `size` bytes; false: not in one block
 * there. */
static inline bool weft_rma_find_place(const struct weft_rma_call *call, uint64_t size,
                                       uint64_t *at)
{
    const struct weft_data there =
        weft_data_of((const void *)(uintptr_t)call->where.at,
                     (MPI_Count)call->where.count, call->where.type, call->bytes);

    *at = (uint64_t)(uintptr_t)there.buffer;
    return there.type == NULL && *at <= size && call->bytes <= size - *at;
}

#endif
