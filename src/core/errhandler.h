/*
 * errhandler.h - error handlers at rest: predefined and the user's own.
 *
 * A handler belongs to one family of objects (communicator, window, file, session). Two
 * things are counted: how often the user holds the handle, and how many objects use it.
 * While the user does not hold it the handle is invalid, whoever uses the handler; when
 * nobody does either, it is freed. Predefined handlers are not counted. Which handler
 * runs for which call is decided in bindings/check/raise.c.
 *
 * Handlers may be made, freed and run at any time, from any thread. So all calls take the
 * lock of objects (engine/lock.h) themselves, and a slot in which an object keeps its
 * handler is read and written by them alone, or with the library's lock.
 */
#ifndef WEFT_CORE_ERRHANDLER_H
#define WEFT_CORE_ERRHANDLER_H

#include "core/handle.h"

#include "mpi.h"

struct weft_errhandler {
    MPI_Errhandler handle;
    enum weft_kind family; /* 0 for the predefined ones, which fit every family */
    int held;              /* by the user: created, or got from an object */
    int used;              /* by objects */
    union {
        MPI_Comm_errhandler_function *comm;
        MPI_Win_errhandler_function *win;
        MPI_File_errhandler_function *file;
        MPI_Session_errhandler_function *session;
        void (*any)(void); /* NULL for the predefined ones */
    } call;
};

extern struct weft_errhandler weft_errors_are_fatal;
extern struct weft_errhandler weft_errors_abort;
extern struct weft_errhandler weft_errors_return;

/* What runs for errors on files that are not open; set on MPI_FILE_NULL. */
extern struct weft_errhandler *weft_file_errhandler;

/* The handler behind a handle, or NULL: null handle, stale, not one. */
struct weft_errhandler *weft_errhandler_from_handle(MPI_Errhandler handle);

/* A new handler of `family`, held once. */
WEFT_MUST_CHECK enum weft_rc weft_errhandler_create(enum weft_kind family,
                                                    void (*call)(void),
                                                    struct weft_errhandler **out);

/* The user gets the handle of an object's handler once more, or gives one back. */
MPI_Errhandler weft_errhandler_hold(struct weft_errhandler *const *slot);
void weft_errhandler_let_go(struct weft_errhandler *handler);

/* An object, or who runs it, uses the handler, or that of an object; uses another from
 * now on; or no longer does. */
struct weft_errhandler *weft_errhandler_use(struct weft_errhandler *handler);
struct weft_errhandler *weft_errhandler_use_at(struct weft_errhandler *const *slot);
void weft_errhandler_replace(struct weft_errhandler **slot,
                             struct weft_errhandler *handler);
void weft_errhandler_release(struct weft_errhandler *handler);

#endif
