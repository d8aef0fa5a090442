/*
 * inter.c - intercommunicators. Each side makes a communicator of its own, over which it
 * works together later; the leaders exchange their groups and a proposed context, and
 * tell their sides. Of the two contexts, that of the leader with the lower process
 * counts.
 */
#include "comm/make.h"

#include "coll/coll.h"
#include "coll/disagree.h"
#include "comm/agree.h"
#include "comm/context.h"
#include "p2p/p2p.h"
#include "engine/hot.h"
#include "p2p/state.h"
#include "engine/lock.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* What leaders tell each other, and their sides; the table, if any, follows. */
struct side {
    uint64_t leader;
    uint64_t first;
    int64_t stride;
    int32_t size;
    uint32_t has_table;
    uint32_t context;
    uint32_t zero;
};

static struct side describe(const struct weft_group *group, uint32_t context)
{
    return (struct side){
        .leader = weft_engine.me,
        .size = group->size,
        .has_table = group->map.table != NULL,
        .first = group->map.first,
        .stride = group->map.stride,
        .context = context,
    };
}

static size_t table_bytes(const struct side *side)
{
    return side->has_table ? (size_t)side->size * sizeof(uint64_t) : 0;
}

/* The group that was described. With the lock. */
static enum weft_rc make_described(const struct side *side, const uint64_t *table,
                                   struct weft_group **out)
{
    struct weft_group_draft draft = {
        .size = side->size,
        .map = {.first = side->first, .stride = side->stride},
    };

    if (!side->has_table) {
        return weft_group_make(&draft, out);
    }
    draft = (struct weft_group_draft){0};
    for (int i = 0; i < side->size; i++) {
        enum weft_rc rc = weft_group_add(&draft, table[i]);

        if (rc != WEFT_OK) {
            weft_group_drop(&draft);
            return rc;
        }
    }
    return weft_group_make(&draft, out);
}

/* ---- between the leaders ---- */

/* A message each way, over `channel`, with processes for ranks. Takes the lock. */
static enum weft_rc exchange(const struct weft_channel *channel, int process,
                             const void *out, size_t out_bytes, void *in, size_t in_bytes)
{
    struct weft_comm via = {
        .rank = (int)weft_engine_rank(weft_engine.me),
        .context = channel->context,
        .map = {.first = weft_engine_process(0), .stride = 1},
        .references = 1,
        .name = "",
    };
    const struct weft_wait_reason why = {"MPI_Intercomm_create", "", process,
                                         channel->tag, in_bytes};
    struct weft_request *recv;
    enum weft_rc rc;

    rc = weft_irecv(&via, channel->plane, process, channel->tag, in, in_bytes, &recv);
    if (rc != WEFT_OK) {
        return rc;
    }
    rc = weft_send(&via, process, channel->tag, out, out_bytes,
                   (unsigned)channel->plane | WEFT_SEND_STANDARD);
    weft_wait(recv, &why);
    rc = rc == WEFT_OK ? recv->rc : rc;
    weft_lock();
    weft_request_give(recv);
    weft_engine_leave();
    weft_unlock();
    return rc;
}

/* The leader's part: what it learns of the other side, with the context that counts. */
static enum weft_rc meet(const struct weft_group *group,
                         const struct weft_channel *channel, int process,
                         struct side *theirs, uint64_t **table)
{
    struct side ours;
    enum weft_rc rc;

    weft_lock();
    ours = describe(group, weft_context_take());
    weft_engine_leave();
    weft_unlock();
    rc = exchange(channel, process, &ours, sizeof(ours), theirs, sizeof(*theirs));
    if (rc == WEFT_OK && theirs->has_table) {
        *table = malloc(table_bytes(theirs));
        rc = *table == NULL ? WEFT_ERR_NOMEM : WEFT_OK;
    }
    if (rc == WEFT_OK && (ours.has_table || theirs->has_table)) {
        rc = exchange(channel, process, group->map.table, table_bytes(&ours), *table,
                      table_bytes(theirs));
    }
    if (rc == WEFT_OK && ours.context != 0 &&
        (ours.leader < theirs->leader || theirs->context == 0)) {
        theirs->context = ours.context;
    } else {
        weft_lock();
        weft_context_give(ours.context);
        weft_engine_leave();
        weft_unlock();
    }
    return rc;
}

/* ---- both sides ---- */

/* The leader tells its side. */
static enum weft_rc tell_side(struct weft_comm *local, int leader, struct side *theirs,
                              uint64_t **table)
{
    static const char call[] = "MPI_Intercomm_create";
    enum weft_rc rc = weft_coll_bcast(local, call, theirs, sizeof(*theirs), leader);

    if (rc == WEFT_OK && theirs->has_table && local->rank != leader) {
        *table = malloc(table_bytes(theirs));
        rc = *table == NULL ? WEFT_ERR_NOMEM : WEFT_OK;
    }
    return rc == WEFT_OK
               ? weft_coll_bcast(local, call, *table, table_bytes(theirs), leader)
               : rc;
}

/* Makes the intercommunicator over `local`, which becomes a part of it. */
static enum weft_rc join(struct weft_comm *local, int leader,
                         const struct weft_channel *channel, int process,
                         struct weft_comm **out)
{
    struct side theirs = {0};
    uint64_t *table = NULL;
    struct weft_group *remote;
    enum weft_rc rc = WEFT_OK;

    if (local->rank == leader) {
        rc = meet(local->group, channel, process, &theirs, &table);
    }
    if (rc == WEFT_OK) {
        rc = tell_side(local, leader, &theirs, &table);
    }
    if (rc == WEFT_OK && theirs.context == 0) {
        rc = WEFT_ERR_NOMEM; /* neither leader has one left */
    }
    if (rc == WEFT_OK) {
        weft_lock();
        rc = make_described(&theirs, table, &remote);
        if (rc == WEFT_OK) {
            rc = weft_make_empty(local->group, remote, local->errhandler, out);
            weft_group_release(remote);
        }
        if (rc == WEFT_OK) {
            (*out)->local = local;
            (*out)->context = theirs.context;
        }
        weft_engine_leave();
        weft_unlock();
    }
    free(table);
    return rc;
}

/* Makes the local communicator, over `local_channel`, and then the whole. */
static enum weft_rc make_inter(const char *call, struct weft_comm *parent,
                               struct weft_group *group,
                               struct weft_errhandler *errhandler,
                               const struct weft_channel *local_channel, int leader,
                               const struct weft_channel *channel, int process,
                               struct weft_comm **out)
{
    const struct weft_agree_ask ask = {
        .parent = parent,
        .group = group,
        .channel = *local_channel,
    };
    struct weft_comm *local;
    enum weft_rc rc;

    weft_lock();
    rc = weft_make_empty(group, NULL, errhandler, &local);
    if (rc != WEFT_OK) {
        weft_agree_refuse(&ask, rc);
    } else {
        rc = weft_agree(call, &ask, local);
        if (rc != WEFT_OK) {
            weft_make_undo(local);
        }
    }
    weft_engine_leave();
    weft_unlock();
    if (rc != WEFT_OK) {
        return rc;
    }
    rc = join(local, leader, channel, process, out);
    if (rc != WEFT_OK) {
        weft_comm_free(local);
    }
    return rc;
}

enum weft_rc weft_intercomm_create(struct weft_comm *local, int leader,
                                   struct weft_comm *peer, int remote_leader, int tag,
                                   struct weft_comm **out)
{
    struct weft_channel local_channel;
    struct weft_channel channel = {.plane = WEFT_PLANE_MAKE, .tag = tag};
    int process = -1;

    weft_assert_unlocked();
    weft_lock();
    local_channel = weft_channel_of_all(local);
    weft_engine_leave();
    weft_unlock();
    if (local->rank == leader) {
        channel.context = peer->context;
        process = (int)weft_engine_rank(weft_comm_process(peer, remote_leader));
    }
    return make_inter("MPI_Intercomm_create", local, local->group, local->errhandler,
                      &local_channel, leader, &channel, process, out);
}

enum weft_rc weft_intercomm_create_from_groups(struct weft_group *local, int leader,
                                               struct weft_group *remote,
                                               int remote_leader, const char *stringtag,
                                               struct weft_errhandler *errhandler,
                                               struct weft_comm **out)
{
    const struct weft_channel channel = weft_channel_of_string(stringtag);
    const int process =
        local->rank == leader
            ? (int)weft_engine_rank(weft_group_process(remote, remote_leader))
            : -1;

    return make_inter("MPI_Intercomm_create_from_groups", NULL, local, errhandler,
                      &channel, leader, &channel, process, out);
}

enum weft_rc weft_intercomm_create_part(struct weft_comm *comm, struct weft_group *group,
                                        struct weft_comm **out)
{
    const bool is_in = group->rank != MPI_UNDEFINED;

    return weft_comm_split("MPI_Comm_create", comm, is_in ? 0 : MPI_UNDEFINED,
                           is_in ? group->rank : 0, out);
}

/* ---- merge ---- */

/* Does the local group come first? Both sides find the same. */
static enum weft_rc order_sides(struct weft_comm *comm, bool is_high, bool *is_first)
{
    const int mine = is_high;
    struct weft_tree_agree sides;
    struct weft_channel channel;
    int theirs = 0;
    enum weft_rc rc = WEFT_OK;

    weft_lock();
    channel = weft_channel_of_all(comm);
    weft_agree_sides(comm, &sides);
    weft_engine_leave();
    weft_unlock();
    if (comm->rank == 0) {
        rc = exchange(&channel, (int)weft_engine_rank(weft_comm_process(comm, 0)), &mine,
                      sizeof(mine), &theirs, sizeof(theirs));
    }
    if (rc != WEFT_OK) { /* its side waits for this leader */
        weft_disagree_starved(comm->local);
    } else {
        rc = weft_coll_bcast(comm->local, "MPI_Intercomm_merge", &theirs, sizeof(theirs),
                             0);
    }
    *is_first = mine != theirs ? theirs > mine : sides.first == comm->group;
    return rc;
}

enum weft_rc weft_intercomm_merge(struct weft_comm *comm, bool is_high,
                                  struct weft_comm **out)
{
    struct weft_group_draft draft = {0};
    struct weft_group *group = NULL;
    bool is_first;
    enum weft_rc rc = order_sides(comm, is_high, &is_first);

    weft_assert_unlocked();
    assert(weft_comm_is_inter(comm));
    if (rc == WEFT_OK) {
        rc = is_first ? weft_group_union(comm->group, comm->remote, &draft)
                      : weft_group_union(comm->remote, comm->group, &draft);
    }
    if (rc == WEFT_OK) {
        weft_lock();
        rc = weft_group_make(&draft, &group);
        weft_engine_leave();
        weft_unlock();
    }
    rc = weft_comm_create_merged("MPI_Intercomm_merge", comm, group, rc, out);
    if (group != NULL) {
        weft_lock();
        weft_group_release(group);
        weft_engine_leave();
        weft_unlock();
    }
    return rc;
}
