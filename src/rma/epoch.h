/*
 * epoch.h - which call on a window may come after which (MPI-5.0, 12.5).
 *
 * What the program has opened and not closed yet, as one process sees it. Nothing here
 * waits, sends or allocates.
 */
#ifndef WEFT_RMA_EPOCH_H
#define WEFT_RMA_EPOCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct weft_epoch {
    _Atomic bool is_fence; /* the last fence has opened one */
    _Atomic bool is_used;  /* and there was an operation in it */
    bool is_started;       /* MPI_Win_start */
    bool is_posted;        /* MPI_Win_post */
    bool is_all;           /* MPI_Win_lock_all */
    bool is_unchecked;
    uint32_t locks; /* MPI_Win_lock: targets */
};

/* What is wrong with a call; weft_epoch_text() has the words. */
enum weft_epoch_fault {
    WEFT_EPOCH_FINE,
    WEFT_EPOCH_IN_FENCE,
    WEFT_EPOCH_IN_START,
    WEFT_EPOCH_IN_POST,
    WEFT_EPOCH_IN_LOCK,
    WEFT_EPOCH_IN_LOCK_ALL,
    WEFT_EPOCH_NO_START,
    WEFT_EPOCH_NO_POST,
    WEFT_EPOCH_NO_LOCK,
    WEFT_EPOCH_NO_LOCK_ALL,
    WEFT_EPOCH_NO_PASSIVE,
    WEFT_EPOCH_NONE,
    WEFT_EPOCH_FAULTS,
};

enum weft_epoch_fault weft_epoch_may_fence(const struct weft_epoch *epoch);
enum weft_epoch_fault weft_epoch_may_start(const struct weft_epoch *epoch);
enum weft_epoch_fault weft_epoch_may_post(const struct weft_epoch *epoch);
enum weft_epoch_fault weft_epoch_may_lock(const struct weft_epoch *epoch,
                                          bool is_locked_there);
enum weft_epoch_fault weft_epoch_may_lock_all(const struct weft_epoch *epoch);
enum weft_epoch_fault weft_epoch_may_free(const struct weft_epoch *epoch);

/* An operation on a target that is locked, or in the group of the start. */
enum weft_epoch_fault weft_epoch_may_operate(const struct weft_epoch *epoch,
                                             bool is_locked_there, bool is_started_there);

/* A flush, or an operation with a request. */
enum weft_epoch_fault weft_epoch_may_flush(const struct weft_epoch *epoch,
                                           bool is_locked_there);

/* Another epoch than that of a fence begins: the fence's was empty. */
void weft_epoch_leave_fence(struct weft_epoch *epoch);

const char *weft_epoch_text(enum weft_epoch_fault fault);

#endif
