/*
 * elements.h - counts and visits the basic elements of a type, in packing order.
 *
 * A basic element is one of a predefined type. The functions use the description of the
 * type, not its layout, and need no lock.
 */
#ifndef WEFT_DATATYPE_ELEMENTS_H
#define WEFT_DATATYPE_ELEMENTS_H

#include "datatype/datatype.h"

/* How many basic elements the first `bytes` packed bytes of a row of elements hold; -1: a
 * basic element is cut. */
MPI_Count weft_elements_in(const struct weft_datatype *type, uint64_t bytes);

/* How many packed bytes the first `elements` basic elements have; -1: more than 63 bits
 * can say. */
MPI_Count weft_elements_bytes(const struct weft_datatype *type, uint64_t elements);

/* Called with `count` elements of a predefined type, one after the other in memory; if it
 * returns false, the walk ends. */
typedef bool weft_element_fn(void *context, const struct weft_datatype *basic,
                             uintptr_t memory, uint64_t count);

/* Calls `fn` for all basic elements of `count` elements at `memory`, in packing order;
 * returns false if `fn` has ended the walk. */
bool weft_elements_visit(const struct weft_datatype *type, uintptr_t memory,
                         uint64_t count, weft_element_fn *fn, void *context);

#endif
