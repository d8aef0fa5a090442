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
    uint32_t rc; /* enum weft_rc: whether the side has made its own communicator */
};
_Static_assert(sizeof(struct side) == 40, "WEFT_WIRE_VERSION");

static struct side describe(const struct weft_group *group, uint32_t context,
                            enum weft_rc rc)
{
    return (struct side){
        .leader = weft_engine.me,
        .size = group->size,
        .has_table = group->map.table != NULL,
        .first = group->map.first,
        .stride = group->map.stride,
        .context = context,
        .rc = (uint32_t)rc,
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

/* The other leader's message, for which there was no memory. */
static void drop(const struct weft_channel *channel, int process)
{
    weft_lock();
    weft_p2p_drop_next(channel->context | (uint32_t)channel->plane, process,
                       channel->tag);
    weft_engine_leave();
    weft_unlock();
}

/* A message each way, over `channel`, with processes for ranks. `in` is NULL if there was
 * no memory for what comes: this leader sends nevertheless, because the other one waits.
 * `state` is NULL, or a part of `out` that gets the error if nothing can be received.
 * Takes the lock. */
static enum weft_rc exchange(const struct weft_channel *channel, int process,
                             const void *out, size_t out_bytes, void *in, size_t in_bytes,
                             uint32_t *state)
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
    const enum weft_rc posted =
        in != NULL || in_bytes == 0
            ? weft_irecv(&via, channel->plane, process, channel->tag, in, in_bytes, &recv)
            : WEFT_ERR_NOMEM;
    enum weft_rc rc;

    if (posted != WEFT_OK && state != NULL) {
        *state = (uint32_t)posted;
    }
    rc = weft_send(&via, process, channel->tag, out, out_bytes,
                   (unsigned)channel->plane | WEFT_SEND_STANDARD);
    if (posted != WEFT_OK) {
        drop(channel, process);
        return posted;
    }
    weft_wait(recv, &why);
    rc = rc == WEFT_OK ? recv->rc : rc;
    weft_lock();
    weft_request_give(recv);
    weft_engine_leave();
    weft_unlock();
    return rc;
}

/* The leader's part: what it learns of the other side, with the context that counts.
 * `made` says whether its own side has its communicator. If `theirs->rc` is an error, the
 * other leader knows of one, too, and exchanges nothing more. */
static enum weft_rc meet(const struct weft_group *group, enum weft_rc made,
                         const struct weft_channel *channel, int process,
                         struct side *theirs, uint64_t **table)
{
    struct side ours;
    enum weft_rc rc;

    weft_lock();
    ours = describe(group, weft_context_take(), made);
    weft_engine_leave();
    weft_unlock();
    rc = exchange(channel, process, &ours, sizeof(ours), theirs, sizeof(*theirs),
                  &ours.rc);
    if (ours.rc != (uint32_t)WEFT_OK) {
        theirs->rc = ours.rc;
    }
    rc = rc != WEFT_OK ? rc : made != WEFT_OK ? made : (enum weft_rc)theirs->rc;
    if (rc == WEFT_OK && (ours.has_table || theirs->has_table)) {
        *table = theirs->has_table ? malloc(table_bytes(theirs)) : NULL;
        rc = exchange(channel, process, group->map.table, table_bytes(&ours), *table,
                      table_bytes(theirs), NULL);
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

    if (rc != WEFT_OK || theirs->rc != WEFT_OK) {
        return rc;
    }
    if (theirs->has_table && local->rank != leader) {
        *table = malloc(table_bytes(theirs));
        if (*table == NULL) {
            weft_disagree_starved(local);
            return WEFT_ERR_NOMEM;
        }
    }
    return weft_coll_bcast(local, call, *table, table_bytes(theirs), leader);
}

/* This member's intercommunicator over `local`, without an agreement. */
static enum weft_rc make_over(struct weft_comm *local, const struct side *theirs,
                              const uint64_t *table, struct weft_comm **out)
{
    struct weft_group *remote;
    enum weft_rc rc;

    weft_lock();
    rc = make_described(theirs, table, &remote);
    if (rc == WEFT_OK) {
        rc = weft_make_empty(local->group, remote, local->errhandler, out);
        weft_group_release(remote);
    }
    if (rc == WEFT_OK) {
        (*out)->context = theirs->context;
    }
    weft_engine_leave();
    weft_unlock();
    return rc;
}

/* The leaders tell each other whether their sides have succeeded. */
static enum weft_rc compare(const struct weft_channel *channel, int process,
                            enum weft_rc ours)
{
    const uint32_t mine = (uint32_t)ours;
    uint32_t theirs = (uint32_t)WEFT_OK;
    const enum weft_rc rc =
        exchange(channel, process, &mine, sizeof(mine), &theirs, sizeof(theirs), NULL);

    return ours != WEFT_OK ? ours : rc != WEFT_OK ? rc : (enum weft_rc)theirs;
}

/*
 * All members of both sides agree on whether they have all that they need: each side by
 * itself, then the leaders, and then each side on what its leader has learned. What the
 * second agreement of a side needs is there before the first one. `compares`: this is a
 * leader, and the other one takes part, too.
 */
static enum weft_rc agree(struct weft_comm *local, bool compares,
                          const struct weft_channel *channel, int process,
                          enum weft_rc rc)
{
    static const char call[] = "MPI_Intercomm_create";
    struct weft_outcome ours;
    struct weft_outcome both;
    enum weft_rc made;

    weft_lock();
    made = weft_outcome_make(&both, local->group, weft_channel_of_all(local));
    rc = rc == WEFT_OK ? made : rc;
    made = weft_outcome_make(&ours, local->group, weft_channel_of_all(local));
    rc = rc == WEFT_OK ? made : rc;
    rc = weft_outcome_wait(call, &ours, rc);
    weft_engine_leave();
    weft_unlock();
    made = compares ? compare(channel, process, rc) : WEFT_OK;
    weft_lock();
    if (rc == WEFT_OK) {
        rc = weft_outcome_wait(call, &both, made);
    } else {
        weft_outcome_unmake(&both);
    }
    weft_engine_leave();
    weft_unlock();
    return rc;
}

/* The end of an intercommunicator that not all members have; its local one stays. `made`
 * may be NULL. */
static void undo(struct weft_comm *made, const struct side *theirs)
{
    weft_lock();
    if (made != NULL) {
        made->context = 0;
        weft_make_undo(made);
    }
    if (theirs->context != 0 && weft_context_owner(theirs->context) == weft_engine.me) {
        weft_context_give(theirs->context);
    }
    weft_engine_leave();
    weft_unlock();
}

/* Makes the intercommunicator over `local`, which becomes a part of it. */
static enum weft_rc join(struct weft_comm *local, int leader,
                         const struct weft_channel *channel, int process,
                         struct weft_comm **out)
{
    struct side theirs = {0};
    uint64_t *table = NULL;
    struct weft_comm *made = NULL;
    bool compares = local->rank == leader;
    enum weft_rc rc;

    if (local->rank == leader) {
        rc = meet(local->group, WEFT_OK, channel, process, &theirs, &table);
        compares = theirs.rc == WEFT_OK;
        theirs.rc = (uint32_t)rc;
    }
    rc = tell_side(local, leader, &theirs, &table);
    if (rc == WEFT_OK) {
        rc = theirs.rc != WEFT_OK  ? (enum weft_rc)theirs.rc
             : theirs.context == 0 ? WEFT_ERR_NOMEM /* neither leader has one left */
                                   : make_over(local, &theirs, table, &made);
    }
    free(table);
    rc = agree(local, compares, channel, process, rc);
    if (rc == WEFT_OK) {
        made->local = local;
        *out = made;
    } else {
        undo(made, &theirs);
    }
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
        if (group->rank == leader) { /* the other leader waits for this one */
            struct side theirs = {0};
            uint64_t *table = NULL;

            (void)meet(group, rc, channel, process, &theirs, &table);
        }
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
                      sizeof(mine), &theirs, sizeof(theirs), NULL);
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
