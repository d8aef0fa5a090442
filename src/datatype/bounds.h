/*
 * bounds.h - size, extent and alignment of a type (MPI-5.0, 5.1.7). Needs the library's
 * lock.
 */
#ifndef WEFT_DATATYPE_BOUNDS_H
#define WEFT_DATATYPE_BOUNDS_H

#include "datatype/datatype.h"

/* Fills them in, from the type's contents. WEFT_ERR_ARGUMENT: 63 bits cannot say them. */
WEFT_MUST_CHECK enum weft_rc weft_find_bounds(struct weft_datatype *type);

#endif
