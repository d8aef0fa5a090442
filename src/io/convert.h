/*
 * convert.h - data between memory and the representation of a file.
 *
 * Sizes and layouts of types in a file are those of their basic elements there. Needs no
 * lock. Functions of the user are called on the caller's thread.
 */
#ifndef WEFT_IO_CONVERT_H
#define WEFT_IO_CONVERT_H

#include "io/representation.h"
#include "io/view.h"

/* The bytes that `count` elements of a type take in the data of a view. */
uint64_t weft_convert_bytes(const struct weft_view *view,
                            const struct weft_datatype *type, MPI_Count count);

/* Fills in `in_file`, with a reference of the caller's, and `etype_bytes` of a view.
 * Takes the lock. Returns a fault. */
WEFT_MUST_CHECK int weft_convert_view(struct weft_view *view);

/* The extent of a type in a file. Takes the lock. Returns a fault. */
WEFT_MUST_CHECK int weft_convert_extent(const struct weft_representation *representation,
                                        struct weft_datatype *type, MPI_Count *extent);

#endif
