/*
 * share.pml - the biased lock becomes a shared one while the program's thread uses it.
 *
 * Models src/engine/lock.c: weft_lock_share() and weft_lock_await_progress(), and in lock.h
 * weft_lock() and weft_unlock(), which read the form each time. Thread 1 has the progress role:
 * it shares the lock, and then takes it as any other thread does. The shared lock is one
 * step, because it is an ordinary futex lock.
 *
 * Holds: one thread at a time is inside, and it sees what the other wrote there; none
 * waits for ever.
 */
#define THREADS 2
#define WORDS 5
#define INSIDE 0
#define PROGRESS 1
#define DATA 2
#define IS_SHARED 3
#define STATE 4
#define SHARED 3
#define TIMES 3

#include "tso.pml"

byte threads_inside, turns;

inline work()
{
    threads_inside++;
    assert(threads_inside == 1);
    load(DATA, seen);
    assert(seen == turns);
    store(DATA, seen + 1);
    turns++;
    threads_inside--
}

inline take_shared()
{
    d_step {
        empty(buffer[ME]) && memory[STATE] == 0 -> memory[STATE] = 1
    }
}

inline await_no_progress()
{
    do
    :: true -> /* it spins for a while */
        load(PROGRESS, awaited);
        if
        :: awaited == 0 || awaited == SHARED -> break
        :: else
        fi
    :: true -> /* and then sleeps */
        drain();
        d_step {
            awaited = memory[PROGRESS];
            if
            :: awaited == 1 -> memory[PROGRESS] = 2
            :: else
            fi
        }
        if
        :: awaited == 1 || awaited == 2 -> futex_wait(PROGRESS, 2)
        :: else -> break
        fi
    od
}

inline take_biased()
{
    store(INSIDE, 1);
    load(PROGRESS, awaited); /* M:look_for_mark */
    do
    :: awaited != 0 ->
        store(INSIDE, 0);
        await_no_progress();
        if
        :: awaited == SHARED ->
            take_shared(); /* M:take_the_other */
            break
        :: else
        fi;
        store(INSIDE, 1);
        load(PROGRESS, awaited)
    :: else -> break
    od
}

inline lock()
{
    load(IS_SHARED, form);
    if
    :: form == 0 -> take_biased()
    :: else -> take_shared()
    fi
}

inline unlock()
{
    load(IS_SHARED, form);
    if
    :: form == 0 -> store(INSIDE, 0)
    :: else -> store(STATE, 0)
    fi
}

active proctype program()
{
    byte awaited, seen, form, i;

    do
    :: i < TIMES ->
        lock();
        work();
        unlock();
        i++
    :: else -> break
    od
}

active proctype sharer()
{
    byte awaited, seen, form;

    store(PROGRESS, 1); /* M:say_so */
    membarrier(); /* M:barrier */
    memory[INSIDE] == 0; /* M:wait_outside */
    store(IS_SHARED, 1);
    exchange(PROGRESS, SHARED, awaited); /* M:mark */
    if
    :: awaited == 2 -> futex_wake(PROGRESS) /* M:wake */
    :: else
    fi;
    lock();
    work();
    unlock()
}
