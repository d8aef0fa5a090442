/*
 * raise.h - from an error to the handler that the standard names for it.
 *
 * Every function here takes the name of the MPI function, the error class or a code that
 * the program added, a text that says what is wrong with which argument, and its cure,
 * "" where there is none; and runs the error handler. The last three are one entry of the
 * catalogue (base/texts.h), as in weft_raise(function, WEFT_E_LENGTH_N, n).
 *
 *   weft_raise_comm     of the communicator; where it is NULL (the handle was invalid) or
 *                       the call has no object, of MPI_COMM_SELF (MPI-5.0, 9.3)
 *   weft_raise_win      of the window; NULL: as weft_raise
 *   weft_raise_session  of the session; NULL: as weft_raise
 *   weft_raise_file     of the file; NULL: the default for files, set on MPI_FILE_NULL
 *                       (MPI-5.0, 14.7)
 *   weft_raise          no object: MPI_COMM_SELF's
 *
 * Without an object, before MPI_Init and after MPI_Finalize, it is the initial error
 * handler, which ends the job. MPI_ERRORS_ARE_FATAL and MPI_ERRORS_ABORT print one line
 * naming rank, host, call, object and cause, and do not return; a user's handler is
 * called, without the lock, and then, as with MPI_ERRORS_RETURN, the class comes back for
 * the caller to return. The line is also printed for these at WEFT_LOG=info.
 */
#ifndef WEFT_CHECK_RAISE_H
#define WEFT_CHECK_RAISE_H

#include <assert.h>

#include "base/rc.h"
#include "base/texts.h"
#include "core/comm.h"
#include "runtime/session.h"

struct weft_file; /* io/file.h */
struct weft_win;  /* rma/win.h */

int weft_raise_comm(struct weft_comm *comm, const char *function, int class,
                    const char *format, const char *cure, ...) WEFT_PRINTF(4, 6);
int weft_raise_win(struct weft_win *win, const char *function, int class,
                   const char *format, const char *cure, ...) WEFT_PRINTF(4, 6);
int weft_raise_session(struct weft_session *session, const char *function, int class,
                       const char *format, const char *cure, ...) WEFT_PRINTF(4, 6);

/* With a handler that no object has yet. */
int weft_raise_on(struct weft_errhandler *handler, const char *function, int class,
                  const char *format, const char *cure, ...) WEFT_PRINTF(4, 6);

int weft_raise_file(struct weft_file *file, const char *function, int class,
                    const char *format, const char *cure, ...) WEFT_PRINTF(4, 6);
int weft_raise(const char *function, int class, const char *format, const char *cure, ...)
    WEFT_PRINTF(3, 5);

/*
 * The sentence of the last error in this thread that did not end the job, cut to
 * MPI_MAX_ERROR_STRING: call, object, class, what is wrong, what helps. NULL if that
 * error had another class, or if there was none.
 */
const char *weft_raised_sentence(int class);

/* What a check answers that has refused: never a success, on which its caller relies. */
static inline int weft_refused(int class)
{
    assert(class != MPI_SUCCESS);
    return class;
}

/* What a function that is not built yet does: bindings/gen/unbuilt.py calls these. */
int weft_unbuilt_comm(MPI_Comm comm, const char *function);
int weft_unbuilt_file(MPI_File file, const char *function);
int weft_unbuilt(const char *function);

#endif
