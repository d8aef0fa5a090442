/*
 * win.h - the object behind a window handle, and what this process knows of its members.
 *
 * A window has a communicator of its own, whose context names it in packets. All its
 * fields need the library's lock, but for those that do not change from its creation to
 * its end: `comm`, `parts`, `flavor`, `base`, `size`, `unit`.
 *
 *   open.c       the room opens
 *   make.c       creation and end; needs all members
 *   attach.c     the memory of a dynamic window; regions.c is a list of it, and shown.c
 *                how others on this node read that
 *   parts.c      what is known of the members' memory
 *   epoch.c      which call may come after which
 *   start.c      operations begin, and find their way
 *   operation.c  operations by packets, at their origin
 *   combine.c    small puts and small gets, several in a packet; gets.c: the latter, on
 *                their way
 *   runs.c       where a part of an operation lies in the target's memory
 *   target.c     operations, at their target; apply.c is the arithmetic
 *   flush.c      until operations are complete
 *   sync.c       fence, and post, start, complete, wait
 *   lock.c       locks; queue.c is the queue that each target has
 *   near.c       members on this node, and their memory; words.h is what they share
 *   direct.c     operations on members whose memory is reached from here
 *   far.c        puts and gets to memory of members that a network leads to
 *   ticket.c     locks by words; update.c: one accumulate at a time
 *   pending.h    operations that are not complete at their origin
 *   send.c       packets out
 *   wait.c       waiting
 *   ways.c       which ways operations take, for tools
 *   failed.c     what becomes of a window when a member has failed
 *   withdraw.c   its memory goes back then, though others may be in an epoch
 *
 * Every member counts as served from creation to the end (WEFT_REASON_SERVED): whoever
 * polls, be it the progress thread, handles packets of a window. So no target has to
 * call MPI.
 */
#ifndef WEFT_RMA_WIN_H
#define WEFT_RMA_WIN_H

#include "core/comm.h"
#include "core/handle.h"
#include "core/info.h"
#include "core/request.h"
#include "engine/wait.h"
#include "node/heap.h"
#include "rma/epoch.h"
#include "rma/packets.h"
#include "rma/parts.h"
#include "rma/pending.h"
#include "rma/queue.h"
#include "transport/transport.h"

/* What the user has said about a window, and what MPI_Win_get_info() returns. */
enum { WEFT_WIN_HINT_BYTES = 64 };
struct weft_win_hints {
    bool no_locks;
    bool same_size;
    bool same_disp_unit;
    bool is_noncontiguous;
    char ordering[WEFT_WIN_HINT_BYTES];
    char ops[WEFT_WIN_HINT_BYTES];
    char granularity[WEFT_WIN_HINT_BYTES];
};

/* A member to whom this process has spoken, or who has spoken to it, by this window. */
struct weft_target {
    uint64_t rank; /* first: the key */
    struct weft_peer *peer;
    struct weft_combined *combined; /* small ones that are not sent yet, or NULL */
    struct weft_operation *held; /* the first of those that wait, or NULL (operation.c) */
    struct weft_pending_list pending; /* our operations there */
    uint32_t bytes_out;               /* of gets: asked for, and not all come back */
    uint16_t staged;    /* of those that are pending: they begin later, or in parts */
    uint16_t under_way; /* those that are pending, and packets that wait (send.h) */
    uint32_t asked;     /* flushes sent, and answered */
    uint32_t answered;  /* of them */
    uint32_t withdrawn; /* the step that is answered when we do not reach its memory */
    uint16_t posts;     /* of its post calls: those that no start has used yet */
    uint16_t completes;
    enum weft_rc rc;     /* of operations that failed since the last look */
    uint8_t small_ones;  /* that went at once since combine.c last sent all (combine.h) */
    uint8_t gets_out;    /* gets, or packets of small ones, that are not answered yet */
    bool is_reading : 1; /* of an atomic read not all parts are sent (operation.c) */
    bool is_going : 1;   /* those that wait are being sent */
    bool is_full : 1;    /* too many are under way: none is to begin (send.h) */
    bool is_refused : 1; /* an operation of ours was outside its memory */
    bool is_dirty : 1;   /* our operations may not be complete there */
    bool is_put : 1;     /* of those by far.c: they may not be in its memory */
    bool is_locked : 1;  /* MPI_Win_lock */
    bool is_taken : 1;   /* the lock of MPI_Win_lock_all */
    bool is_unchecked : 1; /* of the two: without a lock */
    bool is_granted : 1;
    bool is_asked : 1;     /* a lock, which is not granted yet */
    bool is_exclusive : 1; /* the lock that it has given */
    bool is_withdrawn : 1; /* its memory is not to be reached any more (far.h) */
    bool is_posted : 1;    /* of the start: it has posted, or nobody asks */
};

struct weft_attached; /* attach.c */
struct weft_combined; /* combine.c */
struct weft_near;     /* near.h */
struct weft_operation;
struct weft_win_words;
struct weft_rma_wait;

struct weft_win {
    MPI_Win handle;
    struct weft_comm *comm; /* its own */
    struct weft_win_parts parts;
    int flavor;
    int model;
    int unit_as_int;
    void *base;
    MPI_Aint size;
    MPI_Aint unit;
    void *memory; /* that the library has allocated for it, or NULL */
    struct weft_extent extent;
    bool is_extent_ours;
    char *name; /* given by the user, or NULL */
    struct weft_errhandler *errhandler;
    struct weft_attributes attributes;
    struct weft_win_hints hints;
    struct weft_epoch epoch;
    struct weft_group *started; /* of the start, or NULL */
    struct weft_group *posted;  /* of the post, or NULL */
    struct weft_table targets;
    struct weft_lock_queue locks;   /* of our own memory */
    struct weft_attached *attached; /* to our part of a dynamic window; or NULL */
    struct weft_rma_wait *waits;
    _Atomic int combined; /* packets of combine.c for its members */
    bool is_made;         /* by all members, and not freed here: parts are known */
    bool has_messages;    /* since the last flush of all, not all operations were complete
                           * when they returned */
    /* Members that a network leads to (far.h); fixed, too. */
    struct weft_path *far_path; /* to one of them, or NULL */
    void *far_mr;               /* of our memory, or NULL */
    bool is_far_reached;
    /* Members on this node (near.h); all of this is fixed when the window is made. */
    _Atomic(struct weft_near *) *near; /* by rank, or NULL */
    uint32_t near_count;               /* of the array; 0: there is no board */
    uint32_t near_members;             /* on this node */
    uint32_t near_number;              /* ours among them */
    bool is_whole;                     /* all members are on this node, with a board */
    struct weft_extent own_board;      /* that this process has taken; or of 0 bytes */
    struct weft_extent board_extent;
    char *board;
    struct weft_win_words *own_words; /* NULL: there is no board */
};

/* For weft_rma_open(). */
void weft_win_open(void);

/*
 * Where windows live, and a few of them by the last bits of their handle, for calls that
 * are to be short. A window has its place from its creation to its end, unless an older
 * one has it. The handle in an empty place belongs to another place, so no handle is
 * found there. Places are written with the lock. Whoever finds the handle of a window
 * that lives finds the window, too: release and acquire of `handle`.
 */
enum { WEFT_WIN_PLACES = 8 };
struct weft_wins {
    _Atomic uintptr_t handle[WEFT_WIN_PLACES];
    _Atomic(struct weft_win *) win[WEFT_WIN_PLACES];
    struct weft_pool pool;
};
extern WEFT_OURS struct weft_wins weft_wins;

/* The window behind a handle. False: ask weft_win_from_handle(). */
static inline bool weft_win_from_place(MPI_Win handle, struct weft_win **out)
{
    const uintptr_t at = (uintptr_t)handle % WEFT_WIN_PLACES;

    if (weft_unlikely(atomic_load_explicit(&weft_wins.handle[at], memory_order_acquire) !=
                      (uintptr_t)handle)) {
        return false;
    }
    *out = atomic_load_explicit(&weft_wins.win[at], memory_order_relaxed);
    return true;
}

/* For those that the next one does not find in line. */
struct weft_win *weft_win_find(MPI_Win handle);

/* The window behind a handle, or NULL. An index that is not below pool.first stands for
 * another kind of handle, too. */
static inline struct weft_win *weft_win_from_handle(MPI_Win handle)
{
    const uint32_t index = (uint32_t)(uintptr_t)handle ^ (uint32_t)WEFT_KIND_WIN
                                                             << WEFT_HANDLE_INDEX_BITS;
    struct weft_win *win =
        weft_pool_find_first(&weft_wins.pool, index, (uint32_t)((uintptr_t)handle >> 32));

    return weft_likely(win != NULL) ? win : weft_win_find(handle);
}

/* With the lock: the window of a packet, or NULL. */
struct weft_win *weft_win_of_context(uint32_t context);

/* With the lock: the next window, from 0 on; NULL: none. */
struct weft_win *weft_win_next(uint32_t *index);

/* With the lock: takes an empty window, and gives one back with what it has. */
WEFT_MUST_CHECK enum weft_rc weft_win_take(struct weft_win **out);
void weft_win_give(struct weft_win *win);

/* With the lock: the window can be named in packets from now on; or no longer. */
WEFT_MUST_CHECK enum weft_rc weft_win_register(struct weft_win *win);
void weft_win_unregister(struct weft_win *win);

/* At most MPI_MAX_OBJECT_NAME - 1 characters are kept. */
WEFT_MUST_CHECK enum weft_rc weft_win_set_name(struct weft_win *win, const char *name);
const char *weft_win_name(const struct weft_win *win);

/* Takes what `info`, where NULL is empty, says; and tells it. With the lock of objects.
 */
void weft_win_update_hints(struct weft_win *win, const struct weft_info *info);
WEFT_MUST_CHECK enum weft_rc weft_win_hints_to_info(const struct weft_win *win,
                                                    struct weft_info **out);

/* With the lock: what is known of a member, and a way to it. */
WEFT_MUST_CHECK enum weft_rc weft_win_target(struct weft_win *win, int rank,
                                             struct weft_target **out);
struct weft_target *weft_win_find_target(const struct weft_win *win, int rank);

/* With the lock: those that are known, in the order of ranks, from 0 on; NULL: no more.
 * The lock may be dropped in between, and others may become known meanwhile. */
struct weft_target *weft_win_next_target(const struct weft_win *win, int *rank);

#endif
