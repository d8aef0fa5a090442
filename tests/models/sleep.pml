/*
 * sleep.pml - a thread that sleeps in MPI and those who send to it.
 *
 * Models src/node/doorbell.c: weft_node_publish(), weft_node_sleep() and
 * weft_node_ring_area(), and weft_node_notice() in doorbell.h. The queue is a count of
 * messages for each sender.
 *
 * Holds: nobody sleeps for ever beside a message; at most one ring per sleep.
 */
#define THREADS 3
#define WORDS 4
#define WAKE_LEVEL 0
#define DOORBELL 1
#define FLAG(sender) (1 + (sender))
#define ALL 3
#define ANYTHING 2
#define MESSAGES 2

#include "tso.pml"

byte arms, rings;

inline has_work(found)
{
    load(FLAG(1), flag);
    found = flag != taken[0];
    load(FLAG(2), flag);
    found = found || flag != taken[1]
}

inline poll()
{
    load(FLAG(1), flag);
    taken[0] = flag;
    load(FLAG(2), flag);
    taken[1] = flag
}

active proctype receiver()
{
    byte taken[2];
    byte flag, bell;
    bool found;

    do
    :: true ->
        poll();
        if
        :: taken[0] == MESSAGES && taken[1] == MESSAGES -> break
        :: else
        fi;
        found = false;
        load(DOORBELL, bell);
        arms++;
        store(WAKE_LEVEL, ALL); /* M:publish */
        membarrier(); /* M:barrier */
        has_work(found); /* M:recheck */
        if
        :: !found ->
            futex_wait(DOORBELL, bell)
        :: else
        fi;
        store(WAKE_LEVEL, 0)
    od
}

active [2] proctype sender()
{
    byte number, level;

    do
    :: number < MESSAGES ->
        number++;
        store(FLAG(ME), number);
        load(WAKE_LEVEL, level);
        if
        :: level >= ANYTHING ->
            exchange(WAKE_LEVEL, 0, level); /* M:exchange */
            if
            :: level != 0 ->
                rings++;
                assert(rings <= arms);
                add(DOORBELL, 1); /* M:move_bell */
                futex_wake(DOORBELL) /* M:wake */
            :: else
            fi
        :: else
        fi
    :: else -> break
    od
}
