/*
 * share.pml - the biased lock becomes a shared one while the program's thread uses it.
 *
 * Models src/engine/lock.c: weft_lock_share() and weft_lock_await_helper(), and in lock.h
 * weft_lock() and weft_unlock(), which read the form each time. Thread 1 sits on the seat:
 * it shares the lock, and then takes it as any other thread does. The shared lock is one
 * step, because it is an ordinary futex lock.
 *
 * Holds: one thread at a time is inside, and it sees what the other wrote there; none
 * waits for ever.
 */
#define THREADS 2
#define WORDS 5
#define INSIDE 0
#define HELPER 1
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

inline await_no_helper()
{
    do
    :: true -> /* it spins for a while */
        load(HELPER, helper);
        if
        :: helper == 0 || helper == SHARED -> break
        :: else
        fi
    :: true -> /* and then sleeps */
        drain();
        d_step {
            helper = memory[HELPER];
            if
            :: helper == 1 -> memory[HELPER] = 2
            :: else
            fi
        }
        if
        :: helper == 1 || helper == 2 -> futex_wait(HELPER, 2)
        :: else -> break
        fi
    od
}

inline take_biased()
{
    store(INSIDE, 1);
    load(HELPER, helper); /* M:look_for_mark */
    do
    :: helper != 0 ->
        store(INSIDE, 0);
        await_no_helper();
        if
        :: helper == SHARED ->
            take_shared(); /* M:take_the_other */
            break
        :: else
        fi;
        store(INSIDE, 1);
        load(HELPER, helper)
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
    byte helper, seen, form, i;

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
    byte helper, seen, form;

    store(HELPER, 1); /* M:say_so */
    membarrier(); /* M:barrier */
    memory[INSIDE] == 0; /* M:wait_outside */
    store(IS_SHARED, 1);
    exchange(HELPER, SHARED, helper); /* M:mark */
    if
    :: helper == 2 -> futex_wake(HELPER) /* M:wake */
    :: else
    fi;
    lock();
    work();
    unlock()
}
