#include "check/record.h"

#include "datatype/datatype.h"
#include "p2p/p2p.h"

enum { LOOK_MOST = 8 }; /* requests of a call that waits for several */

static uint32_t saturate(uint64_t bytes)
{
    return bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX;
}

static uint32_t context_of(const struct weft_comm *comm, enum weft_plane plane)
{
    return comm != NULL ? comm->context | (uint32_t)plane : WEFT_TRACE_NO_CONTEXT;
}

/* Where one thread at a time calls MPI, it needs no lock. */
static bool lock(void)
{
    const bool is_shared = !weft_lock_is_biased();

    if (is_shared) {
        weft_lock();
    }
    return is_shared;
}

static void unlock(bool is_shared)
{
    if (is_shared) {
        weft_unlock();
    }
}

void weft_record_slowly(enum weft_call_number call, const void *site, uint32_t context,
                        int peer, int tag, uint64_t bytes)
{
    const bool is_shared = lock();

    weft_recorder_call(call, site, context, peer, tag, saturate(bytes));
    unlock(is_shared);
}

void weft_record_begin(enum weft_call_number call, const void *site, MPI_Comm comm,
                       enum weft_plane plane, int peer, int tag, uint64_t bytes)
{
    const struct weft_comm *c = weft_comm_from_handle(comm);

    weft_record_slowly(call, site, context_of(c, plane), peer, tag, bytes);
}

void weft_record_plain(enum weft_call_number call, const void *site)
{
    weft_record_slowly(call, site, WEFT_TRACE_NO_CONTEXT, WEFT_DOING_UNKNOWN, MPI_ANY_TAG,
                       0);
}

void weft_record_abort(const void *site, const struct weft_comm *comm, int code)
{
    weft_recorder_call(WEFT_CALL_Abort, site, context_of(comm, WEFT_PLANE_P2P),
                       WEFT_DOING_UNKNOWN, code, 0);
}

uint64_t weft_record_bytes(MPI_Count count, MPI_Datatype datatype)
{
    const struct weft_datatype *type = weft_datatype_from_handle(datatype);
    uint64_t bytes;

    if (type == NULL || count < 0) {
        return 0;
    }
    return __builtin_mul_overflow((uint64_t)count, (uint64_t)type->size, &bytes)
               ? UINT64_MAX
               : bytes;
}

void weft_record_poll(enum weft_call_number call, const void *site, MPI_Comm comm,
                      int peer, int tag)
{
    const struct weft_comm *c =
        comm != MPI_COMM_NULL ? weft_comm_from_handle(comm) : NULL;
    const bool is_shared = lock();

    weft_recorder_poll(call, site, context_of(c, WEFT_PLANE_P2P), peer, tag);
    unlock(is_shared);
}

void weft_record_awaited(const struct weft_request *request,
                         const struct weft_wait_reason *why)
{
    const bool is_message =
        request->kind == WEFT_REQUEST_SEND || request->kind == WEFT_REQUEST_RECV;

    if (weft_lock_is_biased()) {
        weft_recorder_awaits(
            context_of(request->comm, is_message ? WEFT_PLANE_P2P : WEFT_PLANE_COLL),
            is_message ? why->peer : WEFT_DOING_UNKNOWN, why->tag, saturate(why->bytes));
    }
}

/* The first of them that is not complete; NULL: none of the first few. */
static const struct weft_request *find_awaited(int count, const MPI_Request *requests)
{
    for (int i = 0; requests != NULL && i < count && i < LOOK_MOST; i++) {
        const struct weft_request *request = requests[i] != MPI_REQUEST_NULL
                                                 ? weft_request_from_handle(requests[i])
                                                 : NULL;

        if (request != NULL && !weft_request_is_complete(request)) {
            return request;
        }
    }
    return NULL;
}

void weft_record_wait(enum weft_call_number call, const void *site, int count,
                      const MPI_Request *requests)
{
    const struct weft_request *request;

    weft_lock(); /* another thread completes requests, too */
    request = find_awaited(count, requests);
    if (request == NULL) {
        weft_recorder_call(call, site, WEFT_TRACE_NO_CONTEXT, WEFT_DOING_UNKNOWN,
                           MPI_ANY_TAG, 0);
    } else if (request->kind == WEFT_REQUEST_SEND || request->kind == WEFT_REQUEST_RECV) {
        const struct weft_wait_reason why = weft_p2p_wait_reason(request, "");

        weft_recorder_call(call, site, context_of(request->comm, WEFT_PLANE_P2P),
                           why.peer, why.tag, saturate(why.bytes));
    } else {
        weft_recorder_call(call, site, context_of(request->comm, WEFT_PLANE_COLL),
                           WEFT_DOING_UNKNOWN, MPI_ANY_TAG, 0);
    }
    weft_unlock();
}
