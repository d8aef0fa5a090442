#include "transfer/rndv_net.h"

#include "base/reserve.h"
#include "base/texts.h"
#include "engine/promote.h"

#include <stddef.h>
#include <string.h>

enum {
    PUT_MAX = 64 * 1024 * 1024, /* at once */
    ANNOUNCED_ONLY = 16,        /* messages after one whose bytes were thrown away */
    STREAM_FROM = 32 * 1024,    /* bytes of a message that takes a stream in turn */
};

static const struct weft_transfer_ops on_net;

/* An operation of a transport on behalf of a transfer. */
struct net_op {
    struct weft_op op; /* first */
    uint64_t name;     /* whose buffer it is, or 0 if that does not wait */
    uint64_t got;      /* bytes, if that is a receive; else 0 */
    bool is_reading;   /* the end of that send is told otherwise, but waits for this */
    void *memory;      /* to be freed with it, or NULL */
};

static struct weft_op *free_ops;

static void on_done(struct weft_op *op, enum weft_rc rc);

static struct net_op *take_op(uint64_t name, void *memory)
{
    struct net_op *one = (struct net_op *)free_ops;

    if (one != NULL) {
        free_ops = one->op.next;
    } else {
        one = weft_reserve_take(sizeof(*one));
        if (one == NULL) {
            weft_wireup_abort(weft_engine.job, 1, WEFT_S_OOM_SEND);
        }
    }
    *one = (struct net_op){.op.done = on_done, .name = name, .memory = memory};
    return one;
}

static void give_op(struct net_op *one)
{
    weft_reserve_give(one->memory);
    one->op.next = free_ops;
    free_ops = &one->op;
}

void weft_rndv_net_close(void)
{
    while (free_ops != NULL) {
        struct weft_op *next = free_ops->next;

        weft_reserve_give(free_ops);
        free_ops = next;
    }
}

bool weft_rndv_net_ends_later(struct weft_transfer *send)
{
    if (send->ops != &on_net || send->net.readings == 0) {
        return false;
    }
    send->net.is_over = true;
    return true;
}

/* The last of what a send waits for. If the peer is lost, p2p/ ends the transfer. */
static void count_zcopy(struct weft_transfer *send, enum weft_rc rc)
{
    if (rc == WEFT_ERR_PROC_FAILED || --send->net.zcopies > 0) {
        return;
    }
    if (rc != WEFT_OK || !weft_rndv_net_ends_later(send)) {
        weft_transfer_end(send, rc);
    }
}

/* The network does not read these bytes any more. */
static void count_reading(struct weft_transfer *send)
{
    if (--send->net.readings == 0 && send->net.is_over) {
        weft_transfer_end(send, WEFT_OK);
    }
}

static void on_done(struct weft_op *op, enum weft_rc rc)
{
    struct net_op *one = (struct net_op *)op;
    const uint64_t got = one->got;
    const bool is_reading = one->is_reading;
    struct weft_transfer *t =
        one->name != 0 ? weft_transfer_find(one->name, got == 0) : NULL;

    give_op(one);
    if (t == NULL) {
        return;
    }
    if (is_reading) {
        count_reading(t);
    } else if (got == 0) {
        count_zcopy(t, rc);
    } else if (rc == WEFT_OK) { /* else the peer is lost, and what it owes us with it */
        weft_transfer_count(t, got);
    }
}

static struct weft_path *next_path(struct weft_path *path)
{
    return path->packets->next_path != NULL ? path->packets->next_path(path) : path;
}

static struct weft_path *find_path(struct weft_path *path, uint32_t number)
{
    return path->packets->find_path != NULL ? path->packets->find_path(path, number)
                                            : path;
}

/* The path of a message, chosen when it is tried for the first time. */
static struct weft_path *path_of(struct weft_transfer *send)
{
    struct weft_path *path = send->peer->path;

    if (send->path == NULL || send->path->transport != path->transport) {
        send->path = send->data.bytes < STREAM_FROM ? path : next_path(path);
        send->header.path = send->path->number;
    }
    return send->path;
}

/* An ordered packet with bytes of the user's. WEFT_OK: it is on its way. */
static enum weft_rc send_zcopy(struct weft_peer *peer, struct weft_path *path,
                               struct weft_header *header, const void *head,
                               size_t head_len, const void *data, size_t len,
                               struct net_op *one)
{
    enum weft_rc rc;

    if (weft_peer_is_held(peer)) {
        one->memory = NULL; /* still the caller's */
        give_op(one);
        return WEFT_AGAIN;
    }
    header->sequence = (uint32_t)peer->next_sequence;
    if (weft_has_checksum()) {
        const bool is_whole = header->kind == WEFT_PKT_EAGER;

        weft_engine.hooks.seal(header, is_whole ? data : head, is_whole ? len : head_len);
    }
    rc = path->packets->send_zcopy(path, header, head, head_len, data, len, &one->op);
    if (rc != WEFT_PENDING) {
        one->memory = NULL; /* still the caller's */
        give_op(one);
        return rc;
    }
    peer->next_sequence++;
    if (weft_unlikely(peer->choice == WEFT_CHOICE_TRIAL)) {
        weft_engine.counted(peer);
    }
    return WEFT_OK;
}

/* The same, of a message whose end its receiver tells: it waits until the network does
 * not read these bytes any more. An acknowledgement of them may come after that. */
static enum weft_rc send_reading(struct weft_transfer *send, struct weft_path *path,
                                 struct weft_header *header, const void *head,
                                 size_t head_len, const void *data, size_t len)
{
    struct net_op *one = take_op(send->name, NULL);
    enum weft_rc rc;

    one->is_reading = true;
    rc = send_zcopy(send->peer, path, header, head, head_len, data, len, one);
    if (rc == WEFT_OK) {
        send->net.readings++;
    }
    return rc;
}

/* ---- whole messages ---- */

enum weft_rc weft_rndv_net_send(struct weft_transfer *send)
{
    struct weft_path *path = path_of(send);
    enum weft_rc rc;

    send->ops = &on_net;
    send->header.length = (uint32_t)send->data.bytes;
    send->net.zcopies = 1;
    rc = send_zcopy(send->peer, path, &send->header, NULL, 0, send->data.buffer,
                    (size_t)send->data.bytes, take_op(send->name, NULL));
    return rc == WEFT_OK ? WEFT_PENDING : rc;
}

/* ---- the sender's half ---- */

/* Is the message announced before this one still under way? */
static bool is_one_before(const struct weft_transfer *send)
{
    const struct weft_transfer *last =
        weft_transfer_find(send->peer->transfers->announced_last, true);

    return last != NULL && last != send;
}

/*
 * How many bytes go with an announcement. They are there sooner, but the receiver copies
 * them once more; so none go where others are on the way meanwhile.
 */
static size_t bytes_along(const struct weft_transfer *send, size_t head_len)
{
    const struct weft_peer *peer = send->peer;
    const size_t room = peer->path->zcopy_max;
    const size_t most = room > head_len ? room - head_len : 0;

    if (send->data.type != NULL || most == 0 || peer->transfers->announced_only > 0 ||
        send->net.mr != NULL || is_one_before(send) || weft_promote_may_move(peer)) {
        return 0;
    }
    return send->data.bytes < most ? (size_t)send->data.bytes : most;
}

/* Once, however often it is tried; a message that cannot be registered now is pushed. */
void weft_rndv_net_register(struct weft_transfer *send,
                            struct weft_pkt_announce *announce)
{
    const struct weft_path *path = send->peer->path;

    send->ops = &on_net;
    if (path->memory == NULL || !path->prefers_get || send->data.type != NULL ||
        send->data.bytes <= path->zcopy_max) {
        return;
    }
    if (send->net.mr == NULL &&
        path->memory->mr_register(path->transport, weft_data_at(&send->data, 0),
                                  (size_t)send->data.bytes, WEFT_MR_GET, &send->net.key,
                                  &send->net.mr) != WEFT_OK) {
        send->net.mr = NULL;
        return;
    }
    send->header.flags |= WEFT_PKT_REGISTERED;
    announce->address = send->net.key.address;
    announce->share = send->net.key.key;
}

enum weft_rc weft_rndv_net_announce(struct weft_transfer *send, const void *head,
                                    size_t head_len)
{
    struct weft_path *path = path_of(send);
    const size_t along = bytes_along(send, head_len);
    enum weft_rc rc;

    send->net.zcopies = send->net.readings = 0;
    send->net.is_over = false;
    send->is_along = along > 0;
    send->header.length = (uint32_t)head_len;
    if (along > 0) {
        rc = send_reading(send, path, &send->header, head, head_len, send->data.buffer,
                          along);
    } else {
        rc =
            weft_engine_send(send->peer, &send->header, head, head_len, WEFT_SEND_URGENT);
    }
    if (rc == WEFT_OK) {
        send->peer->transfers->announced_last = send->name;
        if (along == 0 && send->peer->transfers->announced_only > 0) {
            send->peer->transfers->announced_only--;
        }
    }
    return rc;
}

void weft_rndv_net_note_pull(const struct weft_transfer *send, uint64_t offset)
{
    if (offset == 0 && send->is_along) { /* what went along was thrown away */
        send->peer->transfers->announced_only = ANNOUNCED_ONLY;
    }
}

/* Whose bytes are put or got, and how many come next; NULL: the peer is dead, and so is
 * this message. */
static struct weft_transfer *next_of(struct weft_push *push, bool is_send, uint64_t *n)
{
    struct weft_transfer *t = weft_transfer_find(push->name, is_send);
    const uint64_t left = push->end - push->offset;

    *n = left < PUT_MAX ? left : PUT_MAX;
    if (t == NULL) {
        push->offset = push->end;
    }
    return t;
}

/* The network tells the receiver; with checksums a packet does, which has one. */
static bool is_told_by_put(const struct weft_push *push)
{
    return push->path->memory->put_tell != NULL && !weft_has_checksum();
}

static enum weft_rc put(const struct weft_push *push, const void *from, size_t n,
                        struct weft_op *op)
{
    const uint64_t offset = push->offset - push->start;

    return push->offset + n == push->end && is_told_by_put(push)
               ? weft_path_put_tell(push->path, &push->key, offset, from, n,
                                    push->request, op)
               : weft_path_put(push->path, &push->key, offset, from, n, op);
}

/* The next bytes for memory that a receiver has registered; false: no room now. */
static bool put_next(struct weft_peer *peer, struct weft_push *push)
{
    uint64_t n;
    struct weft_transfer *send = next_of(push, true, &n);
    struct net_op *one;
    enum weft_rc rc;

    (void)peer;
    if (send == NULL) {
        return true;
    }
    one = take_op(push->name, NULL);
    rc = put(push, weft_data_at(&send->data, push->offset), (size_t)n, &one->op);
    if (rc == WEFT_AGAIN) {
        give_op(one);
        return false;
    }
    push->offset += n;
    if (push->offset < push->end) {
        send->net.zcopies++; /* one more than what is asked for */
    }
    if (rc != WEFT_PENDING) {
        give_op(one);
        push->offset = push->end;
        count_zcopy(send, rc);
    }
    return true;
}

/* The next `n` bytes of data in many blocks, packed; they were, if the packet found no
 * room before. */
static void *pack_next(struct weft_push *push, size_t n)
{
    void *packed = push->packed_length == n ? push->packed : NULL;

    if (packed == NULL) {
        weft_reserve_give(push->packed);
        packed = weft_reserve_take(n);
        if (packed == NULL) {
            weft_wireup_abort(weft_engine.job, 1, WEFT_S_OOM_PACK);
        }
        weft_data_gather(&push->send->data, push->offset, packed, n);
    }
    push->packed = packed;
    push->packed_length = n;
    return packed;
}

static enum weft_rc send_data(struct weft_push *push, struct weft_header *header,
                              const struct weft_pkt_data *chunk, size_t n)
{
    void *packed;
    enum weft_rc rc;

    if (push->send->data.type == NULL) {
        return send_reading(push->send, push->path, header, chunk, sizeof(*chunk),
                            weft_data_at(&push->send->data, push->offset), n);
    }
    packed = pack_next(push, n);
    rc = send_zcopy(push->peer, push->path, header, chunk, sizeof(*chunk), packed, n,
                    take_op(0, packed));
    if (rc == WEFT_OK) {
        push->packed = NULL; /* freed with the operation */
    }
    return rc;
}

/* A packet with the next bytes, as many as go at once; false: no room now. */
static bool send_next(struct weft_peer *peer, struct weft_push *push)
{
    const uint64_t left = push->end - push->offset;
    struct weft_header header = {.kind = WEFT_PKT_DATA};
    const struct weft_pkt_data chunk = {
        .request = push->request,
        .offset = push->offset,
    };
    uint64_t most;
    size_t n;

    push->path = weft_peer_path_now(peer, push->path);
    if (push->path->zcopy_max == 0) {
        /* Another network has taken the peer, and copies each chunk. What is packed
         * already begins at this offset, and would be sent in place of a later chunk. */
        weft_reserve_give(push->packed);
        push->packed = NULL;
        return weft_push_chunk(peer, push);
    }
    most = push->path->zcopy_max - sizeof(chunk);
    n = (size_t)(left < most ? left : most);
    header.length = (uint32_t)(sizeof(chunk) + n);
    if (send_data(push, &header, &chunk, n) != WEFT_OK) {
        return false;
    }
    weft_transfers.chunks_sent++;
    push->offset += n;
    return true;
}

/* The next bytes of memory that a sender has registered; false: no room now. */
static bool get_next(struct weft_peer *peer, struct weft_push *push)
{
    uint64_t n;
    struct weft_transfer *recv = next_of(push, false, &n);
    struct net_op *one;
    enum weft_rc rc;

    (void)peer;
    if (recv == NULL) {
        return true;
    }
    one = take_op(push->name, NULL);
    one->got = n;
    rc = weft_path_get(push->path, &push->key, push->offset,
                       weft_data_at(&recv->data, push->offset), (size_t)n, &one->op);
    if (rc != WEFT_PENDING) {
        give_op(one);
    }
    push->offset = rc == WEFT_PENDING ? push->offset + n
                   : rc == WEFT_AGAIN ? push->offset
                                      : push->end; /* it is lost */
    return rc != WEFT_AGAIN;
}

static void send_placed(struct weft_peer *peer, struct weft_push *push)
{
    const struct weft_pkt_placed placed = {
        .request = push->request,
        .length = push->end - push->start,
    };

    if (!is_told_by_put(push)) {
        weft_engine_control_by(peer, push->path, WEFT_PKT_PLACED, &placed,
                               sizeof(placed));
    }
}

void weft_rndv_net_deregister(struct weft_transfer *t)
{
    const struct weft_path *path = t->peer->path;

    if (t->net.mr != NULL) {
        path->memory->mr_deregister(path->transport, t->net.mr);
        t->net.mr = NULL;
    }
}

static bool has_zcopies(const struct weft_transfer *send)
{
    return send->net.zcopies > 0;
}

static const struct weft_transfer_ops on_net = {
    .push = send_next,
    .has_zcopies = has_zcopies,
    .close = weft_rndv_net_deregister,
};

static const struct weft_transfer_ops put_ops = {.push = put_next, .pushed = send_placed};
static const struct weft_transfer_ops get_ops = {.push = get_next};

static const char wrong_protocol[] =
    "it has registered memory for a message that takes another protocol";

const char *weft_rndv_net_on_pull_put(struct weft_peer *from,
                                      const union weft_pkt_control *packet)
{
    const struct weft_pkt_pull_put *pull_put = &packet->pull_put;
    const struct weft_pkt_pull *chunk = &pull_put->chunk;
    struct weft_transfer *send;
    const char *fault = weft_transfer_find_announced(from, chunk->request, &send);
    struct weft_push *push;

    if (send == NULL || fault != NULL) {
        return fault;
    }
    if (send->data.type != NULL || !weft_peer_is_on_net(from) ||
        from->path->memory == NULL) {
        return wrong_protocol;
    }
    if (!weft_is_part(chunk->offset, chunk->length, send->data.bytes) ||
        chunk->length == 0) {
        return "it asks for bytes outside the message";
    }
    if (!weft_transfer_is_first_pull(send, chunk)) {
        return NULL;
    }
    if (weft_transfer_is_pushed(send)) {
        return wrong_protocol;
    }
    weft_rndv_net_note_pull(send, chunk->offset);
    push = weft_transfer_start_push(send, chunk->offset, chunk->length, chunk->receiver);
    if (push != NULL) {
        push->ops = &put_ops;
        push->key = (struct weft_key){.address = pull_put->address, .key = pull_put->key};
        send->net.zcopies = 1;
    }
    return NULL;
}

/* ---- into memory that the receiver has offered ---- */

/* Behind the put, by the same path. */
static enum weft_rc send_stored(struct weft_transfer *send)
{
    struct {
        struct weft_pkt_stored stored;
        uint32_t sums[WEFT_SUM_BLOCKS];
    } packet = {.stored = send->net.stored};
    const size_t len = weft_has_checksum() ? sizeof(packet) : sizeof(packet.stored);
    struct weft_peer *peer = send->peer;
    struct weft_header *header = &send->header;
    enum weft_rc rc;

    if (weft_peer_is_held(peer)) {
        return WEFT_AGAIN;
    }
    header->kind = WEFT_PKT_STORED;
    header->sequence = (uint32_t)peer->next_sequence;
    header->length = (uint32_t)len;
    if (weft_has_checksum()) {
        memcpy(packet.sums, send->sums, sizeof(packet.sums));
        weft_engine.hooks.seal(header, &packet, len);
    }
    rc = send->path->packets->send(send->path, header, &packet, len, WEFT_SEND_URGENT);
    if (rc == WEFT_OK) {
        peer->next_sequence++;
    }
    return rc;
}

static struct weft_transfer *storing(struct weft_retry *retry)
{
    return (struct weft_transfer *)((char *)retry -
                                    offsetof(struct weft_transfer, net.retry));
}

static enum weft_rc stored_again(struct weft_retry *retry)
{
    struct weft_transfer *send = storing(retry);
    const enum weft_rc rc = send_stored(send);

    if (rc == WEFT_OK) {
        count_zcopy(send, rc);
    }
    return rc;
}

/* p2p/ ends the transfer, as its peer is lost. */
static void stored_failed(struct weft_retry *retry)
{
    (void)retry;
}

bool weft_rndv_net_store(struct weft_transfer *send, const struct weft_key *key,
                         uint64_t room, const struct weft_pkt_stored *stored)
{
    const uint64_t length = send->data.bytes < room ? send->data.bytes : room;
    struct weft_path *path = path_of(send);
    struct net_op *one;

    if (length == 0 || length > PUT_MAX) {
        return false;
    }
    one = take_op(send->name, NULL);
    if (weft_path_put(path, key, 0, weft_data_at(&send->data, 0), (size_t)length,
                      &one->op) != WEFT_PENDING) {
        give_op(one);
        return false;
    }
    send->ops = &on_net;
    send->net.zcopies = 2; /* the put, and the packet */
    send->net.stored = *stored;
    send->net.retry = (struct weft_retry){.again = stored_again, .failed = stored_failed};
    if (send_stored(send) == WEFT_OK) {
        send->net.zcopies = 1;
    } else {
        weft_engine_retry_later(send->peer, WEFT_RETRY_ORDERED, &send->net.retry);
    }
    return true;
}

/* ---- the receiver's half ---- */

bool weft_rndv_net_register_receive(struct weft_transfer *recv, struct weft_key *key)
{
    const struct weft_path *path = recv->peer->path;

    if (path->memory->mr_register(path->transport, weft_data_at(&recv->data, 0),
                                  (size_t)recv->data.bytes, WEFT_MR_PUT, key,
                                  &recv->net.mr) != WEFT_OK) {
        recv->net.mr = NULL;
        return false;
    }
    return true;
}

/* Asks for what did not come along: into its place, or as DATA. */
static void ask_for_rest(struct weft_transfer *recv, uint64_t offset, uint64_t length)
{
    const struct weft_path *path = recv->peer->path;
    struct weft_key key;
    struct weft_pkt_pull_put pull_put;

    if (recv->data.type != NULL || recv->is_sent_in_parts || path->memory == NULL ||
        path->memory->mr_register(path->transport, weft_data_at(&recv->data, offset),
                                  (size_t)length, WEFT_MR_PUT, &key,
                                  &recv->net.mr) != WEFT_OK) {
        recv->net.mr = NULL;
        weft_transfer_pull(recv, offset, length);
        return;
    }
    pull_put = (struct weft_pkt_pull_put){
        .chunk =
            {
                .request = recv->other,
                .receiver = recv->name,
                .offset = offset,
                .length = length,
            },
        .address = key.address,
        .key = key.key,
    };
    weft_engine_control(recv->peer, WEFT_PKT_PULL_PUT, &pull_put, sizeof(pull_put));
}

void weft_rndv_net_begin(struct weft_transfer *recv, uint64_t length, const void *along,
                         size_t along_len)
{
    const uint64_t here = along_len < length ? along_len : length;

    recv->ops = &on_net;
    if (length > here) {
        ask_for_rest(recv, here, length - here);
    }
    if (here > 0) {
        weft_data_scatter(&recv->data, 0, along, (size_t)here);
        weft_transfer_count(recv, here);
    }
}

void weft_rndv_net_get(struct weft_transfer *recv, uint64_t length,
                       const struct weft_key *key)
{
    struct weft_peer *peer = recv->peer;
    struct weft_push *push;

    recv->ops = &on_net;
    if (length == 0) {
        return;
    }
    if (recv->data.type != NULL) {
        weft_transfer_pull(recv, 0, length);
        return;
    }
    push = weft_push_make(peer, &(struct weft_push){
                                    .ops = &get_ops,
                                    .name = recv->name,
                                    .end = length,
                                    .path = find_path(peer->path, recv->header.path),
                                    .key = *key,
                                });
    weft_push_begin(push);
}

/* The rest was asked for at once, so it is all that was not counted yet. */
static bool awaits_put(const struct weft_transfer *recv)
{
    return recv->ops == &on_net && recv->net.mr != NULL && !recv->is_told;
}

static void end_put(struct weft_transfer *recv)
{
    weft_rndv_net_deregister(recv);
    recv->is_told = true; /* the sender knows by itself */
    weft_transfer_count(recv, weft_share_left(recv->share));
}

void weft_rndv_net_on_told(uint64_t name)
{
    struct weft_transfer *recv = weft_transfer_find(name, false);

    if (recv != NULL && awaits_put(recv)) {
        end_put(recv);
    }
}

const char *weft_rndv_net_on_placed(struct weft_peer *from,
                                    const union weft_pkt_control *packet)
{
    const struct weft_pkt_placed *placed = &packet->placed;
    struct weft_transfer *recv;
    const char *fault = weft_transfer_find_incoming(from, placed->request, &recv);

    if (recv == NULL || fault != NULL) {
        return fault;
    }
    if (recv->is_told) {
        return NULL; /* a second time */
    }
    if (!awaits_put(recv) || placed->length != weft_share_left(recv->share)) {
        return "it has put bytes that nobody asked for";
    }
    end_put(recv);
    return NULL;
}
