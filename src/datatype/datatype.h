/*
 * datatype.h - the object behind a datatype handle, its life and its lookup.
 *
 * Predefined types are in a table by the ABI's number, and are found without the lock.
 * construct.h, array.h and fortran.h make the others. A type has a description that never
 * changes (contents, size, extents) and, from commit on, a layout (layout.h), by which
 * its data are moved.
 *
 * `handles` counts how often the user may still free the type. `references` counts these,
 * the types that were made of it and the operations that use it; a type without
 * references is freed. Making, keeping, releasing and committing a type need the
 * library's lock. A caller that holds a reference may read the type without it.
 */
#ifndef WEFT_DATATYPE_DATATYPE_H
#define WEFT_DATATYPE_DATATYPE_H

#include "core/attribute.h"
#include "datatype/layout.h"

#include "mpi.h"

/* How the elements of a predefined type are reduced; their width is its size. */
enum weft_number {
    WEFT_NUMBER_NONE, /* no predefined operation is defined for it */
    WEFT_NUMBER_SIGNED,
    WEFT_NUMBER_UNSIGNED,
    WEFT_NUMBER_FLOAT,
    WEFT_NUMBER_COMPLEX,
    WEFT_NUMBER_REAL16,    /* Fortran's REAL*16, which may differ from a long double */
    WEFT_NUMBER_COMPLEX32, /* two of them */
    WEFT_NUMBER_LOGICAL,   /* an integer that is true or false */
    WEFT_NUMBER_BYTE,
    WEFT_NUMBER_PAIR, /* a value and an int behind it, for MINLOC and MAXLOC */
    WEFT_NUMBER_TWO,  /* a pair of Fortran: the index is of the value's type */
    WEFT_NUMBERS,
};

/* What a type was made of, as MPI_Type_get_envelope and MPI_Type_get_contents report it.
 */
struct weft_contents {
    int combiner;
    bool is_large; /* made by a function with _c */
    MPI_Count integers;
    MPI_Count addresses;
    MPI_Count counts;
    MPI_Count types;
    int *integer;
    MPI_Aint *address;
    MPI_Count *count;
    struct weft_datatype **type;
};

struct weft_datatype {
    MPI_Datatype handle;
    size_t size;      /* bytes of data in an element */
    int64_t extent;   /* from one element to the next */
    uint32_t align;   /* of the strictest basic element */
    bool has_markers; /* lb and extent were set by the user (MPI_Type_create_resized) */
    bool is_predefined;
    bool is_compiled; /* the layout is filled in */
    bool is_committed;
    bool is_contiguous; /* any number of elements are one block, at true_lb */
    bool is_block;      /* one element is one block, at true_lb */
    bool is_plain;      /* committed, contiguous, and true_lb is 0: the common case */
    int64_t lb;
    int64_t true_lb;
    int64_t true_extent;
    size_t elements; /* basic ones */
    enum weft_number number;
    enum weft_number pair_of;          /* what the value of a pair is */
    const char *name;                  /* its own; never NULL */
    char *given_name;                  /* the user's, or NULL */
    struct weft_attributes attributes; /* of one that the ABI does not predefine */
    struct weft_layout layout;
    struct weft_contents *contents; /* NULL: predefined */
    const struct weft_datatype
        *inner; /* of arrays: an equivalent type in simpler terms */
    uint32_t references;
    /* Changed with the lock, and read without it. */
    _Atomic uint32_t handles; /* of the user */
    _Atomic uint32_t
        shown; /* operations that show the handle to a function of the user */
};

enum { WEFT_DATATYPE_FIRST = 0x200, WEFT_DATATYPE_COUNT = 0x100 };

extern WEFT_OURS struct weft_datatype weft_datatypes[WEFT_DATATYPE_COUNT];

/* Finds a type that the ABI does not predefine, or returns NULL. */
struct weft_datatype *weft_datatype_find(MPI_Datatype handle);

/* The slot of a handle in the table of types, which may be empty; NULL: it has none. */
static inline struct weft_datatype *weft_datatype_slot(MPI_Datatype handle)
{
    const uintptr_t at = (uintptr_t)handle - WEFT_DATATYPE_FIRST;

    return weft_likely(at < WEFT_DATATYPE_COUNT) ? &weft_datatypes[at]
                                                 : weft_datatype_find(handle);
}

/* The type behind a handle, or NULL. */
static inline struct weft_datatype *weft_datatype_from_handle(MPI_Datatype handle)
{
    struct weft_datatype *type = weft_datatype_slot(handle);

    return weft_likely(type != NULL && type->name != NULL) ? type : NULL;
}

/* The address of the first byte of data of an element at `buffer`; MPI_BOTTOM is 0. */
static inline void *weft_datatype_data(const struct weft_datatype *type,
                                       const void *buffer)
{
    return (void *)((uintptr_t)buffer + (uintptr_t)type->true_lb);
}

/* Are `count` elements one contiguous block? */
static inline bool weft_datatype_is_dense(const struct weft_datatype *type,
                                          MPI_Count count)
{
    return weft_likely(type->is_contiguous) || (type->is_block && count <= 1);
}

/* Makes a zeroed type; its one handle and its one reference are the caller's. */
WEFT_MUST_CHECK enum weft_rc weft_datatype_new(struct weft_datatype **out);

/* Adds a reference; gives one back, and frees the type with the last one. */
void weft_datatype_keep(struct weft_datatype *type);
void weft_datatype_release(struct weft_datatype *type);

/* MPI_Type_free: gives back one of the user's handles, and its reference. */
void weft_datatype_free(struct weft_datatype *type);

/* Adds a handle that the user gets and frees with MPI_Type_free. Does nothing for
 * predefined types. */
void weft_datatype_share(struct weft_datatype *type);

/* How many the user has. Needs no lock. */
uint32_t weft_datatype_handles(const struct weft_datatype *type);

/* From here to weft_datatype_hide() the handle is valid, also when the user has freed it:
 * functions of the user may see it. Both do nothing for predefined types. */
void weft_datatype_show(struct weft_datatype *type);
void weft_datatype_hide(struct weft_datatype *type);

/* Makes the layout, in time proportional to the length of the description. Does nothing
 * for a committed type. */
WEFT_MUST_CHECK enum weft_rc weft_datatype_commit(struct weft_datatype *type);

/* Copies at most MPI_MAX_OBJECT_NAME - 1 characters of the name. */
WEFT_MUST_CHECK enum weft_rc weft_datatype_set_name(struct weft_datatype *type,
                                                    const char *name);
const char *weft_datatype_name(const struct weft_datatype *type);

/*
 * Writes a text for messages to the user: the name of the type or, if it has none, how it
 * was made, as "contiguous of MPI_DOUBLE, 24 bytes". Returns `text`, of `size` bytes.
 */
const char *weft_datatype_describe(const struct weft_datatype *type, char *text,
                                   size_t size);

enum { WEFT_DATATYPE_TEXT = 192 }; /* bytes for weft_datatype_describe() */

#endif
