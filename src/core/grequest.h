/*
 * grequest.h - generalized requests: operations that the program performs itself.
 *
 * A request is complete when the program calls MPI_Grequest_complete. The call that then
 * waits for it or tests it runs the query callback, for the status, and the free
 * callback, both without the lock. The free callback of a request that was freed before
 * it was complete runs when it is complete.
 */
#ifndef WEFT_CORE_GREQUEST_H
#define WEFT_CORE_GREQUEST_H

#include "core/request.h"

struct weft_grequest {
    struct weft_request base; /* first */
    MPI_Grequest_query_function *query;
    MPI_Grequest_free_function *free_fn;
    MPI_Grequest_cancel_function *cancel;
    void *extra_state;
};

#endif
