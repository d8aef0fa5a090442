/*
 * lock_steps.pml - the biased lock, for lock.pml, leave.pml and share.pml: thread 0 is the
 * program's, thread 1 the helper.
 *
 * Models src/engine/lock.h, weft_lock_take_biased() and weft_unlock(), and
 * src/engine/lock.c, weft_lock_await_helper() and all that is named as_helper; share.pml
 * has what is done when the lock becomes a shared one. A turn of a loop that only spins is
 * a wait for what ends it.
 */

/* Returns when the helper neither has the lock nor tries to get it. */
inline await_no_helper()
{
    do
    :: true -> /* it spins for a while */
        load(HELPER, lock_seen);
        if
        :: lock_seen == 0 -> break
        :: else
        fi
    :: true -> /* and then sleeps */
        drain();
        d_step {
            lock_seen = memory[HELPER];
            if
            :: lock_seen == 1 -> memory[HELPER] = 2
            :: else
            fi
        }
        if
        :: lock_seen != 0 -> futex_wait(HELPER, 2)
        :: else -> break
        fi
    od
}

inline lock()
{
    store(INSIDE, 1); /* M:inside */
    load(HELPER, lock_seen); /* M:look_for_helper */
    do
    :: lock_seen != 0 ->
        store(INSIDE, 0); /* M:give_way */
        await_no_helper();
        store(INSIDE, 1); /* M:inside_again */
        load(HELPER, lock_seen) /* M:look_again */
    :: else -> break
    od
}

inline unlock()
{
    store(INSIDE, 0) /* M:unlock */
}

inline leave_as_helper()
{
    exchange(HELPER, 0, lock_seen);
    if
    :: lock_seen == 2 -> futex_wake(HELPER) /* M:wake */
    :: else
    fi
}

inline try_as_helper(is_mine)
{
    store(HELPER, 1); /* M:try_helper */
    membarrier(); /* M:try_barrier */
    load(INSIDE, lock_seen); /* M:try_look */
    if
    :: lock_seen == 0 -> is_mine = true
    :: else ->
        leave_as_helper(); /* M:try_give_up */
        is_mine = false
    fi
}

inline lock_as_helper()
{
    store(HELPER, 1); /* M:insist_helper */
    membarrier(); /* M:insist_barrier */
    memory[INSIDE] == 0 /* M:insist_wait */
}
