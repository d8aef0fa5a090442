/*
 * progress_thread.h - the thread that makes progress while the program computes; for the
 * files of this room.
 */
#ifndef WEFT_ENGINE_PROGRESS_THREAD_H
#define WEFT_ENGINE_PROGRESS_THREAD_H

#include <stdint.h>

/* Callbacks of the network thread (network_thread.h): something has come; a thread has to
 * poll. */
void weft_progress_thread_came(int *avoided);
void weft_progress_thread_call(void);

/* The first starts the thread, if WEFT_PROGRESS asks for it and it does not run; the
 * second ends it. The network thread may still run then, and finds nothing to do. */
void weft_progress_thread_start(void);
void weft_progress_thread_stop(void);

/* A thread of the program looks, and the progress bell has moved: peers, or we, rang. By
 * now the program was away for so long (weft_engine_away_ns). */
void weft_progress_thread_judge(uint64_t away_ns);

/* A thread begins to wait: it polls, and the progress thread is not needed meanwhile. */
void weft_engine_enter(void);

#endif
