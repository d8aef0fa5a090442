/*
 * complete.c - MPI-5.0 chapter 3: waiting for requests and testing them.
 *
 * Which handler: the communicator's of the request. Where several complete and one fails,
 * MPI_ERR_IN_STATUS is raised once, and each status tells its own (MPI-5.0, 3.7.5).
 */
#include "complete.h"
#include "status.h"

#include "check/rc.h"
#include "core/error.h"
#include "datatype/datatype.h"
#include "p2p/p2p.h"
#include "progress/lock.h"

/* The request of a handle that is not null. */
static int find(const char *function, MPI_Request handle, struct weft_request **out)
{
    char text[128];
    int err;

    weft_lock();
    *out = weft_request_from_handle(handle);
    weft_unlock();
    if (weft_likely(*out != NULL)) {
        return MPI_SUCCESS;
    }
    err = weft_check_world(function);
    return err != MPI_SUCCESS ? err
                              : weft_raise(MPI_ERR_REQUEST, function, "%s",
                                           weft_describe_handle(WEFT_KIND_REQUEST, handle,
                                                                text, sizeof(text)));
}

/* Gives the status of a complete request and frees it. */
static enum weft_rc reap_locked(struct weft_request *request, MPI_Request *handle,
                                MPI_Status *status, struct weft_comm **comm)
{
    enum weft_rc rc = request->rc;

    *comm = request->comm;
    if (status != MPI_STATUS_IGNORE) {
        weft_status_set(status, request->source, request->tag, request->bytes,
                        request->is_cancelled);
    }
    weft_request_give(request);
    *handle = MPI_REQUEST_NULL;
    return rc;
}

static struct weft_wait_reason reason(const char *function, const struct weft_request *r)
{
    const struct weft_p2p_request *p = (const struct weft_p2p_request *)r;
    const bool is_recv = r->kind == WEFT_REQUEST_RECV;

    return (struct weft_wait_reason){
        .call = function,
        .comm = r->comm != NULL ? r->comm->name : "",
        .peer = is_recv ? p->posted.source : (int)p->peer->rank,
        .tag = is_recv ? p->posted.tag : p->header.tag,
        .bytes = p->capacity,
    };
}

/*
 * Completes one of many, with the lock; its own error goes to its status only. A handle
 * that is none is MPI_ERR_REQUEST.
 */
static int complete_one(const char *function, MPI_Request *handle, MPI_Status *status,
                        struct weft_comm **comm)
{
    struct weft_request *request;
    enum weft_rc rc;

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

        weft_wait_locked(request, &why);
    }
    rc = reap_locked(request, handle, status, comm);
    return weft_likely(rc == WEFT_OK) ? MPI_SUCCESS : weft_class_of(rc);
}

/* For the one error of a call: the request is gone, unless the handle was none. */
static int raise_one(const char *function, MPI_Request handle, struct weft_comm *comm,
                     int class)
{
    struct weft_request *ignored;

    if (class == MPI_ERR_REQUEST) {
        return find(function, handle, &ignored); /* which says what is wrong with it */
    }
    return weft_raise_comm(comm, class, function, "%s", weft_error_row(class)->meaning);
}

int weft_complete(const char *function, MPI_Request *handle, MPI_Status *status)
{
    struct weft_comm *comm = NULL;
    int err;

    weft_lock();
    err = complete_one(function, handle, status, &comm);
    weft_unlock();
    return weft_likely(err == MPI_SUCCESS) ? err
                                           : raise_one(function, *handle, comm, err);
}

void weft_cancel_recv(MPI_Request *handle)
{
    struct weft_p2p_request *recv;

    weft_lock();
    recv = (struct weft_p2p_request *)weft_request_from_handle(*handle);
    if (recv != NULL && weft_match_cancel(&weft_p2p.match, &recv->posted)) {
        if (recv->peer != NULL) {
            recv->peer->posted--;
        }
        weft_p2p_forget_type(recv);
        weft_request_give(&recv->base);
    }
    weft_unlock();
    *handle = MPI_REQUEST_NULL;
}

int PMPI_Wait(MPI_Request *request, MPI_Status *status)
{
    int err = weft_check_out("MPI_Wait", NULL, request, "request");

    return err != MPI_SUCCESS ? err : weft_complete("MPI_Wait", request, status);
}
WEFT_WEAK_ALIAS(MPI_Wait, PMPI_Wait);

int PMPI_Test(MPI_Request *handle, int *flag, MPI_Status *status)
{
    struct weft_request *request;
    int err = weft_check_out("MPI_Test", NULL, handle, "request");

    if (err == MPI_SUCCESS) {
        err = weft_check_out("MPI_Test", NULL, flag, "flag");
    }
    if (err == MPI_SUCCESS && *handle != MPI_REQUEST_NULL) {
        err = find("MPI_Test", *handle, &request);
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

static int check_requests(const char *function, int count, const MPI_Request *requests)
{
    if (count < 0) {
        return weft_raise(MPI_ERR_COUNT, function, "the count is %d", count);
    }
    return count == 0 ? MPI_SUCCESS
                      : weft_check_out(function, NULL, requests, "array_of_requests");
}

int PMPI_Waitall(int count, MPI_Request array_of_requests[],
                 MPI_Status *array_of_statuses)
{
    struct weft_comm *failed_on = NULL;
    bool has_failed = false;
    int err = check_requests("MPI_Waitall", count, array_of_requests);

    if (err != MPI_SUCCESS) {
        return err;
    }
    weft_lock();
    for (int i = 0; i < count; i++) {
        MPI_Status *status =
            array_of_statuses == MPI_STATUSES_IGNORE ? NULL : &array_of_statuses[i];
        struct weft_comm *comm = NULL;

        err = complete_one("MPI_Waitall", &array_of_requests[i], status, &comm);
        if (weft_unlikely(err != MPI_SUCCESS) && !has_failed) {
            has_failed = true;
            failed_on = comm;
            for (int k = 0; k < i && array_of_statuses != MPI_STATUSES_IGNORE; k++) {
                array_of_statuses[k].MPI_ERROR = MPI_SUCCESS;
            }
        }
        if (weft_unlikely(has_failed) && status != NULL) {
            status->MPI_ERROR = err;
        }
    }
    weft_unlock();
    return weft_likely(!has_failed)
               ? MPI_SUCCESS
               : weft_raise_comm(failed_on, MPI_ERR_IN_STATUS, "MPI_Waitall",
                                 "at least one of %d operations failed", count);
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
            MPI_ERR_TYPE, function, "%s",
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
