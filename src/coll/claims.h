/*
 * claims.h - work in pieces that two sides claim: one word in memory that they share.
 *
 * The pieces are numbered. One side claims from the front and the other from the back, so
 * that in the next call each finds the same pieces in its own cache. Whoever has done a
 * piece counts it, and the one that counts the last knows that all are done.
 *
 *     63   call   48 47   back   32 31   front   16 15   done   0
 *
 * The owner of the word resets it for each call before it shows that it is there; a
 * process that is still in the call before finds another call's number, and claims
 * nothing. What pairs with what: counting is a read-modify-write with acquire and release
 * order, so whoever counts the last piece sees what the others have written before they
 * have counted theirs.
 */
#ifndef WEFT_COLL_CLAIMS_H
#define WEFT_COLL_CLAIMS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { WEFT_PIECES_MAX = UINT16_MAX, WEFT_NO_PIECE = -1 };

enum weft_claims_end { WEFT_CLAIMS_FRONT, WEFT_CLAIMS_BACK };

/* Relaxed: whoever claims has first loaded, with acquire order, that the owner is there.
 */
static inline void weft_claims_reset(_Atomic uint64_t *word, uint32_t call)
{
    atomic_store_explicit(word, (uint64_t)call << 48, memory_order_relaxed);
}

/* The next piece of `pieces`, or WEFT_NO_PIECE. */
static inline int weft_claims_take(_Atomic uint64_t *word, uint32_t call, int pieces,
                                   enum weft_claims_end end)
{
    uint64_t old = atomic_load_explicit(word, memory_order_relaxed);
    int front;
    int back;

    do {
        front = (int)(old >> 16 & UINT16_MAX);
        back = (int)(old >> 32 & UINT16_MAX);
        if ((uint16_t)(old >> 48) != (uint16_t)call || front + back >= pieces) {
            return WEFT_NO_PIECE;
        }
    } while (!atomic_compare_exchange_weak_explicit(
        word, &old, old + ((uint64_t)1 << (end == WEFT_CLAIMS_FRONT ? 16 : 32)),
        memory_order_relaxed, memory_order_relaxed));
    return end == WEFT_CLAIMS_FRONT ? front : pieces - 1 - back;
}

/* Takes all pieces, however many, if nobody has claimed any. */
static inline bool weft_claims_take_all(_Atomic uint64_t *word, uint32_t call)
{
    uint64_t fresh = (uint64_t)call << 48;

    return atomic_compare_exchange_strong_explicit(
        word, &fresh, fresh | (uint64_t)WEFT_PIECES_MAX << 16, memory_order_relaxed,
        memory_order_relaxed);
}

/* Counts a piece that was claimed and is done; true: it was the last. */
static inline bool weft_claims_count(_Atomic uint64_t *word, int pieces)
{
    const uint64_t old = atomic_fetch_add_explicit(word, 1, memory_order_acq_rel);

    return (int)(old & UINT16_MAX) + 1 == pieces;
}

#endif
