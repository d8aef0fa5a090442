/*
 * reduce.h - applies the predefined operations to elements of predefined types.
 *
 * Which operation is defined for which type is the table of MPI-5.0, 6.9.2. No
 * function allocates, locks or fails.
 */
#ifndef WEFT_DATATYPE_REDUCE_H
#define WEFT_DATATYPE_REDUCE_H

#include "datatype/datatype.h"

#include <stdbool.h>

/* The name of an operation, as "MPI_SUM"; NULL: it is not predefined, or only for
 * one-sided calls. */
const char *weft_reduce_name(MPI_Op op);

/* Is the operation defined for this type? False if weft_reduce_name() returns NULL. */
bool weft_reduce_is_defined(MPI_Op op, const struct weft_datatype *type);

/*
 * inout[i] = in[i] op inout[i]. The operation is defined for the type; the two do not
 * overlap and are aligned as the C type is. Integers wrap around. A minimum or maximum is
 * the outcome of one comparison, so where exactly one operand is not a number it may or
 * may not be the result. Of equal values MINLOC and MAXLOC take the lower index.
 */
void weft_reduce_apply(MPI_Op op, const struct weft_datatype *type, const void *in,
                       void *inout, size_t count);

#endif
