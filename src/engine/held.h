/*
 * held.h - assertions about who holds the library's lock and the lock of objects.
 *
 * A function that needs the lock begins with weft_assert_locked(), one that takes it
 * itself or calls the user with weft_assert_unlocked(). They look at what each thread has
 * noted about itself when it took or gave the lock, in whichever form and
 * role, so that a thread that takes a lock twice is found, too. In release builds nothing
 * is noted and nothing is asked.
 *
 * Nothing is demanded before weft_lock_check(), which opening the library calls: unit
 * tests call single rooms in one thread, without the lock.
 */
#ifndef WEFT_ENGINE_HELD_H
#define WEFT_ENGINE_HELD_H

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>

#ifdef NDEBUG

#define weft_assert_locked()           ((void)0)
#define weft_assert_unlocked()         ((void)0)
#define weft_assert_object_locked()    ((void)0)
#define weft_lock_check()              ((void)0)
#define weft_lock_note(is_mine)        ((void)0)
#define weft_object_lock_note(is_mine) ((void)0)

#else

#define weft_assert_locked()   assert(weft_lock_is_mine || !weft_lock_is_checked)
#define weft_assert_unlocked() assert(!weft_lock_is_mine)
#define weft_assert_object_locked()                                                      \
    assert(weft_object_lock_is_mine || !weft_lock_is_checked)

extern _Thread_local bool weft_lock_is_mine; /* nobody but the thread reads its own */
extern _Thread_local bool weft_object_lock_is_mine;
extern _Atomic bool weft_lock_is_checked;

/* From now on functions that need a lock demand it. */
static inline void weft_lock_check(void)
{
    weft_lock_is_checked = true;
}

static inline void weft_lock_note(bool is_mine)
{
    assert(weft_lock_is_mine != is_mine);
    weft_lock_is_mine = is_mine;
}

static inline void weft_object_lock_note(bool is_mine)
{
    assert(weft_object_lock_is_mine != is_mine);
    weft_object_lock_is_mine = is_mine;
}

#endif

#endif
