#include "transfer/protocol.h"

#include "base/pool.h"
#include "base/reserve.h"
#include "base/texts.h"
#include "transfer/accessible.h"
#include "transfer/stage.h"
#include "transfer/sums.h"

#include <assert.h>
#include <stddef.h>
#include <stdio.h>

enum {
    SHARE_FROM = 32 * 1024, /* copying together pays from here on */
    LARGEST_CHUNK = 128 * 1024,
    DATA_MAX = WEFT_PACKET_MAX - sizeof(struct weft_pkt_data),
    FIRST = 16,     /* transfers in the first chunk of the pool */
    MOST = 1 << 24, /* at once */
};

struct weft_transfers weft_transfers;

static struct weft_pool pool;

/* The packet that weft_push_chunk() has made last. One that was refused is not made
 * again: a name is never given to another transfer, and the bytes of a send do not
 * change. */
static struct {
    uint64_t name; /* of the send; 0: none */
    size_t length; /* bytes of the message */
    struct weft_pkt_data data;
    uint8_t bytes[DATA_MAX];
} packed;

void weft_transfer_open(void (*rested)(void))
{
    weft_transfers = (struct weft_transfers){.rested = rested};
    weft_pool_init(&pool, sizeof(struct weft_transfer), FIRST, MOST);
}

void weft_transfer_close(void)
{
    weft_pool_fini(&pool);
    packed.name = 0; /* names begin anew */
    weft_stages_free();
}

/* ---- names: generation << 32 | index ---- */

struct weft_transfer *weft_transfer_find(uint64_t name, bool is_send)
{
    struct weft_transfer *found =
        weft_pool_find(&pool, (uint32_t)name, (uint32_t)(name >> 32));

    return found != NULL && found->is_send == is_send ? found : NULL;
}

struct weft_transfer *weft_transfer_take(struct weft_peer *peer, bool is_send,
                                         const struct weft_data *data,
                                         const struct weft_transfer_events *events,
                                         void *owner)
{
    struct weft_transfer *t;
    void *object;
    uint32_t index;
    uint32_t generation;

    if (weft_transfer_meet(peer) != WEFT_OK ||
        weft_pool_take(&pool, &object, &index, &generation) != WEFT_OK) {
        return NULL;
    }
    t = object;
    t->name = (uint64_t)generation << 32 | index;
    t->peer = peer;
    t->is_send = is_send;
    t->data = *data;
    t->events = events;
    t->owner = owner;
    return t;
}

/* Of a name that is none of a transfer's now: NULL if it was one's. */
static const char *check_over(uint64_t name)
{
    return weft_pool_was(&pool, (uint32_t)name, (uint32_t)(name >> 32))
               ? NULL
               : "it names a message that never existed";
}

const char *weft_transfer_find_announced(const struct weft_peer *from, uint64_t name,
                                         struct weft_transfer **out)
{
    const struct weft_transfer *send = *out = weft_transfer_find(name, true);

    if (send == NULL) {
        return check_over(name);
    }
    return !send->awaits_answer || send->peer != from
               ? "it answers a message that was not announced to it"
               : NULL;
}

const char *weft_transfer_find_incoming(const struct weft_peer *from, uint64_t name,
                                        struct weft_transfer **out)
{
    const struct weft_transfer *recv = *out = weft_transfer_find(name, false);

    if (recv == NULL) {
        return check_over(name);
    }
    return recv->peer != from ? "it sends bytes for a receive that does not wait for them"
                              : NULL;
}

/* ---- the two lists ---- */

void weft_transfer_add(struct weft_transfer *t)
{
    struct weft_transfers *all = &weft_transfers;

    assert(t->link == NULL);
    t->next = all->list;
    t->link = &all->list;
    if (t->next != NULL) {
        t->next->link = &t->next;
    }
    all->list = t;
    weft_engine.watched++;
}

void weft_transfer_remove(struct weft_transfer *t)
{
    if (t->link == NULL) {
        return;
    }
    *t->link = t->next;
    if (t->next != NULL) {
        t->next->link = t->link;
    }
    t->link = NULL;
    weft_engine.watched--;
}

/* ---- the end ---- */

/* Frees everything but the transfer itself. */
static void release(struct weft_transfer *t)
{
    assert(t->work.state != WEFT_WORK_RUNNING);
    if (t->work.state == WEFT_WORK_WAITING) {
        weft_work_remove(&t->work);
    }
    weft_transfer_remove(t);
    if (t->is_share_ours) {
        weft_share_give(&weft_engine.node, t->share_number);
    }
    if (t->ops != NULL && t->ops->close != NULL) {
        t->ops->close(t);
    }
}

void weft_transfer_drop(struct weft_transfer *t)
{
    assert(t->is_offered);
    release(t);
    weft_pool_give(&pool, (uint32_t)t->name);
}

/* What a receive leaves behind; what it ends with. */
static enum weft_rc end_receive(struct weft_transfer *recv, enum weft_rc rc)
{
    recv->peer->wanted--;
    weft_transfers.incoming--;
    if (recv->is_pulled) {
        weft_reason_drop(WEFT_REASON_PACKETS);
    }
    if (rc != WEFT_OK) {
        return rc;
    }
    if (!recv->is_share_common && !recv->is_told) {
        const struct weft_pkt_fetched fetched = {.request = recv->other};

        weft_engine_control(recv->peer, WEFT_PKT_FETCHED, &fetched, sizeof(fetched));
    }
    return weft_has_checksum() ? weft_sums_check(recv) : WEFT_OK;
}

void weft_transfer_end(struct weft_transfer *t, enum weft_rc rc)
{
    release(t);
    if (t->is_incoming) {
        rc = end_receive(t, rc);
    }
    t->events->done(t, rc);
    weft_pool_give(&pool, (uint32_t)t->name);
}

/* ---- progress ---- */

/* Has a receive all bytes, and nothing to do until their checksums come? */
static bool waits_for_sums(const struct weft_transfer *t)
{
    return weft_has_checksum() && !t->is_send && t->is_summed && t->awaits_sums;
}

/* Does a transfer, all of whose bytes are there, lack no checksums? */
static bool is_summed(struct weft_transfer *t)
{
    if (!weft_has_checksum()) {
        return true;
    }
    return t->is_send ? !t->owes_sums : weft_sums_are_there(t);
}

/* A sender that owes checksums is to make them, once it knows for which receive. */
static bool has_work(const struct weft_transfer *t)
{
    return weft_share_has_chunks(t->share, t->share_generation) ||
           (weft_sums_are_owed(t) && weft_share_is_open(t->share, t->share_generation));
}

/* Ends it if it is over, or adds its work. */
static void look_at(struct weft_transfer *t)
{
    if (weft_unlikely(t->is_offered)) {
        if (!weft_share_is_open(t->share, t->share_generation)) {
            return;
        }
        t->is_offered = false;
        weft_transfer_came(t);
        t->message_length = weft_share_field(&t->share->note);
        t->events->claimed(t);
    }
    if (t->work.state != WEFT_WORK_RUNNING &&
        weft_share_is_over(t->share, t->share_generation) && is_summed(t)) {
        weft_transfer_end(t, WEFT_OK);
    } else if (t->work.state == WEFT_WORK_NONE && has_work(t)) {
        weft_transfer_add_work(t);
    }
}

void weft_transfers_look(void)
{
    struct weft_transfer *next;

    for (struct weft_transfer *t = weft_transfers.list; t != NULL; t = next) {
        next = t->next;
        look_at(t);
    }
}

bool weft_transfers_have_news(void)
{
    for (const struct weft_transfer *t = weft_transfers.list; t != NULL; t = t->next) {
        if (t->work.state != WEFT_WORK_RUNNING &&
            (has_work(t) ||
             (weft_share_is_over(t->share, t->share_generation) && !waits_for_sums(t)))) {
            return true;
        }
    }
    return false;
}

/* The state RUNNING keeps the transfer from ending meanwhile. */
static void run(struct weft_work *work)
{
    struct weft_transfer *t =
        (struct weft_transfer *)((char *)work - offsetof(struct weft_transfer, work));

    t->ops->work(t);
    t->work.state = WEFT_WORK_NONE;
    weft_transfers_look();
    if (weft_transfers.rested != NULL) {
        weft_transfers.rested();
    }
}

void weft_transfer_add_work(struct weft_transfer *t)
{
    weft_work_add(&t->work, WEFT_WORK_SHORT, run, NULL);
}

/* ---- what protocols share ---- */

void weft_transfer_came(struct weft_transfer *recv)
{
    recv->is_incoming = true;
    recv->peer->wanted++;
    weft_transfers.incoming++;
}

void weft_transfer_count(const struct weft_transfer *t, uint64_t bytes)
{
    if (weft_share_count(t->share, bytes) && t->peer->area != NULL) {
        weft_node_wake(t->peer->area, WEFT_WAKE_STEPS);
    }
}

void weft_transfer_pull(struct weft_transfer *recv, uint64_t offset, uint64_t length)
{
    const struct weft_pkt_pull pull = {
        .request = recv->other,
        .receiver = recv->name,
        .offset = offset,
        .length = length,
    };

    if (!recv->is_pulled) {
        recv->is_pulled = true;
        weft_reason_add(WEFT_REASON_PACKETS);
    }
    weft_engine_control(recv->peer, WEFT_PKT_PULL, &pull, sizeof(pull));
}

bool weft_transfer_is_first_pull(struct weft_transfer *send,
                                 const struct weft_pkt_pull *chunk)
{
    if (chunk->offset < send->pulled_to) {
        return false;
    }
    send->pulled_to = chunk->offset + chunk->length;
    return true;
}

uint64_t weft_transfer_choose_chunk(uint64_t length)
{
    if (length < SHARE_FROM) {
        return length;
    }
    return length / 2 < LARGEST_CHUNK ? (length + 1) / 2 : LARGEST_CHUNK;
}

void weft_transfer_end_if_inaccessible(const struct weft_transfer *t, uint64_t offset,
                                       uint64_t length)
{
    char what[sizeof(WEFT_S_BUFFER_MESSAGE) + 20];

    if (weft_peer_is_on_node(t->peer) && weft_peer_can_reach(t->peer)) {
        snprintf(what, sizeof(what), WEFT_S_BUFFER_MESSAGE,
                 t->is_send ? "send" : "receive", t->header.tag);
        weft_data_end_if_inaccessible(weft_engine.job, &t->data, offset, length,
                                      !t->is_send, what);
    }
}

/* ---- what peers have asked for ---- */

/* Bytes of a message in one packet that is copied: as many as the path's packets carry.
 */
static uint64_t chunk_max(const struct weft_peer *peer)
{
    const uint64_t most = peer->path != NULL && peer->path->packet_max > WEFT_EAGER_MAX
                              ? peer->path->packet_max
                              : weft_peer_eager_max(peer);

    return (most < WEFT_PACKET_MAX ? most : WEFT_PACKET_MAX) - sizeof(packed.data);
}

bool weft_push_chunk(struct weft_peer *peer, struct weft_push *push)
{
    const uint64_t left = push->end - push->offset;
    const uint64_t most = chunk_max(peer);
    const size_t n = (size_t)(left < most ? left : most);
    struct weft_header header = {.kind = WEFT_PKT_DATA};

    if (packed.name != push->name || packed.length != n ||
        packed.data.request != push->request || packed.data.offset != push->offset) {
        weft_data_gather(&push->send->data, push->offset, packed.bytes, n);
        packed.name = push->name;
        packed.length = n;
        packed.data =
            (struct weft_pkt_data){.request = push->request, .offset = push->offset};
    }
    if (weft_engine_send(peer, &header, &packed.data, sizeof(packed.data) + n, 0) !=
        WEFT_OK) {
        return false;
    }
    packed.name = 0;
    weft_transfers.chunks_sent++;
    push->offset += n;
    return true;
}

static const struct weft_transfer_ops chunks = {.push = weft_push_chunk};

static void free_push(struct weft_push *push)
{
    weft_reserve_give(push->packed);
    weft_reserve_give(push);
}

static enum weft_rc push_again(struct weft_retry *retry)
{
    struct weft_push *push = (struct weft_push *)retry;

    while (push->offset < push->end) {
        if (!push->ops->push(push->peer, push)) {
            return WEFT_AGAIN;
        }
    }
    if (push->ops->pushed != NULL) {
        push->ops->pushed(push->peer, push);
    }
    free_push(push);
    return WEFT_OK;
}

static void push_failed(struct weft_retry *retry)
{
    free_push((struct weft_push *)retry);
}

struct weft_push *weft_push_make(struct weft_peer *peer, const struct weft_push *push)
{
    struct weft_push *made = weft_reserve_take(sizeof(*made));

    if (made == NULL) {
        weft_wireup_abort(weft_engine.job, 1, WEFT_S_OOM_CHUNKS);
    }
    *made = *push;
    made->peer = peer;
    made->retry = (struct weft_retry){.again = push_again, .failed = push_failed};
    return made;
}

void weft_push_begin(struct weft_push *push)
{
    struct weft_peer *peer = push->peer;

    if (weft_peer_retries(peer, WEFT_RETRY_BULK) ||
        push_again(&push->retry) == WEFT_AGAIN) {
        weft_engine_retry_later(peer, WEFT_RETRY_BULK, &push->retry);
    }
}

struct weft_push *weft_transfer_start_push(struct weft_transfer *send, uint64_t offset,
                                           uint64_t length, uint64_t request)
{
    struct weft_peer *peer = send->peer;
    const bool is_own = send->ops->push != NULL && peer->path->zcopy_max > 0;
    struct weft_push *push;

    if (weft_unlikely(peer->is_failed)) {
        return NULL; /* and the transfer is about to be ended */
    }
    push = weft_push_make(peer, &(struct weft_push){
                                    .ops = is_own ? send->ops : &chunks,
                                    .send = send,
                                    .name = send->name,
                                    .start = offset,
                                    .offset = offset,
                                    .end = offset + length,
                                    .request = request,
                                    .path = weft_peer_path_now(peer, send->path),
                                });
    weft_engine_retry_later(peer, WEFT_RETRY_BULK, &push->retry);
    return push;
}

bool weft_transfer_is_pushed(const struct weft_transfer *send)
{
    const struct weft_retry *retry = weft_peer_first_retry(send->peer, WEFT_RETRY_BULK);

    while (retry != NULL && (retry->again != push_again ||
                             ((const struct weft_push *)retry)->send != send)) {
        retry = retry->next;
    }
    return retry != NULL ||
           (send->ops->has_zcopies != NULL && send->ops->has_zcopies(send));
}

enum weft_rc weft_transfer_meet(struct weft_peer *peer)
{
    if (peer->transfers == NULL) {
        peer->transfers = weft_reserve_take_zeroed(sizeof(*peer->transfers));
    }
    return peer->transfers != NULL ? WEFT_OK : WEFT_ERR_NOMEM;
}

void weft_transfer_forget(struct weft_peer *peer)
{
    struct weft_peer_transfers *known = peer->transfers;

    if (known == NULL) {
        return;
    }
    while (known->offers != NULL) {
        struct weft_offer *next = known->offers->next;

        weft_reserve_give(known->offers);
        known->offers = next;
    }
    while (known->net.first != NULL) {
        struct weft_key_offer *next = known->net.first->next;

        weft_reserve_give(known->net.first);
        known->net.first = next;
    }
    peer->is_noted = false;
}

void weft_transfer_leave(struct weft_peer *peer)
{
    weft_transfer_forget(peer);
    weft_reserve_give(peer->transfers);
    peer->transfers = NULL;
}
