#include "core/request.h"

#include "base/futex.h"

static struct weft_pool pool;

/* Outside the pool; its handle has an index that no pool gives out. */
static const uintptr_t SENT_HANDLE =
    (uintptr_t)1 << 32 | (uintptr_t)WEFT_KIND_REQUEST << WEFT_HANDLE_INDEX_BITS |
    ((1u << WEFT_HANDLE_INDEX_BITS) - 1);

struct weft_request weft_request_sent = {
    .is_complete = 1,
    .kind = WEFT_REQUEST_SEND,
    .is_shared = true,
    .source = MPI_ANY_SOURCE,
    .tag = MPI_ANY_TAG,
};

void weft_request_open(size_t size)
{
    weft_pool_init(&pool, size, 16, (1u << WEFT_HANDLE_INDEX_BITS) - 1);
    pool.zeroed = sizeof(struct weft_request); /* the rest is filled in by its user */
    weft_handle_register(WEFT_KIND_REQUEST, &pool);
    weft_request_sent.handle = (MPI_Request)SENT_HANDLE;
}

void weft_request_close(void)
{
    weft_pool_fini(&pool);
}

enum weft_rc weft_request_take(struct weft_request **out)
{
    void *object;
    uintptr_t handle;
    enum weft_rc rc = weft_handle_take(WEFT_KIND_REQUEST, &object, &handle);

    if (weft_likely(rc == WEFT_OK)) {
        *out = object;
        (*out)->handle = (MPI_Request)handle;
    }
    return rc;
}

void weft_request_give(struct weft_request *request)
{
    if (!request->is_shared) {
        if (request->comm != NULL) {
            weft_comm_release(request->comm);
        }
        weft_handle_give(WEFT_KIND_REQUEST, (uintptr_t)request->handle);
    }
}

struct weft_request *weft_request_from_handle(MPI_Request handle)
{
    if ((uintptr_t)handle == SENT_HANDLE) {
        return &weft_request_sent;
    }
    return weft_handle_find(WEFT_KIND_REQUEST, (uintptr_t)handle);
}

void weft_request_complete(struct weft_request *request, enum weft_rc rc)
{
    request->rc = rc;
    /* Release: who sees it complete sees the data and the status. */
    atomic_store_explicit(&request->is_complete, 1, memory_order_release);
    if (weft_unlikely(request->sleeper != NULL)) {
        atomic_fetch_add_explicit(request->sleeper, 1, memory_order_release);
        weft_futex_wake(request->sleeper, 1);
    }
}
