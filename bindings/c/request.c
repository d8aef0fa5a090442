/*
 * request.c - MPI-5.0 chapters 3.7.3, 3.7.6 and 3.8.4: requests looked at, freed and
 * cancelled.
 */
#include "complete.h"
#include "status.h"

#include "core/grequest.h"
#include "p2p/p2p.h"
#include "engine/lock.h"

int PMPI_Request_get_status(MPI_Request request, int *flag, MPI_Status *status)
{
    WEFT_RECORD_POLL(Request_get_status, MPI_COMM_NULL, WEFT_DOING_UNKNOWN, MPI_ANY_TAG);
    static const char function[] = "MPI_Request_get_status";
    struct weft_request *r;
    int err = weft_check_out(function, NULL, flag, "flag");

    if (err != MPI_SUCCESS) {
        return err;
    }
    if (request == MPI_REQUEST_NULL) {
        *flag = 1;
        weft_status_set_empty(status);
        return MPI_SUCCESS;
    }
    err = weft_find_request(function, request, &r);
    if (err != MPI_SUCCESS) {
        return err;
    }
    if (!weft_request_is_complete(r)) {
        weft_progress();
    }
    *flag = weft_request_is_complete(r);
    return *flag ? weft_peek(function, r, status) : MPI_SUCCESS;
}
WEFT_WEAK_ALIAS(MPI_Request_get_status, PMPI_Request_get_status);

int PMPI_Request_get_status_any(int count, const MPI_Request array_of_requests[],
                                int *index, int *flag, MPI_Status *status)
{
    WEFT_RECORD_POLL(Request_get_status_any, MPI_COMM_NULL, WEFT_DOING_UNKNOWN,
                     MPI_ANY_TAG);
    static const char function[] = "MPI_Request_get_status_any";
    struct weft_requests seen;
    struct weft_request *request;
    int err = weft_check_requests(function, count, array_of_requests);

    if (err == MPI_SUCCESS) {
        err = weft_check_out(function, NULL, index, "index");
    }
    if (err == MPI_SUCCESS) {
        err = weft_check_out(function, NULL, flag, "flag");
    }
    if (err == MPI_SUCCESS) {
        err = weft_test_requests(function, count, array_of_requests, false, &seen);
    }
    if (err != MPI_SUCCESS) {
        return err;
    }
    *flag = seen.active == 0 || seen.complete > 0;
    *index = MPI_UNDEFINED;
    if (seen.active == 0) {
        weft_status_set_empty(status);
    }
    if (seen.complete == 0) {
        return MPI_SUCCESS;
    }
    *index = seen.first;
    err = weft_find_request(function, array_of_requests[seen.first], &request);
    return err != MPI_SUCCESS ? err : weft_peek(function, request, status);
}
WEFT_WEAK_ALIAS(MPI_Request_get_status_any, PMPI_Request_get_status_any);

int PMPI_Request_get_status_all(int count, const MPI_Request array_of_requests[],
                                int *flag, MPI_Status *array_of_statuses)
{
    WEFT_RECORD_POLL(Request_get_status_all, MPI_COMM_NULL, WEFT_DOING_UNKNOWN,
                     MPI_ANY_TAG);
    static const char function[] = "MPI_Request_get_status_all";
    struct weft_batch batch = {.function = function, .statuses = array_of_statuses};
    int err = weft_test_all(function, count, array_of_requests, flag);

    if (err != MPI_SUCCESS || !*flag) {
        return err;
    }
    weft_lock();
    for (int i = 0; i < count; i++) {
        weft_batch_peek(&batch, array_of_requests[i] == MPI_REQUEST_NULL
                                    ? NULL
                                    : weft_request_from_handle(array_of_requests[i]));
    }
    weft_unlock();
    return weft_batch_finish(&batch);
}
WEFT_WEAK_ALIAS(MPI_Request_get_status_all, PMPI_Request_get_status_all);

int PMPI_Request_get_status_some(int incount, const MPI_Request array_of_requests[],
                                 int *outcount, int array_of_indices[],
                                 MPI_Status array_of_statuses[])
{
    WEFT_RECORD_POLL(Request_get_status_some, MPI_COMM_NULL, WEFT_DOING_UNKNOWN,
                     MPI_ANY_TAG);
    static const char function[] = "MPI_Request_get_status_some";
    struct weft_batch batch = {.function = function, .statuses = array_of_statuses};
    struct weft_requests seen;
    int err = weft_check_requests(function, incount, array_of_requests);

    if (err == MPI_SUCCESS) {
        err = weft_check_out(function, NULL, outcount, "outcount");
    }
    if (err == MPI_SUCCESS && incount > 0) {
        err = weft_check_out(function, NULL, array_of_indices, "array_of_indices");
    }
    if (err == MPI_SUCCESS) {
        err = weft_test_requests(function, incount, array_of_requests, false, &seen);
    }
    if (err != MPI_SUCCESS) {
        return err;
    }
    if (seen.active == 0) {
        *outcount = MPI_UNDEFINED;
        return MPI_SUCCESS;
    }
    weft_lock();
    for (int i = 0; i < incount; i++) {
        struct weft_request *request =
            array_of_requests[i] == MPI_REQUEST_NULL
                ? NULL
                : weft_request_from_handle(array_of_requests[i]);

        if (request != NULL && weft_request_is_complete(request) &&
            !request->is_inactive) {
            array_of_indices[batch.done] = i;
            weft_batch_peek(&batch, request);
        }
    }
    weft_unlock();
    *outcount = batch.done;
    return weft_batch_finish(&batch);
}
WEFT_WEAK_ALIAS(MPI_Request_get_status_some, PMPI_Request_get_status_some);

/* Is it a collective that was started and that nobody has seen complete? */
static bool is_under_way(const struct weft_request *request)
{
    return request->kind == WEFT_REQUEST_COLLECTIVE && !request->is_inactive;
}

/* An operation under way goes on to its end; the program cleans up after its own. */
int PMPI_Request_free(MPI_Request *request)
{
    WEFT_RECORD_PLAIN(Request_free);
    static const char function[] = "MPI_Request_free";
    struct weft_request *r;
    struct weft_grequest freed;
    bool is_over = false;
    int err = weft_check_out(function, NULL, request, "request");

    if (err == MPI_SUCCESS) {
        err = weft_find_request(function, *request, &r);
    }
    if (err == MPI_SUCCESS && is_under_way(r)) {
        err = weft_raise_comm(r->comm, function, WEFT_E_REQUEST_COLLECTIVE_FREE,
                              r->function);
    }
    if (err != MPI_SUCCESS) {
        return err;
    }
    weft_lock(); /* another thread may complete it: one of the two calls the callback */
    if (r->kind == WEFT_REQUEST_GENERALIZED) { /* no other request is one of these */
        freed = *(const struct weft_grequest *)r;
        is_over = weft_request_is_complete(r);
    }
    weft_request_detach(r);
    weft_unlock();
    *request = MPI_REQUEST_NULL;
    if (is_over) {
        err = freed.free_fn(freed.extra_state);
    }
    return err == MPI_SUCCESS ? err : weft_raise(function, err, WEFT_T_REQUEST_FREE, err);
}
WEFT_WEAK_ALIAS(MPI_Request_free, PMPI_Request_free);

/*
 * A receive that no message has met is taken back. A send is never: cancelling one is
 * deprecated, and it may complete normally instead.
 */
int PMPI_Cancel(MPI_Request *request)
{
    WEFT_RECORD_PLAIN(Cancel);
    static const char function[] = "MPI_Cancel";
    struct weft_request *r;
    int err = weft_check_out(function, NULL, request, "request");

    if (err == MPI_SUCCESS) {
        err = weft_find_request(function, *request, &r);
    }
    if (err != MPI_SUCCESS) {
        return err;
    }
    if (r->kind == WEFT_REQUEST_GENERALIZED) {
        const struct weft_grequest *g = (const struct weft_grequest *)r;

        err = g->cancel(g->extra_state, weft_request_is_complete(r));
        return err == MPI_SUCCESS ? err
                                  : weft_raise(function, err, WEFT_T_REQUEST_CANCEL, err);
    }
    if (r->is_inactive) {
        return weft_raise_comm(r->comm, function, WEFT_E_REQUEST_INACTIVE);
    }
    if (is_under_way(r)) {
        return weft_raise_comm(r->comm, function, WEFT_E_REQUEST_COLLECTIVE, r->function);
    }
    weft_lock();
    if (weft_p2p_cancel(r)) {
        r->is_cancelled = true;
        r->source = MPI_ANY_SOURCE;
        r->tag = MPI_ANY_TAG;
        weft_request_complete(r, WEFT_OK);
    }
    weft_unlock();
    return MPI_SUCCESS;
}
WEFT_WEAK_ALIAS(MPI_Cancel, PMPI_Cancel);
