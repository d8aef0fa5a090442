/*
 * placement.h - the contents of a type read as positions in bytes: where the types lie
 * that it is made of. Needs the library's lock.
 */
#ifndef WEFT_DATATYPE_PLACEMENT_H
#define WEFT_DATATYPE_PLACEMENT_H

#include "datatype/datatype.h"

/* The i-th number of the contents, in whichever width the user gave it. */
static inline MPI_Count weft_contents_number(const struct weft_contents *c, MPI_Count i)
{
    return c->is_large ? c->count[i] : c->integer[i];
}

/* Displacements in bytes are addresses in one form and counts in the other. */
static inline MPI_Count weft_contents_bytes(const struct weft_contents *c, MPI_Count i,
                                            MPI_Count before)
{
    return c->is_large ? c->count[before + i] : c->address[i];
}

/* Where a type lies in another: `length` of them in a row, at `offset` bytes. */
struct weft_placement {
    int64_t offset;
    MPI_Count length;
    const struct weft_datatype *type;
};

/* The placements of a type that is not predefined. */
MPI_Count weft_placements(const struct weft_datatype *type);
struct weft_placement weft_placement_at(const struct weft_datatype *type, MPI_Count i);

#endif
