/*
 * comm.h - communicators at rest: what they are, how they are found.
 *
 * MPI_COMM_WORLD and MPI_COMM_SELF exist while the world is initialised. Making further
 * communicators is the room comm/. Lookups need the library's lock, but for the two
 * predefined ones.
 */
#ifndef WEFT_CORE_COMM_H
#define WEFT_CORE_COMM_H

#include "core/attribute.h"
#include "core/errhandler.h"

#include "mpi.h"

/* Bits of a context that keep the planes of one communicator apart. */
enum weft_plane {
    WEFT_PLANE_P2P = 0,
    WEFT_PLANE_COLL = 1,
    WEFT_PLANE_RMA = 2,
    WEFT_PLANES = 4,
};

enum { WEFT_TAG_UB = 0x7fffffff }; /* the largest tag */

struct weft_comm {
    MPI_Comm handle;
    int rank; /* mine */
    int size;
    uint32_t context; /* a multiple of WEFT_PLANES, the same on all members */
    uint32_t first;   /* rank r is process first + r * stride of the job */
    uint32_t stride;
    uint32_t hints; /* what the user has promised: core/hints.h */
    struct weft_errhandler *errhandler;
    struct weft_attributes attributes;
    char name[MPI_MAX_OBJECT_NAME];
};

extern struct weft_comm weft_comm_world;
extern struct weft_comm weft_comm_self;

/* The process behind a rank. */
static inline uint32_t weft_comm_process(const struct weft_comm *comm, int rank)
{
    return comm->first + (uint32_t)rank * comm->stride;
}

/* Fills the two predefined communicators, and empties them again. */
void weft_comm_open_predefined(int rank, int size);
void weft_comm_close_predefined(void);

/* The communicator behind a handle, or NULL: null handle, stale, not one. */
static inline struct weft_comm *weft_comm_from_handle(MPI_Comm handle)
{
    struct weft_comm *comm = NULL;

    if (weft_likely(handle == MPI_COMM_WORLD)) {
        comm = &weft_comm_world;
    } else if (handle == MPI_COMM_SELF) {
        comm = &weft_comm_self;
    } else {
        return weft_handle_find(WEFT_KIND_COMM, (uintptr_t)handle);
    }
    return weft_likely(comm->size > 0) ? comm : NULL;
}

#endif
