/*
 * thread.h - the library's own thread.
 *
 * One per process, started at the first need. All signals are blocked in it, and it may
 * run on every processor that the job may use on the node, because the one its rank is
 * bound to is busy when it is needed. After fork() it is not in the child, which must not
 * call MPI.
 */
#ifndef WEFT_PROGRESS_THREAD_H
#define WEFT_PROGRESS_THREAD_H

#include "base/rc.h"

#include <stdint.h>

/*
 * Starts it; `cpus` is a set of processors, a bit each in `bytes` bytes. It ends when
 * `run` returns.
 */
WEFT_MUST_CHECK enum weft_rc weft_thread_start(void (*run)(void), const uint8_t *cpus,
                                               uint32_t bytes);

/* Waits until it has ended; whoever calls this has told it to. */
void weft_thread_join(void);

#endif
