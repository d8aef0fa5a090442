/*
 * performance.h - performance variables: the library's counts (p2p/counts.h), those of
 * calls by each algorithm of collectives (coll/choices.h), and those of windows by the
 * ways of their operations (rma/ways.h), seen by tools.
 *
 * A session isolates its handles from those of other tools. A counter counts, in its
 * handle, while it is started; a level is always what it is now; a high-water mark is the
 * highest level while it was started. All values are unsigned long long. Sessions own
 * their handles. All calls need the library's lock.
 */
#ifndef WEFT_TOOLS_PERFORMANCE_H
#define WEFT_TOOLS_PERFORMANCE_H

#include "base/rc.h"

#include "mpi.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct weft_performance_row {
    const char *name;
    int class;     /* MPI_T_PVAR_CLASS_* */
    int verbosity; /* MPI_T_VERBOSITY_* */
    size_t at;     /* in struct weft_counts, or in struct weft_watch for a mark; in struct
                    * weft_rma_ways for windows; of calls by an algorithm of collectives,
                    * its number */
    const char *meaning;
};

int weft_performance_count(void);
const struct weft_performance_row *weft_performance_row(int index);

/* The variable of this name and class, or -1. */
int weft_performance_find(const char *name, int class);

/* Levels are: they cannot be started, stopped, reset or written. */
bool weft_performance_is_level(const struct weft_performance_row *row);

struct weft_pvar_session;
struct weft_pvar_handle;

WEFT_MUST_CHECK enum weft_rc weft_pvar_session_create(MPI_T_pvar_session *out);
struct weft_pvar_session *weft_pvar_session_find(MPI_T_pvar_session session);
void weft_pvar_session_free(struct weft_pvar_session *session);
/* When the last tool leaves. */
void weft_pvar_free_all(void);

WEFT_MUST_CHECK enum weft_rc weft_pvar_handle_alloc(struct weft_pvar_session *session,
                                                    int index, MPI_T_pvar_handle *out);
/* NULL if it is none, or another session's. */
struct weft_pvar_handle *weft_pvar_handle_find(const struct weft_pvar_session *session,
                                               MPI_T_pvar_handle handle);
void weft_pvar_handle_free(struct weft_pvar_handle *handle);

const struct weft_performance_row *weft_pvar_row(const struct weft_pvar_handle *handle);
uint64_t weft_pvar_read(const struct weft_pvar_handle *handle);

/* Not for levels. Starting what is started, and stopping what is not, changes nothing. */
void weft_pvar_start(struct weft_pvar_handle *handle);
void weft_pvar_stop(struct weft_pvar_handle *handle);
void weft_pvar_write(struct weft_pvar_handle *handle, uint64_t value);
void weft_pvar_reset(struct weft_pvar_handle *handle);

/* Does it to all handles of a session but those of levels. */
void weft_pvar_for_all(struct weft_pvar_session *session,
                       void (*act)(struct weft_pvar_handle *handle));

#endif
