/*
 * external.h - the portable representation "external32" (MPI-5.0, 14.5.2): big-endian,
 * with the sizes of the standard's table, no gaps. A long has four bytes there, whatever
 * it has here; a long double is IEEE binary128.
 *
 * Elements are converted one by one, by the description of the type. The caller provides
 * enough memory (weft_external_size). No function locks or fails.
 */
#ifndef WEFT_DATATYPE_EXTERNAL_H
#define WEFT_DATATYPE_EXTERNAL_H

#include "datatype/datatype.h"

/* The bytes of one element in this representation. */
uint64_t weft_external_size(const struct weft_datatype *type);

/* Converts `count` elements at `buffer` to `packed`, or back. */
void weft_external_pack(const struct weft_datatype *type, const void *buffer,
                        uint64_t count, void *packed);
void weft_external_unpack(const struct weft_datatype *type, void *buffer, uint64_t count,
                          const void *packed);

/* Converts back what the first `bytes` bytes at `packed` have of `count` elements: all
 * basic elements that are whole, also of a derived one that is not. Returns how many
 * packed bytes they have here. */
uint64_t weft_external_unpack_some(const struct weft_datatype *type, void *buffer,
                                   uint64_t count, const void *packed, uint64_t bytes);

#endif
