/*
 * construct.h - making datatypes of others.
 *
 * Each function trusts that its types live, that counts and blocklengths are not negative
 * and that arrays have as many entries as they should. It copies what it is given. On
 * success the caller owns one handle of *out. WEFT_ERR_ARGUMENT: the type would be larger
 * than 63 bits can say.
 *
 * The numbers of a call come either as int, with MPI_Aint for what is in bytes, or all as
 * MPI_Count (the functions with _c): struct weft_numbers hides which, so that there is
 * one function for both and the contents tell what was called.
 *
 * The library's lock is needed.
 */
#ifndef WEFT_DATATYPE_CONSTRUCT_H
#define WEFT_DATATYPE_CONSTRUCT_H

#include "datatype/datatype.h"

/* An array of the user's, of one of three widths; the others are NULL. */
struct weft_numbers {
    const int *integer;
    const MPI_Aint *address;
    const MPI_Count *count;
};

static inline MPI_Count weft_number_at(const struct weft_numbers *numbers, MPI_Count i)
{
    return numbers->integer != NULL   ? numbers->integer[i]
           : numbers->address != NULL ? numbers->address[i]
                                      : numbers->count[i];
}

WEFT_MUST_CHECK enum weft_rc weft_type_contiguous(bool is_large, MPI_Count count,
                                                  struct weft_datatype *old,
                                                  struct weft_datatype **out);

/* `combiner` says in which unit the stride is: VECTOR or HVECTOR. */
WEFT_MUST_CHECK enum weft_rc weft_type_vector(int combiner, bool is_large,
                                              MPI_Count count, MPI_Count length,
                                              MPI_Count stride, struct weft_datatype *old,
                                              struct weft_datatype **out);

/* INDEXED, HINDEXED. */
WEFT_MUST_CHECK enum weft_rc
weft_type_indexed(int combiner, bool is_large, MPI_Count count,
                  struct weft_numbers lengths, struct weft_numbers displacements,
                  struct weft_datatype *old, struct weft_datatype **out);

/* INDEXED_BLOCK, HINDEXED_BLOCK. */
WEFT_MUST_CHECK enum weft_rc weft_type_indexed_block(int combiner, bool is_large,
                                                     MPI_Count count, MPI_Count length,
                                                     struct weft_numbers displacements,
                                                     struct weft_datatype *old,
                                                     struct weft_datatype **out);

WEFT_MUST_CHECK enum weft_rc weft_type_struct(bool is_large, MPI_Count count,
                                              struct weft_numbers lengths,
                                              struct weft_numbers displacements,
                                              struct weft_datatype *const *types,
                                              struct weft_datatype **out);

WEFT_MUST_CHECK enum weft_rc weft_type_resized(bool is_large, MPI_Count lb,
                                               MPI_Count extent,
                                               struct weft_datatype *old,
                                               struct weft_datatype **out);

/* Committed if the old one is; predefined ones are. */
WEFT_MUST_CHECK enum weft_rc weft_type_dup(struct weft_datatype *old,
                                           struct weft_datatype **out);

/* ---- for array.c and fortran.c ---- */

/* Room for so many of each in one allocation; the types' references are not counted. */
struct weft_contents *weft_contents_new(int combiner, MPI_Count integers,
                                        MPI_Count addresses, MPI_Count counts,
                                        MPI_Count types);

/* Takes the contents over, also when it fails, and keeps the types in them. */
WEFT_MUST_CHECK enum weft_rc weft_type_describe(struct weft_contents *contents,
                                                const struct weft_datatype *inner,
                                                struct weft_datatype **out);

#endif
