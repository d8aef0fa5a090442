/*
 * compile.h - from a description to a layout. Needs the library's lock.
 */
#ifndef WEFT_DATATYPE_COMPILE_H
#define WEFT_DATATYPE_COMPILE_H

#include "datatype/datatype.h"

/* Fills the type's layout, and those of the types it is made of, unless it has one. */
WEFT_MUST_CHECK enum weft_rc weft_compile(struct weft_datatype *type);

#endif
