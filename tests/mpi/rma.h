/*
 * rma.h - what the programs about one-sided communication share: every kind of window and
 * every kind of epoch behind the same few calls, so that a case is written once and runs
 * in all of them.
 *
 * A window of these programs has the same number of bytes in every rank of its
 * communicator, which is the world, or for shared windows the ranks of this node. The
 * unit of displacements may differ from rank to rank; at() knows each of them.
 */
#ifndef WEFT_TEST_RMA_H
#define WEFT_TEST_RMA_H

#include "check.h"

#include <stdbool.h>
#include <stdint.h>

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))
#define DONE(call)    CHECK((call) == MPI_SUCCESS)

/* Classes are compared, as codes of other libraries may say more than their class. */
#define IS_CLASS(call, class) CHECK(class_of(call) == (class))

/* Is the standard that the library follows at least so new? */
#define HAS_MPI(major, minor)                                                            \
    (MPI_VERSION > (major) || (MPI_VERSION == (major) && MPI_SUBVERSION >= (minor)))

enum kind { CREATED, ALLOCATED, SHARED, DYNAMIC, KINDS };

enum how { FENCE, PSCW, LOCK_SHARED, LOCK_EXCLUSIVE, LOCK_ALL, FLUSHED, WAYS };

struct window {
    enum kind kind;
    MPI_Win win;
    MPI_Comm comm;
    MPI_Group group;
    int rank;
    int size;
    char *base;
    MPI_Aint bytes;
    MPI_Aint *bases; /* of all ranks, where displacements are addresses */
    int *units;      /* of all ranks */
};

static inline int class_of(int code)
{
    int class = -1;

    CHECK(MPI_Error_class(code, &class) == MPI_SUCCESS);
    return class;
}

static inline bool is_weft(void)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;

    DONE(MPI_Get_library_version(text, &length));
    return strncmp(text, "Weft", 4) == 0;
}

/* Ranks that can share memory; the communicator is the caller's. */
static inline MPI_Comm node_comm(void)
{
    MPI_Comm comm;

    DONE(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL,
                             &comm));
    return comm;
}

static inline void make_memory(struct window *w, int unit, MPI_Info info)
{
    if (w->kind == CREATED) {
        w->base = malloc((size_t)w->bytes + 1);
        CHECK(w->base != NULL);
        DONE(MPI_Win_create(w->base, w->bytes, unit, info, w->comm, &w->win));
    } else if (w->kind == ALLOCATED) {
        DONE(MPI_Win_allocate(w->bytes, unit, info, w->comm, &w->base, &w->win));
    } else if (w->kind == SHARED) {
        DONE(MPI_Win_allocate_shared(w->bytes, unit, info, w->comm, &w->base, &w->win));
    } else {
        w->base = malloc((size_t)w->bytes + 1);
        CHECK(w->base != NULL);
        DONE(MPI_Win_create_dynamic(info, w->comm, &w->win));
        DONE(MPI_Win_attach(w->win, w->base, w->bytes));
    }
}

/* Collective. The memory is zero. `unit` is this rank's alone. MPICH 4.0 allocates
 * wrongly what is no multiple of 16 bytes; rma_windows.c has other sizes, for Weft. */
static inline struct window make_window_info(enum kind kind, MPI_Aint bytes, int unit,
                                             MPI_Info info)
{
    struct window w = {.kind = kind, .bytes = bytes};
    MPI_Aint address;

    if (kind == SHARED) {
        w.comm = node_comm();
    } else {
        DONE(MPI_Comm_dup(MPI_COMM_WORLD, &w.comm));
    }
    DONE(MPI_Comm_rank(w.comm, &w.rank));
    DONE(MPI_Comm_size(w.comm, &w.size));
    make_memory(&w, unit, info);
    memset(w.base, 0, (size_t)bytes);
    DONE(MPI_Win_get_group(w.win, &w.group));
    w.bases = malloc((size_t)w.size * sizeof(*w.bases));
    w.units = malloc((size_t)w.size * sizeof(*w.units));
    CHECK(w.bases != NULL && w.units != NULL);
    DONE(MPI_Get_address(w.base, &address));
    unit = kind == DYNAMIC ? 1 : unit;
    DONE(MPI_Allgather(&address, 1, MPI_AINT, w.bases, 1, MPI_AINT, w.comm));
    DONE(MPI_Allgather(&unit, 1, MPI_INT, w.units, 1, MPI_INT, w.comm));
    return w;
}

static inline struct window make_window(enum kind kind, MPI_Aint bytes, int unit)
{
    return make_window_info(kind, bytes, unit, MPI_INFO_NULL);
}

static inline void free_window(struct window *w)
{
    if (w->kind == DYNAMIC) {
        DONE(MPI_Barrier(w->comm));
        DONE(MPI_Win_detach(w->win, w->base));
    }
    DONE(MPI_Win_free(&w->win));
    CHECK(w->win == MPI_WIN_NULL);
    DONE(MPI_Group_free(&w->group));
    DONE(MPI_Comm_free(&w->comm));
    if (w->kind == CREATED || w->kind == DYNAMIC) {
        free(w->base);
    }
    free(w->bases);
    free(w->units);
}

/* The displacement of a byte of `target`. It is a multiple of the target's unit. */
static inline MPI_Aint at(const struct window *w, int target, MPI_Aint offset)
{
    CHECK(offset % w->units[target] == 0);
    return w->kind == DYNAMIC ? MPI_Aint_add(w->bases[target], offset)
                              : offset / w->units[target];
}

/* What this rank has stored is there for operations of others, and what others have done
 * is there for loads of this one; collective. */
static inline void settle(const struct window *w)
{
    DONE(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, w->rank, 0, w->win));
    DONE(MPI_Win_unlock(w->rank, w->win));
    DONE(MPI_Barrier(w->comm));
    DONE(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, w->rank, 0, w->win));
    DONE(MPI_Win_unlock(w->rank, w->win));
    DONE(
        MPI_Barrier(w->comm)); /* before that, nobody keeps a lock and waits for others */
}

/* An access to all ranks stands between open_all and close_all, what goes to one target
 * besides between open_one and close_one. Collective; stores before open_all and loads
 * after close_all need nothing else. */
static inline void open_all(const struct window *w, enum how how)
{
    if (how == FENCE) {
        DONE(MPI_Win_fence(0, w->win));
    } else if (how == PSCW) {
        DONE(MPI_Win_post(w->group, 0, w->win));
        DONE(MPI_Win_start(w->group, 0, w->win));
    } else {
        settle(w);
        if (how == LOCK_ALL || how == FLUSHED) {
            DONE(MPI_Win_lock_all(0, w->win));
        }
    }
}

static inline void open_one(const struct window *w, enum how how, int target)
{
    if (how == LOCK_SHARED || how == LOCK_EXCLUSIVE) {
        DONE(MPI_Win_lock(how == LOCK_SHARED ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE,
                          target, 0, w->win));
    }
}

static inline void close_one(const struct window *w, enum how how, int target)
{
    if (how == LOCK_SHARED || how == LOCK_EXCLUSIVE) {
        DONE(MPI_Win_unlock(target, w->win));
    } else if (how == FLUSHED) {
        DONE(MPI_Win_flush(target, w->win));
    }
}

static inline void close_all(const struct window *w, enum how how)
{
    if (how == FENCE) {
        DONE(MPI_Win_fence(0, w->win));
    } else if (how == PSCW) {
        DONE(MPI_Win_complete(w->win));
        DONE(MPI_Win_wait(w->win));
    } else {
        if (how == LOCK_ALL || how == FLUSHED) {
            DONE(MPI_Win_unlock_all(w->win));
        }
        DONE(MPI_Barrier(w->comm));
        settle(w);
    }
}

#endif
