/*
 * info.h - argument checks of calls with info objects: see check.h for what they answer.
 */
#ifndef WEFT_CHECK_INFO_H
#define WEFT_CHECK_INFO_H

#include "check/check.h"
#include "core/info.h"

/* An info object. The error is raised on `comm`, or without an object where it is NULL.
 */
int weft_check_info(const char *function, struct weft_comm *comm, MPI_Info handle,
                    struct weft_info **out);

/* Checks an info object where MPI_INFO_NULL is allowed and means an empty one: then *out
 * is NULL. */
int weft_check_info_or_null(const char *function, struct weft_comm *comm, MPI_Info handle,
                            struct weft_info **out);

/* A key: not NULL, not empty, not too long. */
int weft_check_info_key(const char *function, const char *key);

#endif
