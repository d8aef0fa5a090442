/*
 * fortran.h - types by what they can hold (MPI-5.0, 19.1.5): Fortran's parametrised kinds
 * and the type of a class and size.
 *
 * Types made here are predefined: committed, never freed, and the same one each time. The
 * lock is needed.
 */
#ifndef WEFT_DATATYPE_FORTRAN_H
#define WEFT_DATATYPE_FORTRAN_H

#include "datatype/construct.h"

/*
 * `combiner` is F90_REAL, F90_COMPLEX or F90_INTEGER, whose precision is MPI_UNDEFINED.
 * WEFT_ERR_ARGUMENT: there is none that holds so much.
 */
WEFT_MUST_CHECK enum weft_rc weft_type_f90(int combiner, int precision, int range,
                                           struct weft_datatype **out);

/* MPI_DATATYPE_NULL: there is none. `class` is one of MPI_TYPECLASS_*. */
MPI_Datatype weft_type_match_size(int class, size_t size);

/* The pair of these, MPI_DATATYPE_NULL if there is none. */
MPI_Datatype weft_type_value_index(MPI_Datatype value, MPI_Datatype index);

#endif
