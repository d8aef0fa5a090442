/*
 * make.h - making communicators, and their end.
 *
 * The functions trust their arguments: bindings/ have checked them. They take the lock
 * themselves and return when this process's part is done. `call` is the name of the
 * MPI function that the user called; it explains a job that hangs. Results are written
 * only on success, with one reference, which is the user's handle; a process that is not
 * in what was made gets NULL. The new communicator has the error handler of the one it
 * was made from, no name, and neither attributes nor topology, unless it says so.
 *
 * If a member dies before all have agreed, or lacks memory, nothing is made: all members
 * that live get the same error (tree_agree.h says when they may not).
 *
 * How members agree: one pass up and down a tree of them (tree_agree.h), nobody else
 * takes part. The context is one that its first member, or another where that one has
 * none left, chose from those it owns; it gets it back when all members have released it
 * (context.h). So neither threads nor overlapping groups can choose the same one.
 *
 *   make.c      dup, idup, create
 *   split.c     split, split_type
 *   inter.c     intercommunicators
 *   unmake.c    free
 */
#ifndef WEFT_COMM_MAKE_H
#define WEFT_COMM_MAKE_H

#include "core/comm.h"
#include "core/request.h"

/* After weft_comm_open() and weft_p2p_open(), before their ends. */
void weft_make_open(void);
void weft_make_close(void);

/* Called by all members of `comm`. Copies attributes; an MPI error of theirs goes to
 * *err. */
WEFT_MUST_CHECK enum weft_rc weft_comm_dup(const char *call, struct weft_comm *comm,
                                           struct weft_comm **out, int *err);

/* Duplicates `comm` as a request on `comm`; *out may be used when the request is
 * complete.
 */
WEFT_MUST_CHECK enum weft_rc weft_comm_idup(const char *call, struct weft_comm *comm,
                                            struct weft_comm **out,
                                            struct weft_request **request, int *err);

/*
 * Called by all members of `comm`, an intracommunicator; `group`, a part of its group in
 * any order, is the same for all that are in it.
 */
WEFT_MUST_CHECK enum weft_rc weft_comm_create(const char *call, struct weft_comm *comm,
                                              struct weft_group *group,
                                              struct weft_comm **out);

/*
 * As weft_comm_create(), but all members of `comm` name the same group, and wait for each
 * other. If `rc` is an error this member could not make the group: then all get the
 * error.
 */
WEFT_MUST_CHECK enum weft_rc
weft_comm_create_all(const char *call, struct weft_comm *comm, struct weft_group *group,
                     enum weft_rc rc, struct weft_comm **out);

/* As weft_comm_create_all(), for both sides of an intercommunicator. `group` has all
 * members of both; it is NULL if `rc` is an error. */
WEFT_MUST_CHECK enum weft_rc weft_comm_create_merged(const char *call,
                                                     struct weft_comm *comm,
                                                     struct weft_group *group,
                                                     enum weft_rc rc,
                                                     struct weft_comm **out);

/* Called by the members of `group` alone; the tag keeps concurrent calls apart. */
WEFT_MUST_CHECK enum weft_rc weft_comm_create_group(struct weft_comm *comm,
                                                    struct weft_group *group, int tag,
                                                    struct weft_comm **out);

/* Makes a communicator of `group` without a parent, with this error handler; the string
 * keeps concurrent calls apart. */
WEFT_MUST_CHECK enum weft_rc
weft_comm_create_from_group(struct weft_group *group, const char *stringtag,
                            struct weft_errhandler *errhandler, struct weft_comm **out);

/* Called by all members of `comm`, of either kind; MPI_UNDEFINED is a colour. */
WEFT_MUST_CHECK enum weft_rc weft_comm_split(const char *call, struct weft_comm *comm,
                                             int color, int key, struct weft_comm **out);

/* `resource` is the value of mpi_hw_resource_type, or NULL. */
WEFT_MUST_CHECK enum weft_rc weft_comm_split_type(struct weft_comm *comm, int type,
                                                  int key, const char *resource,
                                                  struct weft_comm **out);

/* MPI_Comm_create on an intercommunicator; `group` is a part of the local group. */
WEFT_MUST_CHECK enum weft_rc weft_intercomm_create_part(struct weft_comm *comm,
                                                        struct weft_group *group,
                                                        struct weft_comm **out);

/* `peer` and `remote_leader` matter at the local leader only. */
WEFT_MUST_CHECK enum weft_rc weft_intercomm_create(struct weft_comm *local, int leader,
                                                   struct weft_comm *peer,
                                                   int remote_leader, int tag,
                                                   struct weft_comm **out);
WEFT_MUST_CHECK enum weft_rc weft_intercomm_create_from_groups(
    struct weft_group *local, int leader, struct weft_group *remote, int remote_leader,
    const char *stringtag, struct weft_errhandler *errhandler, struct weft_comm **out);
WEFT_MUST_CHECK enum weft_rc weft_intercomm_merge(struct weft_comm *comm, bool is_high,
                                                  struct weft_comm **out);

/* MPI_IDENT, MPI_CONGRUENT, MPI_SIMILAR or MPI_UNEQUAL. */
WEFT_MUST_CHECK enum weft_rc weft_comm_compare(const struct weft_comm *a,
                                               const struct weft_comm *b, int *result);

/*
 * The user's handle is gone; the communicator lives until operations under way are over.
 * MPI_SUCCESS, or the error of an attribute's deletion: then nothing was freed.
 */
int weft_comm_free(struct weft_comm *comm);

#endif
