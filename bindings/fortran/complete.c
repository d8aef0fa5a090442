/*
 * complete.c - starting, completing and freeing requests.
 *
 * Indices begin with 1 in Fortran. What keep.c holds for a request is released here.
 */
#include "fortran.h"

#include <stdlib.h>

static MPI_Request *requests_in(const int *handles, int count)
{
    MPI_Request *requests = malloc((count > 0 ? (size_t)count : 1) * sizeof(*requests));

    for (int i = 0; requests != NULL && i < count; i++) {
        requests[i] = weft_request_in(handles[i]);
    }
    return requests;
}

/* A request has been completed; its handle becomes what `request` says. */
static void complete(int *handle, MPI_Request request)
{
    if (weft_is_any_kept()) {
        weft_kept_complete(*handle);
    }
    *handle = weft_request_out(request);
}

/* The handles that have changed are stored; those of persistent requests do not. With
 * `is_all_done`, these are complete, too. */
static void complete_changed(int *handles, const MPI_Request *requests, int count,
                             bool is_all_done)
{
    for (int i = 0; i < count; i++) {
        if (is_all_done || requests[i] == MPI_REQUEST_NULL) {
            complete(&handles[i], requests[i]);
        }
    }
}

PROCEDURE(wait, int *request, int *status, int *ierror)
{
    MPI_Request c = weft_request_in(*request);
    int err = CALL(Wait)(&c, weft_status(status));

    if (err == MPI_SUCCESS || c == MPI_REQUEST_NULL) {
        complete(request, c);
    }
    weft_end(ierror, err);
}
ALSO(wait_f08, wait);

PROCEDURE(test, int *request, int *flag, int *status, int *ierror)
{
    MPI_Request c = weft_request_in(*request);
    int is_done = 0;
    int err = CALL(Test)(&c, &is_done, weft_status(status));

    if (is_done || c == MPI_REQUEST_NULL) {
        complete(request, c);
    }
    *flag = weft_logical_out(is_done);
    weft_end(ierror, err);
}
ALSO(test_f08, test);

PROCEDURE(waitall, const int *count, int *requests, int *statuses, int *ierror)
{
    MPI_Request *c = requests_in(requests, *count);
    int err = c == NULL ? weft_raise_here(MPI_ERR_NO_MEM)
                        : CALL(Waitall)(*count, c, weft_statuses(statuses));

    if (c != NULL) {
        complete_changed(requests, c, *count, err == MPI_SUCCESS);
    }
    free(c);
    weft_end(ierror, err);
}
ALSO(waitall_f08, waitall);

PROCEDURE(testall, const int *count, int *requests, int *flag, int *statuses, int *ierror)
{
    MPI_Request *c = requests_in(requests, *count);
    int is_done = 0;
    int err = c == NULL ? weft_raise_here(MPI_ERR_NO_MEM)
                        : CALL(Testall)(*count, c, &is_done, weft_statuses(statuses));

    if (c != NULL) {
        complete_changed(requests, c, *count, is_done);
    }
    free(c);
    *flag = weft_logical_out(is_done);
    weft_end(ierror, err);
}
ALSO(testall_f08, testall);

static void complete_one(int *handles, const MPI_Request *requests, int *index)
{
    if (*index >= 0) {
        complete(&handles[*index], requests[*index]);
        *index += 1;
    }
}

PROCEDURE(waitany, const int *count, int *requests, int *index, int *status, int *ierror)
{
    MPI_Request *c = requests_in(requests, *count);
    int err = MPI_ERR_NO_MEM;

    *index = MPI_UNDEFINED;
    if (c != NULL) {
        err = CALL(Waitany)(*count, c, index, weft_status(status));
        complete_one(requests, c, index);
    }
    free(c);
    weft_end(ierror, err);
}
ALSO(waitany_f08, waitany);

PROCEDURE(testany, const int *count, int *requests, int *index, int *flag, int *status,
          int *ierror)
{
    MPI_Request *c = requests_in(requests, *count);
    int is_done = 0;
    int err = MPI_ERR_NO_MEM;

    *index = MPI_UNDEFINED;
    if (c != NULL) {
        err = CALL(Testany)(*count, c, index, &is_done, weft_status(status));
        complete_one(requests, c, index);
    }
    free(c);
    *flag = weft_logical_out(is_done);
    weft_end(ierror, err);
}
ALSO(testany_f08, testany);

static void complete_some(int *handles, const MPI_Request *requests, int count,
                          int *indices)
{
    for (int i = 0; i < count; i++) { /* MPI_UNDEFINED is negative */
        complete_one(handles, requests, &indices[i]);
    }
}

PROCEDURE(waitsome, const int *incount, int *requests, int *outcount, int *indices,
          int *statuses, int *ierror)
{
    MPI_Request *c = requests_in(requests, *incount);
    int err = MPI_ERR_NO_MEM;

    *outcount = 0;
    if (c != NULL) {
        err = CALL(Waitsome)(*incount, c, outcount, indices, weft_statuses(statuses));
        complete_some(requests, c, *outcount, indices);
    }
    free(c);
    weft_end(ierror, err);
}
ALSO(waitsome_f08, waitsome);

PROCEDURE(testsome, const int *incount, int *requests, int *outcount, int *indices,
          int *statuses, int *ierror)
{
    MPI_Request *c = requests_in(requests, *incount);
    int err = MPI_ERR_NO_MEM;

    *outcount = 0;
    if (c != NULL) {
        err = CALL(Testsome)(*incount, c, outcount, indices, weft_statuses(statuses));
        complete_some(requests, c, *outcount, indices);
    }
    free(c);
    weft_end(ierror, err);
}
ALSO(testsome_f08, testsome);

PROCEDURE(request_free, int *request, int *ierror)
{
    MPI_Request c = weft_request_in(*request);
    const int old = *request;
    int err = CALL(Request_free)(&c);

    if (err == MPI_SUCCESS) {
        if (weft_is_any_kept()) {
            weft_kept_free(old);
        }
        *request = weft_request_out(c);
    }
    weft_end(ierror, err);
}
ALSO(request_free_f08, request_free);

PROCEDURE(start, int *request, int *ierror)
{
    MPI_Request c = weft_request_in(*request);
    int err;

    if (weft_is_any_kept()) {
        weft_kept_start(*request);
    }
    err = CALL(Start)(&c);
    *request = weft_request_out(c);
    weft_end(ierror, err);
}
ALSO(start_f08, start);

PROCEDURE(startall, const int *count, int *requests, int *ierror)
{
    MPI_Request *c = requests_in(requests, *count);
    int err = MPI_ERR_NO_MEM;

    for (int i = 0; weft_is_any_kept() && i < *count; i++) {
        weft_kept_start(requests[i]);
    }
    if (c != NULL) {
        err = CALL(Startall)(*count, c);
    }
    free(c);
    weft_end(ierror, err);
}
ALSO(startall_f08, startall);

PROCEDURE(request_get_status_all, const int *count, const int *requests, int *flag,
          int *statuses, int *ierror)
{
    MPI_Request *c = requests_in(requests, *count);
    int is_done = 0;
    int err = MPI_ERR_NO_MEM;

    if (c != NULL) {
        err = CALL(Request_get_status_all)(*count, c, &is_done, weft_statuses(statuses));
    }
    free(c);
    *flag = weft_logical_out(is_done);
    weft_end(ierror, err);
}
ALSO(request_get_status_all_f08, request_get_status_all);

PROCEDURE(request_get_status_any, const int *count, const int *requests, int *index,
          int *flag, int *status, int *ierror)
{
    MPI_Request *c = requests_in(requests, *count);
    int is_done = 0;
    int err = MPI_ERR_NO_MEM;

    *index = MPI_UNDEFINED;
    if (c != NULL) {
        err =
            CALL(Request_get_status_any)(*count, c, index, &is_done, weft_status(status));
    }
    free(c);
    *index += *index >= 0 ? 1 : 0;
    *flag = weft_logical_out(is_done);
    weft_end(ierror, err);
}
ALSO(request_get_status_any_f08, request_get_status_any);

PROCEDURE(request_get_status_some, const int *incount, const int *requests, int *outcount,
          int *indices, int *statuses, int *ierror)
{
    MPI_Request *c = requests_in(requests, *incount);
    int err = MPI_ERR_NO_MEM;

    *outcount = 0;
    if (c != NULL) {
        err = CALL(Request_get_status_some)(*incount, c, outcount, indices,
                                            weft_statuses(statuses));
    }
    for (int i = 0; i < *outcount; i++) {
        indices[i]++;
    }
    free(c);
    weft_end(ierror, err);
}
ALSO(request_get_status_some_f08, request_get_status_some);
