/*
 * tso.pml - memory as the threads of an x86 machine see it, for all models.
 *
 * A store goes into the first-in first-out buffer of its thread and reaches memory some
 * time later. A load looks into the thread's own buffer first. An atomic
 * read-modify-write waits until its own buffer is empty. membarrier() makes every thread
 * pass a full barrier, each at a moment of its own. A futex call enters the kernel, which
 * compares and falls asleep in one step; nobody wakes for no reason, so that a lost
 * wake-up is an end state that spin reports.
 *
 * A model defines THREADS and WORDS and includes this before its own active processes,
 * which are then the threads ME = 0, 1, ... in the order in which they stand there.
 *
 * A line that ends in a mark "M:name" is one that the protocol cannot do without: run.py
 * deletes each in turn, and spin must then find an error.
 */
#ifndef DEPTH
#define DEPTH 4
#endif
#define ME (_pid - 1)

byte memory[WORDS];
chan buffer[THREADS] = [DEPTH] of { byte, byte }; /* word, value */
byte sleeps_on[THREADS];                          /* word + 1; 0: awake */
hidden byte tso_word, tso_value, tso_left;

inline store(word, value)
{
    buffer[ME] ! word, value
}

inline load(word, result)
{
    d_step {
        result = memory[word];
        tso_left = len(buffer[ME]);
        do
        :: tso_left > 0 -> /* turns the buffer round once: the last store wins */
            buffer[ME] ? tso_word, tso_value;
            buffer[ME] ! tso_word, tso_value;
            if
            :: tso_word == word -> result = tso_value
            :: else
            fi;
            tso_left--
        :: else -> break
        od
    }
}

/* A full barrier: what an atomic read-modify-write implies. */
inline drain()
{
    empty(buffer[ME])
}

inline exchange(word, value, old)
{
    d_step {
        empty(buffer[ME]) -> old = memory[word];
        memory[word] = value
    }
}

inline compare_exchange(word, expected, value, is_done)
{
    d_step {
        empty(buffer[ME]) ->
        if
        :: memory[word] == (expected) -> memory[word] = value; is_done = true
        :: else -> is_done = false
        fi
    }
}

inline add(word, value)
{
    d_step {
        empty(buffer[ME]) -> memory[word] = memory[word] + value
    }
}

inline membarrier()
{
    empty(buffer[ME]);
#if THREADS > 3
    empty(buffer[3]);
#endif
#if THREADS > 2
    empty(buffer[2]);
#endif
    empty(buffer[1]);
    empty(buffer[0])
}

inline futex_sleep(word, old)
{
    d_step {
        empty(buffer[ME]) ->
        if
        :: memory[word] == old -> sleeps_on[ME] = word + 1
        :: else
        fi
    }
}

inline futex_wait(word, old)
{
    futex_sleep(word, old);
    sleeps_on[ME] == 0
}

inline futex_wake(word)
{
    d_step {
        tso_left = 0;
        do
        :: tso_left < THREADS ->
            if
            :: sleeps_on[tso_left] == word + 1 -> sleeps_on[tso_left] = 0
            :: else
            fi;
            tso_left++
        :: else -> break
        od
    }
}

inline flush(thread)
{
    d_step {
        nempty(buffer[thread]) -> buffer[thread] ? tso_word, tso_value;
        memory[tso_word] = tso_value
    }
}

/* Buffers empty themselves, a store at a time, whenever they like. */
active proctype processors()
{
end:
    do
    :: flush(0)
    :: flush(1)
#if THREADS > 2
    :: flush(2)
#endif
#if THREADS > 3
    :: flush(3)
#endif
    od
}
