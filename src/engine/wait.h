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

/*
 * A timer of a wait that may last long. It is in the list of timers from start to stop,
 * both by the thread that waits. A thread that waits in MPI calls run(), with the lock,
 * about `after_ns` later, counted from the moment at which waiting begins to take time;
 * run() sets `due_ns` to the next time and may drop the lock for no moment. A thread that
 * finds its event at once never reads the clock for a timer.
 */
struct weft_timer {
    struct weft_timer *next;
    uint64_t after_ns;
    uint64_t due_ns; /* 0: the wait has taken no time yet */
    void (*run)(struct weft_timer *timer, uint64_t now);
};
void weft_engine_timer_start(struct weft_timer *timer);
void weft_engine_timer_stop(const struct weft_timer *timer);

/* The timer is due now. A thread that sleeps in MPI is woken, so that it runs it. Timers
 * run outside of the handlers of packets, from which this may be called. */
void weft_engine_timer_expire(struct weft_timer *timer);

/* Returns when no packet waits to be sent again. */
void weft_engine_wait_sent(void);

/* Functions that a wait calls, with the lock, when it begins to take longer and when it
 * is over. */
struct weft_wait_watch {
    void (*begin)(struct weft_wait_watch *watch);
    void (*end)(struct weft_wait_watch *watch);
};

/*
 * The barrier of all ranks of the node, through the segment, for the function `call`;
 * serves peers meanwhile. `watch` may be NULL.
 * WEFT_ERR_PROC_FAILED: a rank has failed, and all others have arrived. Takes the lock
 * itself.
 */
WEFT_MUST_CHECK enum weft_rc weft_engine_barrier(const char *call,
                                                 struct weft_wait_watch *watch);

/* Has that rank of the node come to the barrier in which this rank waits? */
bool weft_engine_has_come(uint32_t local_rank);

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
