/*
 * compile.h - turns the description of a type (its contents) into a layout (layout.h),
 * by which its data are moved.
 *
 * The library's lock is needed.
 */
#ifndef WEFT_DATATYPE_COMPILE_H
#define WEFT_DATATYPE_COMPILE_H

#include "datatype/datatype.h"

/* Fills in the layouts of the type and of the types that it is made of, where they are
 * missing. Returns WEFT_ERR_NOMEM if there is no memory for them. */
WEFT_MUST_CHECK enum weft_rc weft_compile(struct weft_datatype *type);

#endif
