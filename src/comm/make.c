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

void weft_make_undo(struct weft_comm *made)
{
    weft_assert_locked();
    if (made->local != NULL) {
        weft_comm_give(made->local);
    }
    weft_comm_give(made);
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

/* With the lock. */
static enum weft_rc begin_dup(struct weft_comm *comm, struct weft_comm **out,
                              struct weft_request **request)
{
    const struct weft_channel channel = weft_channel_of_all(comm);
    struct weft_channel local_channel;
    struct weft_comm *made;
    enum weft_rc rc = make_like(comm, &made);

    if (rc != WEFT_OK) {
        return rc;
    }
    if (comm->local != NULL) {
        local_channel = weft_channel_of_all(comm->local);
    }
    rc = weft_agree_begin(made, comm, &channel,
                          comm->local != NULL ? &local_channel : NULL, request);
    if (rc != WEFT_OK) {
        weft_make_undo(made);
        return rc;
    }
    *out = made;
    return WEFT_OK;
}

enum weft_rc weft_comm_dup(const char *call, struct weft_comm *comm,
                           struct weft_comm **out, int *err)
{
    struct weft_request *request;
    struct weft_comm *made = NULL;
    enum weft_rc rc;

    weft_assert_unlocked();
    weft_lock();
    rc = begin_dup(comm, &made, &request);
    if (rc == WEFT_OK) {
        rc = weft_agree_wait(call, request);
        if (rc != WEFT_OK) {
            weft_make_undo(made);
        }
    }
    weft_engine_leave();
    weft_unlock();
    if (rc != WEFT_OK) {
        return rc;
    }
    *err = copy_attributes(comm, made);
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
    rc = begin_dup(comm, &made, request);
    if (rc == WEFT_OK) {
        (*request)->kind = WEFT_REQUEST_COLLECTIVE;
        (*request)->function = call;
    }
    weft_engine_leave();
    weft_unlock();
    if (rc != WEFT_OK) {
        return rc;
    }
    *err = copy_attributes(comm, made);
    *out = made;
    return WEFT_OK;
}

/* ---- create ---- */

/* With the lock: a communicator of `group`, whose members alone take part. */
static enum weft_rc create(const char *call, struct weft_comm *parent,
                           struct weft_group *group, struct weft_errhandler *errhandler,
                           const struct weft_channel *channel, struct weft_comm **out)
{
    struct weft_comm *made;
    enum weft_rc rc;

    if (group->rank == MPI_UNDEFINED) {
        *out = NULL;
        return WEFT_OK;
    }
    rc = weft_make_empty(group, NULL, errhandler, &made);
    if (rc != WEFT_OK) {
        return rc;
    }
    rc = weft_agree(call, made, parent, channel, NULL);
    if (rc != WEFT_OK) {
        weft_make_undo(made);
        return rc;
    }
    *out = made;
    return WEFT_OK;
}

enum weft_rc weft_comm_create(const char *call, struct weft_comm *comm,
                              struct weft_group *group, struct weft_comm **out)
{
    struct weft_channel channel;
    enum weft_rc rc;

    weft_assert_unlocked();
    weft_lock();
    channel = weft_channel_of_all(comm);
    rc = create(call, comm, group, comm->errhandler, &channel, out);
    weft_engine_leave();
    weft_unlock();
    return rc;
}

enum weft_rc weft_comm_create_group(struct weft_comm *comm, struct weft_group *group,
                                    int tag, struct weft_comm **out)
{
    const struct weft_channel channel = {comm->context, WEFT_PLANE_MAKE, tag};
    enum weft_rc rc;

    weft_lock();
    rc = create("MPI_Comm_create_group", comm, group, comm->errhandler, &channel, out);
    weft_engine_leave();
    weft_unlock();
    return rc;
}

enum weft_rc weft_comm_create_from_group(struct weft_group *group, const char *stringtag,
                                         struct weft_errhandler *errhandler,
                                         struct weft_comm **out)
{
    const struct weft_channel channel = weft_channel_of_string(stringtag);
    enum weft_rc rc;

    weft_lock();
    rc = create("MPI_Comm_create_from_group", NULL, group, errhandler, &channel, out);
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
