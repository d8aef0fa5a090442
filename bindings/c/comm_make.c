/*
 * comm_make.c - MPI-5.0 chapter 7: making communicators.
 */
#include "binding.h"

#include "check/group.h"
#include "check/info.h"
#include "check/p2p.h"
#include "check/rc.h"
#include "comm/make.h"
#include "core/hints.h"
#include "engine/lock.h"

#include <string.h>

/* The handle of what was made; NULL: this process is not in it. */
static int give_comm(const char *function, struct weft_comm *parent, enum weft_rc rc,
                     const struct weft_comm *made, MPI_Comm *newcomm)
{
    if (rc == WEFT_OK) {
        *newcomm = made != NULL ? made->handle : MPI_COMM_NULL;
    }
    return weft_raise_rc(parent, rc, function);
}

static int check_made(const char *function, MPI_Comm comm, const void *newcomm,
                      struct weft_comm **out)
{
    int err = weft_check_comm(function, comm, out);

    return err == MPI_SUCCESS ? weft_check_out(function, *out, newcomm, "newcomm") : err;
}

/* ---- dup ---- */

/* A duplicate has the hints of the info object, where there is one. */
static void set_hints(struct weft_comm *comm, const MPI_Info *info)
{
    if (info != NULL) {
        weft_lock();
        weft_object_lock();
        comm->hints = 0;
        weft_hints_update(&comm->hints, weft_info_from_handle(*info));
        weft_object_unlock();
        weft_unlock();
    }
}

/* `info` is that of the call, or NULL: then the hints are copied. */
static int check_dup(const char *function, MPI_Comm comm, const MPI_Info *info,
                     const void *newcomm, struct weft_comm **out)
{
    struct weft_info *ignored;
    int err = check_made(function, comm, newcomm, out);

    return err == MPI_SUCCESS && info != NULL
               ? weft_check_info_or_null(function, *out, *info, &ignored)
               : err;
}

static int dup_checked(const char *function, MPI_Comm comm, const MPI_Info *info,
                       MPI_Comm *newcomm)
{
    struct weft_comm *c;
    struct weft_comm *made = NULL;
    enum weft_rc rc;
    int copied = MPI_SUCCESS;
    int err = check_dup(function, comm, info, newcomm, &c);

    if (err != MPI_SUCCESS) {
        return err;
    }
    rc = weft_comm_dup(function, c, &made, &copied);
    if (rc == WEFT_OK && copied != MPI_SUCCESS) {
        return weft_raise_comm(c, function, copied, WEFT_T_KEY_NOT_COPIED);
    }
    if (rc == WEFT_OK) {
        set_hints(made, info);
    }
    return give_comm(function, c, rc, made, newcomm);
}

int PMPI_Comm_dup(MPI_Comm comm, MPI_Comm *newcomm)
{
    WEFT_RECORD(Comm_dup, comm, WEFT_PLANE_COLL, WEFT_DOING_UNKNOWN, MPI_ANY_TAG, 0);

    return dup_checked("MPI_Comm_dup", comm, NULL, newcomm);
}
WEFT_WEAK_ALIAS(MPI_Comm_dup, PMPI_Comm_dup);

int PMPI_Comm_dup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm *newcomm)
{
    WEFT_RECORD(Comm_dup_with_info, comm, WEFT_PLANE_COLL, WEFT_DOING_UNKNOWN,
                MPI_ANY_TAG, 0);

    return dup_checked("MPI_Comm_dup_with_info", comm, &info, newcomm);
}
WEFT_WEAK_ALIAS(MPI_Comm_dup_with_info, PMPI_Comm_dup_with_info);

static int idup_checked(const char *function, MPI_Comm comm, const MPI_Info *info,
                        MPI_Comm *newcomm, MPI_Request *request)
{
    struct weft_comm *c;
    struct weft_comm *made = NULL;
    struct weft_request *started = NULL;
    enum weft_rc rc;
    int copied = MPI_SUCCESS;
    int err = check_dup(function, comm, info, newcomm, &c);

    if (err == MPI_SUCCESS) {
        err = weft_check_out(function, c, request, "request");
    }
    if (err != MPI_SUCCESS) {
        return err;
    }
    rc = weft_comm_idup(function, c, &made, &started, &copied);
    if (rc == WEFT_OK) {
        set_hints(made, info);
        *request = started->handle;
    }
    err = give_comm(function, c, rc, made, newcomm);
    return err == MPI_SUCCESS && copied != MPI_SUCCESS
               ? weft_raise_comm(c, function, copied, WEFT_T_KEY_NOT_COPIED)
               : err;
}

int PMPI_Comm_idup(MPI_Comm comm, MPI_Comm *newcomm, MPI_Request *request)
{
    WEFT_RECORD(Comm_idup, comm, WEFT_PLANE_COLL, WEFT_DOING_UNKNOWN, MPI_ANY_TAG, 0);

    return idup_checked("MPI_Comm_idup", comm, NULL, newcomm, request);
}
WEFT_WEAK_ALIAS(MPI_Comm_idup, PMPI_Comm_idup);

int PMPI_Comm_idup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm *newcomm,
                             MPI_Request *request)
{
    WEFT_RECORD(Comm_idup_with_info, comm, WEFT_PLANE_COLL, WEFT_DOING_UNKNOWN,
                MPI_ANY_TAG, 0);

    return idup_checked("MPI_Comm_idup_with_info", comm, &info, newcomm, request);
}
WEFT_WEAK_ALIAS(MPI_Comm_idup_with_info, PMPI_Comm_idup_with_info);

/* ---- create ---- */

/* `part` is one of the local group of `comm`. */
static int check_part(const char *function, struct weft_comm *comm,
                      const struct weft_group *part)
{
    struct weft_group_draft outside = {0};
    enum weft_rc rc = weft_group_difference(part, comm->group, &outside);
    const int count = outside.size;

    weft_group_drop(&outside);
    if (rc != WEFT_OK) {
        return weft_raise_rc(comm, rc, function);
    }
    return count == 0 ? MPI_SUCCESS
                      : weft_raise_comm(comm, function, WEFT_E_GROUP_OUTSIDE, count);
}

int PMPI_Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm *newcomm)
{
    WEFT_RECORD(Comm_create, comm, WEFT_PLANE_COLL, WEFT_DOING_UNKNOWN, MPI_ANY_TAG, 0);
    static const char function[] = "MPI_Comm_create";
    struct weft_comm *c;
    struct weft_group *g;
    struct weft_comm *made = NULL;
    enum weft_rc rc;
    int err = check_made(function, comm, newcomm, &c);

    if (err == MPI_SUCCESS) {
        err = weft_check_group(function, group, &g);
    }
    if (err == MPI_SUCCESS) {
        err = check_part(function, c, g);
    }
    if (err != MPI_SUCCESS) {
        return err;
    }
    rc = weft_comm_is_inter(c) ? weft_intercomm_create_part(c, g, &made)
                               : weft_comm_create(function, c, g, &made);
    return give_comm(function, c, rc, made, newcomm);
}
WEFT_WEAK_ALIAS(MPI_Comm_create, PMPI_Comm_create);

static int check_tag(const char *function, struct weft_comm *comm, int tag)
{
    return tag >= 0 ? MPI_SUCCESS
                    : weft_raise_comm(comm, function, WEFT_E_TAG_PLAIN, tag);
}

int PMPI_Comm_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *newcomm)
{
    WEFT_RECORD(Comm_create_group, comm, WEFT_PLANE_COLL, WEFT_DOING_UNKNOWN, MPI_ANY_TAG,
                0);
    static const char function[] = "MPI_Comm_create_group";
    struct weft_comm *c;
    struct weft_group *g;
    struct weft_comm *made = NULL;
    enum weft_rc rc;
    int err = weft_check_intra(function, comm, &c);

    if (err == MPI_SUCCESS) {
        err = weft_check_out(function, c, newcomm, "newcomm");
    }
    if (err == MPI_SUCCESS) {
        err = weft_check_group(function, group, &g);
    }
    if (err == MPI_SUCCESS) {
        err = check_part(function, c, g);
    }
    if (err == MPI_SUCCESS) {
        err = check_tag(function, c, tag);
    }
    if (err != MPI_SUCCESS) {
        return err;
    }
    rc = weft_comm_create_group(c, g, tag, &made);
    return give_comm(function, c, rc, made, newcomm);
}
WEFT_WEAK_ALIAS(MPI_Comm_create_group, PMPI_Comm_create_group);

/* A string tag, and the error handler of what is made without a parent. */
static int check_parentless(const char *function, const char *stringtag,
                            MPI_Errhandler errhandler, struct weft_errhandler **out)
{
    char text[128];
    int err = weft_check_out(function, NULL, stringtag, "stringtag");

    if (err != MPI_SUCCESS) {
        return err;
    }
    if (strnlen(stringtag, MPI_MAX_STRINGTAG_LEN) == MPI_MAX_STRINGTAG_LEN) {
        return weft_raise(function, WEFT_E_COMM_STRING_TAG, MPI_MAX_STRINGTAG_LEN - 1);
    }
    *out = weft_errhandler_from_handle(errhandler);
    if (*out == NULL || ((*out)->family != WEFT_KIND_COMM && (*out)->call.any != NULL)) {
        return weft_raise(
            function, MPI_ERR_ARG, WEFT_T_HANDLE,
            weft_describe_handle(WEFT_KIND_ERRHANDLER, errhandler, text, sizeof(text)));
    }
    return MPI_SUCCESS;
}

static int check_member(const char *function, const struct weft_group *group)
{
    return group->rank != MPI_UNDEFINED || group->size == 0
               ? MPI_SUCCESS
               : weft_raise(function, WEFT_E_GROUP_WITHOUT_US);
}

int PMPI_Comm_create_from_group(MPI_Group group, const char *stringtag, MPI_Info info,
                                MPI_Errhandler errhandler, MPI_Comm *newcomm)
{
    WEFT_RECORD_PLAIN(Comm_create_from_group);
    static const char function[] = "MPI_Comm_create_from_group";
    struct weft_group *g;
    struct weft_errhandler *handler;
    struct weft_comm *made = NULL;
    enum weft_rc rc;
    int err = weft_check_group(function, group, &g);

    (void)info;
    if (err == MPI_SUCCESS) {
        err = weft_check_out(function, NULL, newcomm, "newcomm");
    }
    if (err == MPI_SUCCESS) {
        err = check_parentless(function, stringtag, errhandler, &handler);
    }
    if (err == MPI_SUCCESS) {
        err = check_member(function, g);
    }
    if (err != MPI_SUCCESS) {
        return err;
    }
    rc = weft_comm_create_from_group(g, stringtag, handler, &made);
    return give_comm(function, NULL, rc, made, newcomm);
}
WEFT_WEAK_ALIAS(MPI_Comm_create_from_group, PMPI_Comm_create_from_group);

/* ---- split ---- */

int PMPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm *newcomm)
{
    WEFT_RECORD(Comm_split, comm, WEFT_PLANE_COLL, WEFT_DOING_UNKNOWN, MPI_ANY_TAG, 0);
    static const char function[] = "MPI_Comm_split";
    struct weft_comm *c;
    struct weft_comm *made = NULL;
    enum weft_rc rc;
    int err = check_made(function, comm, newcomm, &c);

    if (err == MPI_SUCCESS && color < 0 && color != MPI_UNDEFINED) {
        err = weft_raise_comm(c, function, WEFT_E_COMM_COLOR, color);
    }
    if (err != MPI_SUCCESS) {
        return err;
    }
    rc = weft_comm_split(function, c, color, key, &made);
    return give_comm(function, c, rc, made, newcomm);
}
WEFT_WEAK_ALIAS(MPI_Comm_split, PMPI_Comm_split);

/* The value of "mpi_hw_resource_type", or NULL; it lives as long as the info object. */
static const char *resource_of(const struct weft_info *info)
{
    const char *value = NULL;

    if (info != NULL) {
        weft_object_lock();
        value = weft_info_get(info, "mpi_hw_resource_type");
        weft_object_unlock();
    }
    return value;
}

int PMPI_Comm_split_type(MPI_Comm comm, int split_type, int key, MPI_Info info,
                         MPI_Comm *newcomm)
{
    WEFT_RECORD(Comm_split_type, comm, WEFT_PLANE_COLL, WEFT_DOING_UNKNOWN, MPI_ANY_TAG,
                0);
    static const char function[] = "MPI_Comm_split_type";
    struct weft_comm *c;
    struct weft_comm *made = NULL;
    struct weft_info *known = NULL;
    enum weft_rc rc;
    int err = check_made(function, comm, newcomm, &c);

    if (err == MPI_SUCCESS) {
        err = weft_check_info_or_null(function, c, info, &known);
    }
    if (err == MPI_SUCCESS && split_type != MPI_UNDEFINED &&
        split_type != MPI_COMM_TYPE_SHARED && split_type != MPI_COMM_TYPE_HW_GUIDED &&
        split_type != MPI_COMM_TYPE_HW_UNGUIDED &&
        split_type != MPI_COMM_TYPE_RESOURCE_GUIDED) {
        err = weft_raise_comm(c, function, WEFT_E_COMM_SPLIT_TYPE, split_type);
    }
    if (err != MPI_SUCCESS) {
        return err;
    }
    rc = weft_comm_split_type(c, split_type, key, resource_of(known), &made);
    return give_comm(function, c, rc, made, newcomm);
}
WEFT_WEAK_ALIAS(MPI_Comm_split_type, PMPI_Comm_split_type);

/* ---- intercommunicators ---- */

/* The leader's view of the other side. */
static int check_peer(const char *function, struct weft_comm *local, MPI_Comm peer_comm,
                      int remote_leader, struct weft_comm **peer)
{
    int err = weft_check_comm(function, peer_comm, peer);

    if (err == MPI_SUCCESS && (unsigned)remote_leader >= (unsigned)(*peer)->peers) {
        err = weft_raise_comm(local, function, WEFT_E_LEADER_REMOTE, remote_leader,
                              (*peer)->peers - 1);
    }
    return err;
}

int PMPI_Intercomm_create(MPI_Comm local_comm, int local_leader, MPI_Comm peer_comm,
                          int remote_leader, int tag, MPI_Comm *newintercomm)
{
    WEFT_RECORD(Intercomm_create, local_comm, WEFT_PLANE_COLL, WEFT_DOING_UNKNOWN,
                MPI_ANY_TAG, 0);
    static const char function[] = "MPI_Intercomm_create";
    struct weft_comm *local;
    struct weft_comm *peer = NULL;
    struct weft_comm *made = NULL;
    enum weft_rc rc;
    int err = weft_check_intra(function, local_comm, &local);

    if (err == MPI_SUCCESS) {
        err = weft_check_out(function, local, newintercomm, "newintercomm");
    }
    if (err == MPI_SUCCESS && (unsigned)local_leader >= (unsigned)local->size) {
        err = weft_raise_comm(local, function, WEFT_E_LEADER_LOCAL, local_leader,
                              local->size - 1);
    }
    if (err == MPI_SUCCESS && local->rank == local_leader) {
        err = check_peer(function, local, peer_comm, remote_leader, &peer);
    }
    if (err == MPI_SUCCESS) {
        err = check_tag(function, local, tag);
    }
    if (err != MPI_SUCCESS) {
        return err;
    }
    rc = weft_intercomm_create(local, local_leader, peer, remote_leader, tag, &made);
    return give_comm(function, local, rc, made, newintercomm);
}
WEFT_WEAK_ALIAS(MPI_Intercomm_create, PMPI_Intercomm_create);

static int check_leader(const char *function, const struct weft_group *group, int leader)
{
    return (unsigned)leader < (unsigned)group->size
               ? MPI_SUCCESS
               : weft_raise(function, WEFT_E_LEADER_GROUP, leader, group->size - 1);
}

int PMPI_Intercomm_create_from_groups(MPI_Group local_group, int local_leader,
                                      MPI_Group remote_group, int remote_leader,
                                      const char *stringtag, MPI_Info info,
                                      MPI_Errhandler errhandler, MPI_Comm *newintercomm)
{
    WEFT_RECORD_PLAIN(Intercomm_create_from_groups);
    static const char function[] = "MPI_Intercomm_create_from_groups";
    struct weft_group *local;
    struct weft_group *remote;
    struct weft_errhandler *handler;
    struct weft_comm *made = NULL;
    enum weft_rc rc;
    int err = weft_check_group(function, local_group, &local);

    (void)info;
    if (err == MPI_SUCCESS) {
        err = weft_check_group(function, remote_group, &remote);
    }
    if (err == MPI_SUCCESS) {
        err = weft_check_out(function, NULL, newintercomm, "newintercomm");
    }
    if (err == MPI_SUCCESS) {
        err = check_parentless(function, stringtag, errhandler, &handler);
    }
    if (err == MPI_SUCCESS) {
        err = check_leader(function, local, local_leader);
    }
    if (err == MPI_SUCCESS) {
        err = check_leader(function, remote, remote_leader);
    }
    if (err == MPI_SUCCESS) {
        err = check_member(function, local);
    }
    if (err != MPI_SUCCESS) {
        return err;
    }
    rc = weft_intercomm_create_from_groups(local, local_leader, remote, remote_leader,
                                           stringtag, handler, &made);
    return give_comm(function, NULL, rc, made, newintercomm);
}
WEFT_WEAK_ALIAS(MPI_Intercomm_create_from_groups, PMPI_Intercomm_create_from_groups);

int PMPI_Intercomm_merge(MPI_Comm intercomm, int high, MPI_Comm *newintracomm)
{
    WEFT_RECORD(Intercomm_merge, intercomm, WEFT_PLANE_COLL, WEFT_DOING_UNKNOWN,
                MPI_ANY_TAG, 0);
    static const char function[] = "MPI_Intercomm_merge";
    struct weft_comm *c;
    struct weft_comm *made = NULL;
    enum weft_rc rc;
    int err = weft_check_inter(function, intercomm, &c);

    if (err == MPI_SUCCESS) {
        err = weft_check_out(function, c, newintracomm, "newintracomm");
    }
    if (err != MPI_SUCCESS) {
        return err;
    }
    rc = weft_intercomm_merge(c, high != 0, &made);
    return give_comm(function, c, rc, made, newintracomm);
}
WEFT_WEAK_ALIAS(MPI_Intercomm_merge, PMPI_Intercomm_merge);
