/*
 * unmake.c - the end of a communicator, and the way of its context home.
 *
 * A process that needs a communicator no longer says so to the next one up the tree, once
 * those below it have said so (tree_agree.h); the owner of the context, at the root,
 * gives it free. Nobody waits for that: it happens while MPI polls.
 */
#include "comm/make.h"

#include "coll/disagree.h"
#include "coll/slots.h"
#include "comm/agree.h"
#include "comm/context.h"
#include "p2p/buffered.h"
#include "engine/hot.h"
#include "p2p/state.h"
#include "engine/lock.h"

#include <assert.h>
#include <sched.h>

enum {
    TAG_RELEASE = (1 << 30) - 1,
    MANY = 64,   /* that wait for others, before we give these a chance to follow */
    PATIENCE = 8 /* and how often */
};

struct release {
    struct weft_tree_agree tree;
    struct weft_comm *comm;
    struct weft_extent slots; /* to be given back when all are through, or empty */
    uint32_t index;
};

static struct weft_pool pool;

void weft_unmake_open(void)
{
    weft_pool_init(&pool, sizeof(struct release), 2, 1u << WEFT_HANDLE_INDEX_BITS);
    weft_comm_unused = weft_unmake;
}

void weft_unmake_close(void)
{
    weft_pool_fini(&pool);
}

/* Those below us are through; if we are the root, all are. */
static void done(struct weft_tree_agree *tree, enum weft_rc rc)
{
    struct release *release = tree->owner;
    struct weft_comm *comm = release->comm;

    weft_p2p_drop_waiting(comm->context | WEFT_PLANE_P2P);
    if (rc == WEFT_OK && weft_context_owner(comm->context) == weft_engine.me) {
        weft_context_give(comm->context);
        weft_slots_give(release->slots);
    }
    weft_comm_give(comm);
    weft_pool_give(&pool, release->index);
}

void weft_unmake(struct weft_comm *comm)
{
    const uint64_t owner = weft_context_owner(comm->context);
    const struct weft_extent slots = weft_slots_leave(comm);
    struct release *release;
    struct weft_tree_agree *tree;
    void *object;
    uint32_t index;
    uint32_t generation;

    weft_assert_locked();
    assert(comm->references == 0);
    weft_calls_leave(comm);
    if (comm->local != NULL) {
        weft_comm_release(comm->local);
    }
    if (weft_pool_take(&pool, &object, &index, &generation) != WEFT_OK) {
        weft_comm_give(comm); /* the context is lost, which is no clash */
        return;
    }
    release = object;
    release->comm = comm;
    release->slots = slots;
    release->index = index;
    tree = &release->tree;
    weft_agree_sides(comm, tree);
    tree->root = weft_group_rank_of(tree->first, owner);
    tree->kind = WEFT_AGREE_UP;
    tree->channel = (struct weft_channel){comm->context, WEFT_PLANE_COLL, TAG_RELEASE};
    tree->done = done;
    tree->owner = release;
    if (weft_tree_agree_make(tree) == WEFT_OK) {
        weft_tree_agree_start(tree);
    } else {
        done(tree, WEFT_ERR_NOMEM);
    }
}

/* Without the lock: callbacks of the user run. */
static int delete_attributes(struct weft_comm *comm)
{
    return weft_attributes_clear(WEFT_KIND_COMM, comm->handle, &comm->attributes);
}

int weft_comm_free(struct weft_comm *comm)
{
    bool is_ahead;
    int err = delete_attributes(comm);

    weft_assert_unlocked();
    if (err != MPI_SUCCESS) {
        return err;
    }
    if (comm->buffer != NULL) {
        (void)weft_buffer_detach((struct weft_buffer_owner){.comm = comm},
                                 "MPI_Comm_free");
    }
    weft_lock();
    comm->is_freed = true;
    weft_comm_release(comm);
    is_ahead = pool.in_use > MANY;
    weft_engine_leave();
    weft_unlock();
    for (int i = 0; i < PATIENCE && is_ahead; i++) {
        sched_yield();
        weft_progress();
        weft_lock();
        is_ahead = pool.in_use > MANY;
        weft_engine_leave();
        weft_unlock();
    }
    return MPI_SUCCESS;
}
