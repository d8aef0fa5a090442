/*
 * complete.c - starting, completing and freeing requests.
 *
 * Indices begin with 1 in Fortran. What keep.c holds for a request is released here.
 */
#include "fortran.h"

#include <stdlib.h>

/* Requests of C, and what is kept for each. */
struct requests {
    MPI_Request *c;      /* NULL: there is no memory */
    unsigned long *kept; /* NULL: nothing for any */
};

static struct requests requests_in(const int *handles, int count)
{
    const size_t items = count > 0 ? (size_t)count : 1;
    struct requests r = {.c = malloc(items * sizeof(*r.c))};

    if (r.c != NULL && weft_is_any_kept()) {
        r.kept = malloc(items * sizeof(*r.kept));
    }
    for (int i = 0; r.c != NULL && i < count; i++) {
        r.c[i] = weft_request_in(handles[i]);
        if (r.kept != NULL) {
            r.kept[i] = weft_kept_of(handles[i]);
        }
    }
    return r;
}

static void requests_free(struct requests *r)
{
    free(r->c);
    free(r->kept);
}

/* A request has been completed. */
static void complete(int *handles, const struct requests *r, int i)
{
    if (r->kept != NULL) {
        weft_kept_complete(r->kept[i]);
    }
    handles[i] = weft_request_out(r->c[i]);
}

/* Those that are null now are complete; with `is_all_done`, persistent ones are, too. */
static void complete_changed(int *handles, const struct requests *r, int count,
                             bool is_all_done)
{
    for (int i = 0; r->c != NULL && i < count; i++) {
        if (is_all_done || r->c[i] == MPI_REQUEST_NULL) {
            complete(handles, r, i);
        }
    }
}

PROCEDURE(wait, int *request, int *status, int *ierror)
{
    const unsigned long kept = weft_kept_of(*request);
    MPI_Request c = weft_request_in(*request);
    int err = CALL(Wait)(&c, weft_status(status));

    if (err == MPI_SUCCESS || c == MPI_REQUEST_NULL) {
        weft_kept_complete(kept);
        *request = weft_request_out(c);
    }
    weft_end(ierror, err);
}
ALSO(wait_f08, wait);

PROCEDURE(test, int *request, int *flag, int *status, int *ierror)
{
    const unsigned long kept = weft_kept_of(*request);
    MPI_Request c = weft_request_in(*request);
    int is_done = 0;
    int err = CALL(Test)(&c, &is_done, weft_status(status));

    if (is_done || c == MPI_REQUEST_NULL) {
        weft_kept_complete(kept);
        *request = weft_request_out(c);
    }
    *flag = weft_logical_out(is_done);
    weft_end(ierror, err);
}
ALSO(test_f08, test);

PROCEDURE(waitall, const int *count, int *requests, int *statuses, int *ierror)
{
    struct requests r = requests_in(requests, *count);
    int err = weft_need(WEFT_CALL("MPI_Waitall"), r.c);

    if (err == MPI_SUCCESS) {
        err = CALL(Waitall)(*count, r.c, weft_statuses(statuses));
    }
    complete_changed(requests, &r, *count, err == MPI_SUCCESS);
    requests_free(&r);
    weft_end(ierror, err);
}
ALSO(waitall_f08, waitall);

PROCEDURE(testall, const int *count, int *requests, int *flag, int *statuses, int *ierror)
{
    struct requests r = requests_in(requests, *count);
    int is_done = 0;
    int err = weft_need(WEFT_CALL("MPI_Testall"), r.c);

    if (err == MPI_SUCCESS) {
        err = CALL(Testall)(*count, r.c, &is_done, weft_statuses(statuses));
    }
    complete_changed(requests, &r, *count, is_done);
    requests_free(&r);
    *flag = weft_logical_out(is_done);
    weft_end(ierror, err);
}
ALSO(testall_f08, testall);

static void complete_one(int *handles, const struct requests *r, int *index)
{
    if (*index >= 0) {
        complete(handles, r, *index);
        *index += 1;
    }
}

PROCEDURE(waitany, const int *count, int *requests, int *index, int *status, int *ierror)
{
    struct requests r = requests_in(requests, *count);
    int err = weft_need(WEFT_CALL("MPI_Waitany"), r.c);

    *index = MPI_UNDEFINED;
    if (err == MPI_SUCCESS) {
        err = CALL(Waitany)(*count, r.c, index, weft_status(status));
        complete_one(requests, &r, index);
    }
    requests_free(&r);
    weft_end(ierror, err);
}
ALSO(waitany_f08, waitany);

PROCEDURE(testany, const int *count, int *requests, int *index, int *flag, int *status,
          int *ierror)
{
    struct requests r = requests_in(requests, *count);
    int is_done = 0;
    int err = weft_need(WEFT_CALL("MPI_Testany"), r.c);

    *index = MPI_UNDEFINED;
    if (err == MPI_SUCCESS) {
        err = CALL(Testany)(*count, r.c, index, &is_done, weft_status(status));
        complete_one(requests, &r, index);
    }
    requests_free(&r);
    *flag = weft_logical_out(is_done);
    weft_end(ierror, err);
}
ALSO(testany_f08, testany);

static void complete_some(int *handles, const struct requests *r, int count, int *indices)
{
    for (int i = 0; i < count; i++) { /* MPI_UNDEFINED is negative */
        complete_one(handles, r, &indices[i]);
    }
}

PROCEDURE(waitsome, const int *incount, int *requests, int *outcount, int *indices,
          int *statuses, int *ierror)
{
    struct requests r = requests_in(requests, *incount);
    int err = weft_need(WEFT_CALL("MPI_Waitsome"), r.c);

    *outcount = 0;
    if (err == MPI_SUCCESS) {
        err = CALL(Waitsome)(*incount, r.c, outcount, indices, weft_statuses(statuses));
        complete_some(requests, &r, *outcount, indices);
    }
    requests_free(&r);
    weft_end(ierror, err);
}
ALSO(waitsome_f08, waitsome);

PROCEDURE(testsome, const int *incount, int *requests, int *outcount, int *indices,
          int *statuses, int *ierror)
{
    struct requests r = requests_in(requests, *incount);
    int err = weft_need(WEFT_CALL("MPI_Testsome"), r.c);

    *outcount = 0;
    if (err == MPI_SUCCESS) {
        err = CALL(Testsome)(*incount, r.c, outcount, indices, weft_statuses(statuses));
        complete_some(requests, &r, *outcount, indices);
    }
    requests_free(&r);
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
    struct requests r = requests_in(requests, *count);
    int err = weft_need(WEFT_CALL("MPI_Startall"), r.c);

    for (int i = 0; weft_is_any_kept() && i < *count; i++) {
        weft_kept_start(requests[i]);
    }
    if (err == MPI_SUCCESS) {
        err = CALL(Startall)(*count, r.c);
    }
    requests_free(&r);
    weft_end(ierror, err);
}
ALSO(startall_f08, startall);

PROCEDURE(request_get_status, const int *request, int *flag, int *status, int *ierror)
{
    const unsigned long kept = weft_kept_of(*request);
    int is_done = 0;
    int err = CALL(Request_get_status)(weft_request_in(*request), &is_done,
                                       weft_status(status));

    if (is_done) {
        weft_kept_look(kept);
    }
    *flag = weft_logical_out(is_done);
    weft_end(ierror, err);
}
ALSO(request_get_status_f08, request_get_status);

/* Request `i` is complete, and stays. */
static void look(const struct requests *r, int i)
{
    if (r->kept != NULL) {
        weft_kept_look(r->kept[i]);
    }
}

PROCEDURE(request_get_status_all, const int *count, const int *requests, int *flag,
          int *statuses, int *ierror)
{
    struct requests r = requests_in(requests, *count);
    int is_done = 0;
    int err = weft_need(WEFT_CALL("MPI_Request_get_status_all"), r.c);

    if (err == MPI_SUCCESS) {
        err =
            CALL(Request_get_status_all)(*count, r.c, &is_done, weft_statuses(statuses));
    }
    for (int i = 0; is_done && i < *count; i++) {
        look(&r, i);
    }
    requests_free(&r);
    *flag = weft_logical_out(is_done);
    weft_end(ierror, err);
}
ALSO(request_get_status_all_f08, request_get_status_all);

PROCEDURE(request_get_status_any, const int *count, const int *requests, int *index,
          int *flag, int *status, int *ierror)
{
    struct requests r = requests_in(requests, *count);
    int is_done = 0;
    int err = weft_need(WEFT_CALL("MPI_Request_get_status_any"), r.c);

    *index = MPI_UNDEFINED;
    if (err == MPI_SUCCESS) {
        err = CALL(Request_get_status_any)(*count, r.c, index, &is_done,
                                           weft_status(status));
    }
    if (is_done && *index >= 0) {
        look(&r, *index);
        *index += 1;
    }
    requests_free(&r);
    *flag = weft_logical_out(is_done);
    weft_end(ierror, err);
}
ALSO(request_get_status_any_f08, request_get_status_any);

PROCEDURE(request_get_status_some, const int *incount, const int *requests, int *outcount,
          int *indices, int *statuses, int *ierror)
{
    struct requests r = requests_in(requests, *incount);
    int err = weft_need(WEFT_CALL("MPI_Request_get_status_some"), r.c);

    *outcount = 0;
    if (err == MPI_SUCCESS) {
        err = CALL(Request_get_status_some)(*incount, r.c, outcount, indices,
                                            weft_statuses(statuses));
    }
    for (int i = 0; i < *outcount; i++) {
        look(&r, indices[i]);
        indices[i]++;
    }
    requests_free(&r);
    weft_end(ierror, err);
}
ALSO(request_get_status_some_f08, request_get_status_some);
