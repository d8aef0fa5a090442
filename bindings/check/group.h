/*
 * group.h - argument checks of group calls: see check.h for what they answer. A group has
 * no error handler, so MPI_COMM_SELF's is used.
 */
#ifndef WEFT_CHECK_GROUP_H
#define WEFT_CHECK_GROUP_H

#include "check/check.h"

/* `handle` is a group, which goes to *out. Takes the lock. */
int weft_check_group(const char *function, MPI_Group handle, struct weft_group **out);

/* An array of `n` ranks of `group`, each of them once; or MPI_PROC_NULL and repeated. */
int weft_check_ranks(const char *function, const struct weft_group *group, int n,
                     const int *ranks);
int weft_check_translated(const char *function, const struct weft_group *group, int n,
                          const int *ranks);

/* An array of `n` ranges of ranks of `group`, each rank in at most one. */
int weft_check_ranges(const char *function, const struct weft_group *group, int n,
                      int (*ranges)[3]);

#endif
