/*
 * work.h - queues of work that is done outside the lock, the oldest of a class first.
 *
 * WEFT_WORK_SHORT is a copy or a checksum: any thread that polls does it, be it one that
 * waits in MPI or the progress thread.
 *
 * WEFT_WORK_CALL is a function of the user: only a thread of the program does it, while
 * it waits or tests in MPI.
 *
 * WEFT_WORK_BLOCKING may take long, as reading a file does: threads of its own do it, at
 * most WEFT_BLOCKING_THREADS, which are started at the first need (work_threads.c).
 * Neither short work nor messages wait for it.
 *
 * The owner of work embeds struct weft_work. run() is called without the lock, then
 * done() with it; the state is WEFT_WORK_RUNNING in between, and WEFT_WORK_NONE before
 * done(), so that done() may add the work again or free it. Work that needs the lock now
 * and then has no done(): run() is called with the lock, drops it around what takes long
 * (weft_engine_drop_lock), and changes the state before it returns.
 *
 * All calls need the lock.
 */
#ifndef WEFT_ENGINE_WORK_H
#define WEFT_ENGINE_WORK_H

#include "base/rc.h"

#include <stdbool.h>
#include <stdint.h>

enum weft_work_state { WEFT_WORK_NONE, WEFT_WORK_WAITING, WEFT_WORK_RUNNING };

enum weft_work_class {
    WEFT_WORK_SHORT,
    WEFT_WORK_CALL,
    WEFT_WORK_BLOCKING,
    WEFT_WORK_CLASSES
};

struct weft_work {
    struct weft_work *next;
    void (*run)(struct weft_work *work);
    void (*done)(struct weft_work *work);
    uint8_t state; /* enum weft_work_state */
    uint8_t kind;  /* enum weft_work_class */
};

struct weft_work_queue {
    struct weft_work *first;
    struct weft_work *last;
    uint32_t count;
};

/* Fills in the struct, whose state is WEFT_WORK_NONE. */
void weft_work_add(struct weft_work *work, enum weft_work_class kind,
                   void (*run)(struct weft_work *work),
                   void (*done)(struct weft_work *work));

/* Takes back work that waits. */
void weft_work_remove(struct weft_work *work);

/* Does one item of work that the calling thread may do; false: there is none. */
bool weft_work_do(void);

/* Enclose what is done outside the lock: the first returns what the second needs, whether
 * this is the progress thread. */
WEFT_MUST_CHECK bool weft_engine_drop_lock(void);
void weft_engine_retake_lock(bool is_progress_thread);

/* ---- for the files of this room ---- */

/* The first puts work into the queue of its class and wakes no thread. The second takes
 * the oldest of a class out of the queue, which runs from now on; or NULL. The third ends
 * work that has run. */
void weft_work_enqueue(struct weft_work *work, enum weft_work_class kind,
                       void (*run)(struct weft_work *work),
                       void (*done)(struct weft_work *work));
struct weft_work *weft_work_take(enum weft_work_class kind);
void weft_work_end(struct weft_work *work);

/* Returns when all blocking work is done and its threads have ended. Without the lock. */
void weft_work_threads_stop(void);

#endif
