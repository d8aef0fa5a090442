/*
 * futex.h - sleeping on a word of shared memory, across processes.
 */
#ifndef WEFT_BASE_FUTEX_H
#define WEFT_BASE_FUTEX_H

#include <stdatomic.h>
#include <stdint.h>

/*
 * Sleeps while *word is `old`, at most `ns` nanoseconds (0: without end). May return
 * early and for no reason: the caller looks again. The kernel compares and goes to sleep
 * in one step, so a change and wake between the caller's look and the sleep is not lost.
 */
void weft_futex_wait(_Atomic uint32_t *word, uint32_t old, uint64_t ns);

/*
 * Sleeps while *a is `old_a` and *b is `old_b`, at most `ns` nanoseconds; `b` may be
 * NULL. Where the kernel cannot wait for two words (before 5.16), the sleep ends by
 * itself after a millisecond.
 */
void weft_futex_wait_two(_Atomic uint32_t *a, uint32_t old_a, _Atomic uint32_t *b,
                         uint32_t old_b, uint64_t ns);

/* Wakes up to `count` sleepers. */
void weft_futex_wake(_Atomic uint32_t *word, int count);

#endif
