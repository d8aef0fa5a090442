/*
 * room.pml - a sender whose lane is full, and the receiver who empties it.
 *
 * Models ask_for_room() in src/transport/shm/send.c, the end of poll_lane() in poll.c,
 * weft_node_publish() and weft_node_publish_leaving() in src/node/doorbell.c,
 * weft_lane_has_room() in lane.h, and has_published() in src/engine/progress_thread.c. The
 * programs of both compute, so the threads here are their progress threads. The lane has two cells; a message takes one or both.
 *
 * Holds: all is sent, so the sender does not sleep for ever beside room, nor the receiver
 * beside a lane that is full.
 */
#define THREADS 2
#define WORDS 7
#define HEAD 0  /* cells published */
#define TAKEN 1 /* cells given back */
#define WANTS_ROOM 2
#define WAKE_LEVEL(thread) (3 + (thread))
#define BELL(thread) (5 + (thread))
#define SENDER 0
#define RECEIVER 1
#define REQUESTS 1
#define ANYTHING 2
#define CELLS 2
#define ALL_CELLS 6

#include "tso.pml"

inline ring(whom)
{
    exchange(WAKE_LEVEL(whom), 0, level);
    if
    :: level != 0 ->
        add(BELL(whom), 1);
        futex_wake(BELL(whom)) /* M:wake */
    :: else
    fi
}

inline notice(whom, needed)
{
    load(WAKE_LEVEL(whom), level);
    if
    :: level >= needed -> ring(whom)
    :: else
    fi
}

inline notice_urgent(whom)
{
    drain(); /* M:urgent_barrier */
    load(WAKE_LEVEL(whom), level);
    if
    :: level != 0 -> ring(whom)
    :: else
    fi
}

/* Message after message, while there is room. */
inline send_all()
{
    do
    :: head == ALL_CELLS -> break
    :: else ->
        size = (head == 0 || head == ALL_CELLS - 1 -> 1 : 2);
        load(TAKEN, taken);
        if
        :: head + size - taken <= CELLS ->
            head = head + size;
            store(HEAD, head) /* the receiver asked not to be woken for it */
        :: else ->
            load(WANTS_ROOM, wanted);
            wanted = (asked_at == head -> wanted : 0); /* M:ask_anew */
            if
            :: wanted == 0 ->
                asked_at = head;
                store(WANTS_ROOM, 1); has_asked = true; /* M:ask */
                notice_urgent(RECEIVER) /* M:urgent */
            :: else
            fi;
            break
        fi
    od
}

active proctype sender()
{
    byte head, taken, wanted, level, bell, size, asked_at;
    bool has_asked;

    do
    :: true ->
        load(BELL(SENDER), bell);
        send_all();
publish:
        has_asked = false;
        store(WAKE_LEVEL(SENDER), ANYTHING); /* M:publish */
        membarrier(); /* M:barrier */
        send_all(); /* M:look_again */
        if
        :: head == ALL_CELLS -> break
        :: head != ALL_CELLS && has_asked -> goto publish /* M:publish_again */
        :: else -> futex_wait(BELL(SENDER), bell)
        fi
    od
}

active proctype receiver()
{
    byte head, taken, level, bell, wanted;

    do
    :: taken == ALL_CELLS -> break
    :: else ->
        load(BELL(RECEIVER), bell);
        load(HEAD, head);
        if
        :: head != taken ->
            do /* a few of them, or all */
            :: head != taken ->
                taken++;
                store(TAKEN, taken);
                if
                :: break
                :: skip
                fi
            :: else -> break
            od;
            load(WANTS_ROOM, wanted);
            if
            :: wanted != 0 ->
                store(WANTS_ROOM, 0);
                notice(SENDER, REQUESTS) /* M:tell */
            :: else
            fi
        :: else ->
            store(WAKE_LEVEL(RECEIVER), REQUESTS);
            drain(); /* M:receiver_barrier */
            load(HEAD, head); /* M:receiver_recheck */
            if
            :: head == taken ->
                futex_sleep(BELL(RECEIVER), bell);
end_computes:
                sleeps_on[ME] == 0
            :: else
            fi;
            store(WAKE_LEVEL(RECEIVER), 0)
        fi
    od
}
