/*
 * datatype.h - what a datatype handle stands for.
 *
 * Predefined types are found by the ABI's number in a table, without the lock. Others are
 * made by construct.h, array.h and fortran.h: a description that never changes (what the
 * user asked for, extents, sizes) and, from commit on, a layout (layout.h), which is all
 * that moving data needs.
 *
 * A type lives as long as anything counts on it: `handles` says how often the user may
 * still free it, `references` adds the types made of it and the operations that use it.
 * Making, keeping, releasing and committing need the library's lock; a type that the
 * caller knows to live may be read without it.
 */
#ifndef WEFT_DATATYPE_DATATYPE_H
#define WEFT_DATATYPE_DATATYPE_H

#include "core/attribute.h"
#include "datatype/layout.h"

#include "mpi.h"

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
    WEFT_NUMBER_TWO,  /* a pair of Fortran: the index is of the value's type */
    WEFT_NUMBERS,
};

/* What a type was made of; as MPI_Type_get_envelope and _contents tell it. */
struct weft_contents {
    int combiner;
    bool is_large; /* by a function with _c */
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
    bool has_markers; /* lb and extent were said, not computed */
    bool is_predefined;
    bool is_compiled; /* the layout is there */
    bool is_committed;
    bool is_contiguous; /* any number of elements are one block, at true_lb */
    bool is_block;      /* one element is */
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
    struct weft_contents *contents;    /* NULL: predefined */
    const struct weft_datatype *inner; /* of arrays: the same, in simpler terms */
    uint32_t references;
    uint32_t handles;
};

enum { WEFT_DATATYPE_FIRST = 0x200, WEFT_DATATYPE_COUNT = 0x100 };

extern struct weft_datatype weft_datatypes[WEFT_DATATYPE_COUNT];

/* One that is not predefined by the ABI. */
struct weft_datatype *weft_datatype_find(MPI_Datatype handle);

/* The type behind a handle, or NULL, or a place in the table that is empty. */
static inline struct weft_datatype *weft_datatype_place(MPI_Datatype handle)
{
    const uintptr_t at = (uintptr_t)handle - WEFT_DATATYPE_FIRST;

    return weft_likely(at < WEFT_DATATYPE_COUNT) ? &weft_datatypes[at]
                                                 : weft_datatype_find(handle);
}

/* The type behind a handle, or NULL. */
static inline struct weft_datatype *weft_datatype_from_handle(MPI_Datatype handle)
{
    struct weft_datatype *type = weft_datatype_place(handle);

    return weft_likely(type != NULL && type->name != NULL) ? type : NULL;
}

/* Where the data of an element at `buffer` begin; MPI_BOTTOM is 0. */
static inline void *weft_datatype_data(const struct weft_datatype *type,
                                       const void *buffer)
{
    return (void *)((uintptr_t)buffer + (uintptr_t)type->true_lb);
}

/* Are `count` elements one block? */
static inline bool weft_datatype_is_dense(const struct weft_datatype *type,
                                          MPI_Count count)
{
    return weft_likely(type->is_contiguous) || (type->is_block && count <= 1);
}

/* A zeroed type with one handle and one reference, both the caller's. */
WEFT_MUST_CHECK enum weft_rc weft_datatype_new(struct weft_datatype **out);

void weft_datatype_keep(struct weft_datatype *type);
void weft_datatype_release(struct weft_datatype *type);

/* As release, and one of the user's handles goes with it. */
void weft_datatype_free(struct weft_datatype *type);

/* Hands the user one more handle, which MPI_Type_free gives back; or takes that back. A
 * predefined type has none to count. */
void weft_datatype_share(struct weft_datatype *type);
void weft_datatype_unshare(struct weft_datatype *type);

/* Compiles the layout; once is enough. Takes time in proportion to the description. */
WEFT_MUST_CHECK enum weft_rc weft_datatype_commit(struct weft_datatype *type);

/* At most MPI_MAX_OBJECT_NAME - 1 characters count. */
WEFT_MUST_CHECK enum weft_rc weft_datatype_set_name(struct weft_datatype *type,
                                                    const char *name);
const char *weft_datatype_name(const struct weft_datatype *type);

/*
 * What a type is called in a message: its name; of one without a name, how it was made:
 * "contiguous of MPI_DOUBLE, 24 bytes". Returns `text`, of `size` bytes.
 */
const char *weft_datatype_describe(const struct weft_datatype *type, char *text,
                                   size_t size);

enum { WEFT_DATATYPE_TEXT = 192 }; /* bytes for weft_datatype_describe() */

#endif
