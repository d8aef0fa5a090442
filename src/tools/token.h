/*
 * token.h - handles of MPI_T: cvar handles, pvar sessions, pvar handles.
 *
 * They are no MPI handles and have no predefined values but null and, for pvar handles,
 * MPI_T_PVAR_ALL_HANDLES, which is 1. A token names a place in a pool and its generation,
 * so one that was freed finds nothing. All calls need the library's lock.
 */
#ifndef WEFT_TOOLS_TOKEN_H
#define WEFT_TOOLS_TOKEN_H

#include "base/pool.h"

#include <stdint.h>

/* A zeroed object of `size` bytes and its token; the pool is made on first use. */
WEFT_MUST_CHECK enum weft_rc weft_token_take(struct weft_pool *pool, size_t size,
                                             void **object, uintptr_t *token);

/* Gives the object back. */
void weft_token_give(struct weft_pool *pool, uintptr_t token);

/* The object, or NULL: null, freed, made up. */
void *weft_token_find(const struct weft_pool *pool, uintptr_t token);

#endif
