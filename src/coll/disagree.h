/*
 * disagree.h - members of a communicator whose blocking collective calls do not fit
 * together: each of them gets an error that names both calls, and none waits for ever.
 *
 * Every process keeps the signatures (signature.h) of its last blocking calls on a
 * communicator. Members find that they disagree in three places:
 *
 *   in shared memory   a member that reads another's line or entry compares the word of
 *                      the call and the bytes (flags.h, shared.h)
 *   in messages        a message of a collective that is longer or shorter than the
 *                      receive is an error (sched.h, `is_exact`)
 *   by asking          a member that has waited for WEFT_DISAGREE_NS asks the members
 *                      that it waits for, and again after twice the time, at last every
 *                      2.4 s. It sends the signature of its call. A member that has made
 *                      another call under the same number, or has freed the communicator
 *                      instead, answers, and knows from then on, too; all others are
 *                      silent. A member that is behind, or ahead by more than it
 *                      remembers, is no error.
 *
 * A member on another host that no message has gone to or come from is asked when the
 * wait has lasted for twice WEFT_HEARTBEAT; from then on pauses are short once more. A
 * member that hears that another one has given the communicator up waits for the shortest
 * pause whether somebody names both calls, and then asks again.
 *
 * Sizes that differ end the call alone. Calls of different kinds, roots or operations,
 * and waits that were ended, break the communicator: every later collective on it returns
 * the error as well, nonblocking calls under way end with it, and members that ask are
 * told. Members to which messages of the call are under way are told at once, so that
 * they drop what they will never receive. Calls that are not blocking do not ask: a
 * member that has no memory for one tells all others.
 */
#ifndef WEFT_COLL_DISAGREE_H
#define WEFT_COLL_DISAGREE_H

#include "coll/signature.h"
#include "engine/wait.h"

#include <stdatomic.h>

enum {
    WEFT_DISAGREE_NS = 300 * 1000 * 1000,
    WEFT_DISAGREE_LONGEST = 8, /* times as long: the longest pause between two rounds */
    WEFT_DISAGREE_ASKED = 16,  /* members, in one round */
    WEFT_CALLS_KEPT = 8,       /* more than members can be apart in slots */
    WEFT_CALLS_LEFT = 64,      /* communicators that were freed last */
};

/* Why a member makes no more collective calls on a communicator. */
enum weft_gave_up { WEFT_GAVE_UP_NOT, WEFT_GAVE_UP_DISAGREED, WEFT_GAVE_UP_STARVED };

/* The member whose call was another one, or that has given the communicator up. */
struct weft_other {
    int rank;
    struct weft_signature says;
    enum weft_gave_up why;
};

/* A wait in a blocking call, as long as it lasts. With the lock. */
struct weft_call_wait {
    struct weft_timer timer; /* first */
    struct weft_comm *comm;
    /* Calls weft_call_wait_ask() for the members that are waited for, from the place
     * `first` on, and sets `next` to the place where that has returned false. */
    void (*missing)(struct weft_call_wait *wait, int first);
    /* The communicator is broken: ends the wait. What is waited for may be over already,
     * if the thread that waits has not had the lock since. The same is true of missing().
     */
    void (*end)(struct weft_call_wait *wait);
    uint64_t since_ns;  /* when the first round was; 0: none yet */
    uint64_t pause_ns;  /* between two rounds */
    int next;           /* where the next round begins */
    int asked;          /* in this round */
    bool is_told;       /* a member has answered */
    bool is_warned;     /* a member has given the communicator up */
    bool is_to_pause;   /* for the shortest time, before the next round */
    bool has_connected; /* members without contact are asked, too */
    bool is_last;       /* MPI_Finalize: whoever has given it up comes there, too */
    struct weft_other told;
};

/* A nonblocking or persistent call under way, between weft_open_call_begin() and _end().
 * The owner sets `comm` and `end`. With the lock. */
struct weft_open_call {
    struct weft_comm *comm;
    /* The communicator is broken: ends the call, now or when what is under way has ended.
     */
    void (*end)(struct weft_open_call *open);
    struct weft_open_call *next;
    struct weft_open_call **at; /* what points to it; NULL: it is not under way */
    bool is_ended;
};
void weft_open_call_begin(struct weft_open_call *open);
void weft_open_call_end(struct weft_open_call *open);

/* The state of a process for a communicator, from its first blocking call on. The thread
 * that is in a blocking call on it writes `ring`; all else needs the lock. */
struct weft_calls {
    /* The writer sets `what` to 0, then the others, then `what` (release); a reader loads
     * `what` (acquire), the others, and `what` again. `in_slots` counts the calls in
     * shared memory before this one: members of which only some made an earlier call
     * there do not meet again. */
    struct {
        _Atomic uint64_t what;
        _Atomic uint64_t bytes;
        _Atomic uint32_t in_slots;
    } ring[WEFT_CALLS_KEPT];
    bool is_broken;
    bool is_noted; /* `other` is news for the error text */
    struct weft_other other;
    struct weft_call_wait *waiting;
};

/* Once, when the engine is open. */
void weft_disagree_open(void);

/* NULL: no memory; then nothing is compared by asking. */
struct weft_calls *weft_calls_make(struct weft_comm *comm);

/* A blocking call begins: keeps its signature. */
static inline void weft_calls_keep(struct weft_calls *calls, uint32_t number,
                                   const struct weft_signature *says, uint32_t in_slots)
{
    const uint32_t at = number % WEFT_CALLS_KEPT;

    atomic_store_explicit(&calls->ring[at].what, 0, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    atomic_store_explicit(&calls->ring[at].bytes, says->bytes, memory_order_relaxed);
    atomic_store_explicit(&calls->ring[at].in_slots, in_slots, memory_order_relaxed);
    atomic_store_explicit(&calls->ring[at].what, says->what, memory_order_release);
}

/* Does a process have nothing against going on with collectives there? */
static inline bool weft_calls_are_whole(const struct weft_comm *comm)
{
    return comm->calls == NULL || !comm->calls->is_broken;
}

/* With the lock: this process has freed the communicator. Keeps its calls for members
 * that ask for them later: their context is not given again before these have freed it.
 */
void weft_calls_leave(struct weft_comm *comm);

/* With the lock, by the thread that waits. */
void weft_call_wait_begin(struct weft_call_wait *wait);
void weft_call_wait_end(struct weft_call_wait *wait);

/* For missing(): asks a member; false: enough are asked in this round. */
bool weft_call_wait_ask(struct weft_call_wait *wait, int rank);

/* For missing(): if it has found no member to ask, asks all to whom a way leads, from the
 * rank `first` on: one of them may have broken the communicator. */
void weft_call_wait_ask_all(struct weft_call_wait *wait, int first);

/* While a communicator breaks: tells a member that this process makes no more collective
 * calls there. */
void weft_disagree_tell(const struct weft_comm *comm, int rank);

/* For missing(): a member was found to make another call. */
void weft_call_wait_found(struct weft_call_wait *wait, int rank, uint32_t word,
                          uint64_t bytes);

/*
 * Take the lock. A member gives another number of bytes: returns WEFT_ERR_DISAGREE. Or it
 * makes another call, by its word: the same, and the communicator is broken.
 */
WEFT_COLD enum weft_rc weft_disagree_bytes(struct weft_comm *comm, int rank,
                                           uint64_t bytes);
WEFT_COLD enum weft_rc weft_disagree_word(struct weft_comm *comm, int rank, uint32_t word,
                                          uint64_t bytes);

/* With the lock, while a thread waits in a blocking call on a communicator: the number of
 * the call, which is not 0, its root or -1, and the bytes of a block or 0. False: not
 * known. */
bool weft_calls_tell(const struct weft_comm *comm, uint32_t *number, int *root,
                     uint64_t *bytes);

/* Takes the lock. This process had no memory for its part of a collective: it breaks the
 * communicator, so that members that wait for it learn of that when they ask. */
WEFT_COLD void weft_disagree_starved(struct weft_comm *comm);

/* Takes the lock. This process had no memory for its part of a nonblocking collective: it
 * breaks the communicator and tells all members, because those that wait do not ask. */
WEFT_COLD void weft_disagree_starved_apart(struct weft_comm *comm);

/* Takes the lock. The result of a call on a communicator inside of the library: lack of
 * memory, where a member's lack of it has broken the communicator. */
WEFT_COLD enum weft_rc weft_disagree_reason(const struct weft_comm *comm,
                                            enum weft_rc rc);

/* With the lock: describes the last disagreement on a communicator, and returns the class
 * of the error. */
int weft_disagree_describe(struct weft_comm *comm, char *text, size_t size);

#endif
