/*
 * check.h - argument checks shared by the functions in bindings/c.
 *
 * Each answers MPI_SUCCESS, or has already run the error handler and answers the class
 * to return. `function` is the name the user called.
 */
#ifndef WEFT_CHECK_CHECK_H
#define WEFT_CHECK_CHECK_H

#include "check/raise.h"
#include "runtime/runtime.h"

/* Refuses the call unless it is between MPI_Init and MPI_Finalize. */
int weft_check_world(const char *function);

/* Refuses the call unless it is between MPI_Init and MPI_Finalize, or a session is open.
 */
int weft_check_open(const char *function);

int weft_bad_comm(const char *function, MPI_Comm handle);
int weft_bad_out(const char *function, struct weft_comm *comm, const char *name);

/* Refuses `handle` unless it is a communicator, which goes to *out. */
static inline int weft_check_comm(const char *function, MPI_Comm handle,
                                  struct weft_comm **out)
{
    *out = weft_comm_from_handle(handle);
    return weft_likely(*out != NULL) ? MPI_SUCCESS
                                     : weft_refused(weft_bad_comm(function, handle));
}

/* Refuse `handle` unless it is an intercommunicator, or an intracommunicator, which goes
 * to *out. */
int weft_check_inter(const char *function, MPI_Comm handle, struct weft_comm **out);
int weft_check_intra(const char *function, MPI_Comm handle, struct weft_comm **out);

/* `handle` is a session that lives, which goes to *out. */
int weft_check_session(const char *function, MPI_Session handle,
                       struct weft_session **out);

/* An address the result goes to; `name` is that of the parameter. */
static inline int weft_check_out(const char *function, struct weft_comm *comm,
                                 const void *address, const char *name)
{
    return weft_likely(address != NULL)
               ? MPI_SUCCESS
               : weft_refused(weft_bad_out(function, comm, name));
}

/* "MPI_COMM_NULL", "a freed or foreign handle 0x...": for messages. */
const char *weft_describe_handle(enum weft_kind kind, const void *handle, char *buffer,
                                 size_t size);

#endif
