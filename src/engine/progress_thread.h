/*
 * progress_thread.h - progress while the program computes, for the files of this room.
 */
#ifndef WEFT_ENGINE_PROGRESS_THREAD_H
#define WEFT_ENGINE_PROGRESS_THREAD_H

/* The network thread calls: something has come; somebody has to poll. */
void weft_progress_thread_came(void);
void weft_progress_thread_call(void);

/* Starts it, if the program wants progress and it does not run; ends it. */
void weft_progress_thread_start(void);
void weft_progress_thread_stop(void);

/* A thread begins to wait: it polls, and the progress thread is not needed meanwhile. */
void weft_engine_enter(void);

#endif
