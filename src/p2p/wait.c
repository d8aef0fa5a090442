/*
 * wait.c - waiting for requests; engine/wait.c does it.
 */
#include "engine/lock.h"
#include "engine/wait.h"
#include "p2p/internal.h"

static struct weft_event *event_at(const void *list, int i)
{
    struct weft_request *const *requests = list;

    return &requests[i]->event;
}

/* One small message comes soon. */
static bool is_brief(const struct weft_request *request)
{
    return request->kind == WEFT_REQUEST_RECV &&
           ((const struct weft_p2p_request *)request)->data.bytes <= WEFT_EAGER_MAX;
}

void weft_wait_locked(struct weft_request *request, const struct weft_wait_reason *why)
{
    const struct weft_wait wait = {event_at, &request, 1, is_brief(request), false};

    weft_engine_wait(&wait, why);
}

void weft_wait(struct weft_request *request, const struct weft_wait_reason *why)
{
    if (!weft_request_is_complete(request)) {
        weft_lock();
        weft_wait_locked(request, why);
        weft_engine_leave();
        weft_unlock();
    }
}

void weft_wait_any(struct weft_request *const *requests, int count,
                   const struct weft_wait_reason *why)
{
    const struct weft_wait wait = {event_at, requests, count,
                                   count == 1 && is_brief(requests[0]), false};

    if (count > 0 && !weft_wait_is_over(&wait)) {
        weft_lock();
        weft_engine_wait(&wait, why);
        weft_engine_leave();
        weft_unlock();
    }
}

/* What nobody holds nobody can wait for; so we hold it for as long as we wait. */
void weft_p2p_wait_detached(const struct weft_comm *comm, const char *call)
{
    const struct weft_wait_reason why = {call, comm != NULL ? comm->name : "",
                                         MPI_ANY_SOURCE, MPI_ANY_TAG, 0};
    struct weft_request *request;
    uint32_t index = 0;

    weft_lock();
    while ((request = weft_request_next_detached(WEFT_REQUEST_SEND, &index)) != NULL) {
        if (comm != NULL && request->comm != comm) {
            continue;
        }
        request->is_detached = false;
        weft_wait_locked(request, &why);
        weft_request_give(request);
    }
    weft_engine_leave();
    weft_unlock();
}
