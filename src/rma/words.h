/*
 * words.h - what the members of a window on one node share about each of them: the lock
 * of its memory, who accumulates into it, what it has attached (shown.h), the flags of
 * epochs, and whose memory it copies. The words lie in an extent of the segment's heap
 * (near.h) and are zero at first. A member is named here by its number: how many members
 * on its node have a lower rank.
 *
 * The lock is a queue of tickets (ticket.c). Whoever asks takes the next ticket, one
 * fetch-and-add, so nobody starves. A reader goes when `readers` is its ticket, a writer
 * when `writers` is:
 *
 *   reader   adds 1 to `readers` as soon as it may read, so that the next reader goes
 * too, and 1 to `writers` when it leaves writer   adds 1 to both when it leaves
 *
 * Each member notes in its place what it does. So the place of one that has failed tells
 * which of these steps are missing, and whoever waits makes them in its stead. Only if it
 * has failed between a step and its note the lock is lost.
 *
 * Order. Every change of `readers`, `writers`, `completes` and the bits of posts is a
 * read-modify-write in sequential order: what a member has written before it is there for
 * the one who sees the change, with an acquire load. `updater` is taken with acquire and
 * given back with release.
 *
 * Completes. MPI_Win_complete adds 1 to `completes` of the target, which MPI_Win_wait
 * compares with the number of those that were posted to. When one of them fails it must
 * be known who has completed: each has a bit for each target in its own words, which it
 * turns before it adds. The target keeps what the bit was at the end of the epoch before.
 * Only if a member fails between turning and adding the count is lost.
 *
 * Copies. A member that copies to or from the memory of another by calls of the kernel
 * counts this in its own words before the call, looks then at `is_closed` of the other,
 * and counts down after the call. A member that takes its memory back sets its
 * `is_closed` and then waits until no member counts a copy of it. All are sequentially
 * consistent, so one of both sees the other.
 *
 * Waiting. Whoever waits for long adds itself to `waiters`, reads `bell` and looks once
 * more; it sleeps while `bell` stays. Whoever has changed a word looks at `waiters`, and
 * changes `bell` if it is not 0. All four are sequentially consistent, so one of both
 * sees the other.
 */
#ifndef WEFT_RMA_WORDS_H
#define WEFT_RMA_WORDS_H

#include "base/rc.h"
#include "rma/shown.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WEFT_WORDS_ALIGNMENT = 64, WEFT_WORDS_BITS = 32 };

struct weft_win_words {
    _Alignas(WEFT_WORDS_ALIGNMENT) _Atomic uint32_t next;
    _Atomic uint32_t completes; /* MPI_Win_complete of members that wait counts off */
    _Atomic uint32_t readers;
    _Atomic uint32_t writers;
    _Atomic uint32_t waiters;
    _Atomic uint32_t bell;
    _Atomic uint32_t sleepers;  /* on the bell (base/wait.h) */
    _Atomic uint32_t is_closed; /* the memory is the program's again */
    _Alignas(WEFT_WORDS_ALIGNMENT) _Atomic uint32_t updater; /* number + 1, or 0 */
    struct weft_shown shown; /* what is attached to a dynamic window */
    _Alignas(WEFT_WORDS_ALIGNMENT) _Atomic uint32_t bits[]; /* posts, completes, places,
                                                             * copies */
};
_Static_assert(sizeof(struct weft_win_words) == 2 * WEFT_WORDS_ALIGNMENT,
               "a line for the lock, one for updates and what is attached");

/* Words for the bits of so many members. */
static inline size_t weft_words_length(uint32_t members)
{
    return (members + WEFT_WORDS_BITS - 1) / WEFT_WORDS_BITS;
}

/* Bytes of the words of one of so many members. */
static inline size_t weft_words_bytes(uint32_t members)
{
    const size_t bits = (2 * weft_words_length(members) + members) * sizeof(uint32_t) +
                        members * sizeof(uint16_t);

    return sizeof(struct weft_win_words) + (bits + WEFT_WORDS_ALIGNMENT - 1) /
                                               WEFT_WORDS_ALIGNMENT *
                                               WEFT_WORDS_ALIGNMENT;
}

/* The member with this number has posted its window to the owner of the words. */
static inline _Atomic uint32_t *weft_words_post(struct weft_win_words *words,
                                                uint32_t number)
{
    return &words->bits[number / WEFT_WORDS_BITS];
}

/* Whether the owner of the words has completed an odd number of epochs of the member with
 * this number. */
static inline _Atomic uint32_t *weft_words_completed(struct weft_win_words *words,
                                                     uint32_t members, uint32_t number)
{
    return &words->bits[weft_words_length(members) + number / WEFT_WORDS_BITS];
}

/* What the member with this number does with the lock. */
static inline _Atomic uint32_t *weft_words_place(struct weft_win_words *words,
                                                 uint32_t members, uint32_t number)
{
    return &words->bits[2 * weft_words_length(members) + number];
}

/* How many copies of this member's process to or from the memory of the member with this
 * number are under way. */
static inline _Atomic uint16_t *weft_words_copies(struct weft_win_words *words,
                                                  uint32_t members, uint32_t number)
{
    return (_Atomic uint16_t *)weft_words_place(words, members, members) + number;
}

static inline uint32_t weft_words_bit(uint32_t number)
{
    return 1u << number % WEFT_WORDS_BITS;
}

/* After a change of a word: wakes whoever waits. */
void weft_words_ring(struct weft_win_words *words);

static inline void weft_words_changed(struct weft_win_words *words)
{
    if (weft_unlikely(atomic_load_explicit(&words->waiters, memory_order_seq_cst) != 0)) {
        weft_words_ring(words);
    }
}

#endif
