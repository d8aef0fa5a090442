/*
 * attribute.h - keys, and the attributes that objects carry under them.
 *
 * A key belongs to one family: communicators, datatypes or windows. It lives while the
 * user has it or an attribute is stored under it (MPI-5.0, 7.7.2: freeing a key in use
 * takes effect when the last attribute under it is gone). Once the user has freed it
 * nothing more can be stored under it, but what is there can be read and deleted, and its
 * callbacks run.
 *
 * `struct weft_attributes` is embedded in the object; zeroed it holds nothing. Attributes
 * are kept in the order in which they were set, and overwriting one counts as setting it
 * anew: they are copied in that order and deleted in the reverse one.
 *
 * The functions take the library's lock themselves and call the user's callbacks without
 * it, with the object's handle as the user knows it. Those that run callbacks return
 * MPI_SUCCESS, the code that a callback gave, MPI_ERR_KEYVAL or MPI_ERR_NO_MEM; whoever
 * called them raises it. An attribute whose delete callback fails stays; it is there for
 * the callback to look at in any case.
 */
#ifndef WEFT_CORE_ATTRIBUTE_H
#define WEFT_CORE_ATTRIBUTE_H

#include "core/handle.h"

#include "mpi.h"

/* Copy callbacks. The ABI's MPI_*_NULL_COPY_FN is 0 and MPI_*_DUP_FN is 1. */
union weft_copy_fn {
    MPI_Comm_copy_attr_function *comm;
    MPI_Type_copy_attr_function *type;
    MPI_Win_copy_attr_function *win;
    void (*any)(void);
};

/* Delete callbacks. The ABI's MPI_*_NULL_DELETE_FN is 0. */
union weft_delete_fn {
    MPI_Comm_delete_attr_function *comm;
    MPI_Type_delete_attr_function *type;
    MPI_Win_delete_attr_function *win;
    void (*any)(void);
};

struct weft_attribute;

struct weft_attributes {
    struct weft_attribute *at; /* in the order in which they were set */
    uint32_t count;
    uint32_t capacity;
};

/* A new key; its number is never one of the predefined ones. */
WEFT_MUST_CHECK enum weft_rc weft_keyval_create(enum weft_kind family,
                                                union weft_copy_fn copy,
                                                union weft_delete_fn delete_fn,
                                                void *extra_state, int *keyval);

/* The user gives a key back. False: no key of this family has that number. */
bool weft_keyval_free(enum weft_kind family, int keyval);

/* Stores a value; one that was there before is deleted first. */
int weft_attribute_set(enum weft_kind family, void *handle,
                       struct weft_attributes *attributes, int keyval, void *value);

/* Fills *value if *is_there. */
int weft_attribute_get(enum weft_kind family, const struct weft_attributes *attributes,
                       int keyval, void **value, bool *is_there);

/* Deletes one; if there is none, nothing happens. */
int weft_attribute_delete(enum weft_kind family, void *handle,
                          struct weft_attributes *attributes, int keyval);

/*
 * For a duplicate: what the copy callbacks want in `to` goes there, which nobody else
 * sees yet. `handle` is the old object's. On failure `to` keeps what was copied before:
 * the caller clears it along with the duplicate.
 */
int weft_attributes_copy(enum weft_kind family, void *handle,
                         const struct weft_attributes *from, struct weft_attributes *to);

/* Deletes all, newest first, and stops at a callback that fails. */
int weft_attributes_clear(enum weft_kind family, void *handle,
                          struct weft_attributes *attributes);

/* Frees what is left without running callbacks: the library closes. */
void weft_attributes_forget(struct weft_attributes *attributes);
/* With the lock: for an object that was never the user's, or is not any more. */
void weft_attributes_forget_locked(struct weft_attributes *attributes);

#endif
