#include "core/comm.h"

#include "base/reserve.h"
#include "core/topology.h"
#include "engine/lock.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct weft_pool pool;

struct weft_comm weft_comm_world;
struct weft_comm weft_comm_self;
void (*weft_comm_unused)(struct weft_comm *comm);

static void fill(struct weft_comm *comm, struct weft_group *group,
                 struct weft_group *remote)
{
    const struct weft_group *peers = remote != NULL ? remote : group;

    comm->rank = group->rank;
    comm->size = group->size;
    comm->peers = peers->size;
    comm->map = peers->map;
    comm->group = group;
    comm->remote = remote;
    comm->references = 1;
    comm->name = "";
}

static enum weft_rc open_predefined(struct weft_comm *comm, MPI_Comm handle,
                                    const char *name, uint32_t first, int size)
{
    struct weft_group *group;
    enum weft_rc rc = weft_group_make_range(first, size, &group);

    if (rc == WEFT_OK) {
        fill(comm, group, NULL);
        comm->handle = handle;
        comm->name = name;
        comm->errhandler = weft_errhandler_use(&weft_errors_are_fatal);
    }
    return rc;
}

void weft_comm_open(uint64_t me)
{
    weft_group_open(me);
    weft_pool_init(&pool, sizeof(struct weft_comm), 8, 1u << WEFT_HANDLE_INDEX_BITS);
    weft_handle_register(WEFT_KIND_COMM, &pool);
}

enum weft_rc weft_comm_open_predefined(int rank, int size)
{
    enum weft_rc rc;

    weft_assert_locked();
    assert(rank >= 0 && rank < size);
    rc = open_predefined(&weft_comm_world, MPI_COMM_WORLD, "MPI_COMM_WORLD", 0, size);
    if (rc == WEFT_OK) {
        rc = open_predefined(&weft_comm_self, MPI_COMM_SELF, "MPI_COMM_SELF",
                             (uint32_t)rank, 1);
        weft_comm_self.context = WEFT_PLANES;
    }
    if (rc != WEFT_OK) {
        weft_comm_close_predefined();
    }
    return rc;
}

/* Gives back all that a communicator owns or uses. */
static void empty(struct weft_comm *comm)
{
    free(comm->own_name);
    free(comm->choices);
    weft_reserve_give(comm->calls);
    if (comm->errhandler != NULL) {
        weft_errhandler_release(comm->errhandler);
    }
    if (comm->remote != NULL) {
        weft_group_release(comm->remote);
    }
    if (comm->group != NULL) {
        weft_group_release(comm->group);
    }
    weft_topology_release(comm->topology);
}

/* A request that the user has freed may end later than MPI_Finalize, by a packet that the
 * progress thread takes, and gives its reference back then. Our own one stays. */
static void close_one(struct weft_comm *comm)
{
    const int references = comm->references;

    empty(comm);
    memset(comm, 0, sizeof(*comm));
    comm->references = references;
}

void weft_comm_close_predefined(void)
{
    close_one(&weft_comm_world);
    close_one(&weft_comm_self);
}

struct weft_comm *weft_comm_next(uint32_t *index)
{
    struct weft_comm *comm = NULL;

    weft_assert_locked();
    while (comm == NULL && *index < pool.made) {
        comm = weft_pool_find(&pool, *index, weft_pool_generation(&pool, *index));
        ++*index;
    }
    return comm;
}

void weft_comm_close(void)
{
    struct weft_comm *comm;
    uint32_t index = 0;

    while ((comm = weft_comm_next(&index)) != NULL) { /* the user has not freed it */
        weft_attributes_forget(&comm->attributes);
        empty(comm);
    }
    weft_comm_close_predefined();
    weft_pool_fini(&pool);
    weft_group_close();
}

struct weft_comm *weft_comm_of_context(uint32_t context)
{
    const uint32_t wanted = context & ~(uint32_t)(WEFT_PLANES - 1);
    struct weft_comm *comm;
    uint32_t index = 0;

    weft_assert_locked();
    if (wanted == weft_comm_world.context || wanted == weft_comm_self.context) {
        return wanted == weft_comm_world.context ? &weft_comm_world : &weft_comm_self;
    }
    do {
        comm = weft_comm_next(&index);
    } while (comm != NULL && comm->context != wanted);
    return comm;
}

enum weft_rc weft_comm_take(struct weft_group *group, struct weft_group *remote,
                            struct weft_comm **out)
{
    void *object;
    uintptr_t handle;
    enum weft_rc rc = weft_handle_take(WEFT_KIND_COMM, &object, &handle);

    weft_assert_locked();
    if (rc == WEFT_OK) {
        *out = object;
        fill(*out, weft_group_use(group), remote != NULL ? weft_group_use(remote) : NULL);
        (*out)->handle = (MPI_Comm)handle;
    }
    return rc;
}

void weft_comm_give(struct weft_comm *comm)
{
    weft_assert_locked();
    assert(comm != &weft_comm_world && comm != &weft_comm_self);
    empty(comm);
    weft_handle_give(WEFT_KIND_COMM, (uintptr_t)comm->handle);
}

/* In place: a thread that waits may read the old name, with the lock, or the new one. */
enum weft_rc weft_comm_set_name(struct weft_comm *comm, const char *name)
{
    weft_assert_locked();
    if (comm->own_name == NULL) {
        comm->own_name = malloc(MPI_MAX_OBJECT_NAME);
    }
    if (comm->own_name == NULL) {
        return WEFT_ERR_NOMEM;
    }
    snprintf(comm->own_name, MPI_MAX_OBJECT_NAME, "%s", name);
    comm->name = comm->own_name;
    return WEFT_OK;
}

static uint32_t agreements; /* under way; with the lock */

void weft_comm_begin_agreement(void)
{
    weft_assert_locked();
    agreements++;
}

void weft_comm_end_agreement(void)
{
    weft_assert_locked();
    assert(agreements > 0);
    agreements--;
}

bool weft_comm_is_agreeing(void)
{
    weft_assert_locked();
    return agreements > 0;
}
