/*
 * standby.pml - threads of one process that wait in MPI at the same time.
 *
 * Models src/engine/wait.c: sleep_armed(), stand_by(), call_for_words() and end_wait().
 * Each thread waits for one thing that a peer does. For the first two it is a message,
 * which whoever polls takes for its receiver; for the third it is a word that the peer
 * changes, so that nobody who polls learns of it by the message. What happens with the
 * lock is one step. sleep.pml has the barrier between publishing and the last look.
 *
 * Holds: when nothing more happens, no message lies untaken, and no thread sleeps whose
 * thing has been done, whatever the others wait for. No run is endless.
 */
#define N 3
#define WORD 2 /* the thread that waits for the word */
#define NOBODY N

bool inbox[N], over[N];
byte gate[N], bell;
bool is_listed[N];
byte armed = NOBODY;
bool is_published;
byte waiting = N, standing, ended;

inline call(thread)
{
    is_listed[thread] = false;
    standing--;
    gate[thread] = 1
}

inline hand_over()
{
    if
    :: is_listed[0] -> call(0)
    :: !is_listed[0] && is_listed[1] -> call(1)
    :: else -> call(2)
    fi
}

/* The word that has changed has rung the doorbell at most. */
inline call_for_words()
{
    if
    :: is_listed[WORD] && over[WORD] -> call(WORD) /* M:word */
    :: else
    fi
}

inline take(thread)
{
    if
    :: inbox[thread] ->
        inbox[thread] = false;
        over[thread] = true;
        if
        :: thread == armed -> bell++
        :: is_listed[thread] -> gate[thread] = 1 /* M:event */
        :: else
        fi
    :: else
    fi
}

inline poll()
{
    take(0);
    take(1);
    call_for_words()
}

inline look_last()
{
    is_there = inbox[0] || inbox[1] || over[self]; /* M:look */
    call_for_words()
}

proctype thread(byte self)
{
    byte seen;
    bool is_there;

    do
    :: true ->
        atomic {
            poll();
            if
            :: over[self] -> break
            :: else
            fi
        };
        if
        :: atomic { armed == NOBODY ->
                armed = self;
                seen = bell;
                is_published = true }
            atomic {
                is_there = false;
                look_last();
                if
                :: is_there -> armed = NOBODY; is_published = false
                :: else
                fi
            };
            if
            :: !is_there ->
end_armed:
                (bell != seen);
                atomic { armed = NOBODY; is_published = false }
            :: else
            fi
        :: atomic { armed != NOBODY ->
                gate[self] = 0;
                is_listed[self] = true;
                standing++ }
            if
            :: over[self] /* M:last_look_of_standby */
            :: else ->
end_standby:
                gate[self] != 0
            fi;
            atomic {
                if
                :: is_listed[self] -> is_listed[self] = false; standing--
                :: else
                fi
            }
        fi
    od;
    atomic {
        ended++;
        waiting--;
        if
        :: waiting > 0 && waiting == standing -> hand_over() /* M:hand_over */
        :: else
        fi
    }
}

inline ring()
{
    atomic {
        if
        :: is_published -> is_published = false; bell++ /* M:ring */
        :: else
        fi
    }
}

proctype peer(byte to)
{
    if
    :: to == WORD -> over[to] = true; ring()
    :: to != WORD -> inbox[to] = true; ring()
    :: true /* not yet */
    fi
}

init
{
    atomic {
        run thread(0);
        run thread(1);
        run thread(2);
        run peer(0);
        run peer(1);
        run peer(2)
    };
    timeout;
    assert(!inbox[0] && !inbox[1]);
    assert(ended == over[0] + over[1] + over[2])
}
