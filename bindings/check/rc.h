/*
 * rc.h - from what the rooms return to what users get.
 */
#ifndef WEFT_CHECK_RC_H
#define WEFT_CHECK_RC_H

#include "check/raise.h"

enum {
    WEFT_FAILED_TEXT = 384,    /* bytes for weft_describe_failed() */
    WEFT_TRUNCATED_TEXT = 160, /* bytes for weft_describe_truncated() */
    WEFT_DISAGREE_TEXT = 400,  /* bytes for weft_disagree_describe() */
};

/* The error class of a return code; MPI_SUCCESS for WEFT_OK. */
int weft_class_of(enum weft_rc rc);

/*
 * "rank 1 on node7 died: killed by signal 9, Killed; rank 2 ...": the processes that
 * messages on `comm` go to and that have died; if there are none, or it is NULL, those of
 * the job, by their rank in it. Without the lock.
 */
const char *weft_describe_failed(const struct weft_comm *comm, char *text, size_t size);

/*
 * "rank 1 has sent 400 bytes with tag 7, and the receive has room for 100": the last
 * message on `comm` that was longer than its buffer; told once, then in general words.
 * Without the lock.
 */
const char *weft_describe_truncated(const struct weft_comm *comm, char *text,
                                    size_t size);

/* MPI_SUCCESS for WEFT_OK; anything else is raised on the communicator and returned. */
int weft_raise_rc(struct weft_comm *comm, enum weft_rc rc, const char *function);

#endif
