/*
 * comm.h - the object behind a communicator handle: its fields, lookup and references.
 *
 * MPI_COMM_WORLD and MPI_COMM_SELF exist while the world is initialised. Making further
 * communicators is the room comm/. Lookups need the library's lock, but for the two
 * predefined ones and those that the caller knows to live.
 *
 * References: one is the user's handle, given back by MPI_Comm_free, which makes the
 * handle invalid; each request that is not freed has one. Whoever gives back the last one
 * hands the communicator to weft_comm_unused, which comm/ has set.
 */
#ifndef WEFT_CORE_COMM_H
#define WEFT_CORE_COMM_H

#include "core/attribute.h"
#include "core/errhandler.h"
#include "core/group.h"

#include "mpi.h"
#include "engine/lock.h"

#include <assert.h>

/* Bits of a context that keep the planes of one communicator apart. */
enum weft_plane {
    WEFT_PLANE_P2P = 0,
    WEFT_PLANE_COLL = 1,
    WEFT_PLANE_RMA = 2,
    WEFT_PLANE_MAKE = 3, /* some members make a communicator, under a tag of the user's */
    WEFT_PLANE_PARTITIONED = 4,
    WEFT_PLANES = 8,
};

enum {
    WEFT_TAG_UB = 0x7fffffff, /* the largest tag */
    /* On the collective plane, tags below this are numbers of calls; those above belong
     * to members that make communicators. */
    WEFT_COLL_NUMBERS = 1 << 30,
};

struct weft_topology; /* topology.h */
struct weft_buffer;   /* p2p/buffered.h */
struct weft_slots;    /* coll/slots.h */
struct weft_choices;  /* coll/choices.h */
struct weft_calls;    /* coll/disagree.h */

/* A duplicate shares the group, so this is what it costs, at any number of ranks. */
struct weft_comm {
    MPI_Comm handle;
    int rank;            /* mine, in the local group */
    int size;            /* of the local group */
    int peers;           /* ranks that messages go to: those of `remote`, or `size` */
    uint32_t context;    /* a multiple of WEFT_PLANES, the same on all members */
    struct weft_map map; /* where they are: of `remote`, or of `group` */
    uint32_t hints;      /* what the user has promised: core/hints.h */
    uint32_t origin;     /* of which call of its parent it is, the same on all members;
                          * 0: not known. Tells it from others of its context */
    const char *name;    /* what it points to stays until the communicator is freed */
    char *own_name;      /* given by the user, or NULL */
    struct weft_errhandler *errhandler;
    struct weft_attributes attributes;
    struct weft_group *group;
    struct weft_group *remote;      /* NULL: an intracommunicator */
    struct weft_comm *local;        /* of an intercommunicator: its local group's own */
    struct weft_topology *topology; /* NULL: none */
    struct weft_buffer *buffer;     /* that the user attached to it, or NULL */
    struct weft_slots *slots;       /* of collectives; NULL: not asked for yet */
    struct weft_choices *choices;   /* of its collectives, or NULL; plain memory */
    struct weft_calls *calls;       /* the last blocking ones, or NULL; plain memory */
    int references;
    uint32_t made;        /* communicators made from it by all members, for their tags */
    uint32_t collectives; /* that were begun on it: the next one's number */
    uint32_t blocking;    /* blocking ones, by whatever way */
    bool is_freed;        /* the user's handle is gone */
    bool is_revoked;      /* messages of its collectives are dropped: p2p/failed.c */
    bool is_tentative;    /* an idup is under way: it is undone if that fails */
    bool has_given_up;    /* a collective of ours has failed, and is to be revoked */
};
_Static_assert(sizeof(struct weft_comm) < 248, "a duplicate costs under 256 bytes");

extern WEFT_OURS struct weft_comm weft_comm_world;
extern WEFT_OURS struct weft_comm weft_comm_self;

/* Takes over a communicator without references: under the lock. */
extern void (*weft_comm_unused)(struct weft_comm *comm);

/* The process behind a rank. */
static inline uint64_t weft_comm_process(const struct weft_comm *comm, int rank)
{
    return weft_map_process(&comm->map, rank);
}

static inline bool weft_comm_is_inter(const struct weft_comm *comm)
{
    return comm->remote != NULL;
}

/* The first lets groups and communicators be made; the second frees all of them. */
void weft_comm_open(uint64_t me);
void weft_comm_close(void);

/* The first makes the two predefined communicators; the second empties them. */
WEFT_MUST_CHECK enum weft_rc weft_comm_open_predefined(int rank, int size);
void weft_comm_close_predefined(void);

/*
 * A communicator with one reference and neither context nor errhandler, of `group` and,
 * unless that is NULL, the remote group `remote`: it uses both. weft_comm_give() is its
 * end; what it uses is released.
 */
WEFT_MUST_CHECK enum weft_rc weft_comm_take(struct weft_group *group,
                                            struct weft_group *remote,
                                            struct weft_comm **out);
void weft_comm_give(struct weft_comm *comm);

/* At most MPI_MAX_OBJECT_NAME - 1 characters are kept. */
WEFT_MUST_CHECK enum weft_rc weft_comm_set_name(struct weft_comm *comm, const char *name);

/* The communicator behind a handle, or NULL: null handle, stale, not one. */
static inline struct weft_comm *weft_comm_from_handle(MPI_Comm handle)
{
    struct weft_comm *comm = NULL;

    if (weft_likely(handle == MPI_COMM_WORLD)) {
        comm = &weft_comm_world;
    } else if (handle == MPI_COMM_SELF) {
        comm = &weft_comm_self;
    } else {
        comm = weft_handle_find(WEFT_KIND_COMM, (uintptr_t)handle);
        return comm != NULL && !comm->is_freed ? comm : NULL;
    }
    return weft_likely(comm->size > 0) ? comm : NULL;
}

/*
 * The next one that was made, from number *index of the pool on; NULL: none. Moves
 * *index behind it. Needs the lock.
 */
struct weft_comm *weft_comm_next(uint32_t *index);

/* The communicator of this context, of any plane, or NULL. */
struct weft_comm *weft_comm_of_context(uint32_t context);

/* With the lock: this process begins, and ends, to agree with others on the context of a
 * communicator. Until the end others may know a context that this process does not. */
void weft_comm_begin_agreement(void);
void weft_comm_end_agreement(void);
bool weft_comm_is_agreeing(void);

static inline void weft_comm_use(struct weft_comm *comm)
{
    weft_assert_locked();
    assert(comm->references > 0);
    comm->references++;
}

static inline void weft_comm_release(struct weft_comm *comm)
{
    weft_assert_locked();
    assert(comm->references > 0);
    if (weft_unlikely(--comm->references == 0)) {
        weft_comm_unused(comm);
    }
}

#endif
