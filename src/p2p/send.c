/*
 * send.c - the way of a message out. The common case, small and with room in the queue,
 * goes straight down; everything rarer leaves through a named function.
 */
#include "p2p/p2p.h"

#include "base/crc32c.h"
#include "progress/lock.h"

#include <stdlib.h>
#include <string.h>

static struct weft_header make_header(const struct weft_comm *comm, enum weft_plane plane,
                                      int tag, enum weft_packet kind)
{
    return (struct weft_header){
        .version = WEFT_WIRE_VERSION,
        .kind = (uint8_t)kind,
        .context = comm->context | (uint32_t)plane,
        .source = (uint32_t)comm->rank,
        .tag = tag,
    };
}

enum weft_rc weft_p2p_send_ordered(struct weft_peer *peer, struct weft_header *header,
                                   const void *data, size_t len, unsigned flags)
{
    enum weft_rc rc = WEFT_OK;

    header->sequence = peer->next_sequence;
    header->length = (uint32_t)len;
    if (weft_unlikely(peer->is_self)) {
        weft_p2p_arrived(&weft_p2p, peer->rank, header, data, len);
    } else {
        rc = peer->ep->ops->send(peer->ep, header, data, len, flags);
    }
    if (weft_likely(rc == WEFT_OK)) {
        peer->next_sequence++;
    }
    return rc;
}

void weft_p2p_wait_for_room(struct weft_peer *peer)
{
    if (!peer->is_waiting) {
        peer->is_waiting = true;
        peer->next_waiting = weft_p2p.waiting_peers;
        weft_p2p.waiting_peers = peer;
    }
}

void weft_p2p_send_control(struct weft_peer *peer, enum weft_packet kind,
                           const struct weft_answer *answer)
{
    struct weft_header header = {
        .version = WEFT_WIRE_VERSION,
        .kind = (uint8_t)kind,
        .length = sizeof(*answer),
    };
    struct weft_control *kept;

    if (peer->is_self) {
        weft_p2p_arrived(&weft_p2p, peer->rank, &header, answer, sizeof(*answer));
        return;
    }
    if (peer->control == NULL &&
        peer->ep->ops->send(peer->ep, &header, answer, sizeof(*answer),
                            WEFT_SEND_CONTROL) == WEFT_OK) {
        return;
    }
    kept = malloc(sizeof(*kept));
    if (kept == NULL) {
        weft_wireup_abort(weft_p2p.job, 1, "no memory for an answer to a peer");
    }
    *kept = (struct weft_control){.next = NULL, .header = header, .answer = *answer};
    if (peer->control == NULL) {
        peer->control = kept;
    } else {
        peer->control_last->next = kept;
    }
    peer->control_last = kept;
    weft_p2p_wait_for_room(peer);
}

/* One try to get a send request's packet out. */
static enum weft_rc try_send(struct weft_p2p_request *send)
{
    enum weft_rc rc;

    if (send->is_announced) {
        rc = weft_p2p_announce(send);
    } else if (weft_unlikely(send->type != NULL)) {
        uint8_t packed[WEFT_EAGER_MAX];

        weft_p2p_gather(send, 0, packed, (size_t)send->capacity);
        rc = weft_p2p_send_ordered(send->peer, &send->header, packed,
                                   (size_t)send->capacity, 0);
    } else {
        rc = weft_p2p_send_ordered(send->peer, &send->header, send->buffer,
                                   (size_t)send->capacity, 0);
    }
    /* Announced, it is over when it was fetched; refused, it is over now. */
    if (rc != WEFT_AGAIN && (rc != WEFT_OK || !send->is_announced)) {
        weft_p2p_forget_type(send);
        weft_request_complete(&send->base, rc);
    }
    return rc;
}

/* Control packets and sends that found a queue full; true if all went out. */
static bool flush_peer(struct weft_peer *peer)
{
    while (peer->control != NULL) {
        struct weft_control *c = peer->control;

        if (peer->ep->ops->send(peer->ep, &c->header, &c->answer, sizeof(c->answer),
                                WEFT_SEND_CONTROL) != WEFT_OK) {
            return false;
        }
        peer->control = c->next;
        free(c);
    }
    while (peer->backlog != NULL) {
        struct weft_p2p_request *send = peer->backlog;
        struct weft_p2p_request *next = send->next;

        if (try_send(send) == WEFT_AGAIN) {
            return false;
        }
        peer->backlog = next;
    }
    return weft_p2p_push(peer);
}

void weft_p2p_flush(void)
{
    struct weft_peer **at = &weft_p2p.waiting_peers;

    while (*at != NULL) {
        struct weft_peer *peer = *at;

        if (flush_peer(peer)) {
            peer->is_waiting = false;
            *at = peer->next_waiting;
        } else {
            at = &peer->next_waiting;
        }
    }
}

static void join_backlog(struct weft_p2p_request *send)
{
    struct weft_peer *peer = send->peer;

    send->next = NULL;
    if (peer->backlog == NULL) {
        peer->backlog = send;
    } else {
        peer->backlog_last->next = send;
    }
    peer->backlog_last = send;
    weft_p2p_wait_for_room(peer);
}

/* A send that needs a request, which has its data: long, synchronous, without room. */
static void start_request(struct weft_p2p_request *send, struct weft_peer *peer,
                          const struct weft_header *header, bool is_announced)
{
    send->base.kind = WEFT_REQUEST_SEND;
    send->base.sleeper = NULL;
    send->base.is_cancelled = false;
    send->base.source = MPI_ANY_SOURCE;
    send->base.tag = MPI_ANY_TAG;
    send->base.bytes = 0;
    send->peer = peer;
    send->header = *header;
    send->is_announced = is_announced;
    send->work = WEFT_WORK_NONE;
    if (is_announced) {
        send->header.kind = WEFT_PKT_ANNOUNCE;
    }
    if (peer->backlog != NULL || try_send(send) == WEFT_AGAIN) {
        join_backlog(send);
    }
}

static bool is_announced(const struct weft_peer *peer, size_t bytes,
                         enum weft_send_mode mode)
{
    return bytes > WEFT_EAGER_MAX || mode == WEFT_SEND_SYNCHRONOUS ||
           (peer->is_self && weft_p2p.unexpected.is_full);
}

/* The way of a small message in the common case, with the lock; AGAIN: another way. */
static inline enum weft_rc send_now(const struct weft_comm *comm, enum weft_plane plane,
                                    int dest, int tag, const void *buffer, size_t bytes,
                                    enum weft_send_mode mode)
{
    struct weft_peer *peer =
        weft_peer_find(&weft_p2p.peers, weft_comm_process(comm, dest));

    if (weft_likely(peer != NULL && peer->ep != NULL && peer->backlog == NULL &&
                    bytes <= WEFT_EAGER_MAX && mode == WEFT_SEND_STANDARD &&
                    !weft_p2p.has_checksum)) {
        struct weft_header header = make_header(comm, plane, tag, WEFT_PKT_EAGER);
        enum weft_rc rc;

        header.sequence = peer->next_sequence;
        header.length = (uint32_t)bytes;
        rc = peer->ep->ops->send(peer->ep, &header, buffer, bytes, 0);
        if (weft_likely(rc == WEFT_OK)) {
            peer->next_sequence++;
        }
        return rc;
    }
    return WEFT_AGAIN;
}

/*
 * Everything rarer, with the lock: first contact, long, synchronous, ready, to ourselves,
 * no room, checksums, data that are not contiguous. What cannot go out at once becomes a
 * request.
 */
enum weft_rc weft_p2p_send_slow(const struct weft_comm *comm, enum weft_plane plane,
                                int dest, int tag, const void *buffer, size_t bytes,
                                struct weft_datatype *type, uint64_t count,
                                enum weft_send_mode mode, bool is_spare,
                                struct weft_p2p_request **out)
{
    struct weft_header header = make_header(comm, plane, tag, WEFT_PKT_EAGER);
    struct weft_request *fresh = NULL;
    struct weft_peer *peer;
    enum weft_rc rc = weft_p2p_reach(weft_comm_process(comm, dest), &peer);

    *out = NULL;
    if (rc != WEFT_OK) {
        return rc;
    }
    header.flags = mode == WEFT_SEND_READY ? WEFT_PKT_READY : 0;
    if (weft_p2p.has_checksum && type == NULL) {
        header.crc = weft_crc32c(buffer, bytes);
    }
    if (!is_announced(peer, bytes, mode) && peer->backlog == NULL && type == NULL) {
        rc = weft_p2p_send_ordered(peer, &header, buffer, bytes, 0);
        if (rc != WEFT_AGAIN) {
            return rc;
        }
    }
    if (is_spare) {
        *out = weft_p2p_take_spare();
    } else if (weft_request_take(&fresh) == WEFT_OK) {
        *out = (struct weft_p2p_request *)fresh;
    }
    if (*out == NULL) {
        return WEFT_ERR_NOMEM;
    }
    weft_p2p_set_data(*out, buffer, bytes, type, count);
    if (weft_p2p.has_checksum && type != NULL) {
        header.crc = weft_p2p_packed_crc(*out, bytes);
    }
    start_request(*out, peer, &header, is_announced(peer, bytes, mode));
    return WEFT_OK;
}

/* A blocking send that did not go out at once; with the lock. */
__attribute__((noinline)) enum weft_rc
weft_p2p_send_and_wait(const struct weft_comm *comm, enum weft_plane plane, int dest,
                       int tag, const void *buffer, size_t bytes,
                       struct weft_datatype *type, uint64_t count,
                       enum weft_send_mode mode)
{
    const struct weft_wait_reason why = {"MPI_Send", comm->name, dest, tag, bytes};
    struct weft_p2p_request *send;
    enum weft_rc rc;

    weft_p2p.ops->set_inside(weft_p2p.transport, true); /* we are there to copy with */
    rc = weft_p2p_send_slow(comm, plane, dest, tag, buffer, bytes, type, count, mode,
                            true, &send);
    if (send != NULL) {
        if (!weft_request_is_complete(&send->base)) {
            weft_wait_locked(&send->base, &why);
        }
        rc = send->base.rc;
        weft_p2p_give_spare(send);
    }
    weft_p2p.ops->set_inside(weft_p2p.transport, false);
    return rc;
}

enum weft_rc weft_send(const struct weft_comm *comm, enum weft_plane plane, int dest,
                       int tag, const void *buffer, size_t bytes,
                       enum weft_send_mode mode)
{
    enum weft_rc rc;

    weft_lock();
    rc = send_now(comm, plane, dest, tag, buffer, bytes, mode);
    if (weft_unlikely(rc == WEFT_AGAIN)) {
        rc = weft_p2p_send_and_wait(comm, plane, dest, tag, buffer, bytes, NULL, 0, mode);
    }
    weft_unlock();
    return rc;
}

enum weft_rc weft_isend(struct weft_comm *comm, enum weft_plane plane, int dest, int tag,
                        const void *buffer, size_t bytes, enum weft_send_mode mode,
                        struct weft_request **out)
{
    enum weft_rc rc;

    *out = &weft_request_sent;
    weft_lock();
    rc = send_now(comm, plane, dest, tag, buffer, bytes, mode);
    if (weft_unlikely(rc == WEFT_AGAIN)) {
        struct weft_p2p_request *send;

        rc = weft_p2p_send_slow(comm, plane, dest, tag, buffer, bytes, NULL, 0, mode,
                                false, &send);
        if (send != NULL) {
            send->base.comm = comm;
            *out = &send->base;
        }
    }
    weft_unlock();
    return rc;
}
