/*
 * placement.h - reads the contents of a type as offsets in bytes: where the types lie
 * that it is made of.
 *
 * All functions need the library's lock.
 */
#ifndef WEFT_DATATYPE_PLACEMENT_H
#define WEFT_DATATYPE_PLACEMENT_H

#include "datatype/datatype.h"

/* The i-th number of the contents, in whichever width the user gave it. */
static inline MPI_Count weft_contents_number(const struct weft_contents *c, MPI_Count i)
{
    return c->is_large ? c->count[i] : c->integer[i];
}

/* The i-th displacement in bytes: an MPI_Aint, or, in the form with _c, an MPI_Count
 * behind the first `before` numbers. */
static inline MPI_Count weft_contents_bytes(const struct weft_contents *c, MPI_Count i,
                                            MPI_Count before)
{
    return c->is_large ? c->count[before + i] : c->address[i];
}

/* `length` elements of `type`, one after the other, at `offset` bytes. */
struct weft_placement {
    int64_t offset;
    MPI_Count length;
    const struct weft_datatype *type;
};

/* How many placements a type has that is not predefined, and the i-th of them. */
MPI_Count weft_placements(const struct weft_datatype *type);
struct weft_placement weft_placement_at(const struct weft_datatype *type, MPI_Count i);

#endif
