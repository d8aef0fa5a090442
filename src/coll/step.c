#include "coll/step.h"

#include "p2p/p2p.h"
#include "engine/lock.h"

#include <string.h>

/* A collective that a death has brought to an end, and all others on its communicator. */
static bool is_revoked(const struct weft_coll *coll)
{
    return weft_unlikely(coll->comm->revoked_below != 0);
}

enum weft_rc weft_coll_post(const struct weft_coll *coll, int source, void *buffer,
                            size_t bytes, struct weft_coll_step *step)
{
    weft_assert_unlocked();
    step->peer = source;
    step->bytes = bytes;
    if (is_revoked(coll)) {
        return WEFT_ERR_PROC_FAILED;
    }
    return weft_irecv(coll->comm, WEFT_PLANE_COLL, source, (int)coll->kind, buffer, bytes,
                      &step->request);
}

enum weft_rc weft_coll_finish(const struct weft_coll *coll,
                              const struct weft_coll_step *step)
{
    const struct weft_wait_reason why = {coll->name, coll->comm->name, step->peer,
                                         (int)coll->kind, step->bytes};
    enum weft_rc rc;

    weft_assert_unlocked();
    weft_wait(step->request, &why);
    rc = step->request->rc;
    if (!step->request->is_shared) {
        weft_lock();
        weft_request_give(step->request);
        weft_unlock();
    }
    if (weft_unlikely(rc == WEFT_ERR_PROC_FAILED)) {
        weft_p2p_revoke(coll->comm, WEFT_COLL_KINDS);
    }
    return rc;
}

enum weft_rc weft_coll_send(const struct weft_coll *coll, int dest, const void *buffer,
                            size_t bytes)
{
    struct weft_coll_step step = {.peer = dest, .bytes = bytes};
    enum weft_rc rc;

    weft_assert_unlocked();
    if (is_revoked(coll)) {
        return WEFT_ERR_PROC_FAILED;
    }
    rc = weft_isend(coll->comm, dest, (int)coll->kind, buffer, bytes,
                    WEFT_PLANE_COLL | WEFT_SEND_STANDARD, &step.request);
    return rc == WEFT_OK ? weft_coll_finish(coll, &step) : rc;
}

enum weft_rc weft_coll_recv(const struct weft_coll *coll, int source, void *buffer,
                            size_t bytes)
{
    struct weft_coll_step step;
    enum weft_rc rc = weft_coll_post(coll, source, buffer, bytes, &step);

    weft_assert_unlocked();
    return rc == WEFT_OK ? weft_coll_finish(coll, &step) : rc;
}

enum weft_rc weft_coll_exchange(const struct weft_coll *coll, int dest, const void *send,
                                size_t send_bytes, int source, void *recv,
                                size_t recv_bytes)
{
    struct weft_coll_step step;
    enum weft_rc received;
    enum weft_rc rc = weft_coll_post(coll, source, recv, recv_bytes, &step);

    if (rc != WEFT_OK) {
        return rc;
    }
    rc = weft_coll_send(coll, dest, send, send_bytes);
    if (rc != WEFT_OK && rc != WEFT_ERR_PROC_FAILED) {
        return rc;
    }
    received = weft_coll_finish(coll, &step); /* a death is the end of it, too */
    return rc == WEFT_OK ? received : rc;
}

enum weft_rc weft_coll_copy(const void *from, size_t from_bytes, void *to,
                            size_t to_bytes)
{
    if (from_bytes > to_bytes) {
        return WEFT_ERR_TRUNCATE;
    }
    if (from_bytes > 0) {
        memcpy(to, from, from_bytes);
    }
    return WEFT_OK;
}
