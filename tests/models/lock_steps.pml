/*
 * lock_steps.pml - the biased lock, for lock.pml, leave.pml and share.pml: thread 0 is the
 * program's, thread 1 the progress thread.
 *
 * Models src/engine/lock.h, weft_lock_take_biased() and weft_unlock(), and
 * src/engine/lock.c, weft_lock_await_progress() and all that is named as_progress; share.pml
 * has what is done when the lock becomes a shared one. A turn of a loop that only spins is
 * a wait for what ends it.
 */

/* Returns when the progress thread neither has the lock nor tries to get it. */
inline await_no_progress()
{
    do
    :: true -> /* it spins for a while */
        load(PROGRESS, lock_seen);
        if
        :: lock_seen == 0 -> break
        :: else
        fi
    :: true -> /* and then sleeps */
        drain();
        d_step {
            lock_seen = memory[PROGRESS];
            if
            :: lock_seen == 1 -> memory[PROGRESS] = 2
            :: else
            fi
        }
        if
        :: lock_seen != 0 -> futex_wait(PROGRESS, 2)
        :: else -> break
        fi
    od
}

inline lock()
{
    store(INSIDE, 1); /* M:inside */
    load(PROGRESS, lock_seen); /* M:look_for_progress */
    do
    :: lock_seen != 0 ->
        store(INSIDE, 0); /* M:give_way */
        await_no_progress();
        store(INSIDE, 1); /* M:inside_again */
        load(PROGRESS, lock_seen) /* M:look_again */
    :: else -> break
    od
}

inline unlock()
{
    store(INSIDE, 0) /* M:unlock */
}

inline leave_as_progress()
{
    exchange(PROGRESS, 0, lock_seen);
    if
    :: lock_seen == 2 -> futex_wake(PROGRESS) /* M:wake */
    :: else
    fi
}

inline try_as_progress(is_mine)
{
    store(PROGRESS, 1); /* M:try_progress */
    membarrier(); /* M:try_barrier */
    load(INSIDE, lock_seen); /* M:try_look */
    if
    :: lock_seen == 0 -> is_mine = true
    :: else ->
        leave_as_progress(); /* M:try_give_up */
        is_mine = false
    fi
}

inline lock_as_progress()
{
    store(PROGRESS, 1); /* M:insist_progress */
    membarrier(); /* M:insist_barrier */
    memory[INSIDE] == 0 /* M:insist_wait */
}
