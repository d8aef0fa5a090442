/*
 * shared.h - large data between members of a communicator that are all on one node: they
 * show each other their buffers on a board (board.h), and whoever is inside MPI moves
 * pieces by single copy, also those of a member that has come and has lost its processor.
 *
 *   shared.c         a call: showing, waiting, moving pieces, giving up
 *   shared_call.c    which operation is whose
 *   shared_cost.c    which calls can be made so, and what they cost
 *   shared_move.c    operations that move blocks
 *   shared_reduce.c  reductions
 *
 * Blocking calls only, one at a time on a communicator: their order is the program's, so
 * all members count them alike. If single copy is refused between any two members, no
 * member uses it, which is agreed at the first call.
 *
 * Failure. If a member dies, all others give up with WEFT_ERR_PROC_FAILED as soon as
 * nobody works on their buffers any more, and revoke the communicator's collectives. A
 * piece that cannot be moved is the fault of a buffer that cannot be read or written, and
 * its owner ends the job with a line, or of a member that has just died.
 *
 * Everything is called without the lock, but for what says otherwise.
 */
#ifndef WEFT_COLL_SHARED_H
#define WEFT_COLL_SHARED_H

#include "coll/board.h"
#include "coll/coll.h"
#include "transfer/data.h"

struct weft_path;

/* What a member shows in a call. */
struct weft_shown {
    struct weft_data gives; /* contiguous */
    struct weft_data gets;
    uint64_t given;  /* bytes of a block, or of a vector */
    uint64_t gotten; /* of a block; of an element that is reduced */
    uint32_t open;   /* claims that concern this member */
};

/* What a process has for one communicator. */
struct weft_shared {
    struct weft_comm *comm;
    struct weft_board *board; /* whoever gave it to weft_shared_open() owns it */
    int n;
    int rank;
    uint32_t call;           /* the one under way, or the last */
    uint32_t word;           /* which call it is (signature.h) */
    enum weft_reach reach;   /* of all members */
    bool has_looked;         /* this rank's buffers are not the cause of the trouble */
    uint64_t stuck_since;    /* ns: a piece of ours could not be moved; 0: none */
    const char *name;        /* of the MPI function */
    struct weft_shown shown; /* by this rank */
    struct weft_shared *next_waiting;
    struct weft_path *paths[]; /* to the members; NULL: ourselves */
};

/* Once, when the engine is open. */
void weft_shared_start(void);

/* With the lock. NULL: no memory. */
struct weft_shared *weft_shared_open(struct weft_comm *comm, struct weft_board *board);
void weft_shared_close(struct weft_shared *shared);

/* Has nobody found yet that a member cannot reach another's memory? */
static inline bool weft_shared_may_reach(const struct weft_shared *shared)
{
    return shared->reach != WEFT_REACH_NOT;
}

/* All members call it: can each of them reach the memory of all? */
WEFT_MUST_CHECK enum weft_rc weft_shared_agree(struct weft_shared *shared,
                                               const char *name, bool *can);

/*
 * A call, in this order. After begin() this member resets the claims that it owns. Then
 * it shows its buffers. run() calls step(), which moves all pieces that can be moved, as
 * often as there is news, and returns when no member needs the buffers any more.
 * WEFT_ERR_TRUNCATE: a member gives another number of bytes, which is noted
 * (disagree.h). WEFT_ERR_DISAGREE: members make different calls.
 */
void weft_shared_begin(struct weft_shared *shared, const char *name);
void weft_shared_show(struct weft_shared *shared, const struct weft_shown *shown);
WEFT_MUST_CHECK enum weft_rc weft_shared_run(struct weft_shared *shared,
                                             void (*step)(void *work), void *work);

/*
 * With the lock: the communicator on which a thread of this process waits in a call, or
 * NULL; *missing is the first member that has not come, or -1.
 */
const struct weft_comm *weft_shared_waiting(int *missing);

/* For step(). Has that member shown its buffers for this call? If it makes another call
 * under this number, it has not. */
static inline bool weft_shared_has(const struct weft_shared *shared, int rank)
{
    const struct weft_board_entry *entry = &shared->board->entries[rank];

    /* Pairs with the release in weft_shared_show(). */
    return atomic_load_explicit(&entry->shown, memory_order_acquire) == shared->call &&
           atomic_load_explicit(&entry->word, memory_order_relaxed) == shared->word;
}

/* What bytes that member gives and gets in this call. False: it has not come, or has
 * gone on, because nothing is left to do with it. */
bool weft_shared_look(const struct weft_shared *shared, int rank, uint64_t *given,
                      uint64_t *gotten);

/* Claims a piece. WEFT_NO_PIECE: none is left. Until drop(), no member that gives up goes
 * away. */
int weft_shared_take(struct weft_shared *shared, _Atomic uint64_t *claims, int pieces,
                     enum weft_claims_end end);
void weft_shared_drop(struct weft_shared *shared);

/* Does that member stay until we have dropped the piece? */
bool weft_shared_stays(const struct weft_shared *shared, int rank);

/* From what that member gives, and to where it gets. False: it could not be done; the
 * piece is dropped and never counted. */
bool weft_shared_get(struct weft_shared *shared, int rank, uint64_t offset, void *to,
                     size_t bytes);
bool weft_shared_put(struct weft_shared *shared, int rank, uint64_t offset,
                     const void *from, size_t bytes);

/* Before the claims are closed: the member `other` gives that member a number of bytes
 * that it does not expect. */
void weft_shared_note_other(struct weft_shared *shared, int rank, int other,
                            uint64_t bytes);

/* All pieces of claims are done: one thing less concerns that member, or all members. */
void weft_shared_close_one(struct weft_shared *shared, int rank);
void weft_shared_close_all(struct weft_shared *shared);

/*
 * One side of a call as contiguous bytes: the user's memory, or a packed copy. The first
 * packs, unless it `is_empty`: then only the copy's memory is made. The second frees the
 * copy; the third also unpacks it.
 */
struct weft_shared_side {
    struct weft_data data;
    char *at;
    void *copy; /* or NULL */
};
WEFT_MUST_CHECK enum weft_rc weft_shared_side_open(struct weft_shared_side *side,
                                                   const struct weft_data *data,
                                                   bool is_empty);
void weft_shared_side_close(struct weft_shared_side *side);
void weft_shared_side_unpack(struct weft_shared_side *side);

/* Memory for the pieces that this process reduces, WEFT_SCRATCH_BYTES of it; NULL: there
 * is none. One is kept between calls, while a struct weft_shared is open. */
enum { WEFT_SCRATCH_BYTES = 256 << 10 };
void *weft_shared_scratch_take(void);
void weft_shared_scratch_give(void *scratch);

/* How many members can work at once: there are so many, or so many processors. */
uint64_t weft_shared_workers(const struct weft_shared *shared);

/* ---- calls (shared_call.c) ---- */

/* Performs a call, once all members have agreed that they can. */
WEFT_MUST_CHECK enum weft_rc weft_shared_call(struct weft_shared *shared, uint32_t word,
                                              const struct weft_coll *coll,
                                              const struct weft_shape *shape);

typedef enum weft_rc weft_shared_operation(struct weft_shared *shared,
                                           const struct weft_coll *coll,
                                           const struct weft_shape *shape);
weft_shared_operation weft_shared_move;
weft_shared_operation weft_shared_reduce;

#endif
