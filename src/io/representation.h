/*
 * representation.h - how data lie in a file (MPI-5.0, 14.5): "native", "internal",
 * "external32", and those that the program has registered.
 *
 * "native" and "internal" are what memory has. A representation is never freed. Finding
 * and adding need the lock of objects.
 */
#ifndef WEFT_IO_REPRESENTATION_H
#define WEFT_IO_REPRESENTATION_H

#include "base/rc.h"

#include "mpi.h"

#include <stdbool.h>

enum weft_representation_kind {
    WEFT_REPRESENTATION_MEMORY,
    WEFT_REPRESENTATION_EXTERNAL32,
    WEFT_REPRESENTATION_USER,
};

struct weft_representation {
    struct weft_representation *next;
    char name[MPI_MAX_DATAREP_STRING];
    enum weft_representation_kind kind;
    /* Of the user; a function that converts is NULL where data need no conversion. */
    bool is_large;
    union {
        MPI_Datarep_conversion_function *narrow;
        MPI_Datarep_conversion_function_c *wide;
    } read, write;
    MPI_Datarep_extent_function *extent;
    void *extra_state;
};

const struct weft_representation *weft_representation_native(void);

/* By name, or NULL. */
const struct weft_representation *weft_representation_find(const char *name);

/* Adds a copy of `made`, whose name is new. */
WEFT_MUST_CHECK enum weft_rc
weft_representation_add(const struct weft_representation *made);

#endif
