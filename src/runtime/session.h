/*
 * session.h - MPI sessions, and the process sets that they show.
 *
 * A session is a user of the runtime (runtime.h) with an error handler and the thread
 * level that the user asked for. Sessions may be opened and closed before, during and
 * after the World Model. All show the same process sets:
 * the job, the process itself, and the ranks of the job that share its node. Calls need
 * the library's lock, but for those that say that they take it.
 */
#ifndef WEFT_RUNTIME_SESSION_H
#define WEFT_RUNTIME_SESSION_H

#include "core/errhandler.h"
#include "core/group.h"

struct weft_session {
    MPI_Session handle;
    struct weft_errhandler *errhandler;
    const char *thread_level; /* "MPI_THREAD_..."; all levels work */
    uint64_t number;          /* no other session has or had it */
};

/* Takes the lock. Uses the handler until the session is closed. */
WEFT_MUST_CHECK enum weft_rc weft_session_open(struct weft_errhandler *errhandler,
                                               struct weft_session **out);

/*
 * Takes the lock. The handle is invalid from now on. Returns when the messages in the
 * session's buffer have left and, if nobody else uses the runtime, all sends whose
 * requests the user has freed: no barrier keeps this process until they are received.
 */
void weft_session_close(struct weft_session *session);

/* The session behind a handle, or NULL: null handle, stale, not one. */
struct weft_session *weft_session_from_handle(MPI_Session handle);

int weft_pset_count(void);
const char *weft_pset_name(int n);

/* The number of the set with this name, in capitals or not, or -1. */
int weft_pset_find(const char *name);

/* How many processes a set has; its group of this session, used once. The runtime is
 * open. */
int weft_pset_size(int n);
WEFT_MUST_CHECK enum weft_rc weft_pset_group(const struct weft_session *session, int n,
                                             struct weft_group **out);

#endif
