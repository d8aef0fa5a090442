/*
 * bounds.h - computes size, bounds, extents and alignment of a type (MPI-5.0, 5.1.7).
 *
 * The library's lock is needed.
 */
#ifndef WEFT_DATATYPE_BOUNDS_H
#define WEFT_DATATYPE_BOUNDS_H

#include "datatype/datatype.h"

/* Fills in these fields of `type` from its contents. Returns WEFT_ERR_ARGUMENT if one of
 * them does not fit into 63 bits. */
WEFT_MUST_CHECK enum weft_rc weft_find_bounds(struct weft_datatype *type);

#endif
