/*
 * apply.h - the arithmetic of accumulates, on packed elements of a predefined type.
 *
 * Nothing here locks, allocates or fails. Memory need not be aligned.
 */
#ifndef WEFT_RMA_APPLY_H
#define WEFT_RMA_APPLY_H

#include "datatype/datatype.h"

/* Is the operation one that an accumulate may have on this type? */
bool weft_rma_is_defined(MPI_Op op, const struct weft_datatype *type);

/* Is it an integer, a logical, a type of several languages or a byte? */
bool weft_rma_can_swap(const struct weft_datatype *type);

/* values[i] = values[i] op in[i], for as many elements as `bytes` are. */
void weft_rma_apply(MPI_Op op, const struct weft_datatype *type, const void *in,
                    void *values, size_t bytes);

/* Replaces the element at `value` by `by` if it equals `compare`. */
void weft_rma_swap(const struct weft_datatype *type, const void *compare, const void *by,
                   void *value);

#endif
