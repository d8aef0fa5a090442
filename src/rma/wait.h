/*
 * wait.h - waiting until something is so on a window. Needs the lock.
 */
#ifndef WEFT_RMA_WAIT_H
#define WEFT_RMA_WAIT_H

#include "rma/win.h"

/* Is it so? Called with the lock whenever something on the window has changed. */
typedef bool weft_rma_is_so(const void *what);

/* Returns when it is so; the lock is dropped meanwhile. */
void weft_rma_wait(struct weft_win *win, weft_rma_is_so *is_so, const void *what,
                   const char *call, int rank);

/* Something on the window has changed. */
void weft_rma_look(struct weft_win *win);

#endif
