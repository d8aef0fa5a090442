/*
 * wait.h - waits for events, for words of the segment, and until everything is sent.
 *
 * All calls need the lock, which is dropped meanwhile and held again at the end.
 */
#ifndef WEFT_ENGINE_WAIT_H
#define WEFT_ENGINE_WAIT_H

#include "base/rc.h"
#include "engine/event.h"

/* The MPI call that waits, and for what; it explains a job that hangs. */
struct weft_wait_reason {
    const char *call;
    const char *comm;
    int peer;
    int tag;
    uint64_t bytes;
};

/*
 * What is waited for: any of `count` events, found by at(list, i). `is_brief`: one small
 * message, which comes soon and for which no peer would wake the progress thread. So the
 * wake level that was published for other requests may stay: to take it back and publish
 * it again costs 0.1 us, a third of the message. `is_far`: what comes is a packet from a
 * network, for which no other thread is to wake up.
 */
struct weft_wait {
    struct weft_event *(*at)(const void *list, int i);
    const void *list;
    int count;
    bool is_brief;
    bool is_far;
};

/* Has one of the events happened? With or without the lock. */
bool weft_wait_is_over(const struct weft_wait *wait);

/* Returns when one of the events has happened. */
void weft_engine_wait(const struct weft_wait *wait, const struct weft_wait_reason *why);

/*
 * Returns when *word, in memory that processes share, is no longer `old`. Whoever changes
 * the word calls weft_wait_wake() with it and `sleepers` (base/wait.h). If the process
 * that was to change it fails, a function that was registered with
 * weft_engine_on_failed() changes it instead.
 */
void weft_engine_wait_word(_Atomic uint32_t *word, uint32_t old,
                           _Atomic uint32_t *sleepers,
                           const struct weft_wait_reason *why);

/* Returns when no packet waits to be sent again. */
void weft_engine_wait_sent(void);

/*
 * The barrier of all ranks of the node, through the segment, for the function `call`;
 * serves peers meanwhile.
 * WEFT_ERR_PROC_FAILED: a rank has failed, and all others have arrived. Takes the lock
 * itself.
 */
WEFT_MUST_CHECK enum weft_rc weft_engine_barrier(const char *call);

/*
 * Leaves word of what this rank waits for, for whoever looks at a job that hangs, and
 * takes it back. Waits of this room do so themselves; these are for a call that waits
 * elsewhere. `wait` is NULL if it is for no events.
 */
void weft_engine_note(const struct weft_wait *wait, const struct weft_wait_reason *why);
void weft_engine_note_end(void);

/* A thread that looks again and again, and never waits, says so now and then. */
void weft_engine_note_spin(const char *call);

/*
 * A clock that stands still while a thread of the program waits in MPI for long, be it
 * one or several: the difference of two times is how long the program was away between.
 */
uint64_t weft_engine_away_ns(void);

/* Poll a little, without waiting, for the function `call`; the second takes the lock
 * itself. */
void weft_engine_poll_as_thread(const char *call);
void weft_progress(void);

#endif
