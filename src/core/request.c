#include "core/request.h"

#include "engine/engine.h"
#include "engine/hot.h"

static struct weft_pool pool;
static struct weft_request
    *spare; /* given back; each with the handle it will have next */

static struct weft_schedule *first_ready;
static struct weft_schedule *last_ready;

/* Outside the pool; its handle has an index that no pool gives out. */
static const uintptr_t SENT_HANDLE =
    (uintptr_t)1 << 32 | (uintptr_t)WEFT_KIND_REQUEST << WEFT_HANDLE_INDEX_BITS |
    ((1u << WEFT_HANDLE_INDEX_BITS) - 1);

struct weft_request weft_request_sent = {
    .event = {.is_set = 1},
    .kind = WEFT_REQUEST_SEND,
    .is_shared = true,
    .source = MPI_ANY_SOURCE,
    .tag = MPI_ANY_TAG,
};

/* The engine's hook: advances those that are ready, in the order in which they became so.
 */
static void run_ready(void)
{
    while (first_ready != NULL) {
        struct weft_schedule *schedule = first_ready;

        first_ready = schedule->next;
        schedule->is_ready = false;
        weft_reason_drop(WEFT_REASON_READY);
        schedule->advance(schedule);
    }
}

void weft_request_open(size_t size)
{
    weft_pool_init(&pool, size, 16, (1u << WEFT_HANDLE_INDEX_BITS) - 1);
    weft_handle_register(WEFT_KIND_REQUEST, &pool);
    weft_handle_register_outside(WEFT_KIND_REQUEST, SENT_HANDLE);
    weft_request_sent.handle = (MPI_Request)SENT_HANDLE;
    first_ready = NULL;
    weft_engine_on_ready(run_ready);
}

void weft_request_close(void)
{
    spare = NULL;
    weft_pool_fini(&pool);
}

enum weft_rc weft_request_take(struct weft_request **out)
{
    struct weft_request *request = spare;
    void *object;
    uintptr_t handle;
    enum weft_rc rc;

    if (weft_likely(request != NULL)) {
        spare = request->next_spare;
        weft_event_clear(&request->event);
        request->is_cancelled = false;
        request->comm = NULL;
        request->is_spare = false;
        request->is_detached = false;
        request->schedule = NULL;
        *out = request;
        return WEFT_OK;
    }
    rc = weft_handle_take(WEFT_KIND_REQUEST, &object, &handle);
    if (weft_likely(rc == WEFT_OK)) {
        *out = object;
        (*out)->handle = (MPI_Request)handle;
    }
    return rc;
}

void weft_request_give(struct weft_request *request)
{
    if (!request->is_shared) {
        if (weft_unlikely(request->persistent != NULL)) {
            request->persistent->close(request->persistent);
            request->persistent = NULL;
            request->is_inactive = false;
        }
        if (request->comm != NULL) {
            weft_comm_release(request->comm);
        }
        request->handle =
            (MPI_Request)weft_handle_renew((uintptr_t)request->handle, request);
        request->is_spare = true;
        request->next_spare = spare;
        spare = request;
    }
}

enum weft_rc weft_request_reserve(uint32_t count)
{
    struct weft_request *request;
    uint32_t there = 0;
    enum weft_rc rc;

    for (request = spare; request != NULL && there < count;
         request = request->next_spare) {
        there++;
    }
    if (there == count) {
        return WEFT_OK;
    }
    rc = weft_request_take(&request);
    if (rc == WEFT_OK) {
        rc = weft_request_reserve(count - 1);
        weft_request_give(request);
    }
    return rc;
}

uint64_t weft_request_count(void)
{
    uint64_t count = pool.in_use;

    for (const struct weft_request *r = spare; r != NULL; r = r->next_spare) {
        count--;
    }
    return count;
}

static void rest(struct weft_request *request)
{
    request->is_inactive = true;
    weft_event_set_quietly(&request->event);
}

void weft_request_set_persistent(struct weft_request *request,
                                 struct weft_persistent *persistent)
{
    request->persistent = persistent;
    rest(request);
}

enum weft_rc weft_request_start(struct weft_request *request)
{
    enum weft_rc rc;

    request->is_inactive = false;
    request->is_cancelled = false;
    weft_event_clear(&request->event);
    rc = request->persistent->start(request);
    if (weft_unlikely(rc != WEFT_OK)) {
        rest(request);
    }
    return rc;
}

void weft_request_detach(struct weft_request *request)
{
    if (weft_request_is_complete(request)) {
        weft_request_give(request);
    } else {
        request->is_detached = true;
    }
}

struct weft_request *weft_request_next_detached(enum weft_request_kind kind,
                                                uint32_t *index)
{
    while (*index < pool.made) {
        const uint32_t i = (*index)++;
        struct weft_request *request =
            weft_pool_find(&pool, i, weft_pool_generation(&pool, i));

        if (request != NULL && request->kind == kind && !request->is_spare &&
            request->is_detached && !weft_request_is_complete(request)) {
            return request;
        }
    }
    return NULL;
}

void weft_request_each(void (*visit)(struct weft_request *request))
{
    for (uint32_t i = 0; i < pool.made; i++) {
        struct weft_request *request =
            weft_pool_find(&pool, i, weft_pool_generation(&pool, i));

        if (request != NULL && !request->is_spare && !weft_request_is_complete(request)) {
            visit(request);
        }
    }
}

void weft_request_look(uint32_t most,
                       void (*visit)(const struct weft_request *request, void *owner),
                       void *owner)
{
    for (uint32_t i = 0; i < pool.made && i < most; i++) {
        const struct weft_request *request =
            weft_pool_find(&pool, i, weft_pool_generation(&pool, i));

        if (request != NULL && !request->is_spare && !weft_request_is_complete(request)) {
            visit(request, owner);
        }
    }
}

struct weft_request *weft_request_from_handle(MPI_Request handle)
{
    struct weft_request *request;

    if ((uintptr_t)handle == SENT_HANDLE) {
        return &weft_request_sent;
    }
    request = weft_handle_find(WEFT_KIND_REQUEST, (uintptr_t)handle);
    return weft_likely(request != NULL && !request->is_spare) ? request : NULL;
}

static void make_ready(struct weft_schedule *schedule)
{
    if (schedule->is_ready) {
        return;
    }
    schedule->is_ready = true;
    schedule->next = NULL;
    weft_reason_add(WEFT_REASON_READY);
    if (first_ready == NULL) {
        first_ready = schedule;
    } else {
        last_ready->next = schedule;
    }
    last_ready = schedule;
}

void weft_request_set_schedule(struct weft_request *request,
                               struct weft_schedule *schedule)
{
    request->schedule = schedule;
    if (!schedule->is_patient) {
        weft_reason_add(WEFT_REASON_STEPS);
    }
}

static void tell(struct weft_request *request)
{
    struct weft_schedule *schedule = request->schedule;

    weft_event_wake(&request->event);
    if (schedule != NULL) {
        if (!schedule->is_patient) {
            weft_reason_drop(WEFT_REASON_STEPS);
        }
        make_ready(schedule);
    }
}

void weft_request_complete(struct weft_request *request, enum weft_rc rc)
{
    request->rc = rc;
    if (request->is_outstanding) {
        request->is_outstanding = false;
        weft_reason_drop(WEFT_REASON_REQUESTS);
    }
    weft_event_set(&request->event);
    if (weft_unlikely(((uintptr_t)request->event.futex | (uintptr_t)request->schedule) !=
                      0)) {
        tell(request);
    }
    if (weft_unlikely(request->is_detached)) {
        weft_request_give(request);
    }
}
