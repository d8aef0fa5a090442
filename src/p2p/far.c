/*
 * far.c - long messages over a network.
 *
 *   sender                                     receiver
 *   chooses a stream
 *   ANNOUNCE, and the first bytes         -->  matched: takes these bytes
 *   in the same packet                         not matched: throws them away, and
 *                                              matches later
 *                                              exposes the rest of its buffer
 *   PULL_PUT offset, length, key          <--
 *   puts, then PLACED                     -->  all is in its place
 *   over when the puts are
 *
 * So the request for the rest travels while the first bytes do. Data that do not lie in
 * one block on one side are asked for by PULL and come as DATA, as inside a node where a
 * peer's memory is out of reach (rendezvous.c). A sender that is told nothing else learns
 * the end from FETCHED. A peer that has thrown bytes away gets announcements without any
 * for a while.
 *
 * Where the network's hardware reads a peer's memory by itself (WEFT_LONG), a message
 * that is long and in one block goes the other way round:
 *
 *   exposes its buffer
 *   ANNOUNCE with a key to it             -->  matched: gets all of it; where it goes
 *                                              into several blocks, asks by PULL
 *   over, conceals its buffer             <--  FETCHED
 *
 * All that goes from the sender to the receiver takes the stream that was chosen, and
 * that the announcement names; so PLACED cannot overtake the puts. What goes back takes
 * the first, as do short messages: other streams would make them wait for their turn.
 *
 * Messages of at most zcopy_max bytes go at once, in one packet, and need no answer: the
 * peer has granted the room.
 */
#include "p2p/checksum.h"

#include <stdlib.h>

enum {
    PUT_MAX = 64 * 1024 * 1024, /* at once */
    ANNOUNCED_ONLY = 16,        /* messages after one whose bytes were thrown away */
    STREAM_FROM = 32 * 1024,    /* bytes of a message that takes a stream in turn */
};

/* An operation of a transport on behalf of a request. */
struct part {
    struct weft_op op; /* first */
    uint64_t request;  /* whose buffer it is, or 0 if that does not wait */
    uint64_t got;      /* bytes, if the request is a receive; else 0 */
    void *memory;      /* to be freed with it, or NULL */
};

static struct weft_op *free_parts;

static void on_done(struct weft_op *op, enum weft_rc rc);

static struct part *take_part(uint64_t request, void *memory)
{
    struct part *part = (struct part *)free_parts;

    if (part != NULL) {
        free_parts = part->op.next;
    } else {
        part = malloc(sizeof(*part));
        if (part == NULL) {
            weft_wireup_abort(weft_engine.job, 1, "no memory to send a long message");
        }
    }
    *part = (struct part){.op.done = on_done, .request = request, .memory = memory};
    return part;
}

static void give_part(struct part *part)
{
    free(part->memory);
    part->op.next = free_parts;
    free_parts = &part->op;
}

void weft_p2p_free_ops(void)
{
    while (free_parts != NULL) {
        struct weft_op *next = free_parts->next;

        free(free_parts);
        free_parts = next;
    }
}

/* The last of what a send waits for. If the peer is lost, the end comes from failed.c. */
static void count_lent(struct weft_p2p_request *send, enum weft_rc rc)
{
    if (rc == WEFT_ERR_DEAD || --send->lent > 0) {
        return;
    }
    weft_p2p_forget_type(send);
    weft_request_complete(&send->base, rc);
}

static void on_done(struct weft_op *op, enum weft_rc rc)
{
    struct part *part = (struct part *)op;
    const uint64_t got = part->got;
    struct weft_p2p_request *request =
        part->request != 0 ? weft_p2p_find(part->request, got > 0 ? WEFT_REQUEST_RECV
                                                                  : WEFT_REQUEST_SEND)
                           : NULL;

    give_part(part);
    if (request == NULL) {
        return;
    }
    if (got == 0) {
        count_lent(request, rc);
    } else if (rc == WEFT_OK) { /* else the peer is lost, and what it owes us with it */
        weft_p2p_count(request, got);
    }
}

static uint64_t name_of(const struct weft_p2p_request *request)
{
    return (uint64_t)(uintptr_t)request->base.handle;
}

/* The stream of a message, chosen when it is tried for the first time. */
static struct weft_endpoint *way_of(struct weft_p2p_request *send)
{
    struct weft_endpoint *ep = send->peer->ep;

    if (send->way == NULL) {
        send->way = send->data.bytes < STREAM_FROM ? ep : ep->ops->next_stream(ep);
        send->header.path = (uint8_t)send->way->stream;
    }
    return send->way;
}

/* An ordered packet with bytes of the user's. WEFT_OK: it is on its way. */
static enum weft_rc lend(struct weft_peer *peer, struct weft_endpoint *way,
                         struct weft_header *header, const void *head, size_t head_len,
                         const void *data, size_t len, struct part *part)
{
    enum weft_rc rc;

    header->sequence = (uint32_t)peer->next_sequence;
    if (weft_unlikely(weft_p2p.has_checksum)) {
        const bool is_whole = header->kind == WEFT_PKT_EAGER;

        weft_checksum_seal(header, is_whole ? data : head, is_whole ? len : head_len);
    }
    rc = way->ops->send_zcopy(way, header, head, head_len, data, len, &part->op);
    if (rc != WEFT_PENDING) {
        part->memory = NULL; /* still the caller's */
        give_part(part);
        return rc;
    }
    peer->next_sequence++;
    return WEFT_OK;
}

/* ---- whole messages ---- */

enum weft_rc weft_p2p_lend_message(struct weft_p2p_request *send)
{
    struct weft_endpoint *way = way_of(send);
    enum weft_rc rc;

    send->header.length = (uint32_t)send->data.bytes;
    send->lent = 1;
    rc = lend(send->peer, way, &send->header, NULL, 0, send->data.buffer,
              (size_t)send->data.bytes, take_part(name_of(send), NULL));
    return rc == WEFT_OK ? WEFT_PENDING : rc;
}

/* ---- the sender's half ---- */

/* Is the message announced before this one still under way? */
static bool is_one_before(const struct weft_p2p_request *send)
{
    const struct weft_p2p_request *last =
        weft_p2p_find(send->peer->p2p->announced_last, WEFT_REQUEST_SEND);

    return last != NULL && last != send;
}

/*
 * How many bytes go with an announcement. They are there sooner, but the receiver copies
 * them once more; so none go where others are on the way meanwhile.
 */
static size_t bytes_along(const struct weft_p2p_request *send)
{
    const struct weft_peer *peer = send->peer;
    const size_t most = peer->ep->zcopy_max;

    if (send->data.type != NULL || most == 0 || peer->p2p->announced_only > 0 ||
        send->exposed != NULL || is_one_before(send)) {
        return 0;
    }
    return send->data.bytes < most ? (size_t)send->data.bytes : most;
}

/* Once, however often it is tried; a message that cannot be exposed now is pushed. */
void weft_p2p_expose_far(struct weft_p2p_request *send, struct weft_announce *announce)
{
    const struct weft_endpoint *ep = send->peer->ep;

    if (!ep->is_fetched || send->data.type != NULL || send->data.bytes <= ep->zcopy_max) {
        return;
    }
    if (send->exposed == NULL &&
        ep->ops->mr_register(ep->transport, weft_data_at(&send->data, 0),
                             (size_t)send->data.bytes, WEFT_MR_GET, &send->key,
                             &send->exposed) != WEFT_OK) {
        send->exposed = NULL;
        return;
    }
    send->header.flags |= WEFT_PKT_EXPOSED;
    announce->address = send->key.address;
    announce->share = send->key.key;
}

enum weft_rc weft_p2p_announce_far(struct weft_p2p_request *send, const void *head,
                                   size_t head_len)
{
    struct weft_endpoint *way = way_of(send);
    const size_t along = bytes_along(send);
    enum weft_rc rc;

    send->lent = 0;
    send->is_along = along > 0;
    send->header.length = (uint32_t)head_len;
    if (along > 0) {
        rc = lend(send->peer, way, &send->header, head, head_len, send->data.buffer,
                  along, take_part(0, NULL));
    } else {
        rc =
            weft_engine_send(send->peer, &send->header, head, head_len, WEFT_SEND_URGENT);
    }
    if (rc == WEFT_OK) {
        send->peer->p2p->announced_last = name_of(send);
        if (along == 0 && send->peer->p2p->announced_only > 0) {
            send->peer->p2p->announced_only--;
        }
    }
    return rc;
}

void weft_p2p_note_pull(struct weft_peer *peer, const struct weft_p2p_request *send,
                        const struct weft_answer *answer)
{
    if (answer->offset == 0 && send->is_along) { /* what went along was thrown away */
        peer->p2p->announced_only = ANNOUNCED_ONLY;
    }
}

/* Whose bytes are put or got, and how many come next; NULL: the peer is dead, and so is
 * this message. */
static struct weft_p2p_request *next_of(struct weft_push *push, uint64_t *n)
{
    struct weft_p2p_request *request =
        weft_p2p_find(push->name, push->is_get ? WEFT_REQUEST_RECV : WEFT_REQUEST_SEND);
    const uint64_t left = push->end - push->offset;

    *n = left < PUT_MAX ? left : PUT_MAX;
    if (request == NULL) {
        push->offset = push->end;
    }
    return request;
}

/* The next bytes of what a receiver has exposed memory for; false: no room now. */
static bool put_next(struct weft_push *push)
{
    uint64_t n;
    struct weft_p2p_request *send = next_of(push, &n);
    struct part *part;
    enum weft_rc rc;

    if (send == NULL) {
        return true;
    }
    part = take_part(push->name, NULL);
    rc = push->way->ops->put(push->way, &push->key, push->offset - push->start,
                             weft_data_at(&send->data, push->offset), (size_t)n,
                             &part->op);
    if (rc == WEFT_AGAIN) {
        give_part(part);
        return false;
    }
    push->offset += n;
    if (push->offset < push->end) {
        send->lent++; /* one more than what is asked for */
    }
    if (rc != WEFT_PENDING) {
        give_part(part);
        push->offset = push->end;
        count_lent(send, rc);
    }
    return true;
}

/* A packet with the next bytes, as many as are lent at once; false: no room now. */
static bool lend_next(struct weft_peer *peer, struct weft_push *push)
{
    const uint64_t most = peer->ep->zcopy_max - sizeof(struct weft_answer);
    const uint64_t left = push->end - push->offset;
    const size_t n = (size_t)(left < most ? left : most);
    struct weft_header header = {.kind = WEFT_PKT_DATA};
    const struct weft_answer answer = {
        .request = push->request,
        .offset = push->offset,
        .length = n,
    };
    const uint8_t *from = weft_data_at(&push->send->data, push->offset);
    void *packed = NULL;

    if (push->send->data.type != NULL) {
        packed = malloc(n);
        if (packed == NULL) {
            weft_wireup_abort(weft_engine.job, 1, "no memory to pack a message");
        }
        weft_data_gather(&push->send->data, push->offset, packed, n);
        from = packed;
    }
    header.length = (uint32_t)(sizeof(answer) + n);
    if (lend(peer, push->way, &header, &answer, sizeof(answer), from, n,
             take_part(0, packed)) != WEFT_OK) {
        free(packed);
        return false;
    }
    weft_p2p.pieces_sent++;
    push->offset += n;
    return true;
}

/* The next bytes of what a sender has exposed; false: no room now. */
static bool get_next(struct weft_push *push)
{
    uint64_t n;
    struct weft_p2p_request *recv = next_of(push, &n);
    struct part *part;
    enum weft_rc rc;

    if (recv == NULL) {
        return true;
    }
    part = take_part(push->name, NULL);
    part->got = n;
    rc = push->way->ops->get(push->way, &push->key, push->offset,
                             weft_data_at(&recv->data, push->offset), (size_t)n,
                             &part->op);
    if (rc != WEFT_PENDING) {
        give_part(part);
    }
    push->offset = rc == WEFT_PENDING ? push->offset + n
                   : rc == WEFT_AGAIN ? push->offset
                                      : push->end; /* it is lost */
    return rc != WEFT_AGAIN;
}

static bool push_next(struct weft_peer *peer, struct weft_push *push)
{
    return push->is_get   ? get_next(push)
           : push->is_put ? put_next(push)
                          : lend_next(peer, push);
}

bool weft_p2p_push_far(struct weft_peer *peer, struct weft_push *push)
{
    while (push->offset < push->end) {
        if (!push_next(peer, push)) {
            return false;
        }
    }
    if (push->is_put) {
        const struct weft_answer placed = {
            .request = push->request,
            .offset = push->start,
            .length = push->end - push->start,
        };

        weft_engine_control_by(peer, push->way, WEFT_PKT_PLACED, &placed);
    }
    return true;
}

/* ---- the receiver's half ---- */

/* Asks for what did not come along: into its place, or as DATA. */
static void ask_for_rest(struct weft_p2p_request *recv, uint64_t offset, uint64_t length)
{
    const struct weft_endpoint *ep = recv->from->ep;
    struct weft_key key;
    struct weft_answer answer;

    if (recv->data.type != NULL || recv->is_sent_in_parts ||
        ep->ops->mr_register(ep->transport, weft_data_at(&recv->data, offset),
                             (size_t)length, WEFT_MR_PUT, &key,
                             &recv->exposed) != WEFT_OK) {
        recv->exposed = NULL;
        weft_p2p_pull(recv, offset, length);
        return;
    }
    answer = (struct weft_answer){
        .request = recv->other,
        .other = name_of(recv),
        .offset = offset,
        .length = length,
        .address = key.address,
        .key = key.key,
    };
    weft_engine_control(recv->from, WEFT_PKT_PULL_PUT, &answer);
}

void weft_p2p_start_far(struct weft_p2p_request *recv, uint64_t length, const void *along,
                        size_t along_len)
{
    const uint64_t here = along_len < length ? along_len : length;

    if (length > here) {
        ask_for_rest(recv, here, length - here);
    }
    if (here > 0) {
        weft_data_scatter(&recv->data, 0, along, (size_t)here);
        weft_p2p_count(recv, here);
    }
}

void weft_p2p_get_far(struct weft_p2p_request *recv, uint64_t length,
                      const struct weft_key *key)
{
    struct weft_peer *peer = recv->from;
    struct weft_push *push;

    if (length == 0) {
        return;
    }
    if (recv->data.type != NULL) {
        weft_p2p_pull(recv, 0, length);
        return;
    }
    push = malloc(sizeof(*push));
    if (push == NULL) {
        weft_wireup_abort(weft_engine.job, 1, "no memory to fetch a long message");
    }
    *push = (struct weft_push){
        .retry = {.again = weft_p2p_push_again, .failed = weft_p2p_push_failed},
        .peer = peer,
        .end = length,
        .way = peer->ep->ops->find_stream(peer->ep, recv->header.path),
        .is_get = true,
        .name = name_of(recv),
        .key = *key,
    };
    if (weft_peer_retries(peer, WEFT_RETRY_BULK) ||
        weft_p2p_push_again(&push->retry) == WEFT_AGAIN) {
        weft_engine_retry_later(peer, WEFT_RETRY_BULK, &push->retry);
    }
}

const char *weft_p2p_on_placed(struct weft_peer *from, const struct weft_answer *answer)
{
    struct weft_p2p_request *recv;
    const char *fault = weft_p2p_find_incoming(from, answer->request, &recv);

    if (recv == NULL || fault != NULL) {
        return fault;
    }
    if (recv->is_told) {
        return NULL; /* a second time */
    }
    /* The rest was asked for at once, so it is all that was not counted yet. */
    if (recv->exposed == NULL || answer->length != weft_share_left(recv->share)) {
        return "it has put bytes that nobody asked for";
    }
    weft_p2p_conceal(recv);
    recv->is_told = true; /* the sender knows by itself */
    weft_p2p_count(recv, answer->length);
    return NULL;
}

void weft_p2p_conceal(struct weft_p2p_request *request)
{
    const bool is_send = request->base.kind == WEFT_REQUEST_SEND;
    const struct weft_endpoint *ep = is_send ? request->peer->ep : request->from->ep;

    ep->ops->mr_deregister(ep->transport, request->exposed);
    request->exposed = NULL;
}
