/*
 * progress_thread.h - progress while the program computes, for the files of this room.
 */
#ifndef WEFT_ENGINE_PROGRESS_THREAD_H
#define WEFT_ENGINE_PROGRESS_THREAD_H

#include <stdbool.h>

/* A thread begins to wait: it polls, and the progress thread is not needed meanwhile. */
void weft_engine_enter(void);

#endif
