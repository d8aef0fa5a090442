/*
 * operation.h - the object behind an operation handle (MPI_Op): a predefined operation,
 * or a function of the user.
 *
 * The predefined operations are a table of constants without reference counts. An
 * operation of the user has a reference for its handle, until MPI_Op_free, and one for
 * each collective that uses it. Making, keeping and releasing need the library's lock. A
 * caller that holds a reference may read and apply the operation without it.
 */
#ifndef WEFT_DATATYPE_OPERATION_H
#define WEFT_DATATYPE_OPERATION_H

#include "datatype/datatype.h"

struct weft_operation {
    MPI_Op handle;
    MPI_User_function *function; /* one of these two; both NULL: predefined */
    MPI_User_function_c *function_c;
    bool commutes;
    bool is_freed; /* the user's handle is gone */
    uint32_t references;
};

/* The operation behind a handle, or NULL: MPI_OP_NULL, stale, not one. */
struct weft_operation *weft_operation_from_handle(MPI_Op handle);

/* Is it a function of the user? */
static inline bool weft_operation_is_user(const struct weft_operation *op)
{
    return op->function != NULL || op->function_c != NULL;
}

/* Is the operation defined for this type? One of the user is defined for every type. */
bool weft_operation_is_defined(const struct weft_operation *op,
                               const struct weft_datatype *type);

/* Makes an operation of the user; exactly one of the functions is not NULL. Its one
 * reference is that of the user's handle. */
WEFT_MUST_CHECK enum weft_rc weft_operation_new(MPI_User_function *function,
                                                MPI_User_function_c *function_c,
                                                bool commutes,
                                                struct weft_operation **out);

/* MPI_Op_free: gives back the reference of the user's handle. */
void weft_operation_free(struct weft_operation *op);

void weft_operation_keep(struct weft_operation *op);
void weft_operation_release(struct weft_operation *op);

/*
 * inout[i] = in[i] op inout[i], for `count` elements of a type for which the operation is
 * defined; the two do not overlap. A function of the user gets at most as many elements
 * at a time as its count can say.
 */
void weft_operation_apply(const struct weft_operation *op, struct weft_datatype *type,
                          const void *in, void *inout, uint64_t count);

#endif
