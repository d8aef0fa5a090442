/*
 * in_file.h - a datatype with the sizes that its basic elements have in a file.
 *
 * Displacements that count elements become wider or narrower with them; displacements in
 * bytes stay (MPI-5.0, 14.5.1). A type whose elements are the same in file and memory is
 * its own. Takes the lock for short times, and calls functions of the user without it.
 */
#ifndef WEFT_IO_IN_FILE_H
#define WEFT_IO_IN_FILE_H

#include "datatype/datatype.h"
#include "io/representation.h"

/* The bytes of data of one element in a file. Returns a fault. */
WEFT_MUST_CHECK int weft_in_file_size(const struct weft_representation *representation,
                                      const struct weft_datatype *type, uint64_t *bytes);

/* The type in a file, committed; one reference of *out is the caller's. Returns a fault.
 */
WEFT_MUST_CHECK int weft_in_file_type(const struct weft_representation *representation,
                                      struct weft_datatype *type,
                                      struct weft_datatype **out);

#endif
