/*
 * grequest.c - MPI-5.0 chapter 13.2: generalized requests.
 */
#include "complete.h"

#include "check/rc.h"
#include "core/grequest.h"
#include "engine/lock.h"

int PMPI_Grequest_start(MPI_Grequest_query_function *query_fn,
                        MPI_Grequest_free_function *free_fn,
                        MPI_Grequest_cancel_function *cancel_fn, void *extra_state,
                        MPI_Request *request)
{
    static const char function[] = "MPI_Grequest_start";
    struct weft_request *made = NULL;
    enum weft_rc rc;
    int err = weft_check_open(function);

    if (err == MPI_SUCCESS) {
        err = weft_check_out(function, NULL, request, "request");
    }
    if (err == MPI_SUCCESS &&
        (query_fn == NULL || free_fn == NULL || cancel_fn == NULL)) {
        err = weft_raise(function, WEFT_E_NULL_CALLBACK);
    }
    if (err != MPI_SUCCESS) {
        return err;
    }
    weft_lock();
    rc = weft_request_take(&made);
    if (rc == WEFT_OK) {
        struct weft_grequest *g = (struct weft_grequest *)made;

        made->kind = WEFT_REQUEST_GENERALIZED;
        g->query = query_fn;
        g->free_fn = free_fn;
        g->cancel = cancel_fn;
        g->extra_state = extra_state;
        *request = made->handle;
    }
    weft_unlock();
    return weft_raise_rc(NULL, rc, function);
}
WEFT_WEAK_ALIAS(MPI_Grequest_start, PMPI_Grequest_start);

/* One that was freed is cleaned up here: nobody will wait for it. */
int PMPI_Grequest_complete(MPI_Request request)
{
    static const char function[] = "MPI_Grequest_complete";
    struct weft_request *r;
    struct weft_grequest freed;
    bool is_freed;
    int err = weft_find_request(function, request, &r);

    if (err != MPI_SUCCESS) {
        return err;
    }
    weft_lock();
    if (r->kind != WEFT_REQUEST_GENERALIZED || weft_request_is_complete(r)) {
        weft_unlock();
        return weft_raise(function, WEFT_E_REQUEST_NOT_GENERAL);
    }
    freed = *(struct weft_grequest *)r;
    is_freed = r->is_detached;
    weft_request_complete(r, WEFT_OK); /* gives it back, if it was freed */
    weft_unlock();
    if (is_freed) {
        err = freed.free_fn(freed.extra_state);
    }
    return err == MPI_SUCCESS ? err : weft_raise(function, err, WEFT_T_REQUEST_FREE, err);
}
WEFT_WEAK_ALIAS(MPI_Grequest_complete, PMPI_Grequest_complete);
