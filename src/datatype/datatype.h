/*
 * datatype.h - what a datatype handle stands for.
 *
 * Predefined types only, so far: each element is `extent` bytes that are moved as they
 * are, padding included. They are found by the ABI's number in a table, without the lock.
 */
#ifndef WEFT_DATATYPE_DATATYPE_H
#define WEFT_DATATYPE_DATATYPE_H

#include "base/rc.h"

#include "mpi.h"

#include <stddef.h>
#include <stdint.h>

/* How elements are reduced; the width is in `size`. */
enum weft_number {
    WEFT_NUMBER_NONE, /* no predefined operation knows it */
    WEFT_NUMBER_SIGNED,
    WEFT_NUMBER_UNSIGNED,
    WEFT_NUMBER_FLOAT,
    WEFT_NUMBER_COMPLEX,
    WEFT_NUMBER_LOGICAL, /* an integer that is true or false */
    WEFT_NUMBER_BYTE,
    WEFT_NUMBER_PAIR, /* a value and an int behind it, for MINLOC and MAXLOC */
};

struct weft_datatype {
    MPI_Datatype handle;
    size_t size;   /* bytes of data in an element */
    size_t extent; /* from one element to the next */
    enum weft_number number;
    enum weft_number pair_of; /* what the value of a pair is */
    const char *name;
};

enum { WEFT_DATATYPE_FIRST = 0x200, WEFT_DATATYPE_COUNT = 0x100 };

extern const struct weft_datatype weft_datatypes[WEFT_DATATYPE_COUNT];

/* The type behind a handle, or NULL. */
static inline const struct weft_datatype *weft_datatype_from_handle(MPI_Datatype handle)
{
    uintptr_t at = (uintptr_t)handle - WEFT_DATATYPE_FIRST;
    const struct weft_datatype *type;

    if (weft_unlikely(at >= WEFT_DATATYPE_COUNT)) {
        return NULL;
    }
    type = &weft_datatypes[at];
    return weft_likely(type->name != NULL) ? type : NULL;
}

#endif
