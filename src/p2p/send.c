/*
 * send.c - the way of a message out. The common case, small and with room in the queue,
 * goes straight down; everything rarer leaves through a named function.
 */
#include "p2p/internal.h"

#include "p2p/send_small.h"
#include "p2p/tagged.h"
#include "engine/lock.h"
#include "engine/promote.h"
#include "transfer/accessible.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static unsigned plane_of(unsigned flags)
{
    return flags & (WEFT_PLANES - 1);
}

static enum weft_send_mode mode_of(unsigned flags)
{
    return (enum weft_send_mode)(flags & ~(unsigned)(WEFT_PLANES - 1));
}

static struct weft_header make_header(const struct weft_comm *comm, unsigned flags,
                                      int tag, enum weft_packet kind)
{
    return (struct weft_header){
        .kind = (uint8_t)kind,
        .context = comm->context | plane_of(flags),
        .source = (uint32_t)comm->rank,
        .tag = tag,
    };
}

/* One try to get a send request's packet out. */
static enum weft_rc try_send(struct weft_p2p_request *send)
{
    enum weft_rc rc;

    if (weft_tagged_has(send)) {
        return weft_tagged_try_send(send);
    }
    if (send->transfer != NULL) {
        return weft_p2p_try_long(send);
    }
    if (weft_unlikely(send->data.type != NULL)) {
        uint8_t packed[WEFT_EAGER_MAX];

        weft_data_gather(&send->data, 0, packed, (size_t)send->data.bytes);
        rc = weft_engine_send(send->peer, &send->header, packed, (size_t)send->data.bytes,
                              0);
    } else {
        rc = weft_engine_send(send->peer, &send->header, send->data.buffer,
                              (size_t)send->data.bytes, 0);
    }
    if (rc != WEFT_AGAIN) {
        weft_p2p_note_sent(send->peer, &send->header);
        weft_p2p_end_send(send, rc);
    }
    return rc;
}

static struct weft_p2p_request *send_of(struct weft_retry *retry)
{
    return (struct weft_p2p_request *)((char *)retry -
                                       offsetof(struct weft_p2p_request, retry));
}

static enum weft_rc send_again(struct weft_retry *retry)
{
    return try_send(send_of(retry));
}

static void send_failed(struct weft_retry *retry)
{
    struct weft_p2p_request *send = send_of(retry);

    if (weft_tagged_has(send)) {
        weft_tagged_end_send(send, WEFT_ERR_PROC_FAILED);
    } else {
        weft_p2p_end_send(send, WEFT_ERR_PROC_FAILED);
    }
}

static void send_later(struct weft_p2p_request *send)
{
    send->retry = (struct weft_retry){.again = send_again, .failed = send_failed};
    weft_engine_retry_later(send->peer, WEFT_RETRY_ORDERED, &send->retry);
}

/* One that the network matches; it has a request because it is not copied. */
static void start_tagged(struct weft_p2p_request *send, bool is_synchronous)
{
    enum weft_rc rc = send->data.type == NULL
                          ? weft_tagged_take_send(send, is_synchronous)
                          : WEFT_ERR_NOMEM; /* it could not be packed */

    if (rc != WEFT_OK) {
        weft_p2p_end_send(send, rc);
    } else if (weft_peer_retries(send->peer, WEFT_RETRY_ORDERED) ||
               try_send(send) == WEFT_AGAIN) {
        send_later(send);
    }
}

/* A send that needs a request: long, synchronous, or without room. */
static void start_request(struct weft_p2p_request *send, struct weft_peer *peer,
                          const struct weft_header *header, const struct weft_data *data,
                          bool is_announced, bool is_blocking)
{
    send->base.kind = WEFT_REQUEST_SEND;
    send->base.event.futex = NULL;
    send->base.is_cancelled = false;
    send->base.source = MPI_ANY_SOURCE;
    send->base.tag = MPI_ANY_TAG;
    send->base.bytes = 0;
    send->peer = peer;
    send->data.buffer = data->buffer;
    send->data.bytes = data->bytes;
    send->data.stage = data->stage;
    if (weft_unlikely(data->type != NULL)) {
        weft_p2p_set_type(send, data);
    }
    send->header = *header;
    send->header.kind = is_announced ? WEFT_PKT_ANNOUNCE : WEFT_PKT_EAGER;
    send->is_announced = is_announced;
    if (weft_unlikely(peer->is_failed || (is_announced && weft_engine.failed_count > 0 &&
                                          weft_p2p_has_failed_member(&send->header)))) {
        weft_p2p_end_send(send, WEFT_ERR_PROC_FAILED);
        return;
    }
    if (weft_tagged_has(send)) {
        start_tagged(send, is_announced);
        return;
    }
    if ((is_announced || data->bytes > weft_peer_eager_max(peer)) &&
        weft_p2p_start_long(send, is_blocking)) {
        return;
    }
    if (weft_peer_retries(peer, WEFT_RETRY_ORDERED) || try_send(send) == WEFT_AGAIN) {
        send_later(send);
    }
}

/* A whole message in one packet is copied, or sent without a copy by a network. Where
 * another network may take over what this one does not deliver, whose packets may be
 * shorter, it is copied. */
static size_t most_at_once(const struct weft_peer *peer, bool is_contiguous)
{
    const size_t copied = weft_peer_eager_max(peer);

    return peer->path != NULL && is_contiguous && peer->path->zcopy_max > copied &&
                   !weft_promote_may_move(peer)
               ? peer->path->zcopy_max
               : copied;
}

static bool is_announced(const struct weft_peer *peer, const struct weft_data *data,
                         enum weft_send_mode mode)
{
    return data->bytes > most_at_once(peer, data->type == NULL) ||
           mode == WEFT_SEND_SYNCHRONOUS ||
           (peer->is_self && weft_p2p.unexpected.is_full);
}

static inline enum weft_rc send_now(const struct weft_comm *comm, int dest, int tag,
                                    const void *buffer, size_t bytes, unsigned flags)
{
    return weft_send_small(comm, dest, tag, buffer, bytes, plane_of(flags),
                           mode_of(flags) == WEFT_SEND_STANDARD);
}

/* Fills the header and tries without a request, with the lock; AGAIN: it needs one. */
static enum weft_rc try_without_request(const struct weft_comm *comm, int dest, int tag,
                                        const struct weft_data *data, unsigned flags,
                                        struct weft_header *header,
                                        struct weft_peer **peer, bool *is_long)
{
    enum weft_rc rc = weft_p2p_reach(weft_comm_process(comm, dest), peer);

    assert(rc != WEFT_AGAIN);
    if (rc != WEFT_OK) {
        return rc;
    }
    if (data->bytes > weft_peer_eager_max(*peer) && weft_peer_is_on_net(*peer) &&
        weft_unlikely(weft_data_is_unreadable(data))) {
        return WEFT_ERR_ADDRESS;
    }
    *header = make_header(comm, flags, tag, WEFT_PKT_EAGER);
    header->flags = mode_of(flags) == WEFT_SEND_READY ? WEFT_PKT_READY : 0;
    if (weft_p2p_is_tagged(plane_of(flags))) {
        *is_long = mode_of(flags) == WEFT_SEND_SYNCHRONOUS;
        return *is_long || weft_peer_retries(*peer, WEFT_RETRY_ORDERED) ||
                       data->type != NULL || (*peer)->is_failed
                   ? WEFT_AGAIN
                   : weft_tagged_inject(*peer, header, data->buffer, data->bytes);
    }
    *is_long = is_announced(*peer, data, mode_of(flags));
    if (*is_long || weft_peer_retries(*peer, WEFT_RETRY_ORDERED) || data->type != NULL ||
        (*peer)->is_failed || data->bytes > weft_peer_eager_max(*peer)) {
        return WEFT_AGAIN;
    }
    rc = weft_engine_send(*peer, header, data->buffer, data->bytes, 0);
    if (rc == WEFT_OK) {
        weft_p2p_note_sent(*peer, header);
    }
    return rc;
}

enum weft_rc weft_p2p_try_send(const struct weft_comm *comm, int dest, int tag,
                               const void *buffer, size_t bytes)
{
    const unsigned flags = WEFT_PLANE_P2P | (unsigned)WEFT_SEND_STANDARD;
    const struct weft_data data = {.buffer = buffer, .bytes = bytes};
    struct weft_header header;
    struct weft_peer *peer;
    bool is_long;
    enum weft_rc rc = send_now(comm, dest, tag, buffer, bytes, flags);

    return rc == WEFT_AGAIN ? try_without_request(comm, dest, tag, &data, flags, &header,
                                                  &peer, &is_long)
                            : rc;
}

/*
 * Everything rarer, with the lock: first contact, long, synchronous, ready, to ourselves,
 * no room, checksums, data that are not contiguous. What cannot go out at once becomes a
 * request.
 */
enum weft_rc weft_p2p_send_slow(const struct weft_comm *comm, int dest, int tag,
                                const struct weft_data *data, unsigned flags,
                                bool is_spare, struct weft_p2p_request **out)
{
    struct weft_header header;
    struct weft_request *fresh = NULL;
    struct weft_peer *peer;
    bool is_long;
    enum weft_rc rc =
        try_without_request(comm, dest, tag, data, flags, &header, &peer, &is_long);

    *out = NULL;
    if (rc != WEFT_AGAIN) {
        return rc;
    }
    if (is_spare) {
        *out = weft_p2p_take_spare();
    } else if (weft_p2p_take_request(&fresh) == WEFT_OK) {
        *out = (struct weft_p2p_request *)fresh;
    }
    if (*out == NULL) {
        return WEFT_ERR_NOMEM;
    }
    start_request(*out, peer, &header, data, is_long, is_spare);
    return WEFT_OK;
}

static const char *name_of(unsigned flags)
{
    switch ((enum weft_send_mode)mode_of(flags)) {
    case WEFT_SEND_SYNCHRONOUS:
        return "MPI_Ssend";
    case WEFT_SEND_READY:
        return "MPI_Rsend";
    case WEFT_SEND_BUFFERED:
        return "MPI_Bsend";
    case WEFT_SEND_STANDARD:
        break;
    }
    return "MPI_Send";
}

/* A receiver that posts its receive when it has sent to us offers it shortly after. */
static void await_offer(const struct weft_comm *comm, int dest, int tag,
                        const struct weft_data *data, unsigned flags)
{
    struct weft_peer *peer = weft_peer_find(weft_comm_process(comm, dest));

    if (peer != NULL && peer->transfers != NULL && weft_peer_is_on_net(peer) &&
        is_announced(peer, data, mode_of(flags)) && data->type == NULL) {
        const struct weft_header header =
            make_header(comm, flags, tag, WEFT_PKT_ANNOUNCE);

        weft_offer_net_await(peer, &header);
    }
}

/* A blocking send that did not go out at once; with the lock. */
enum weft_rc weft_p2p_send_and_wait(const struct weft_comm *comm, int dest, int tag,
                                    const struct weft_data *data, unsigned flags)
{
    struct weft_p2p_request *send;
    enum weft_rc rc;

    weft_node_set_inside(&weft_engine.node, true); /* we are there to copy with */
    await_offer(comm, dest, tag, data, flags);
    rc = weft_p2p_send_slow(comm, dest, tag, data, flags, true, &send);
    if (send != NULL) {
        if (!weft_request_is_complete(&send->base)) {
            const struct weft_wait_reason why = {name_of(flags), comm->name, dest, tag,
                                                 data->bytes};

            weft_wait_locked(&send->base, &why);
        }
        rc = send->base.rc;
        weft_p2p_give_spare(send);
    }
    weft_node_set_inside(&weft_engine.node, false);
    weft_engine_leave();
    return rc;
}

/* A function of its own, not inlined, so that its callers keep no struct weft_data on
 * their stacks. */
__attribute__((noinline)) enum weft_rc weft_send_block(const struct weft_comm *comm,
                                                       int dest, int tag,
                                                       const void *buffer, size_t bytes,
                                                       unsigned flags)
{
    const struct weft_data data = {.buffer = buffer, .bytes = bytes};

    return weft_p2p_send_and_wait(comm, dest, tag, &data, flags);
}

enum weft_rc weft_send(const struct weft_comm *comm, int dest, int tag,
                       const void *buffer, size_t bytes, unsigned flags)
{
    enum weft_rc rc;

    weft_lock();
    rc = send_now(comm, dest, tag, buffer, bytes, flags);
    if (weft_unlikely(rc == WEFT_AGAIN)) {
        rc = weft_send_block(comm, dest, tag, buffer, bytes, flags);
    }
    weft_unlock();
    return rc;
}

/* A function of its own, not inlined, as weft_send_block(). */
__attribute__((noinline)) enum weft_rc weft_isend_block(struct weft_comm *comm, int dest,
                                                        int tag, const void *buffer,
                                                        size_t bytes, unsigned flags,
                                                        struct weft_request **out)
{
    const struct weft_data data = {.buffer = buffer, .bytes = bytes};
    struct weft_p2p_request *send;
    enum weft_rc rc = weft_p2p_send_slow(comm, dest, tag, &data, flags, false, &send);

    if (send != NULL) {
        weft_request_set_comm(&send->base, comm);
        weft_request_hand_out(&send->base);
        *out = &send->base;
    }
    return rc;
}

enum weft_rc weft_isend_locked(struct weft_comm *comm, int dest, int tag,
                               const void *buffer, size_t bytes, unsigned flags,
                               struct weft_request **out)
{
    enum weft_rc rc = send_now(comm, dest, tag, buffer, bytes, flags);

    *out = &weft_request_sent;
    return weft_likely(rc != WEFT_AGAIN)
               ? rc
               : weft_isend_block(comm, dest, tag, buffer, bytes, flags, out);
}

enum weft_rc weft_isend(struct weft_comm *comm, int dest, int tag, const void *buffer,
                        size_t bytes, unsigned flags, struct weft_request **out)
{
    enum weft_rc rc;

    weft_lock();
    rc = weft_isend_locked(comm, dest, tag, buffer, bytes, flags, out);
    weft_engine_leave();
    weft_unlock();
    return rc;
}

enum weft_rc weft_p2p_send_with_request(struct weft_p2p_request *send,
                                        const struct weft_comm *comm, int dest, int tag,
                                        const struct weft_data *data, unsigned flags)
{
    struct weft_header header;
    struct weft_peer *peer;
    bool is_long;
    enum weft_rc rc = weft_likely(data->type == NULL)
                          ? send_now(comm, dest, tag, data->buffer, data->bytes, flags)
                          : WEFT_AGAIN;

    if (weft_unlikely(rc == WEFT_AGAIN)) {
        rc = try_without_request(comm, dest, tag, data, flags, &header, &peer, &is_long);
    }
    if (weft_likely(rc == WEFT_OK)) {
        weft_request_complete(&send->base, WEFT_OK);
    } else if (rc == WEFT_AGAIN) {
        start_request(send, peer, &header, data, is_long, false);
        weft_request_hand_out(&send->base);
        rc = WEFT_OK;
    }
    return rc;
}
