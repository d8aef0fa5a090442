/*
 * wait.h - waiting for a word to change, as cheaply as it can be done.
 *
 * First spin, but only where every rank of the node has a processor of its own; then give
 * the processor away for a bounded time; then sleep until woken. Whoever changes the word
 * calls weft_wait_wake(), which costs a system call only if somebody sleeps.
 *
 * The pair that makes a lost wake-up impossible: the waiter adds itself to `sleepers` and
 * then looks at the word; the waker changes the word and then looks at `sleepers`; all
 * four are sequentially consistent, so at least one of them sees the other.
 */
#ifndef WEFT_BASE_WAIT_H
#define WEFT_BASE_WAIT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    WEFT_SPIN_NS = 20000,   /* longer than a message takes, shorter than anyone notices */
    WEFT_YIELD_NS = 100000, /* wall time, so that a crowd of ranks sleeps soon */
};

/* Says whether spinning pays: do the ranks of this node fit on its processors? */
void weft_wait_set_crowded(bool is_crowded);

bool weft_wait_is_crowded(void);

/* Between two looks at a word that another processor writes. */
static inline void weft_wait_relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/*
 * Looks at the word for a moment, before a wait that costs more: true if it is no longer
 * `old`. Where ranks outnumber processors it gives the processor away between two looks;
 * if somebody who computes has kept that for long, it does not do so for a while.
 */
bool weft_wait_briefly(_Atomic uint32_t *word, uint32_t old);

/* Sleeps for a short time, between two looks at what somebody else is to do. A yield in a
 * loop costs this thread its turns for long, where others compute (docs/engine.md, 3). */
void weft_wait_moment(void);

/* Returns when *word is no longer `old`. */
void weft_wait_change(_Atomic uint32_t *word, uint32_t old, _Atomic uint32_t *sleepers);

/* After a change of *word with sequentially consistent order: wakes whoever sleeps. */
void weft_wait_wake(_Atomic uint32_t *word, _Atomic uint32_t *sleepers);

#endif
