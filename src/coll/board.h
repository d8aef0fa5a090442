/*
 * board.h - where the members of a communicator on one node show each other their
 * buffers, and claim the work on them: the layout of shared memory.
 *
 * Every member has an entry. For a call it writes the addresses of its buffers and how
 * many pieces of work concern it (`open`), and then the call's number (`shown`, release),
 * which the others load (acquire) before they claim. It leaves when `open` is 0: then
 * nobody reads or writes its buffers any more. So no member can be two calls ahead of
 * another one with whom it has work, and one entry is enough. What it shows is valid for
 * those who have claimed a piece of it. To know the pieces, others have to read the sizes
 * before: `shown` is 0 while they change, as in a seqlock.
 *
 * Whoever waits for others waits for one word, `news`, which changes when a member has
 * come and when one can leave.
 *
 * A member that gives up, because another one has died, sets `is_gone` and waits until no
 * other is busy with a piece. A member that claims sets `busy` first and then looks
 * at `is_gone`. All four are sequentially consistent, so at least one sees the other:
 * either the one that leaves waits, or the other leaves the buffers alone.
 *
 * Zeroed memory is an empty board; numbers of calls begin with 1. It takes 128 bytes, 128
 * for each member and 8 for each pair of them.
 */
#ifndef WEFT_COLL_BOARD_H
#define WEFT_COLL_BOARD_H

#include "coll/claims.h"

#include <stdalign.h>
#include <stddef.h>

enum weft_reach { WEFT_REACH_UNKNOWN, WEFT_REACH_ALL, WEFT_REACH_NOT };

struct weft_board_entry {
    alignas(64) _Atomic uint32_t shown; /* the call that the addresses belong to */
    _Atomic uint32_t is_gone;
    _Atomic uint32_t reach;  /* enum weft_reach: can it reach the memory of all others? */
    _Atomic uint32_t word;   /* which call it is (signature.h) */
    uint64_t from;           /* what it gives */
    uint64_t to;             /* where it gets */
    _Atomic uint64_t given;  /* bytes of a block that it gives */
    _Atomic uint64_t gotten; /* and gets */
    alignas(64) _Atomic uint32_t open; /* written by all, unlike the line before */
    _Atomic uint32_t is_busy;
    /* A member that gives more or less than this one expects: its rank + 1, and what it
     * gives. Or 0. */
    _Atomic uint32_t other;
    _Atomic uint64_t other_bytes;
};
_Static_assert(sizeof(struct weft_board_entry) == 128, "two cache lines");

struct weft_board {
    alignas(64) _Atomic uint32_t news;
    _Atomic uint32_t sleepers;    /* on `news` */
    _Atomic uint32_t has_trouble; /* a piece could not be moved */
    uint32_t workers; /* that can work at once; by rank 0, before it shows its `reach` */
    alignas(64) _Atomic uint64_t all; /* claims of what concerns all; owned by rank 0 */
    struct weft_board_entry entries[];
};
_Static_assert(sizeof(struct weft_board) == 128, "two cache lines");

static inline size_t weft_board_bytes(int n)
{
    return sizeof(struct weft_board) + (size_t)n * sizeof(struct weft_board_entry) +
           (size_t)n * (size_t)n * sizeof(uint64_t);
}

/* The claims of what goes from one member to another, owned by the latter. */
static inline _Atomic uint64_t *weft_board_pair(struct weft_board *board, int n, int from,
                                                int to)
{
    return (_Atomic uint64_t *)&board->entries[n] + (size_t)to * (size_t)n + (size_t)from;
}

#endif
