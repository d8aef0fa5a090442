/*
 * complete.c - MPI-5.0 chapter 3: waiting for requests and testing them, one or all;
 * complete_some.c has the calls that choose.
 *
 * Which handler: the communicator's of the request. Where several complete and one fails,
 * MPI_ERR_IN_STATUS is raised once, and each status tells its own (MPI-5.0, 3.7.5).
 */
#include "complete.h"
#include "status.h"

#include "check/file.h"
#include "check/rc.h"
#include "core/error.h"
#include "core/grequest.h"
#include "datatype/datatype.h"
#include "p2p/p2p.h"
#include "p2p/state.h"
#include "engine/lock.h"

#include <stdio.h>
#include <stdlib.h>

int weft_find_request(const char *function, MPI_Request handle, struct weft_request **out)
{
    char text[128];
    int err;

    weft_lock();
    *out = weft_request_from_handle(handle);
    weft_unlock();
    if (weft_likely(*out != NULL)) {
        return MPI_SUCCESS;
    }
    err = weft_check_open(function);
    if (err != MPI_SUCCESS) {
        return err;
    }
    if (handle == MPI_REQUEST_NULL) {
        return weft_raise(function, WEFT_E_REQUEST_NULL);
    }
    return weft_raise(
        function, MPI_ERR_REQUEST, WEFT_T_HANDLE,
        weft_describe_handle(WEFT_KIND_REQUEST, handle, text, sizeof(text)));
}

/*
 * Asks the program for the status of its own operation. With the lock at both ends, not
 * during the callback. MPI_ERROR stays what it was.
 */
static int query(struct weft_request *request, MPI_Status *status)
{
    const struct weft_grequest *g = (const struct weft_grequest *)request;
    MPI_Status answer;
    int err;

    weft_status_set_empty(&answer);
    weft_unlock();
    err = g->query(g->extra_state, &answer);
    weft_lock();
    if (status != MPI_STATUS_IGNORE) {
        answer.MPI_ERROR = status->MPI_ERROR;
        *status = answer;
    }
    return err;
}

/* The status of a complete request, and what its operation came to. With the lock. */
static int read_locked(struct weft_request *request, MPI_Status *status)
{
    if (weft_unlikely(request->kind == WEFT_REQUEST_GENERALIZED)) {
        return query(request, status);
    }
    if (weft_unlikely(request->is_inactive)) {
        weft_status_set_empty(status);
        return MPI_SUCCESS;
    }
    if (status != MPI_STATUS_IGNORE) {
        weft_status_set(status, request->source, request->tag, request->bytes,
                        request->is_cancelled);
    }
    if (weft_unlikely(request->kind == WEFT_REQUEST_FILE)) {
        return weft_class_of_fault(
            ((const struct weft_file_request *)request)->moved.fault);
    }
    return weft_likely(request->rc == WEFT_OK) ? MPI_SUCCESS : weft_class_of(request->rc);
}

/* The program cleans up; its first error counts. With the lock, as above. */
static int free_generalized(const struct weft_request *request, int err)
{
    const struct weft_grequest *g = (const struct weft_grequest *)request;
    int free_err;

    weft_unlock();
    free_err = g->free_fn(g->extra_state);
    weft_lock();
    return err != MPI_SUCCESS ? err : free_err;
}

/* What a failed read or write leaves for whoever raises it; NULL: there is no memory. */
static struct weft_file_request *copy_file(const struct weft_request *request)
{
    struct weft_file_request *copy = malloc(sizeof(*copy));

    if (copy != NULL) {
        *copy = *(const struct weft_file_request *)request;
    }
    return copy;
}

/* With the lock. */
static struct weft_failure failure_of(const struct weft_request *request)
{
    if (request->kind == WEFT_REQUEST_FILE) {
        return (struct weft_failure){.file = copy_file(request)};
    }
    if (request->comm != NULL) {
        weft_comm_use(request->comm);
    }
    return (struct weft_failure){
        .comm = request->comm,
        .collective = request->kind == WEFT_REQUEST_COLLECTIVE ? request->function : NULL,
    };
}

/*
 * Gives the status of a complete request and ends it: the handle of a persistent one
 * stays, any other is freed. One that failed leaves a reference to its communicator,
 * which the caller gives back: the user may have freed it.
 */
static int reap_locked(struct weft_request *request, MPI_Request *handle,
                       MPI_Status *status, struct weft_failure *failure)
{
    int err = read_locked(request, status);

    if (weft_unlikely(err != MPI_SUCCESS)) {
        *failure = failure_of(request);
    }
    if (weft_unlikely(request->kind == WEFT_REQUEST_GENERALIZED)) {
        err = free_generalized(request, err);
    }
    if (weft_likely(request->persistent == NULL)) {
        *handle = MPI_REQUEST_NULL;
    }
    weft_request_end(request);
    return err;
}

static struct weft_wait_reason reason(const char *function, const struct weft_request *r)
{
    if (r->kind == WEFT_REQUEST_SCHEDULE || r->kind == WEFT_REQUEST_COLLECTIVE) {
        return (struct weft_wait_reason){function, r->comm != NULL ? r->comm->name : "",
                                         MPI_ANY_SOURCE, MPI_ANY_TAG, 0};
    }
    if (r->kind == WEFT_REQUEST_GENERALIZED) {
        return (struct weft_wait_reason){function, "a generalized request", -1, -2, 0};
    }
    if (r->kind == WEFT_REQUEST_FILE) {
        return (struct weft_wait_reason){function, "a file", -1, -2, 0};
    }
    return weft_p2p_wait_reason(r, function);
}

/*
 * Completes one of many, with the lock; its own error goes to its status only. A handle
 * that is none is MPI_ERR_REQUEST.
 */
static int complete_one(const char *function, MPI_Request *handle, MPI_Status *status,
                        struct weft_failure *failure)
{
    struct weft_request *request;

    if (*handle == MPI_REQUEST_NULL) {
        weft_status_set_empty(status);
        return MPI_SUCCESS;
    }
    request = weft_request_from_handle(*handle);
    if (weft_unlikely(request == NULL)) {
        return MPI_ERR_REQUEST;
    }
    if (!weft_request_is_complete(request)) {
        const struct weft_wait_reason why = reason(function, request);

        weft_record_awaited(request, &why);
        weft_wait_locked(request, &why);
    }
    return reap_locked(request, handle, status, failure);
}

static int raise_class(const char *function, struct weft_comm *comm, int err)
{
    const struct weft_error_row *row = weft_error_row(err);

    if (err == MPI_ERR_PROC_ABORTED) {
        return weft_raise_rc(comm, WEFT_ERR_PROC_FAILED, function);
    }
    if (err == MPI_ERR_TRUNCATE) {
        return weft_raise_rc(comm, WEFT_ERR_TRUNCATE, function);
    }
    return weft_raise_comm(comm, function, err, WEFT_T_SAID,
                           row != NULL ? row->meaning : WEFT_S_GENERALIZED);
}

static void release_comm(struct weft_comm *comm)
{
    if (comm != NULL) {
        weft_lock();
        weft_comm_release(comm);
        weft_unlock();
    }
}

/* Frees the copy. */
static int raise_file(const char *call, const struct weft_failure *failure)
{
    const struct weft_file_request *request = failure->file;
    char both[96];
    int err;

    snprintf(both, sizeof(both), "%s of %s", call, request->base.function);
    err = weft_raise_moved(weft_file_from_handle(request->file), &request->moved,
                           request->is_write, both);
    free(failure->file);
    return err;
}

/* Gives the failure's reference back. */
static int raise_own(const char *call, const struct weft_failure *failure, int err)
{
    char both[96];
    const char *function = call;

    if (failure->file != NULL) {
        return raise_file(call, failure);
    }
    if (failure->collective != NULL) {
        snprintf(both, sizeof(both), "%s of %s", call, failure->collective);
        function = both;
    }
    err = raise_class(function, failure->comm, err);
    release_comm(failure->comm);
    return err;
}

/* For the one error of a call: the request is gone, unless the handle was none. */
static int raise_one(const char *function, MPI_Request handle,
                     const struct weft_failure *failure, int err)
{
    struct weft_request *ignored;

    if (err == MPI_ERR_REQUEST && handle != MPI_REQUEST_NULL) {
        return weft_find_request(function, handle, &ignored); /* says what is wrong */
    }
    return raise_own(function, failure, err);
}

int weft_complete(const char *function, MPI_Request *handle, MPI_Status *status)
{
    struct weft_failure failure = {0};
    int err;

    weft_lock();
    err = complete_one(function, handle, status, &failure);
    weft_engine_leave();
    weft_unlock();
    return weft_likely(err == MPI_SUCCESS) ? err
                                           : raise_one(function, *handle, &failure, err);
}

int weft_peek(const char *function, struct weft_request *request, MPI_Status *status)
{
    struct weft_failure failure = {0};
    int err;

    weft_lock();
    err = read_locked(request, status);
    if (weft_unlikely(err != MPI_SUCCESS)) {
        failure = failure_of(request);
    }
    weft_unlock();
    return weft_likely(err == MPI_SUCCESS) ? err : raise_own(function, &failure, err);
}

void weft_cancel_recv(MPI_Request *handle)
{
    struct weft_request *recv;

    weft_lock();
    recv = weft_request_from_handle(*handle);
    if (recv != NULL && weft_request_is_complete(recv)) { /* its peer has died */
        weft_request_give(recv);
    } else if (recv != NULL && weft_p2p_cancel(recv)) {
        weft_request_complete(recv, WEFT_OK);
        weft_request_give(recv);
    }
    weft_unlock();
    *handle = MPI_REQUEST_NULL;
}

/* Without a place for a request, or before MPI_Init. */
static __attribute__((noinline, cold)) int
wait_unusual(MPI_Request *request, MPI_Status *status, const void *site)
{
    int err;

    weft_record_quickly(WEFT_CALL_Wait, site, WEFT_TRACE_NO_CONTEXT, WEFT_DOING_UNKNOWN,
                        MPI_ANY_TAG, 0);
    err = weft_check_out("MPI_Wait", NULL, request, "request");
    if (err == MPI_SUCCESS) {
        err = weft_complete("MPI_Wait", request, status);
    }
    weft_record_end();
    return err;
}

int PMPI_Wait(MPI_Request *request, MPI_Status *status)
{
    struct weft_failure failure;
    int err;

    if (weft_unlikely(request == NULL || weft_recorder_slot() == NULL)) {
        return wait_unusual(request, status, __builtin_return_address(0));
    }
    weft_lock();
    weft_record(WEFT_CALL_Wait, __builtin_return_address(0), WEFT_TRACE_NO_CONTEXT,
                WEFT_DOING_UNKNOWN, MPI_ANY_TAG, 0);
    weft_recorder_enter();
    failure = (struct weft_failure){0};
    err = complete_one("MPI_Wait", request, status, &failure);
    weft_engine_leave();
    weft_recorder_leave();
    weft_unlock();
    return weft_likely(err == MPI_SUCCESS)
               ? err
               : raise_one("MPI_Wait", *request, &failure, err);
}
WEFT_WEAK_ALIAS(MPI_Wait, PMPI_Wait);

int PMPI_Test(MPI_Request *handle, int *flag, MPI_Status *status)
{
    WEFT_RECORD_POLL(Test, MPI_COMM_NULL, WEFT_DOING_UNKNOWN, MPI_ANY_TAG);
    struct weft_request *request;
    int err = weft_check_out("MPI_Test", NULL, handle, "request");

    if (err == MPI_SUCCESS) {
        err = weft_check_out("MPI_Test", NULL, flag, "flag");
    }
    if (err == MPI_SUCCESS && *handle != MPI_REQUEST_NULL) {
        err = weft_find_request("MPI_Test", *handle, &request);
        if (err == MPI_SUCCESS && !weft_request_is_complete(request)) {
            weft_progress();
            if (!weft_request_is_complete(request)) {
                *flag = 0;
                return MPI_SUCCESS;
            }
        }
    }
    if (err != MPI_SUCCESS) {
        return err;
    }
    *flag = 1;
    return weft_complete("MPI_Test", handle, status);
}
WEFT_WEAK_ALIAS(MPI_Test, PMPI_Test);

/* ---- several requests ---- */

int weft_check_requests(const char *function, int count, const MPI_Request *requests)
{
    if (count < 0) {
        return weft_raise(function, WEFT_E_COUNT_INT, count);
    }
    return count == 0 ? MPI_SUCCESS
                      : weft_check_out(function, NULL, requests, "array_of_requests");
}

/* Notes what came of one, whose status may get its MPI_ERROR. */
static void note(struct weft_batch *b, const struct weft_failure *failure, int err)
{
    if (weft_unlikely(err != MPI_SUCCESS) && b->has_failed) {
        if (failure->comm != NULL) {
            weft_comm_release(failure->comm);
        }
        free(failure->file);
    } else if (weft_unlikely(err != MPI_SUCCESS)) {
        b->has_failed = true;
        b->failure = *failure;
        for (int k = 0; k < b->done && b->statuses != MPI_STATUSES_IGNORE; k++) {
            b->statuses[k].MPI_ERROR = MPI_SUCCESS;
        }
    }
    b->has_met_failed = b->has_met_failed || err == MPI_ERR_PROC_ABORTED;
    b->has_truncated = b->has_truncated || err == MPI_ERR_TRUNCATE;
    if (weft_unlikely(b->has_failed) && b->statuses != MPI_STATUSES_IGNORE) {
        b->statuses[b->done].MPI_ERROR = err;
    }
    b->done++;
}

void weft_batch_complete(struct weft_batch *b, MPI_Request *handle)
{
    struct weft_failure failure = {0};
    int err = complete_one(b->function, handle, weft_batch_status(b), &failure);

    note(b, &failure, err);
}

void weft_batch_peek(struct weft_batch *b, struct weft_request *request)
{
    struct weft_failure failure = {0};
    int err = MPI_SUCCESS;

    if (request == NULL) {
        weft_status_set_empty(weft_batch_status(b));
    } else {
        err = read_locked(request, weft_batch_status(b));
    }
    if (err != MPI_SUCCESS) {
        failure = failure_of(request);
    }
    note(b, &failure, err);
}

/* The first that failed was a read or write: its file's handler runs. */
static int finish_file(const struct weft_batch *b)
{
    struct weft_file_request *request = b->failure.file;
    int err = weft_raise_file(weft_file_from_handle(request->file), b->function,
                              WEFT_E_REQUESTS_FAILED, b->done, ", ",
                              request->base.function, "", "");

    free(request);
    return err;
}

int weft_batch_finish(const struct weft_batch *b)
{
    const char *collective = b->failure.collective;
    char text[WEFT_FAILED_TEXT];
    int err;

    if (weft_likely(!b->has_failed)) {
        return MPI_SUCCESS;
    }
    text[0] = '\0';
    if (b->failure.file != NULL) {
        return finish_file(b);
    }
    if (b->has_met_failed) {
        weft_describe_failed(b->failure.comm, text, sizeof(text));
    } else if (b->has_truncated) {
        weft_describe_truncated(b->failure.comm, text, sizeof(text));
    }
    err = weft_raise_comm(b->failure.comm, b->function, WEFT_E_REQUESTS_FAILED, b->done,
                          collective != NULL ? ", " : "",
                          collective != NULL ? collective : "",
                          text[0] != '\0' ? ": " : "", text);
    release_comm(b->failure.comm);
    return err;
}

int weft_look_at_requests(const char *function, int count, const MPI_Request *requests,
                          struct weft_requests *out)
{
    struct weft_request *ignored;

    *out = (struct weft_requests){.first = -1};
    weft_lock();
    for (int i = 0; i < count; i++) {
        const struct weft_request *request;

        if (requests[i] == MPI_REQUEST_NULL) {
            continue;
        }
        request = weft_request_from_handle(requests[i]);
        if (request == NULL) {
            weft_unlock();
            return weft_find_request(function, requests[i], &ignored);
        }
        if (weft_unlikely(request->is_inactive)) {
            continue;
        }
        out->active++;
        if (weft_request_is_complete(request)) {
            out->complete++;
            out->first = out->first < 0 ? i : out->first;
        }
    }
    weft_unlock();
    return MPI_SUCCESS;
}

int weft_test_requests(const char *function, int count, const MPI_Request *requests,
                       bool wants_all, struct weft_requests *out)
{
    int err = weft_look_at_requests(function, count, requests, out);

    if (err != MPI_SUCCESS || out->active == out->complete ||
        (out->complete > 0 && !wants_all)) {
        return err;
    }
    weft_progress();
    return weft_look_at_requests(function, count, requests, out);
}

int PMPI_Waitall(int count, MPI_Request array_of_requests[],
                 MPI_Status *array_of_statuses)
{
    WEFT_RECORD_PLAIN(Waitall);
    struct weft_batch batch = {.function = "MPI_Waitall", .statuses = array_of_statuses};
    int err = weft_check_requests("MPI_Waitall", count, array_of_requests);

    if (err != MPI_SUCCESS) {
        return err;
    }
    weft_lock();
    for (int i = 0; i < count; i++) {
        weft_batch_complete(&batch, &array_of_requests[i]);
    }
    weft_engine_leave();
    weft_unlock();
    return weft_batch_finish(&batch);
}
WEFT_WEAK_ALIAS(MPI_Waitall, PMPI_Waitall);

/* ---- what a status tells ---- */

static int get_count_checked(const char *function, const MPI_Status *status,
                             MPI_Datatype datatype, MPI_Count *count)
{
    const struct weft_datatype *type = weft_datatype_from_handle(datatype);
    uint64_t bytes;
    char text[128];
    int err = weft_check_out(function, NULL, status, "status");

    if (err != MPI_SUCCESS) {
        return err;
    }
    if (type == NULL) {
        return weft_raise(
            function, MPI_ERR_TYPE, WEFT_T_HANDLE,
            weft_describe_handle(WEFT_KIND_DATATYPE, datatype, text, sizeof(text)));
    }
    bytes = weft_status_bytes(status);
    if (type->size == 0) {
        *count = bytes == 0 ? 0 : MPI_UNDEFINED;
    } else {
        *count =
            bytes % type->size != 0 ? MPI_UNDEFINED : (MPI_Count)(bytes / type->size);
    }
    return MPI_SUCCESS;
}

int PMPI_Get_count(const MPI_Status *status, MPI_Datatype datatype, int *count)
{
    MPI_Count wide = 0;
    int err = weft_check_out("MPI_Get_count", NULL, count, "count");

    if (err == MPI_SUCCESS) {
        err = get_count_checked("MPI_Get_count", status, datatype, &wide);
    }
    if (err == MPI_SUCCESS) {
        *count = wide > 0x7fffffff ? MPI_UNDEFINED : (int)wide;
    }
    return err;
}
WEFT_WEAK_ALIAS(MPI_Get_count, PMPI_Get_count);

int PMPI_Get_count_c(const MPI_Status *status, MPI_Datatype datatype, MPI_Count *count)
{
    int err = weft_check_out("MPI_Get_count_c", NULL, count, "count");

    return err != MPI_SUCCESS
               ? err
               : get_count_checked("MPI_Get_count_c", status, datatype, count);
}
WEFT_WEAK_ALIAS(MPI_Get_count_c, PMPI_Get_count_c);
