/*
 * complete.h - completing requests, for all files whose calls do.
 */
#ifndef WEFT_BINDING_COMPLETE_H
#define WEFT_BINDING_COMPLETE_H

#include "binding.h"

#include "core/request.h"
#include "io/op.h"

/* Waits for a request and gives its status; then a persistent one is inactive, any other
 * is freed and its handle set to null. */
int weft_complete(const char *function, MPI_Request *request, MPI_Status *status);

/* Takes a posted receive back whose partner call failed; it is freed either way. */
void weft_cancel_recv(MPI_Request *request);

/* The request of a handle that is not null. Without the lock. */
int weft_find_request(const char *function, MPI_Request handle,
                      struct weft_request **out);

/* Checks an array of `count` requests. */
int weft_check_requests(const char *function, int count, const MPI_Request *requests);

/* Whose an operation was that failed. */
struct weft_failure {
    struct weft_comm *comm;         /* NULL, or a reference */
    const char *collective;         /* the function that began it; NULL: it is not one */
    struct weft_file_request *file; /* of a read or write: a copy, to be freed; or NULL */
};

/*
 * A call on several requests. The first that fails decides whose error handler runs, with
 * MPI_ERR_IN_STATUS; then, and only then, each status has the error of its own operation.
 */
struct weft_batch {
    const char *function;
    MPI_Status *statuses; /* NULL: ignored */
    int done;             /* statuses that are filled */
    bool has_failed;
    bool has_met_failed;         /* one because a process has died */
    bool has_truncated;          /* one because its message was longer than its buffer */
    struct weft_failure failure; /* of the first that failed */
};

/* Completes the next one, waiting if need be. With the lock, at both ends. */
void weft_batch_complete(struct weft_batch *batch, MPI_Request *handle);

/* Fills the next status without completing: the request is complete, or NULL. */
void weft_batch_peek(struct weft_batch *batch, struct weft_request *request);

/* What the call returns. Without the lock. */
int weft_batch_finish(const struct weft_batch *batch);

/* Where the status of one of several goes. */
static inline MPI_Status *weft_batch_status(const struct weft_batch *batch)
{
    return batch->statuses == MPI_STATUSES_IGNORE ? NULL : &batch->statuses[batch->done];
}

/*
 * Fills the status of a complete request, which stays; what its operation came to is
 * raised and returned. Without the lock.
 */
int weft_peek(const char *function, struct weft_request *request, MPI_Status *status);

/* What an array of requests holds; null and inactive ones do not count. */
struct weft_requests {
    int active;
    int complete;
    int first; /* the first complete one, or -1 */
};

/* Without the lock. Does not poll. */
int weft_look_at_requests(const char *function, int count, const MPI_Request *requests,
                          struct weft_requests *out);

/* Looks at the requests; if none is complete, or `wants_all` and not all are, polls once
 * and looks again. */
int weft_test_requests(const char *function, int count, const MPI_Request *requests,
                       bool wants_all, struct weft_requests *out);

/* Checks the arguments of a call that asks for all of them; *flag: they are complete. */
int weft_test_all(const char *function, int count, const MPI_Request *requests,
                  int *flag);

#endif
