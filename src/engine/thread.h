/*
 * thread.h - the library's own threads: the progress thread, the network thread, one that
 * loads libfabric, and a few for work that blocks.
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
    WEFT_THREAD_WARM,     /* warm.h */
    WEFT_THREAD_BLOCKING, /* the first of them */
    WEFT_THREADS = WEFT_THREAD_BLOCKING + WEFT_BLOCKING_THREADS
};

/*
 * Starts a thread that ends when `run` returns; `cpus` is a set of processors, a bit each
 * in `bytes` bytes. WEFT_ERR_SYSTEM: it cannot be started, and errno says why.
 */
WEFT_MUST_CHECK enum weft_rc weft_thread_start(enum weft_thread which, void (*run)(void),
                                               const uint8_t *cpus, uint32_t bytes);

/*
 * The calling thread, one of these, leaves this processor if it is there and there are
 * others, and keeps off it until it is to avoid another one. The kernel leaves a thread
 * where it ran last; if the program computes there, the thread waits for a slice, and
 * then takes the program's time. A system call where the processor is a new one.
 * *avoided is this function's memory of one thread, -1 when that starts.
 */
void weft_thread_avoid(int processor, int *avoided);

/* Waits until a thread has ended; the caller has asked it to end. */
void weft_thread_join(enum weft_thread which);

#endif
