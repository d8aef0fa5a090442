/*
 * job_end.pml - the end of a job over hosts, from STOPPING to the end of mpiexec.
 *
 * Models launch/states.c, the end in launch/job.c and the frames of launch/remote.c: the
 * root has no ranks; daemon 0 is its child, and daemon 1 the child of daemon 0. The rank of
 * daemon 0 has ended. That of daemon 1 prints, may ignore SIGTERM, and may be one that
 * cannot be killed; or a process outside of the job has its pipe open, and prints into it.
 * Whoever reads the output of mpiexec may have stopped; then the user sends a signal once the ranks
 * have ended. A daemon may live and do nothing.
 *
 * Timers are choices that are open as long as a timer runs, but for the deadline of
 * CLOSED: that is open if a daemon does nothing, else it would hide what is wrong.
 *
 * Holds: mpiexec ends, and both daemons; and all that ranks have printed has come, unless a
 * signal or a daemon that does nothing has ended the wait.
 */
#define DAEMONS 2
#define PRINTER 1 /* the rank that prints, and has the fault if one has */
#define TEXTS 2

mtype = {STOP, KILL, CLOSE, TEXT, ENDED, CLOSED};
mtype = {STOPPING, KILLING, DONE, GONE};

chan down[DAEMONS] = [3] of {mtype};
chan up[DAEMONS + 1] = [4] of {mtype}; /* nothing is below the last one */
chan signals = [1] of {bit};

mtype root = STOPPING;
bool is_reader_stuck, is_given_up;
byte kept;  /* texts that the root has and the reader has not */
byte taken; /* texts that the reader has */

byte pipe[DAEMONS];    /* texts in it; there is space for one */
byte printed;
byte untaken[DAEMONS]; /* texts on their way to the reader; the window is one */
bool is_held[DAEMONS]; /* an outsider has the pipe open */
bool is_asked[DAEMONS], is_killed[DAEMONS], has_ended[DAEMONS]; /* the rank */
bool is_unkillable[DAEMONS];
bool is_cut[DAEMONS]; /* the link to the parent has ended */
bool may_wedge, is_wedged;
bool may_die;       /* mpiexec */
bool is_user_early; /* with a signal */
bool ignores_term, has_outsider_printed;
bool is_gone[DAEMONS]; /* the daemon */

inline say(where, what)
{
    if
    :: !is_gone[where] -> down[where]!what
    :: else
    fi
}

/* A text reaches the reader; its daemon may send the next one. */
inline pass_on()
{
    atomic {
        kept > 0 && !is_reader_stuck -> kept--; taken++; untaken[PRINTER] = 0
    }
}

proctype rank(byte i)
{
    do
    :: atomic {i == PRINTER && printed < TEXTS && pipe[i] == 0 && !is_killed[i] -> pipe[i]++; printed++}
    :: atomic {is_asked[i] && !ignores_term -> has_ended[i] = true; break}
    :: atomic {is_killed[i] && !is_unkillable[i] -> has_ended[i] = true; break}
    :: is_killed[i] && is_unkillable[i] -> break
    od
}

/* What it prints counts for nobody. */
proctype outsider(byte i)
{
    do
    :: atomic {has_ended[i] && pipe[i] == 0 && !has_outsider_printed ->
            has_outsider_printed = true;
            pipe[i]++
        }
    :: is_gone[i] -> break
    od
}

proctype daemon(byte i)
{
    mtype what;
    byte left;
    bool has_told, is_left, is_stopping, is_killing;
    bool is_below_done = i == DAEMONS - 1; /* has it ended, and then: is it gone? */

    /* Until CLOSE, or until the parent is gone. */
    do
    :: atomic {is_cut[i] -> is_killed[i] = !has_ended[i]; goto fell} /* M:cut */
    :: atomic {
            down[i]?what ->
            if
            :: i < DAEMONS - 1 -> say(i + 1, what) /* M:forward */
            :: else
            fi;
            if
            :: what == STOP && !has_ended[i] -> is_asked[i] = true; is_stopping = true
            :: what == KILL && !has_ended[i] -> is_killed[i] = true; is_killing = true
            :: (what == STOP || what == KILL) && has_ended[i]
            :: what == CLOSE -> what = 0; break
            fi;
            what = 0
        }
    :: atomic {is_stopping && !is_killing && !has_ended[i] -> is_killed[i] = true; is_killing = true}
    :: atomic {is_killing && !has_ended[i] && is_unkillable[i] && !is_left -> is_left = true} /* M:stubborn */
    :: atomic {
            up[i + 1]?what ->
            if
            :: what == ENDED -> is_below_done = true
            :: what == TEXT -> up[i]!TEXT
            fi;
            what = 0
        }
    :: atomic {
            !has_told && (has_ended[i] || is_left) && is_below_done ->
            has_told = true;
            up[i]!ENDED
        }
    :: atomic {pipe[i] > 0 && untaken[i] == 0 -> pipe[i]--; untaken[i]++; up[i]!TEXT}
    od;

    /* The sweep, which gives up after a while; then what is in the pipe. */
    atomic {
        if
        :: has_ended[i]
        :: else -> is_killed[i] = true
        fi;
        has_ended[i] || is_unkillable[i];
        is_asked[i] = false;
        is_killed[i] = !has_ended[i];
        left = pipe[i];
        is_below_done = i == DAEMONS - 1
    }
    do
    :: is_cut[i] -> break
    :: atomic {
            up[i + 1]?what ->
            if
            :: what == CLOSED -> is_below_done = true
            :: what == TEXT -> up[i]!TEXT
            fi;
            what = 0
        }
    :: atomic {left > 0 && untaken[i] == 0 -> left--; pipe[i]--; untaken[i]++; up[i]!TEXT} /* M:relay */
    :: atomic {is_below_done && pipe[i] == 0 && !is_held[i] && has_ended[i] -> up[i]!CLOSED; break}
    :: atomic {is_below_done && left == 0 -> up[i]!CLOSED; break} /* M:bound */
    :: atomic {may_wedge && !is_wedged -> is_wedged = true}; is_cut[i]; break
    od;
fell:
    atomic {
        if
        :: i < DAEMONS - 1 -> is_cut[i + 1] = true /* M:fell */
        :: else
        fi;
        is_gone[i] = true
    }
}

proctype mpiexec()
{
    mtype what;

    say(0, STOP);
    do
    :: atomic {signals?_ -> root = KILLING; say(0, KILL)}
    :: atomic {root == STOPPING -> root = KILLING; say(0, KILL)}
    :: atomic {
            up[0]?what ->
            if
            :: what == TEXT -> kept++
            :: what == ENDED -> what = 0; root = DONE; break
            fi;
            what = 0
        }
    :: pass_on()
    :: atomic {may_die -> is_given_up = true; goto fell}
    od;
    say(0, CLOSE); /* M:close */
    do
    :: atomic {
            up[0]?what ->
            if
            :: what == TEXT -> kept++
            :: what == CLOSED -> what = 0; break
            fi;
            what = 0
        }
    :: pass_on()
    :: atomic {signals?_ -> is_given_up = true; break} /* M:signal */
    :: atomic {is_wedged -> is_given_up = true; break} /* M:deadline */
    od;
fell:
    is_cut[0] = true; /* M:fell_by_root */
    do
    :: kept == 0 || is_given_up -> break
    :: pass_on()
    :: atomic {signals?_ -> is_given_up = true; break} /* M:signal_while_output_waits */
    od;
    assert(is_given_up || taken >= printed);
    root = GONE
}

/* Sends a signal at any time, or if nothing moves because nobody reads, or none. */
proctype user()
{
    if
    :: is_user_early -> signals!0
    :: else
    fi;
    do
    :: root == DONE && is_reader_stuck && empty(signals) -> signals!0; break
    :: root == GONE -> break
    od
}

init
{
    byte i;

    atomic {
        if
        :: is_reader_stuck = true
        :: ignores_term = true
        :: may_wedge = true
        :: may_die = true
        :: is_user_early = true
        :: skip
        fi;
        if
        :: is_held[PRINTER] = true; run outsider(PRINTER)
        :: is_unkillable[PRINTER] = true
        :: skip
        fi;
        for (i : 0 .. DAEMONS - 1) {
            run daemon(i)
        }
        has_ended[0] = true;
        run rank(PRINTER);
        run mpiexec();
        run user()
    }
}
