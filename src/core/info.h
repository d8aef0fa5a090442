/*
 * info.h - info objects: keys with values, in the order in which the keys were first set.
 *
 * They may be made and used at any time, before MPI_Init and after MPI_Finalize. Keys and
 * values were checked in bindings/: keys are not empty, and both are within the ABI's
 * limits. MPI_INFO_ENV is one of them; it is filled from what the process is when
 * somebody first looks at it, and nobody can change it. All calls need the lock of
 * objects (engine/lock.h); a string that is handed out is valid until its key is set or
 * deleted.
 */
#ifndef WEFT_CORE_INFO_H
#define WEFT_CORE_INFO_H

#include "core/handle.h"

#include "mpi.h"

struct weft_info;

/* The object behind a handle, or NULL: null handle, stale, not one. */
struct weft_info *weft_info_from_handle(MPI_Info handle);

/* An empty one; the caller has it until weft_info_free(). */
WEFT_MUST_CHECK enum weft_rc weft_info_create(struct weft_info **out);
WEFT_MUST_CHECK enum weft_rc weft_info_dup(const struct weft_info *from,
                                           struct weft_info **out);
void weft_info_free(struct weft_info *info);

MPI_Info weft_info_handle(const struct weft_info *info);

/* Replaces the value of a key, which keeps its place, or adds it behind all others. */
WEFT_MUST_CHECK enum weft_rc weft_info_set(struct weft_info *info, const char *key,
                                           const char *value);

/* False: there is no such key. */
bool weft_info_delete(struct weft_info *info, const char *key);

/* The value of a key, or NULL. */
const char *weft_info_get(const struct weft_info *info, const char *key);

/* The alignment that "mpi_minimum_memory_alignment" asks for: a power of 2 that is
 * greater than `least`, which memory has without it; else `least`. `info` may be NULL. */
size_t weft_info_alignment(const struct weft_info *info, size_t least);

int weft_info_count(const struct weft_info *info);
const char *weft_info_key(const struct weft_info *info, int n);

/* Adds what MPI_INFO_ENV tells: how this process was started. */
WEFT_MUST_CHECK enum weft_rc weft_info_describe_process(struct weft_info *info);

#endif
