/*
 * grequest.h - generalized requests: operations that the program performs itself.
 *
 * Complete when the program says so; then the call that completes the request asks the
 * query callback for the status and lets the free callback clean up, both without the
 * lock. A request that was freed before it was complete is cleaned up when it is.
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
