/*
 * construct.h - makes datatypes out of others: one function for each constructor of MPI.
 *
 * The caller has checked the arguments: the types exist, counts and block lengths are not
 * negative, and arrays have as many entries as the counts say. Each function copies its
 * arguments and keeps a reference to the types in them. On success the caller owns one
 * handle of *out. WEFT_ERR_ARGUMENT means that the size or the extent of the type does
 * not fit into 63 bits, WEFT_ERR_NOMEM that there is no memory.
 *
 * MPI has two forms of each constructor: numbers are int, and MPI_Aint where they are in
 * bytes; or all are MPI_Count (the functions with _c). struct weft_numbers hides which
 * form was called, so that one function serves both; `is_large` (the form with _c) is
 * kept in the contents, because MPI_Type_get_envelope reports it.
 *
 * All functions need the library's lock.
 */
#ifndef WEFT_DATATYPE_CONSTRUCT_H
#define WEFT_DATATYPE_CONSTRUCT_H

#include "datatype/datatype.h"

/* An array of numbers of one of three types; the other two pointers are NULL. */
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

/* `combiner` is MPI_COMBINER_VECTOR (the stride is in extents of `old`) or
 * MPI_COMBINER_HVECTOR (it is in bytes). */
WEFT_MUST_CHECK enum weft_rc weft_type_vector(int combiner, bool is_large,
                                              MPI_Count count, MPI_Count length,
                                              MPI_Count stride, struct weft_datatype *old,
                                              struct weft_datatype **out);

/* `combiner` is MPI_COMBINER_INDEXED (displacements are in extents of `old`) or
 * MPI_COMBINER_HINDEXED (they are in bytes). */
WEFT_MUST_CHECK enum weft_rc
weft_type_indexed(int combiner, bool is_large, MPI_Count count,
                  struct weft_numbers lengths, struct weft_numbers displacements,
                  struct weft_datatype *old, struct weft_datatype **out);

/* `combiner` is MPI_COMBINER_INDEXED_BLOCK or MPI_COMBINER_HINDEXED_BLOCK: all blocks
 * have `length` elements. */
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

/* The copy is committed if the old type is; predefined types are. */
WEFT_MUST_CHECK enum weft_rc weft_type_dup(struct weft_datatype *old,
                                           struct weft_datatype **out);

/* ---- for array.c and fortran.c ---- */

/* Allocates contents with arrays of these lengths, in one block of memory; NULL: there is
 * none. The types put into it are not referenced. */
struct weft_contents *weft_contents_new(int combiner, MPI_Count integers,
                                        MPI_Count addresses, MPI_Count counts,
                                        MPI_Count types);

/* Makes a type of its contents, which it takes over, also when it fails; it references
 * the types in them. `inner` is an equivalent type in simpler terms, or NULL. */
WEFT_MUST_CHECK enum weft_rc weft_type_describe(struct weft_contents *contents,
                                                const struct weft_datatype *inner,
                                                struct weft_datatype **out);

#endif
