/*
 * elements.h - a type seen as its basic elements, in order. Needs no layout and no lock.
 */
#ifndef WEFT_DATATYPE_ELEMENTS_H
#define WEFT_DATATYPE_ELEMENTS_H

#include "datatype/datatype.h"

/* Basic elements in the first `bytes` packed ones of a row of elements; -1: no number. */
MPI_Count weft_elements_in(const struct weft_datatype *type, uint64_t bytes);

/* Packed bytes of the first `elements` basic ones; -1: too many to say. */
MPI_Count weft_elements_bytes(const struct weft_datatype *type, uint64_t elements);

/* Told of `count` elements of a predefined type in a row; false ends the walk. */
typedef bool weft_element_fn(void *context, const struct weft_datatype *basic,
                             uintptr_t memory, uint64_t count);

/* Calls `fn` for all elements in packing order; false if one of its calls was. */
bool weft_elements_visit(const struct weft_datatype *type, uintptr_t memory,
                         uint64_t count, weft_element_fn *fn, void *context);

#endif
