/*
 * work.h - what is done outside the lock, oldest first, by any thread that polls: one
 * that waits in MPI, or the progress thread. It has to be short: a copy, a checksum. All
 * calls need the lock.
 */
#ifndef WEFT_ENGINE_WORK_H
#define WEFT_ENGINE_WORK_H

#include "base/rc.h"

#include <stdbool.h>

enum weft_work_state { WEFT_WORK_NONE, WEFT_WORK_WAITING, WEFT_WORK_RUNNING };

/*
 * Whoever has work embeds this. run() is called with the lock, which it drops around what
 * takes long (weft_engine_drop_lock), and with the state WEFT_WORK_RUNNING, which it
 * changes before it returns.
 */
struct weft_work {
    struct weft_work *next;
    void (*run)(struct weft_work *work);
    enum weft_work_state state;
};

void weft_work_add(struct weft_work *work, void (*run)(struct weft_work *work));

/* Takes back what waits. */
void weft_work_remove(struct weft_work *work);

/* Does one piece; false: there is none. */
bool weft_work_do(void);

/* Around what is done outside the lock; the first tells the second who had it. */
WEFT_MUST_CHECK bool weft_engine_drop_lock(void);
void weft_engine_retake_lock(bool is_progress_thread);

#endif
