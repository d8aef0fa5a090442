/*
 * near.h - members of a window that are on this node: their words, and their memory where
 * this process reaches it.
 *
 * The first member of each node takes an extent with the words of all members there, and
 * tables of what all members have (parts.h): the board. All of them map it when the
 * window is made. If one of all members cannot, or does not want to (WEFT_RMA), the
 * window has no boards, and everything goes by messages.
 *
 * Memory that the library has allocated is an extent of its owner and is mapped here when
 * it is used for the first time. Memory of the user is read and written by single copy,
 * if the kernel allows it. Where neither works, operations go by messages. In a dynamic
 * window displacements are addresses: base and size are 0, and attach.h tells what is
 * attached.
 *
 * The kernel may forbid single copy later, if one of both processes changes its rights.
 * From then on the member is reached by messages, and stays so: what went straight to its
 * memory again could overtake them.
 *
 * Threads. What is found here is made once, with the lock, and does not change, but for
 * `access`, what follows from it (weft_near_set_access()), `is_forbidden`, and `seen`; so
 * it is read without the lock. `seen` needs it.
 */
#ifndef WEFT_RMA_NEAR_H
#define WEFT_RMA_NEAR_H

#include "rma/win.h"
#include "rma/words.h"

enum weft_near_access {
    WEFT_NEAR_LOCKED = 1 << 0,  /* MPI_Win_lock, or MPI_Win_lock_all with the lock */
    WEFT_NEAR_STARTED = 1 << 1, /* MPI_Win_start, and the member has posted */
    WEFT_NEAR_SETTLED = 1 << 2, /* locked and reached: a flush has nothing to wait for */
};

struct weft_near {
    char *memory; /* the member's, in our address space; NULL: not mapped, or address 0 */
    uint64_t
        size; /* of it, mapped or not; 0: it is not reached, or the window is dynamic */
    uint64_t unit;
    _Atomic uint64_t room;   /* `size` while it is mapped and `access` is not 0, else 0 */
    _Atomic uint32_t access; /* enum weft_near_access: epochs that are open */
    uint32_t number;
    struct weft_win_words *words;
    struct weft_path
        *path;     /* by which its memory is copied, if it is not mapped; or NULL */
    uint64_t base; /* of its memory, in its address space */
    struct weft_seen *seen; /* what it has attached (attach.c), or NULL */
    int rank;
    bool is_mapped;            /* loads and stores reach its memory */
    _Atomic bool is_forbidden; /* to be copied, by now */
    bool is_odd; /* with the lock: epochs of ours that it has completed (words.h) */
};

/* When a window is made, by all members, without the lock: takes the board, before the
 * members know of each other; maps it and finds parts, afterwards. */
void weft_near_prepare(struct weft_win *win, struct weft_win_offer *mine);
WEFT_MUST_CHECK enum weft_rc weft_near_open(struct weft_win *win,
                                            const struct weft_win_offer *offers,
                                            const char *call);

/* With the lock: unmaps everything, and gives the board back. */
void weft_near_close(struct weft_win *win);

/* Without the lock: returns when no member on this node copies to or from our memory, nor
 * begins to. */
void weft_near_withdraw(const struct weft_win *win);

/* Do members on one node speak by its segment? */
bool weft_near_has_transport(void);

/* May members of this job reach each other's memory at all? */
bool weft_near_is_wanted(void);

/* Is this member on our node? */
bool weft_near_is_here(const struct weft_comm *comm, int rank);

/* What is known of a member, or NULL: it is not near, or nobody has asked for it yet. */
static inline struct weft_near *weft_near_find(const struct weft_win *win, int rank)
{
    return weft_likely((uint32_t)rank < win->near_count)
               ? atomic_load_explicit(&win->near[rank], memory_order_acquire)
               : NULL;
}

/* With the lock: the same, and asks. NULL: the member is not near. */
struct weft_near *weft_near_meet(struct weft_win *win, int rank);

/* Without the lock: where loads and stores of this process reach the member's memory; or
 * NULL. The member's memory is mapped if it was not. */
char *weft_near_map(struct weft_win *win, int rank);

/* Can all members on the member's node map its memory? */
bool weft_near_is_shared(const struct weft_win *win, int rank);

/* With the lock: an epoch for this member opens or closes. */
void weft_near_set_access(struct weft_near *near, enum weft_near_access which,
                          bool is_on);

/* With the lock: the kernel has refused to copy the member's memory. */
void weft_near_forbid(struct weft_near *near);

/* Is its memory copied? Relaxed: a thread that looks too early is refused by the kernel,
 * and comes to the same end. */
static inline bool weft_near_is_copied(const struct weft_near *near)
{
    return near->path != NULL &&
           !atomic_load_explicit(&near->is_forbidden, memory_order_relaxed);
}

/* Can operations go straight to its memory? */
static inline bool weft_near_is_reached(const struct weft_near *near)
{
    return near->is_mapped || weft_near_is_copied(near);
}

/* Has the member with this number failed? Without or with the lock. */
bool weft_near_has_failed(const struct weft_win *win, uint32_t number);

/*
 * Without the lock: returns when is_so(), which may become true when the words change;
 * `word` is the one of them that is looked at first. WEFT_ERR_PROC_FAILED: of the members
 * for which it waits, one has failed.
 */
struct weft_near_wait {
    struct weft_win *win;
    struct weft_win_words *words;
    _Atomic uint32_t *word;
    bool (*is_so)(const struct weft_near_wait *wait);
    bool (*is_vain)(const struct weft_near_wait *wait);
    uint32_t value; /* for is_so() */
    int rank;       /* for which it waits, to explain a hang */
    const char *call;
    struct weft_near_wait *next; /* with the lock: of those that wait for long */
};
WEFT_MUST_CHECK enum weft_rc weft_near_wait(struct weft_near_wait *wait);

/* The same without a look in advance: is_so() and is_vain() are called with the lock. */
WEFT_MUST_CHECK enum weft_rc weft_near_wait_long(struct weft_near_wait *wait);

/* With the lock: members have failed, so all who wait look again. */
void weft_near_fail_members(void);
void weft_near_reset(void);

#endif
