/*
 * fortran.h - finds types by what they can hold (MPI-5.0, 19.1.5): Fortran's parametrised
 * kinds, the type of a class and size, and pairs of value and index.
 *
 * Types made here are predefined: they are committed and never freed, and the same
 * arguments give the same type. All functions need the library's lock.
 */
#ifndef WEFT_DATATYPE_FORTRAN_H
#define WEFT_DATATYPE_FORTRAN_H

#include "datatype/construct.h"

/*
 * `combiner` is F90_REAL, F90_COMPLEX or F90_INTEGER, whose precision is MPI_UNDEFINED.
 * WEFT_ERR_ARGUMENT: no type has this precision and range.
 */
WEFT_MUST_CHECK enum weft_rc weft_type_f90(int combiner, int precision, int range,
                                           struct weft_datatype **out);

/* The type of a class, MPI_TYPECLASS_*, with `size` bytes; MPI_DATATYPE_NULL: none. */
MPI_Datatype weft_type_match_size(int class, size_t size);

/* The type for MPI_MINLOC and MPI_MAXLOC with this value and index; MPI_DATATYPE_NULL:
 * none. */
MPI_Datatype weft_type_value_index(MPI_Datatype value, MPI_Datatype index);

#endif
