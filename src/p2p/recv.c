/*
 * recv.c - the way of a message in: a receive looks for a waiting message and is posted
 * if there is none, in one step under the lock.
 */
#include "p2p/internal.h"

#include "base/copy.h"
#include "p2p/tagged.h"
#include "p2p/truncated.h"
#include "engine/lock.h"
#include "wireup/recorder.h"

void weft_p2p_deliver(struct weft_p2p_request *recv, struct weft_peer *from,
                      const struct weft_header *header, const void *data, size_t len)
{
    size_t n;

    if (weft_unlikely(header->kind != WEFT_PKT_EAGER)) {
        weft_p2p_start_transfer(recv, from, header, data, len);
        return;
    }
    n = len < recv->data.bytes ? len : (size_t)recv->data.bytes;
    if (weft_likely(recv->data.type == NULL)) {
        weft_copy(weft_data_at(&recv->data, 0), data, n);
    } else {
        weft_data_scatter(&recv->data, 0, data, n);
    }
    weft_p2p_finish_recv(recv, header, len);
}

/* For who asks what is waited for: the receive was never posted. */
static void note_message(struct weft_p2p_request *recv, const struct weft_header *header)
{
    recv->posted.context = header->context;
    recv->posted.source = (int32_t)header->source;
    recv->posted.tag = header->tag;
}

static void take_waiting(struct weft_p2p_request *recv, struct weft_unexpected *message)
{
    struct weft_p2p *p = &weft_p2p;

    weft_match_take(&p->match, &message->waiting);
    note_message(recv, &message->header);
    weft_p2p_deliver(recv, message->from, &message->header, message->data,
                     message->header.length);
    weft_unexpected_free(&p->unexpected, &p->match, message);
    weft_engine.order.is_full = p->unexpected.is_full;
}

void weft_p2p_recv_message(struct weft_p2p_request *recv, const struct weft_data *into,
                           struct weft_peer *from, const struct weft_header *header,
                           const void *data)
{
    if (weft_unlikely(into->type != NULL)) {
        weft_p2p_set_type(recv, into);
    }
    weft_p2p_fill_recv(recv, (void *)(uintptr_t)into->buffer, into->bytes);
    note_message(recv, header);
    weft_p2p_deliver(recv, from, header, data, header->length);
}

/* Fills the request and takes a message or posts. */
static enum weft_rc start(struct weft_p2p_request *recv, const struct weft_comm *comm,
                          enum weft_plane plane, int source, int tag, void *buffer,
                          size_t bytes)
{
    struct weft_p2p *p = &weft_p2p;
    const uint32_t context = comm->context | (uint32_t)plane;
    struct weft_waiting *waiting;
    enum weft_rc rc;

    weft_p2p_fill_recv(recv, buffer, bytes);
    waiting = weft_match_find(&p->match, context, source, tag);
    if (waiting != NULL) {
        take_waiting(recv, (struct weft_unexpected *)waiting);
        return WEFT_OK;
    }
    recv->posted.context = context;
    recv->posted.source = source;
    recv->posted.tag = tag;
    if (weft_likely(source != WEFT_ANY_SOURCE)) {
        const uint64_t process = weft_comm_process(comm, source);

        recv->peer = weft_peer_get(process);
        if (weft_unlikely(recv->peer == NULL)) {
            return WEFT_ERR_NOMEM;
        }
    }
    if (weft_unlikely(weft_engine.failed_count > 0)) {
        const int dead = weft_p2p_failed_source(comm, plane, source);

        if (dead != MPI_UNDEFINED &&
            !(weft_p2p_is_tagged(plane) && weft_tagged_is_waiting(comm, source, tag))) {
            weft_p2p_fail_recv(recv, dead);
            return WEFT_OK;
        }
    }
    if (weft_p2p_is_tagged(plane)) {
        return weft_tagged_recv(recv);
    }
    rc = weft_match_post(&p->match, &recv->posted);
    if (weft_likely(rc == WEFT_OK) && recv->peer != NULL) {
        recv->peer->wanted++;
    }
    return rc;
}

/* A small message that waits already goes straight to its place; AGAIN: there is none. */
static inline enum weft_rc take_at_once(const struct weft_comm *comm,
                                        enum weft_plane plane, int source, int tag,
                                        void *buffer, size_t bytes,
                                        struct weft_received *received)
{
    struct weft_p2p *p = &weft_p2p;
    struct weft_unexpected *message = (struct weft_unexpected *)weft_match_find(
        &p->match, comm->context | (uint32_t)plane, source, tag);
    enum weft_rc rc = WEFT_OK;
    size_t n;

    if (message == NULL || message->header.kind != WEFT_PKT_EAGER || p->has_checksum) {
        return WEFT_AGAIN;
    }
    n = message->header.length;
    if (weft_unlikely(n > bytes)) {
        rc = WEFT_ERR_TRUNCATE;
        weft_truncated_note(&message->header, n, bytes);
        n = bytes;
    }
    weft_copy(buffer, message->data, n);
    received->source = (int)message->header.source;
    received->tag = message->header.tag;
    received->bytes = n;
    weft_match_take(&p->match, &message->waiting);
    weft_unexpected_free(&p->unexpected, &p->match, message);
    weft_engine.order.is_full = p->unexpected.is_full;
    return rc;
}

/* The rest of a blocking receive that was started, or could not be; with the lock. */
static inline __attribute__((always_inline)) enum weft_rc
finish_blocking(struct weft_p2p_request *recv, enum weft_rc rc,
                const struct weft_comm *comm, int source, int tag, size_t bytes,
                struct weft_received *received)
{
    if (weft_likely(rc == WEFT_OK)) {
        if (!weft_request_is_complete(&recv->base)) {
            const struct weft_wait_reason why = {"MPI_Recv", comm->name, source, tag,
                                                 bytes};

            weft_wait_locked(&recv->base, &why);
        }
        rc = recv->base.rc;
        received->source = recv->base.source;
        received->tag = recv->base.tag;
        received->bytes = recv->base.bytes;
    } else if (recv != NULL) { /* nobody is to take it for one that waits */
        weft_event_set_quietly(&recv->base.event);
    }
    if (weft_likely(recv != NULL)) {
        weft_p2p_give_spare(recv);
    }
    weft_engine_leave();
    return rc;
}

/* Is it long, contiguous and posted? */
static inline bool may_be_offered(const struct weft_p2p_request *recv)
{
    return weft_unlikely(recv->data.bytes > WEFT_EAGER_MAX) &&
           !weft_request_is_complete(&recv->base) && recv->posted.state == WEFT_POSTED &&
           recv->transfer == NULL && recv->data.type == NULL;
}

/* A blocking receive that was started, or could not be. */
static inline void offer_blocking(struct weft_p2p_request *recv, enum weft_rc rc)
{
    if (may_be_offered(recv) && rc == WEFT_OK) {
        weft_p2p_offer(recv, true);
    }
}

/* With the lock. */
static inline enum weft_rc recv_slow(const struct weft_comm *comm, int source, int tag,
                                     void *buffer, size_t bytes,
                                     struct weft_received *received)
{
    struct weft_p2p_request *recv = weft_p2p_take_spare();
    enum weft_rc rc = WEFT_ERR_NOMEM;

    if (weft_likely(recv != NULL)) {
        rc = start(recv, comm, WEFT_PLANE_P2P, source, tag, buffer, bytes);
        offer_blocking(recv, rc);
    }
    return finish_blocking(recv, rc, comm, source, tag, bytes, received);
}

enum weft_rc weft_recv_call(const struct weft_comm *comm, enum weft_call_number call,
                            int source, int tag, void *buffer, size_t bytes,
                            struct weft_received *received, const void *site)
{
    enum weft_rc rc = WEFT_AGAIN;

    weft_lock();
    weft_record(call, site, comm->context | WEFT_PLANE_P2P, source, tag, (uint32_t)bytes);
    weft_recorder_enter();
    if (weft_p2p.match.waiting_count > 0) {
        rc = take_at_once(comm, WEFT_PLANE_P2P, source, tag, buffer, bytes, received);
    }
    if (rc == WEFT_AGAIN) {
        rc = recv_slow(comm, source, tag, buffer, bytes, received);
    }
    weft_recorder_leave();
    weft_unlock();
    return rc;
}

/* Fills the request, with the type if there is one, and takes a message or posts. */
static enum weft_rc start_data(struct weft_p2p_request *recv,
                               const struct weft_comm *comm, enum weft_plane plane,
                               int source, int tag, const struct weft_data *data)
{
    void *buffer = (void *)(uintptr_t)data->buffer;
    enum weft_rc rc;

    if (weft_unlikely(data->type != NULL)) {
        weft_p2p_set_type(recv, data);
    }
    rc = start(recv, comm, plane, source, tag, buffer, data->bytes);
    if (weft_unlikely(rc != WEFT_OK && data->type != NULL)) {
        weft_p2p_release(recv);
    }
    return rc;
}

enum weft_rc weft_recv_data(const struct weft_comm *comm, enum weft_plane plane,
                            int source, int tag, const struct weft_data *data,
                            struct weft_received *received)
{
    struct weft_p2p_request *recv;
    enum weft_rc rc = WEFT_ERR_NOMEM;

    weft_lock();
    recv = weft_p2p_take_spare();
    if (recv != NULL) {
        rc = start_data(recv, comm, plane, source, tag, data);
        offer_blocking(recv, rc);
    }
    rc = finish_blocking(recv, rc, comm, source, tag, data->bytes, received);
    weft_unlock();
    return rc;
}

enum weft_rc weft_recv(const struct weft_comm *comm, enum weft_plane plane, int source,
                       int tag, void *buffer, size_t bytes,
                       struct weft_received *received)
{
    const struct weft_data data = {.buffer = buffer, .bytes = bytes};

    return weft_recv_data(comm, plane, source, tag, &data, received);
}

static void hand_out(struct weft_p2p_request *recv)
{
    weft_request_hand_out(&recv->base);
    if (may_be_offered(recv)) {
        weft_p2p_offer(recv, false);
    }
}

enum weft_rc weft_irecv_locked(struct weft_comm *comm, enum weft_plane plane, int source,
                               int tag, void *buffer, size_t bytes,
                               struct weft_request **out)
{
    struct weft_request *request;
    enum weft_rc rc = weft_p2p_take_request(&request);

    if (weft_likely(rc == WEFT_OK)) {
        weft_request_set_comm(request, comm);
        rc = start((struct weft_p2p_request *)request, comm, plane, source, tag, buffer,
                   bytes);
        if (weft_unlikely(rc != WEFT_OK)) {
            weft_request_give(request);
        } else {
            hand_out((struct weft_p2p_request *)request);
            *out = request;
        }
    }
    return rc;
}

enum weft_rc weft_irecv(struct weft_comm *comm, enum weft_plane plane, int source,
                        int tag, void *buffer, size_t bytes, struct weft_request **out)
{
    enum weft_rc rc;

    weft_lock();
    rc = weft_irecv_locked(comm, plane, source, tag, buffer, bytes, out);
    weft_engine_leave();
    weft_unlock();
    return rc;
}

enum weft_rc weft_irecv_block(struct weft_comm *comm, int source, int tag, void *buffer,
                              size_t bytes, struct weft_request **out)
{
    return weft_irecv_locked(comm, WEFT_PLANE_P2P, source, tag, buffer, bytes, out);
}

enum weft_rc weft_irecv_data_locked(struct weft_comm *comm, enum weft_plane plane,
                                    int source, int tag, const struct weft_data *data,
                                    struct weft_request **out)
{
    struct weft_request *request;
    enum weft_rc rc = weft_p2p_take_request(&request);

    if (weft_likely(rc == WEFT_OK)) {
        struct weft_p2p_request *recv = (struct weft_p2p_request *)request;

        weft_request_set_comm(request, comm);
        rc = weft_p2p_recv_with_request(recv, comm, plane, source, tag, data);
        if (weft_unlikely(rc != WEFT_OK)) {
            weft_request_give(request);
        } else {
            *out = request;
        }
    }
    return rc;
}

enum weft_rc weft_irecv_data(struct weft_comm *comm, enum weft_plane plane, int source,
                             int tag, const struct weft_data *data,
                             struct weft_request **out)
{
    enum weft_rc rc;

    weft_lock();
    rc = weft_irecv_data_locked(comm, plane, source, tag, data, out);
    weft_engine_leave();
    weft_unlock();
    return rc;
}

enum weft_rc weft_p2p_recv_with_request(struct weft_p2p_request *recv,
                                        const struct weft_comm *comm,
                                        enum weft_plane plane, int source, int tag,
                                        const struct weft_data *data)
{
    const enum weft_rc rc = start_data(recv, comm, plane, source, tag, data);

    if (weft_likely(rc == WEFT_OK)) {
        hand_out(recv);
    }
    return rc;
}

bool weft_p2p_cancel(struct weft_request *request)
{
    struct weft_p2p_request *recv = (struct weft_p2p_request *)request;
    bool is_offered;

    if (request->kind != WEFT_REQUEST_RECV || weft_request_is_complete(request) ||
        weft_p2p_recall(recv)) {
        return false;
    }
    if (recv->posted.state == WEFT_POSTED_AWAY) {
        return weft_tagged_cancel(recv);
    }
    is_offered = recv->posted.offer != NULL;
    if (!weft_match_cancel(&weft_p2p.match, &recv->posted)) {
        return false;
    }
    if (recv->peer != NULL) {
        recv->peer->wanted--;
    }
    if (is_offered) {
        weft_p2p_withdraw(recv);
    }
    weft_p2p_release(recv);
    return true;
}

enum weft_rc weft_irecv_nothing(struct weft_comm *comm, struct weft_request **out)
{
    enum weft_rc rc;

    weft_lock();
    rc = weft_request_take(out);
    if (rc == WEFT_OK) {
        (*out)->kind = WEFT_REQUEST_RECV;
        if (comm != NULL) {
            weft_request_set_comm(*out, comm);
        }
        (*out)->source = MPI_PROC_NULL;
        (*out)->tag = MPI_ANY_TAG;
        (*out)->bytes = 0;
        weft_request_complete(*out, WEFT_OK);
    }
    weft_unlock();
    return rc;
}
