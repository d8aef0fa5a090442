/*
 * copy_share.h - one long transfer that sender and receiver work on together.
 *
 * A share lies in memory that both see. Its owner, in whose slice it is, takes it and
 * begins a generation: the sender announces a message, or the receiver offers a buffer.
 * The other side answers by opening it; from then on both claim chunks, the receiver from
 * the front and the sender from the back, so that in the next transfer each finds the
 * same half in its own cache. Each counts what it has copied, and both are done when all
 * is counted. The owner then gives the share back and may begin another generation: a
 * process that finds another generation than its own knows that its transfer is over.
 *
 *     FREE --announce-- ANNOUNCED ------------------open---- OPEN  -- all counted: over
 *       \--offer-- OFFERED --claim, by the sender-- CLAIMED --open--^
 *                      \---take back, by the receiver-- TAKEN
 *
 *     state   63   generation   32 31   enum weft_share_state   0
 *     range   63 generation 48 47   back, in units   24 23   front    0
 *
 * Only taking and giving back need the library's lock. What pairs with what: opening
 * stores the state with release, and whoever claims has loaded it with acquire; counting
 * is a read-modify-write in sequential order. It pairs with the acquire load of a process
 * that finds all counted, and it is the barrier between a last chunk and a look at
 * whether the other side sleeps.
 */
#ifndef WEFT_NODE_COPY_SHARE_H
#define WEFT_NODE_COPY_SHARE_H

#include "node/node.h"

enum weft_share_state {
    WEFT_SHARE_FREE,
    WEFT_SHARE_ANNOUNCED, /* source is valid */
    WEFT_SHARE_OFFERED,   /* target is valid, length is the buffer's */
    WEFT_SHARE_TAKEN,     /* the offer no longer holds */
    WEFT_SHARE_CLAIMED,   /* by a sender that is about to open it */
    WEFT_SHARE_OPEN,
};

enum weft_share_side { WEFT_SHARE_RECEIVER, WEFT_SHARE_SENDER };

/* Takes one of this process's shares, and stores its number; NULL: all are taken. */
struct weft_copy_share *weft_share_take(struct weft_node *node, uint32_t *number);
void weft_share_give(struct weft_node *node, uint32_t number);

/* The share of a peer with this number; NULL: there is none. */
struct weft_copy_share *weft_share_of(struct weft_node_area *area, uint32_t number);

/* The owner begins a generation, and gets its number. */
uint32_t weft_share_announce(struct weft_copy_share *share, uint64_t source);
uint32_t weft_share_offer(struct weft_copy_share *share, uint64_t target,
                          uint64_t capacity);

/* The sender takes an offer; false: it no longer holds. */
bool weft_share_claim(struct weft_copy_share *share, uint32_t generation);

/* The receiver takes it back; false: a sender has claimed it. */
bool weft_share_take_back(struct weft_copy_share *share, uint32_t generation);

/*
 * The arguments of weft_share_open(). `chunk` is in bytes; 0: nothing can be claimed, and
 * the process that opens the share moves everything by other means. `note` is the length
 * of the message that takes an offer, or the receiver's request that takes an
 * announcement.
 */
struct weft_share_terms {
    uint64_t source;
    uint64_t target;
    uint64_t length;
    uint64_t note;
    uint64_t chunk;
};

void weft_share_open(struct weft_copy_share *share, uint32_t generation,
                     const struct weft_share_terms *terms);

/* The next chunk for this side; false: nothing is left, or this generation is over. */
bool weft_share_claim_chunk(struct weft_copy_share *share, uint32_t generation,
                            enum weft_share_side side, uint64_t *offset,
                            uint64_t *length);

/* Counts bytes of a chunk that was claimed; true: that was the last. */
bool weft_share_count(struct weft_copy_share *share, uint64_t bytes);

/* Bytes of an open share that were not counted yet. */
uint64_t weft_share_left(const struct weft_copy_share *share);

/*
 * Fields of an open share, for a process that has claimed a chunk of it: they do not
 * change until that chunk is counted. Relaxed, and atomic only because their next
 * generation is written by another process.
 */
static inline uint64_t weft_share_field(const _Atomic uint64_t *field)
{
    return atomic_load_explicit(field, memory_order_relaxed);
}

static inline enum weft_share_state weft_share_state(const struct weft_copy_share *share,
                                                     uint32_t generation, bool *is_over)
{
    const uint64_t state = atomic_load_explicit(&share->state, memory_order_acquire);

    *is_over = (uint32_t)(state >> 32) != generation;
    return (enum weft_share_state)(uint32_t)state;
}

/* Has the other side opened it, and is this generation not over? */
static inline bool weft_share_is_open(const struct weft_copy_share *share,
                                      uint32_t generation)
{
    return atomic_load_explicit(&share->state, memory_order_acquire) ==
           ((uint64_t)generation << 32 | WEFT_SHARE_OPEN);
}

/* Is this generation's transfer over? Acquire: then the bytes are there. */
bool weft_share_is_over(const struct weft_copy_share *share, uint32_t generation);

/* Is it open, with chunks that nobody has claimed? */
bool weft_share_has_chunks(const struct weft_copy_share *share, uint32_t generation);

#endif
