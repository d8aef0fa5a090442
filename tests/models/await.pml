/*
 * await.pml - a schedule of three ranks: one waits inside MPI for a step of the second,
 * which computes and waits for a step of the third, which computes and waits for a small
 * packet of the first.
 *
 * Models weft_node_await(), weft_node_publish_leaving(), weft_node_publish() and
 * weft_node_notice() in src/node/doorbell.[ch], publish_level() and has_published() in
 * src/engine/progress_thread.c, and sleep_armed() in wait.c. A rank that computes is one
 * thread: its program, which leaves MPI, and then its progress thread.
 *
 * Holds: the schedule ends, though no small packet wakes who has not been told that it is
 * waited for.
 */
#define THREADS 3
#define WORDS 12
#define FLAG(rank) (rank) /* a packet for it was published */
#define WAKE_LEVEL(rank) (3 + (rank))
#define BELL(rank) (6 + (rank))
#define AWAITED(rank) (9 + (rank))
#define STEPS 2
#define ANYTHING 3
#define ALL 4

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

/* A small packet, and a look at the level without a barrier. */
inline send(whom)
{
    store(FLAG(whom), 1);
    load(WAKE_LEVEL(whom), level);
    if
    :: level >= ANYTHING -> ring(whom) /* M:notice */
    :: else
    fi
}

inline await(whom)
{
    add(AWAITED(whom), 1); /* M:count */
    load(WAKE_LEVEL(whom), level);
    if
    :: level == STEPS -> ring(whom) /* M:ring */
    :: else
    fi
}

active proctype waits()
{
    byte level, seen, bell;

    send(2);
    await(1); /* M:await */
    do
    :: true ->
        load(FLAG(0), seen);
        if
        :: seen != 0 -> break
        :: else
        fi;
        load(BELL(0), bell);
        store(WAKE_LEVEL(0), ALL); /* M:arm */
        membarrier(); /* M:arm_barrier */
        load(FLAG(0), seen); /* M:arm_recheck */
        if
        :: seen == 0 -> futex_wait(BELL(0), bell)
        :: else
        fi;
        store(WAKE_LEVEL(0), 0)
    od
}

/* Ranks 1 and 2. */
active [2] proctype computes()
{
    byte level, seen, bell, told;
    bool has_passed_on;

    do
    :: true ->
        load(BELL(ME), bell);
        load(FLAG(ME), seen);
        if
        :: seen != 0 -> break
        :: else
        fi;
        store(WAKE_LEVEL(ME), STEPS); /* M:publish */
        drain(); /* M:exchange */
        told = 0;
        load(AWAITED(ME), told); /* M:is_awaited */
        if
        :: told != 0 ->
            store(WAKE_LEVEL(ME), ANYTHING); /* M:ask_for_all */
            membarrier(); /* M:barrier */
            if
            :: ME == 1 && !has_passed_on ->
                has_passed_on = true;
                await(2) /* M:pass_on */
            :: else
            fi
        :: else
        fi;
        load(FLAG(ME), seen); /* M:recheck */
        if
        :: seen == 0 -> futex_wait(BELL(ME), bell)
        :: else
        fi;
        store(WAKE_LEVEL(ME), 0)
    od;
    send(ME - 1)
}
