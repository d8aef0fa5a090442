#include "comm/make.h"

#include "comm/agree.h"
#include "comm/context.h"
#include "core/topology.h"
#include "p2p/p2p.h"
#include "engine/hot.h"
#include "p2p/state.h"
#include "engine/lock.h"

void weft_make_open(void)
{
    weft_context_open(weft_engine.me, (uint32_t)weft_engine.job->who.size);
    weft_agree_open();
    weft_unmake_open();
}

void weft_make_close(void)
{
    weft_unmake_close();
    weft_agree_close();
    weft_context_close();
}

enum weft_rc weft_make_empty(struct weft_group *group, struct weft_group *remote,
                             struct weft_errhandler *errhandler, struct weft_comm **out)
{
    enum weft_rc rc = weft_comm_take(group, remote, out);

    weft_assert_locked();
    if (rc == WEFT_OK) {
        (*out)->errhandler = weft_errhandler_use(errhandler);
    }
    return rc;
}

/* Without the lock: callbacks of the user run. */
static int copy_attributes(struct weft_comm *from, struct weft_comm *to)
{
    return weft_attributes_copy(WEFT_KIND_COMM, from->handle, &from->attributes,
                                &to->attributes);
}

/* ---- dup ---- */

/* A communicator like `comm` without a context, and its local one. */
static enum weft_rc make_like(struct weft_comm *comm, struct weft_comm **out)
{
    enum weft_rc rc = weft_make_empty(comm->group, comm->remote, comm->errhandler, out);

    if (rc == WEFT_OK) {
        (*out)->hints = comm->hints;
        (*out)->topology = weft_topology_use(comm->topology);
    }
    if (rc == WEFT_OK && comm->local != NULL) {
        rc = weft_make_empty(comm->group, NULL, comm->errhandler, &(*out)->local);
        if (rc != WEFT_OK) {
            weft_comm_give(*out);
        }
    }
    return rc;
}

/* With the lock: the members of both communicators that a duplicate may consist of. */
static struct weft_agree_ask ask_all(struct weft_comm *comm)
{
    struct weft_agree_ask ask = {
        .parent = comm,
        .group = comm->group,
        .is_inter = comm->local != NULL,
        .channel = weft_channel_of_all(comm),
    };

    if (ask.is_inter) {
        ask.local_channel = weft_channel_of_all(comm->local);
    }
    return ask;
}

/* With the lock, which is dropped for callbacks: a duplicate that no member has. */
static void undo(struct weft_comm *made)
{
    if (made->attributes.count > 0) {
        weft_unlock();
        (void)weft_attributes_clear(WEFT_KIND_COMM, made->handle, &made->attributes);
        weft_lock();
    }
    weft_attributes_forget_locked(&made->attributes);
    weft_make_undo(made);
}

/*
 * With the lock, which is dropped while callbacks copy the attributes: they are copied
 * before the members agree, so that all of them learn if this one lacks the memory. The
 * error of a callback is this member's own, and goes to *err.
 */
static enum weft_rc begin_dup(struct weft_comm *comm, struct weft_comm **out,
                              struct weft_request **request, int *err)
{
    struct weft_comm *made = NULL;
    struct weft_agree_ask ask;
    enum weft_rc rc = make_like(comm, &made);

    if (rc == WEFT_OK && comm->attributes.count > 0) {
        weft_unlock();
        *err = copy_attributes(comm, made);
        weft_lock();
        rc = *err == MPI_ERR_NO_MEM ? WEFT_ERR_NOMEM : WEFT_OK;
    }
    ask = ask_all(comm);
    if (rc == WEFT_OK) {
        rc = weft_agree_begin(&ask, made, request);
    } else {
        weft_agree_refuse(&ask, rc);
    }
    if (rc == WEFT_OK) {
        *out = made;
    } else if (made != NULL) {
        undo(made);
    }
    return rc;
}

enum weft_rc weft_comm_dup(const char *call, struct weft_comm *comm,
                           struct weft_comm **out, int *err)
{
    struct weft_request *request;
    struct weft_comm *made = NULL;
    enum weft_rc rc;

    weft_assert_unlocked();
    weft_lock();
    *err = MPI_SUCCESS;
    rc = begin_dup(comm, &made, &request, err);
    if (rc == WEFT_OK) {
        rc = weft_agree_wait(call, request);
        if (rc != WEFT_OK) {
            undo(made);
        }
    }
    weft_engine_leave();
    weft_unlock();
    if (rc != WEFT_OK) {
        return rc;
    }
    if (*err == MPI_SUCCESS) {
        *out = made;
    } else {
        weft_comm_free(made);
    }
    return WEFT_OK;
}

enum weft_rc weft_comm_idup(const char *call, struct weft_comm *comm,
                            struct weft_comm **out, struct weft_request **request,
                            int *err)
{
    struct weft_comm *made = NULL;
    enum weft_rc rc;

    weft_lock();
    *err = MPI_SUCCESS;
    rc = begin_dup(comm, &made, request, err);
    if (rc == WEFT_OK && !weft_request_is_complete(*request)) {
        made->is_tentative = true;
    } else if (rc == WEFT_OK && (*request)->rc != WEFT_OK) {
        rc = weft_agree_wait(call, *request);
        undo(made);
    }
    if (rc == WEFT_OK) {
        (*request)->kind = WEFT_REQUEST_COLLECTIVE;
        (*request)->function = call;
        *out = made;
    }
    weft_engine_leave();
    weft_unlock();
    return rc;
}

/* ---- create ---- */

/* With the lock: a communicator of `group`. Those that `ask` names take part, among them
 * all members of `group`, which is NULL where `rc` says that there was no memory. */
static enum weft_rc create(const char *call, const struct weft_agree_ask *ask,
                           struct weft_group *group, enum weft_rc rc,
                           struct weft_errhandler *errhandler, struct weft_comm **out)
{
    struct weft_comm *made;

    if (rc == WEFT_OK) {
        rc = weft_make_empty(group, NULL, errhandler, &made);
    }
    if (rc != WEFT_OK) {
        weft_agree_refuse(ask, rc);
        return rc;
    }
    rc = weft_agree(call, ask, made);
    if (rc != WEFT_OK || group->rank == MPI_UNDEFINED) {
        weft_make_undo(made);
        made = NULL;
    }
    if (rc == WEFT_OK) {
        *out = made;
    }
    return rc;
}

enum weft_rc weft_comm_create(const char *call, struct weft_comm *comm,
                              struct weft_group *group, struct weft_comm **out)
{
    struct weft_agree_ask ask = {.parent = comm, .group = group};
    enum weft_rc rc = WEFT_OK;

    weft_assert_unlocked();
    weft_lock();
    ask.channel = weft_channel_of_all(comm);
    if (group->rank != MPI_UNDEFINED) {
        rc = create(call, &ask, group, WEFT_OK, comm->errhandler, out);
    } else {
        *out = NULL;
    }
    weft_engine_leave();
    weft_unlock();
    return rc;
}

enum weft_rc weft_comm_create_all(const char *call, struct weft_comm *comm,
                                  struct weft_group *group, enum weft_rc rc,
                                  struct weft_comm **out)
{
    struct weft_agree_ask ask = {.parent = comm, .group = comm->group};

    weft_assert_unlocked();
    weft_lock();
    ask.channel = weft_channel_of_all(comm);
    if (rc != WEFT_OK || group->size > 0) {
        rc = create(call, &ask, group, rc, comm->errhandler, out);
    } else {
        *out = NULL;
    }
    weft_engine_leave();
    weft_unlock();
    return rc;
}

enum weft_rc weft_comm_create_merged(const char *call, struct weft_comm *comm,
                                     struct weft_group *group, enum weft_rc rc,
                                     struct weft_comm **out)
{
    struct weft_agree_ask ask = {.parent = comm, .is_merged = true};

    weft_assert_unlocked();
    weft_lock();
    ask.channel = weft_channel_of_all(comm);
    rc = create(call, &ask, group, rc, comm->errhandler, out);
    weft_engine_leave();
    weft_unlock();
    return rc;
}

enum weft_rc weft_comm_create_group(struct weft_comm *comm, struct weft_group *group,
                                    int tag, struct weft_comm **out)
{
    const struct weft_agree_ask ask = {
        .parent = comm,
        .group = group,
        .channel = {comm->context, WEFT_PLANE_MAKE, tag},
    };
    enum weft_rc rc = WEFT_OK;

    weft_lock();
    if (group->rank != MPI_UNDEFINED) {
        rc = create("MPI_Comm_create_group", &ask, group, WEFT_OK, comm->errhandler, out);
    } else {
        *out = NULL;
    }
    weft_engine_leave();
    weft_unlock();
    return rc;
}

enum weft_rc weft_comm_create_from_group(struct weft_group *group, const char *stringtag,
                                         struct weft_errhandler *errhandler,
                                         struct weft_comm **out)
{
    const struct weft_agree_ask ask = {
        .group = group,
        .channel = weft_channel_of_string(stringtag),
    };
    enum weft_rc rc = WEFT_OK;

    weft_lock();
    if (group->rank != MPI_UNDEFINED) {
        rc = create("MPI_Comm_create_from_group", &ask, group, WEFT_OK, errhandler, out);
    } else {
        *out = NULL;
    }
    weft_engine_leave();
    weft_unlock();
    return rc;
}

/* ---- compare ---- */

enum weft_rc weft_comm_compare(const struct weft_comm *a, const struct weft_comm *b,
                               int *result)
{
    int local;
    int remote = MPI_IDENT;
    enum weft_rc rc = WEFT_OK;

    if (a == b || weft_comm_is_inter(a) != weft_comm_is_inter(b)) {
        *result = a == b ? MPI_IDENT : MPI_UNEQUAL;
        return WEFT_OK;
    }
    rc = weft_group_compare(a->group, b->group, &local);
    if (rc == WEFT_OK && weft_comm_is_inter(a)) {
        rc = weft_group_compare(a->remote, b->remote, &remote);
    }
    if (local == MPI_UNEQUAL || remote == MPI_UNEQUAL) {
        *result = MPI_UNEQUAL;
    } else {
        *result = local == MPI_IDENT && remote == MPI_IDENT ? MPI_CONGRUENT : MPI_SIMILAR;
    }
    return rc;
}
