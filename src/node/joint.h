/*
 * joint.h - one long transfer that sender and receiver work on together.
 *
 * A joint lies in memory that both see. Its owner, who took it from its transport, begins
 * a turn: the sender announces a message, or the receiver offers a buffer. The other side
 * answers by opening it; from then on both claim pieces, the receiver from the front and
 * the sender from the back, so that in the next transfer each finds the same half in its
 * own cache. Each counts what it has copied, and both are done when all is counted. The
 * owner then gives the joint back and may begin another turn: who finds another turn than
 * its own knows that its transfer is over.
 *
 *     FREE --announce-- ANNOUNCED ------------------open---- OPEN  -- all counted: over
 *       \--offer-- OFFERED --claim, by the sender-- CLAIMED --open--^
 *                      \---take back, by the receiver-- TAKEN
 *
 *     state   63      turn       32 31   enum weft_joint_state   0
 *     range   63 turn 48 47   back, in units   24 23   front    0
 *
 * Nothing here needs the library's lock. What pairs with what: opening stores the state
 * with release, and whoever claims has loaded it with acquire; counting is a
 * read-modify-write in sequential order, which pairs with the acquire of who finds all
 * counted, and which is the barrier between a last piece and a look at whether the other
 * side sleeps.
 */
#ifndef WEFT_NODE_JOINT_H
#define WEFT_NODE_JOINT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * One long transfer that two processes can work on at once, in memory that both see. Zero
 * is a valid empty one.
 */
struct weft_joint {
    _Atomic uint64_t state;  /* turn and enum weft_joint_state */
    _Atomic uint64_t range;  /* what nobody has claimed yet */
    _Atomic uint64_t copied; /* bytes */
    _Atomic uint64_t source; /* address in the sender */
    _Atomic uint64_t target; /* address in the receiver */
    _Atomic uint64_t length; /* bytes to be copied */
    _Atomic uint64_t note;   /* from who opened it to its owner */
    _Atomic uint32_t unit;   /* bytes that `range` counts in */
    _Atomic uint32_t piece;  /* units claimed at once */
};
_Static_assert(sizeof(struct weft_joint) == 64, "one cache line each");

enum weft_joint_state {
    WEFT_JOINT_FREE,
    WEFT_JOINT_ANNOUNCED, /* source is valid */
    WEFT_JOINT_OFFERED,   /* target is valid, length is the buffer's */
    WEFT_JOINT_TAKEN,     /* the offer no longer holds */
    WEFT_JOINT_CLAIMED,   /* by a sender that is about to open it */
    WEFT_JOINT_OPEN,
};

enum weft_joint_side { WEFT_JOINT_RECEIVER, WEFT_JOINT_SENDER };

/* The owner begins a turn, and gets its number. */
uint32_t weft_joint_announce(struct weft_joint *joint, uint64_t source);
uint32_t weft_joint_offer(struct weft_joint *joint, uint64_t target, uint64_t capacity);

/* The sender takes an offer; false: it no longer holds. */
bool weft_joint_claim(struct weft_joint *joint, uint32_t turn);

/* The receiver takes it back; false: a sender has claimed it. */
bool weft_joint_take_back(struct weft_joint *joint, uint32_t turn);

/*
 * What opening needs to know. `piece` is in bytes; 0: nobody may claim any, who opens it
 * sees to all of it. `note` is the length of the message
 * that takes an offer, or the receiver's request that takes an announcement.
 */
struct weft_joint_terms {
    uint64_t source;
    uint64_t target;
    uint64_t length;
    uint64_t note;
    uint64_t piece;
};

void weft_joint_open(struct weft_joint *joint, uint32_t turn,
                     const struct weft_joint_terms *terms);

/* The next piece for this side; false: nothing is left, or this turn is over. */
bool weft_joint_claim_piece(struct weft_joint *joint, uint32_t turn,
                            enum weft_joint_side side, uint64_t *offset,
                            uint64_t *length);

/* Counts bytes of a piece that was claimed; true: that was the last. */
bool weft_joint_count(struct weft_joint *joint, uint64_t bytes);

/* Bytes of an open joint that were not counted yet. */
uint64_t weft_joint_left(const struct weft_joint *joint);

/*
 * Fields of an open joint, for who has claimed a piece of it: until that is counted they
 * stay. Relaxed, and atomic only because their next turn is written by another process.
 */
static inline uint64_t weft_joint_field(const _Atomic uint64_t *field)
{
    return atomic_load_explicit(field, memory_order_relaxed);
}

static inline enum weft_joint_state weft_joint_state(const struct weft_joint *joint,
                                                     uint32_t turn, bool *is_over)
{
    const uint64_t state = atomic_load_explicit(&joint->state, memory_order_acquire);

    *is_over = (uint32_t)(state >> 32) != turn;
    return (enum weft_joint_state)(uint32_t)state;
}

/* Has the other side opened it, and is this turn not over? */
static inline bool weft_joint_is_open(const struct weft_joint *joint, uint32_t turn)
{
    return atomic_load_explicit(&joint->state, memory_order_acquire) ==
           ((uint64_t)turn << 32 | WEFT_JOINT_OPEN);
}

/* Is this turn's transfer over? Acquire: then the bytes are there. */
bool weft_joint_is_over(const struct weft_joint *joint, uint32_t turn);

/* Is it open, with pieces that nobody has claimed? */
bool weft_joint_has_pieces(const struct weft_joint *joint, uint32_t turn);

#endif
