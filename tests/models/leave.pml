/*
 * leave.pml - a program that leaves MPI with requests outstanding, its progress thread,
 * and a peer whose packets are worth a wake-up.
 *
 * Models src/engine/progress_thread.c, weft_engine_leave() in hot.h, sleep_armed() in
 * wait.c, and in src/node/doorbell.[ch]: weft_node_publish_leaving(), weft_node_publish(),
 * weft_node_ring_area() and weft_node_notice_urgent(). The lock is that of
 * lock_steps.pml. What only the lock's holder touches is an ordinary variable; words that
 * are looked at without it are in memory. The peer sends two packets, each of which
 * completes one request.
 *
 * Holds: every packet for which a request was posted is taken though the program
 * computes, so it is never without somebody who is responsible for it.
 */
#define THREADS 3
#define WORDS 7
#define INSIDE 0
#define PROGRESS 1
#define WAKE_LEVEL 2
#define DOORBELL 3
#define PROGRESS_BELL 4
#define IS_DELEGATED 5
#define FLAG 6 /* packets published */
#define REQUESTS 1
#define ALL 3
#define PACKETS 2

#include "tso.pml"
#include "lock_steps.pml"

byte posted, taken; /* requests, and packets */

#define IS_OUTSTANDING (posted > taken)

inline poll()
{
    load(FLAG, taken)
}

inline has_work()
{
    load(FLAG, seen);
    found = seen != taken
}

/* weft_node_publish_leaving(): an exchange; then a last look. */
inline publish()
{
    found = false;
    store(WAKE_LEVEL, REQUESTS); /* M:publish */
    drain(); /* M:publish_barrier */
    has_work(); /* M:recheck */
    if
    :: found -> store(WAKE_LEVEL, 0)
    :: else
    fi
}

inline enter()
{
    load(IS_DELEGATED, seen);
    if
    :: seen != 0 ->
        store(IS_DELEGATED, 0); /* M:enter */
        store(WAKE_LEVEL, 0)
    :: else
    fi
}

inline ring_progress()
{
    add(PROGRESS_BELL, 1);
    futex_wake(PROGRESS_BELL)
}

/* weft_engine_publish() and delegate(). */
inline leave()
{
    load(IS_DELEGATED, seen);
    if
    :: IS_OUTSTANDING && seen == 0 ->
        store(IS_DELEGATED, 1); /* M:delegate */
        do
        :: true ->
            publish();
            if
            :: !found -> break
            :: else
            fi;
            poll();
            if
            :: !IS_OUTSTANDING ->
                enter();
                break
            :: else
            fi
        :: true -> /* that has gone on for long enough */
            ring_progress(); /* M:hand_over */
            break
        od
    :: else
    fi
}

/* wait_for() and sleep_armed(). */
inline wait()
{
    enter();
    do
    :: true ->
        poll();
        if
        :: !IS_OUTSTANDING -> break
        :: else
        fi;
        load(DOORBELL, bell);
        store(WAKE_LEVEL, ALL);
        found = false;
        membarrier(); /* M:arm_barrier */
        has_work(); /* M:arm_recheck */
        if
        :: !found ->
            unlock();
            futex_wait(DOORBELL, bell);
            lock()
        :: else
        fi;
        store(WAKE_LEVEL, 0)
    od
}

active proctype program()
{
    byte lock_seen, seen, bell;
    bool found;

    lock();
    posted++; /* MPI_Irecv */
    leave();
    unlock();
    if
    :: skip
    :: /* MPI_Test */
        lock();
        poll();
        leave();
        unlock()
    :: /* MPI_Wait */
        lock();
        wait();
        leave();
        unlock()
    fi;
    lock();
    posted++;
    leave();
    unlock();
    taken == PACKETS /* it computes, for as long as that takes */
}

/* take_lock() and serve_in_role(). */
inline serve()
{
    do
    :: true ->
        try_as_progress(is_mine);
        load(IS_DELEGATED, seen);
        if
        :: is_mine || seen == 0 -> break
        :: else
        fi
    od;
    if
    :: is_mine && seen != 0 ->
        do
        :: true ->
            poll();
            if
            :: leave_as_progress(); /* copies a chunk */
                lock_as_progress()
            :: skip
            fi;
            load(IS_DELEGATED, seen);
            if
            :: seen == 0 -> break /* M:still_delegated */
            :: seen != 0 && !IS_OUTSTANDING ->
                store(IS_DELEGATED, 0); /* M:retire */
                store(WAKE_LEVEL, 0);
                break
            :: else ->
                publish();
                if
                :: !found -> break
                :: else
                fi
            fi
        od
    :: else
    fi;
    if
    :: is_mine -> leave_as_progress()
    :: else
    fi
}

active proctype progress()
{
    byte lock_seen, seen, now, rung;
    bool found, is_mine;

    do
    :: true ->
        load(PROGRESS_BELL, now);
        if
        :: now == rung ->
            futex_sleep(PROGRESS_BELL, rung);
end_asleep:
            sleeps_on[ME] == 0
        :: else ->
            rung = now;
            serve()
        fi
    od
}

active proctype peer()
{
    byte level, number;

    do
    :: number < PACKETS ->
        number++;
        store(FLAG, number);
        drain(); /* M:peer_barrier */
        load(WAKE_LEVEL, level);
        if
        :: level != 0 ->
            exchange(WAKE_LEVEL, 0, level);
            if
            :: level == ALL ->
                add(DOORBELL, 1); /* M:move_doorbell */
                futex_wake(DOORBELL) /* M:wake_program */
            :: level == REQUESTS ->
                add(PROGRESS_BELL, 1); /* M:move_progress_bell */
                futex_wake(PROGRESS_BELL) /* M:wake_progress */
            :: else
            fi
        :: else
        fi
    :: else -> break
    od
}
