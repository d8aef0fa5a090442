/*
 * handle.h - makes and checks the handles by which the user names objects.
 *
 * Predefined handles are the ABI's integers 1..4095. Others are made here:
 *
 *     63            32 31 30      27 26                      0
 *     [  generation  ] [0] [  kind  ] [         index        ]
 *
 * Index and generation come from the kind's pool (base/pool.h), so a handle that is
 * stale, made up, or of another kind finds nothing and can be diagnosed. The lower half
 * alone is what MPI_*_toint gives out; MPI_*_fromint completes it with the generation of
 * the object that lives there now. Kinds start at 1, so no handle falls into 1..4095.
 *
 * A module that owns a kind hands its pool over once; until then no handle of that kind
 * is valid. All calls need the library's lock, but for weft_handle_find() on an object
 * that the caller knows to live.
 */
#ifndef WEFT_CORE_HANDLE_H
#define WEFT_CORE_HANDLE_H

#include "base/pool.h"

#include <stdbool.h>
#include <stdint.h>

enum weft_kind {
    WEFT_KIND_OP = 1,
    WEFT_KIND_COMM,
    WEFT_KIND_GROUP,
    WEFT_KIND_WIN,
    WEFT_KIND_FILE,
    WEFT_KIND_SESSION,
    WEFT_KIND_MESSAGE,
    WEFT_KIND_INFO,
    WEFT_KIND_ERRHANDLER,
    WEFT_KIND_REQUEST,
    WEFT_KIND_DATATYPE,
    WEFT_KIND_END,
};

enum {
    WEFT_HANDLE_PREDEFINED_MAX = 4095,
    WEFT_HANDLE_INDEX_BITS = 27,
};

static inline bool weft_handle_is_predefined(uintptr_t handle)
{
    return handle >= 1 && handle <= WEFT_HANDLE_PREDEFINED_MAX;
}

/* Says which pool holds the objects of `kind`; doing it again is harmless. */
void weft_handle_register(enum weft_kind kind, struct weft_pool *pool);

/* The pool of a kind, or NULL. */
const struct weft_pool *weft_handle_pool(enum weft_kind kind);

/*
 * Names the one handle of `kind` whose object is not in the pool, so that its integer can
 * be turned back. Its index is one that the pool does not give out.
 */
void weft_handle_register_outside(enum weft_kind kind, uintptr_t handle);

/* Takes a zeroed object from the kind's pool and makes its handle. */
WEFT_MUST_CHECK enum weft_rc weft_handle_take(enum weft_kind kind, void **object,
                                              uintptr_t *handle);

/* Gives the object back; its handle is stale from now on. */
void weft_handle_give(enum weft_kind kind, uintptr_t handle);

/* The next handle of an object that its module keeps; the one before is stale. */
uintptr_t weft_handle_renew(uintptr_t handle, void *object);

/* The object behind a handle that is not predefined, or NULL. */
void *weft_handle_find(enum weft_kind kind, uintptr_t handle);

/* The ABI's integer for a handle, predefined or not. */
int weft_handle_toint(uintptr_t handle);

/* The handle for such an integer; 0 where no object lives. */
uintptr_t weft_handle_fromint(enum weft_kind kind, int number);

/* The kind that a handle which is not predefined names, valid or not; 0: none. */
enum weft_kind weft_handle_kind(uintptr_t handle);

/* "communicator", "window", ...: for messages. */
const char *weft_kind_name(enum weft_kind kind);

#endif
