/*
 * send.c - the way of a message out. The common case, small and with room in the queue,
 * goes straight down; everything rarer leaves through a named function.
 */
#include "p2p/internal.h"

#include "p2p/checksum.h"
#include "engine/lock.h"
#include "transfer/accessible.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static unsigned plane_of(unsigned how)
{
    return how & (WEFT_PLANES - 1);
}

static enum weft_send_mode mode_of(unsigned how)
{
    return (enum weft_send_mode)(how & ~(unsigned)(WEFT_PLANES - 1));
}

static struct weft_header make_header(const struct weft_comm *comm, unsigned how, int tag,
                                      enum weft_packet kind)
{
    return (struct weft_header){
        .kind = (uint8_t)kind,
        .context = comm->context | plane_of(how),
        .source = (uint32_t)comm->rank,
        .tag = tag,
    };
}

enum weft_rc weft_p2p_send_ordered(struct weft_peer *peer, struct weft_header *header,
                                   const void *data, size_t len, unsigned flags)
{
    enum weft_rc rc = WEFT_OK;

    header->sequence = (uint32_t)peer->next_sequence;
    header->length = (uint32_t)len;
    if (weft_unlikely(weft_p2p.has_checksum)) {
        weft_checksum_seal(header, data,
                           header->kind == WEFT_PKT_DATA ? sizeof(struct weft_answer)
                                                         : len);
    }
    if (weft_unlikely(peer->is_self)) {
        weft_engine.up.arrived(&weft_engine, peer, header, data, len);
    } else {
        rc = peer->ep->ops->send(peer->ep, header, data, len, flags);
    }
    if (weft_likely(rc == WEFT_OK)) {
        peer->next_sequence++;
    }
    return rc;
}

void weft_p2p_update_fast(struct weft_peer *peer)
{
    peer->fast = peer->backlog == NULL && !weft_p2p.has_checksum && !peer->is_dead
                     ? peer->ep
                     : NULL;
}

void weft_p2p_retry_later(struct weft_peer *peer)
{
    if (!peer->is_waiting) {
        peer->is_waiting = true;
        peer->next_waiting = weft_p2p.waiting_peers;
        weft_p2p.waiting_peers = peer;
        weft_p2p.has_new_backlog = true;
        weft_outstanding++;
    }
}

void weft_p2p_send_control(struct weft_peer *peer, enum weft_packet kind,
                           const struct weft_answer *answer)
{
    weft_p2p_send_control_by(peer, peer->ep, kind, answer);
}

void weft_p2p_send_control_by(struct weft_peer *peer, struct weft_endpoint *way,
                              enum weft_packet kind, const struct weft_answer *answer)
{
    struct weft_header header = {
        .kind = (uint8_t)kind,
        .length = sizeof(*answer),
    };
    struct weft_control *kept;

    if (weft_unlikely(weft_p2p.has_checksum)) {
        weft_checksum_seal(&header, answer, sizeof(*answer));
    }
    if (peer->is_self) {
        weft_engine.up.arrived(&weft_engine, peer, &header, answer, sizeof(*answer));
        return;
    }
    if (weft_unlikely(peer->is_dead)) {
        return;
    }
    if (peer->control == NULL && way->ops->send(way, &header, answer, sizeof(*answer),
                                                WEFT_SEND_CONTROL) == WEFT_OK) {
        return;
    }
    kept = malloc(sizeof(*kept));
    if (kept == NULL) {
        weft_wireup_abort(weft_engine.job, 1, "no memory for an answer to a peer");
    }
    *kept = (struct weft_control){.way = way, .header = header, .answer = *answer};
    if (peer->control == NULL) {
        peer->control = kept;
    } else {
        peer->control_last->next = kept;
    }
    peer->control_last = kept;
    weft_p2p_retry_later(peer);
}

/* One try to get a send request's packet out. */
static enum weft_rc try_send(struct weft_p2p_request *send)
{
    enum weft_rc rc;

    if (send->is_announced) {
        rc = weft_p2p_announce(send);
    } else if (weft_unlikely(send->data.bytes > WEFT_EAGER_MAX)) {
        rc = weft_p2p_lend_message(send);
    } else if (weft_unlikely(send->data.type != NULL)) {
        uint8_t packed[WEFT_EAGER_MAX];

        weft_data_gather(&send->data, 0, packed, (size_t)send->data.bytes);
        rc = weft_p2p_send_ordered(send->peer, &send->header, packed,
                                   (size_t)send->data.bytes, 0);
    } else {
        rc = weft_p2p_send_ordered(send->peer, &send->header, send->data.buffer,
                                   (size_t)send->data.bytes, 0);
    }
    /* Announced, it is over when it was fetched; lent, when it comes back; refused, it is
     * over now. */
    if (rc != WEFT_AGAIN && rc != WEFT_PENDING &&
        (rc != WEFT_OK || !send->is_announced)) {
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

        if (c->way->ops->send(c->way, &c->header, &c->answer, sizeof(c->answer),
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
    weft_p2p_update_fast(peer);
    /* What was pushed may have left a control packet behind. */
    return weft_p2p_push(peer) && peer->control == NULL;
}

void weft_p2p_retry(void)
{
    struct weft_peer **at = &weft_p2p.waiting_peers;

    while (*at != NULL) {
        struct weft_peer *peer = *at;

        if (flush_peer(peer)) {
            peer->is_waiting = false;
            *at = peer->next_waiting;
            weft_outstanding--;
        } else {
            at = &peer->next_waiting;
        }
    }
    if (weft_p2p.waiting_peers == NULL && weft_p2p.is_room_awaited) {
        weft_node_ring(&weft_engine.node);
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
    weft_p2p_update_fast(peer);
    weft_p2p_retry_later(peer);
}

/* A send that needs a request: long, synchronous, or without room. */
static void start_request(struct weft_p2p_request *send, struct weft_peer *peer,
                          const struct weft_header *header, const struct weft_data *data,
                          bool is_announced, bool is_blocking)
{
    send->base.kind = WEFT_REQUEST_SEND;
    send->base.sleeper = NULL;
    send->base.is_cancelled = false;
    send->base.source = MPI_ANY_SOURCE;
    send->base.tag = MPI_ANY_TAG;
    send->base.bytes = 0;
    send->peer = peer;
    send->data.buffer = (void *)(uintptr_t)data->buffer;
    send->data.bytes = data->bytes;
    send->data.stage = data->stage;
    if (weft_unlikely(data->type != NULL)) {
        weft_p2p_set_type(send, data);
    }
    send->header = *header;
    send->header.kind = is_announced ? WEFT_PKT_ANNOUNCE : WEFT_PKT_EAGER;
    send->is_announced = is_announced;
    send->awaits_answer = false;
    send->pulled_to = 0;
    send->lent = 0;
    send->way = NULL;
    send->exposed = NULL;
    send->work = WEFT_WORK_NONE;
    if (weft_unlikely(peer->is_dead || (is_announced && weft_p2p.dead_count > 0 &&
                                        weft_p2p_is_in_vain(&send->header)))) {
        weft_p2p_forget_type(send);
        weft_request_complete(&send->base, WEFT_ERR_DEAD);
        return;
    }
    if (weft_unlikely(weft_p2p.has_checksum) && is_announced) {
        weft_checksum_begin(send, is_blocking);
    }
    if (is_announced && send->data.type == NULL &&
        weft_p2p_send_by_offer(send, is_blocking)) {
        return;
    }
    if (peer->backlog != NULL || try_send(send) == WEFT_AGAIN) {
        join_backlog(send);
    }
}

/* A whole message in one packet is copied, or lent to a network. */
static size_t most_at_once(const struct weft_peer *peer, bool is_contiguous)
{
    return peer->ep != NULL && is_contiguous && peer->ep->zcopy_max > WEFT_EAGER_MAX
               ? peer->ep->zcopy_max
               : WEFT_EAGER_MAX;
}

static bool is_announced(const struct weft_peer *peer, const struct weft_data *data,
                         enum weft_send_mode mode)
{
    return data->bytes > most_at_once(peer, data->type == NULL) ||
           mode == WEFT_SEND_SYNCHRONOUS ||
           (peer->is_self && weft_p2p.unexpected.is_full);
}

/* The way of a small message in the common case, with the lock; AGAIN: another way. */
static inline enum weft_rc send_now(const struct weft_comm *comm, int dest, int tag,
                                    const void *buffer, size_t bytes, unsigned how)
{
    struct weft_peer *peer = weft_peer_find(weft_comm_process(comm, dest));

    if (weft_likely(peer != NULL && peer->fast != NULL && bytes <= WEFT_EAGER_MAX &&
                    mode_of(how) == WEFT_SEND_STANDARD)) {
        struct weft_header header; /* field by field: an initialiser clears it first */
        enum weft_rc rc;

        header.kind = WEFT_PKT_EAGER;
        header.channel = 0;
        header.flags = 0;
        header.path = 0;
        header.sequence = (uint32_t)peer->next_sequence;
        header.context = comm->context | plane_of(how);
        header.source = (uint32_t)comm->rank;
        header.tag = tag;
        header.length = (uint32_t)bytes;
        header.check = 0;
        rc = peer->fast->ops->send(peer->fast, &header, buffer, bytes, 0);
        if (weft_likely(rc == WEFT_OK)) {
            peer->next_sequence++;
        }
        return rc;
    }
    return WEFT_AGAIN;
}

/* Fills the header and tries without a request, with the lock; AGAIN: it needs one. */
static enum weft_rc send_without(const struct weft_comm *comm, int dest, int tag,
                                 const struct weft_data *data, unsigned how,
                                 struct weft_header *header, struct weft_peer **peer,
                                 bool *is_long)
{
    enum weft_rc rc = weft_p2p_reach(weft_comm_process(comm, dest), peer);

    assert(rc != WEFT_AGAIN);
    if (rc != WEFT_OK) {
        return rc;
    }
    if (data->bytes > WEFT_EAGER_MAX && weft_p2p_is_far(*peer) &&
        weft_unlikely(weft_data_is_unreadable(data))) {
        return WEFT_ERR_ADDRESS;
    }
    *header = make_header(comm, how, tag, WEFT_PKT_EAGER);
    header->flags = mode_of(how) == WEFT_SEND_READY ? WEFT_PKT_READY : 0;
    *is_long = is_announced(*peer, data, mode_of(how));
    if (*is_long || (*peer)->backlog != NULL || data->type != NULL || (*peer)->is_dead ||
        data->bytes > WEFT_EAGER_MAX) {
        return WEFT_AGAIN;
    }
    return weft_p2p_send_ordered(*peer, header, data->buffer, data->bytes, 0);
}

enum weft_rc weft_p2p_try_send(const struct weft_comm *comm, int dest, int tag,
                               const void *buffer, size_t bytes)
{
    const unsigned how = WEFT_PLANE_P2P | (unsigned)WEFT_SEND_STANDARD;
    const struct weft_data data = {.buffer = buffer, .bytes = bytes};
    struct weft_header header;
    struct weft_peer *peer;
    bool is_long;
    enum weft_rc rc = send_now(comm, dest, tag, buffer, bytes, how);

    return rc == WEFT_AGAIN
               ? send_without(comm, dest, tag, &data, how, &header, &peer, &is_long)
               : rc;
}

/*
 * Everything rarer, with the lock: first contact, long, synchronous, ready, to ourselves,
 * no room, checksums, data that are not contiguous. What cannot go out at once becomes a
 * request.
 */
enum weft_rc weft_p2p_send_slow(const struct weft_comm *comm, int dest, int tag,
                                const struct weft_data *data, unsigned how, bool is_spare,
                                struct weft_p2p_request **out)
{
    struct weft_header header;
    struct weft_request *fresh = NULL;
    struct weft_peer *peer;
    bool is_long;
    enum weft_rc rc = send_without(comm, dest, tag, data, how, &header, &peer, &is_long);

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

/* A blocking send that did not go out at once; with the lock. */
enum weft_rc weft_p2p_send_and_wait(const struct weft_comm *comm, int dest, int tag,
                                    const struct weft_data *data, unsigned how)
{
    const struct weft_wait_reason why = {"MPI_Send", comm->name, dest, tag, data->bytes};
    struct weft_p2p_request *send;
    enum weft_rc rc;

    weft_node_set_inside(&weft_engine.node, true); /* we are there to copy with */
    rc = weft_p2p_send_slow(comm, dest, tag, data, how, true, &send);
    if (send != NULL) {
        if (!weft_request_is_complete(&send->base)) {
            weft_wait_locked(&send->base, &why);
        }
        rc = send->base.rc;
        weft_p2p_give_spare(send);
    }
    weft_node_set_inside(&weft_engine.node, false);
    weft_p2p_leave();
    return rc;
}

/* Apart, so that the common case needs no memory for what it says. */
static __attribute__((noinline)) enum weft_rc send_block(const struct weft_comm *comm,
                                                         int dest, int tag,
                                                         const void *buffer, size_t bytes,
                                                         unsigned how)
{
    const struct weft_data data = {.buffer = buffer, .bytes = bytes};

    return weft_p2p_send_and_wait(comm, dest, tag, &data, how);
}

enum weft_rc weft_send(const struct weft_comm *comm, int dest, int tag,
                       const void *buffer, size_t bytes, unsigned how)
{
    enum weft_rc rc;

    weft_lock();
    rc = send_now(comm, dest, tag, buffer, bytes, how);
    if (weft_unlikely(rc == WEFT_AGAIN)) {
        rc = send_block(comm, dest, tag, buffer, bytes, how);
    }
    weft_unlock();
    return rc;
}

enum weft_rc weft_isend_locked(struct weft_comm *comm, int dest, int tag,
                               const void *buffer, size_t bytes, unsigned how,
                               struct weft_request **out)
{
    enum weft_rc rc = send_now(comm, dest, tag, buffer, bytes, how);

    *out = &weft_request_sent;
    if (weft_unlikely(rc == WEFT_AGAIN)) {
        const struct weft_data data = {.buffer = buffer, .bytes = bytes};
        struct weft_p2p_request *send;

        rc = weft_p2p_send_slow(comm, dest, tag, &data, how, false, &send);
        if (send != NULL) {
            weft_request_set_comm(&send->base, comm);
            weft_request_hand_out(&send->base);
            *out = &send->base;
        }
    }
    return rc;
}

enum weft_rc weft_isend(struct weft_comm *comm, int dest, int tag, const void *buffer,
                        size_t bytes, unsigned how, struct weft_request **out)
{
    enum weft_rc rc;

    weft_lock();
    rc = weft_isend_locked(comm, dest, tag, buffer, bytes, how, out);
    weft_p2p_leave();
    weft_unlock();
    return rc;
}

enum weft_rc weft_p2p_send_by(struct weft_p2p_request *send, const struct weft_comm *comm,
                              int dest, int tag, const struct weft_data *data,
                              unsigned how)
{
    struct weft_header header;
    struct weft_peer *peer;
    bool is_long;
    enum weft_rc rc = weft_likely(data->type == NULL)
                          ? send_now(comm, dest, tag, data->buffer, data->bytes, how)
                          : WEFT_AGAIN;

    if (weft_unlikely(rc == WEFT_AGAIN)) {
        rc = send_without(comm, dest, tag, data, how, &header, &peer, &is_long);
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
