/*
 * win.h - argument checks of calls on windows: see check.h for what they answer.
 */
#ifndef WEFT_CHECK_WIN_H
#define WEFT_CHECK_WIN_H

#include "check/check.h"
#include "rma/win.h"

/* `handle` is a window, which goes to *out. */
int weft_check_win(const char *function, MPI_Win handle, struct weft_win **out);

/* An address the result goes to; `name` is that of the parameter. */
int weft_check_win_out(const char *function, struct weft_win *win, const void *address,
                       const char *name);

/* An info object, or MPI_INFO_NULL: `out` is NULL then. */
int weft_check_win_info(const char *function, struct weft_win *win, MPI_Info handle,
                        struct weft_info **out);

/* A rank of the window. */
int weft_check_win_rank(const char *function, struct weft_win *win, int rank);

/* An assertion with no other bits than those that are allowed. */
int weft_check_win_assert(const char *function, struct weft_win *win, int assertion,
                          int allowed);

/* A group whose members are all in the window; it goes to *out. */
int weft_check_win_group(const char *function, struct weft_win *win, MPI_Group handle,
                         struct weft_group **out);

/* Raises what is wrong with the epoch, if anything is. */
int weft_check_epoch(const char *function, struct weft_win *win,
                     enum weft_epoch_fault fault);

/* Does this process hold a lock of its own at a target? Takes the lock. */
bool weft_win_is_locked(struct weft_win *win, int rank);

/* MPI_SUCCESS for WEFT_OK; anything else is raised on the window and returned. */
int weft_raise_win_rc(struct weft_win *win, enum weft_rc rc, const char *function);

#endif
