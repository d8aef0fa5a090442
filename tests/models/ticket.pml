/*
 * ticket.pml - the lock of a member's memory: tickets, places, and members that fail.
 *
 * Models src/rma/ticket.c, weft_near_wait_long() and weft_near_fail_members() in
 * src/rma/near.c, and weft_words_changed() in words.h. Three members take the lock, each
 * for reading or for writing. One may fail at any step, and another one while it makes
 * the steps of the first, or then. What a dead process has stored is in memory before its
 * failure is known. Then all who wait are woken, and look again: each process rings for
 * itself, here the dead one does it last of all.
 *
 * Holds: a writer is alone among the living, and sees what the others wrote; all who live
 * get the lock, or are told that it is lost; and it is lost only if a member failed
 * between a step and its note.
 */
#define THREADS 3
#define WORDS 9
#define NEXT 0
#define READERS 1
#define WRITERS 2
#define WAITERS 3
#define BELL 4
#define DATA 5
#define PLACE(member) (6 + (member))
#define VICTIM 1
#define HELPER 2

/* A place is a step, and a ticket above it; of HELPED, the member that helps. */
#define OUT 0
#define ASKING 1
#define READING 2
#define WRITING 3
#define LEAVING 4
#define HELPED 5
#define NOTE(number, step) ((number) * 8 + (step))
#define STEP(place) ((place) & 7)
#define NUMBER(place) ((place) >> 3)

#include "tso.pml"

bool has_failed[THREADS];
bool is_torn; /* one has failed between a step and its note */
byte readers_inside, writers_inside, turns;

inline fetch_add(word, value, old)
{
    d_step {
        empty(buffer[ME]) -> old = memory[word];
        memory[word] = memory[word] + value
    }
}

/* A store in sequential order. */
inline set(word, value)
{
    d_step {
        empty(buffer[ME]) -> memory[word] = value
    }
}

inline may_fail(who, is_between)
{
    if
    :: ME == who ->
        is_torn = is_torn || (is_between);
        goto dead
    :: true
    fi
}

inline ring()
{
    load(WAITERS, seen);
    if
    :: seen != 0 ->
        seen = 0;
        add(BELL, 1); /* M:bell */
        futex_wake(BELL)
    :: else
    fi
}

/* What nobody looks at any more only makes states different. */
inline forget()
{
    atomic {
        seen = 0;
        place = 0;
        read = 0;
        written = 0;
        is_ours = false
    }
}

/* The helper may have ended it before it failed. */
inline lose_unless_over(member)
{
    load(PLACE(member), seen);
    is_lost = is_lost || seen == place
}

/* leave_for() */
inline leave_for(member)
{
    load(PLACE(member), place);
    load(WRITERS, written);
    load(READERS, read); /* after the other: who leaves adds to this one first */
    if
    :: STEP(place) == OUT
    :: STEP(place) == READING && read < NUMBER(place) -> skip /* M:reader_later */
    :: STEP(place) == WRITING && written < NUMBER(place) -> skip /* M:writer_later */
    :: STEP(place) == HELPED ->
        if
        :: has_failed[NUMBER(place)] -> lose_unless_over(member) /* M:helper_failed */
        :: else
        fi
    :: STEP(place) == ASKING || STEP(place) == LEAVING -> is_lost = true
    :: else ->
        is_ours = true;
        compare_exchange(PLACE(member), place, NOTE(ME, HELPED), is_ours); /* M:once */
        if
        :: is_ours ->
            may_fail(HELPER, true);
            if
            :: read == NUMBER(place) ->
                add(READERS, 1); /* M:help_readers */
                may_fail(HELPER, true)
            :: else
            fi;
            add(WRITERS, 1); /* M:help_writers */
            may_fail(HELPER, true);
            set(PLACE(member), OUT); /* M:help_out */
            may_fail(HELPER, false);
            ring() /* M:help_ring */
        :: else
        fi
    fi
}

inline look_at(member)
{
    if
    :: (member) != ME && has_failed[member] -> leave_for(member)
    :: else
    fi
}

inline look_for_failed()
{
    is_lost = false;
    look_at(VICTIM);
    look_at(HELPER);
    forget()
}

/* weft_near_wait_long(); a look in advance only saves time. */
inline await_turn()
{
    add(WAITERS, 1); /* M:waiters */
    do
    :: true ->
        load(BELL, bell);
        load((is_writer -> WRITERS : READERS), seen);
        if
        :: seen == mine -> break
        :: else -> look_for_failed()
        fi;
        if
        :: is_lost -> break
        :: else ->
            futex_wait(BELL, bell);
            bell = 0
        fi
    od;
    bell = 0;
    seen = 0;
    add(WAITERS, -1)
}

inline lock()
{
    set(PLACE(ME), ASKING); /* M:asking */
    may_fail(VICTIM, true);
    fetch_add(NEXT, 1, mine);
    may_fail(VICTIM, true);
    set(PLACE(ME), NOTE(mine, (is_writer -> WRITING : READING))); /* M:note */
    may_fail(VICTIM, false);
    is_lost = false;
    await_turn();
    if
    :: !is_lost && !is_writer ->
        add(READERS, 1); /* M:next_reader */
        may_fail(VICTIM, false);
        ring() /* so that readers go together: without it the next one goes later */
    :: else
    fi
}

inline work()
{
    d_step {
        is_inside = true;
        writers_inside = writers_inside + is_writer;
        readers_inside = readers_inside + !is_writer;
        assert(writers_inside <= 1 && (writers_inside == 0 || readers_inside == 0))
    };
    load(DATA, seen);
    assert(seen == turns);
    if
    :: is_writer ->
        d_step {
            turns++;
            buffer[ME] ! DATA, turns
        }
    :: else
    fi;
    may_fail(VICTIM, false);
    d_step {
        seen = 0;
        writers_inside = writers_inside - is_writer;
        readers_inside = readers_inside - !is_writer;
        is_inside = false
    }
}

inline unlock()
{
    if
    :: is_writer ->
        add(READERS, 1); /* M:readers */
        may_fail(VICTIM, false)
    :: else
    fi;
    set(PLACE(ME), LEAVING); /* M:leaving */
    may_fail(VICTIM, true);
    add(WRITERS, 1); /* M:writers */
    may_fail(VICTIM, true);
    set(PLACE(ME), OUT); /* M:out */
    may_fail(VICTIM, false);
    ring() /* M:ring */
}

active [THREADS] proctype member()
{
    byte mine, seen, bell, place, read, written;
    bool is_writer, is_lost, is_inside, is_ours;

    if
    :: is_writer = true
    :: is_writer = false
    fi;
    lock();
    if
    :: is_lost -> assert(is_torn)
    :: else ->
        work();
        unlock()
    fi;
    mine = 0;
    goto done;

dead:
    drain();
    atomic {
        writers_inside = writers_inside - (is_inside && is_writer);
        readers_inside = readers_inside - (is_inside && !is_writer);
        has_failed[ME] = true;
        mine = 0;
        seen = 0;
        bell = 0;
        place = 0;
        read = 0;
        written = 0;
        is_lost = false;
        is_ours = false;
        is_inside = false;
        is_writer = false
    };
    add(BELL, 1);
    futex_wake(BELL); /* M:tell */

done:
    skip
}
