/*
 * lock.pml - the biased lock between the program's thread and the progress thread.
 *
 * Models src/engine/lock.h and lock.c by the steps of lock_steps.pml.
 *
 * Holds: one thread at a time is inside, and it sees what the other wrote there; none
 * waits for ever.
 */
#define THREADS 2
#define WORDS 3
#define INSIDE 0
#define PROGRESS 1
#define DATA 2
#define TIMES 3

#include "tso.pml"
#include "lock_steps.pml"

byte threads_inside, turns;

/* What the lock guards: a count, kept in memory that is seen late. */
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

active proctype program()
{
    byte lock_seen, seen, i;

    do
    :: i < TIMES ->
        lock();
        work();
        unlock();
        i++
    :: else -> break
    od
}

active proctype progress()
{
    byte lock_seen, seen, i;
    bool is_mine;

    do
    :: i < TIMES ->
        if
        :: lock_as_progress();
            is_mine = true
        :: try_as_progress(is_mine)
        fi;
        if
        :: is_mine ->
            work();
            leave_as_progress()
        :: else
        fi;
        i++
    :: else -> break
    od
}
