/*
 * thread.h - the library's own threads: the progress thread, the network thread, and a
 * few for work that blocks.
 *
 * Each is started at the first need. All signals are blocked in them, and they may run on
 * every processor that the job may use on the node, because the one their rank is bound
 * to is busy when they are needed. After fork() they are not in the child, which must not
 * call MPI.
 */
#ifndef WEFT_ENGINE_THREAD_H
#define WEFT_ENGINE_THREAD_H

#include "base/rc.h"

#include <stdint.h>

enum { WEFT_BLOCKING_THREADS = 4 };

enum weft_thread {
    WEFT_THREAD_PROGRESS,
    WEFT_THREAD_NETWORK,
    WEFT_THREAD_BLOCKING, /* the first of them */
    WEFT_THREADS = WEFT_THREAD_BLOCKING + WEFT_BLOCKING_THREADS
};

/*
 * Starts a thread that ends when `run` returns; `cpus` is a set of processors, a bit each
 * in `bytes` bytes. WEFT_ERR_SYSTEM: it cannot be started, and errno says why.
 */
WEFT_MUST_CHECK enum weft_rc weft_thread_start(enum weft_thread which, void (*run)(void),
                                               const uint8_t *cpus, uint32_t bytes);

/* Waits until a thread has ended; the caller has asked it to end. */
void weft_thread_join(enum weft_thread which);

#endif
