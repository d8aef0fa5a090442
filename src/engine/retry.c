/*
 * retry.c - packets out, and what is tried again because a queue was full.
 */
#include "engine/engine.h"

#include "base/reserve.h"
#include "base/texts.h"
#include "engine/held.h"
#include "engine/hot.h"

#include <string.h>

/* A control packet that found its queue full. */
struct control {
    struct weft_retry retry; /* first */
    struct weft_peer *peer;
    struct weft_path *path;
    struct weft_header header;
    uint8_t data[WEFT_CONTROL_MAX];
};

void weft_engine_update_fast(struct weft_peer *peer)
{
    const bool is_free = !weft_peer_retries(peer, WEFT_RETRY_ORDERED) &&
                         weft_engine.hooks.seal == NULL && !peer->is_failed &&
                         !peer->is_noted && !weft_engine.has_matching_network &&
                         peer->choice == WEFT_CHOICE_NONE;

    peer->fast = is_free ? peer->path : NULL;
    peer->fast_below = peer->fast != NULL ? weft_peer_eager_max(peer) + 1 : 0;
}

/* The peer's queues, made if there are none: it joins the list then. */
static struct weft_retries *retries_of(struct weft_peer *peer)
{
    struct weft_engine *e = &weft_engine;

    if (peer->retries == NULL) {
        peer->retries = weft_reserve_take_zeroed(sizeof(*peer->retries));
        if (peer->retries == NULL) {
            weft_wireup_abort(e->job, 1, WEFT_S_OOM_SEND);
        }
        peer->retries->next = e->retrying;
        e->retrying = peer;
        weft_reason_add(WEFT_REASON_RETRY);
    }
    return peer->retries;
}

void weft_engine_retry_later(struct weft_peer *peer, enum weft_retry_class which,
                             struct weft_retry *retry)
{
    struct weft_engine *e = &weft_engine;
    struct weft_retry_queue *queue = &retries_of(peer)->queue[which];

    weft_assert_locked();
    retry->next = NULL;
    if (queue->first == NULL) {
        queue->first = retry;
        e->has_new_retry = true;
    } else {
        queue->last->next = retry;
    }
    queue->last = retry;
    weft_engine_update_fast(peer);
    assert(which != WEFT_RETRY_ORDERED || peer->fast == NULL);
}

void weft_engine_retry_before(struct weft_peer *peer, enum weft_retry_class which,
                              struct weft_retry *first)
{
    struct weft_retry_queue *queue = &retries_of(peer)->queue[which];
    const struct weft_retry_queue behind = *queue;
    struct weft_retry *const second = first->next;
    struct weft_retry *last = first;

    queue->first = NULL;
    weft_engine_retry_later(peer, which, first);
    first->next = second;
    while (last->next != NULL) {
        last = last->next;
    }
    last->next = behind.first;
    queue->last = behind.first != NULL ? behind.last : last;
}

static void replace_first(struct weft_retry_queue *queue, struct weft_retry *by)
{
    by->next = queue->first->next;
    queue->last = queue->last == queue->first ? by : queue->last;
    queue->first = by;
}

/*
 * Tries the first of a queue; false: no room. A stand-in has its place meanwhile, so that
 * nothing of its class passes it and what is queued behind it is kept, though its own
 * memory may go.
 */
static bool retry_first(struct weft_retry_queue *queue)
{
    struct weft_retry *tried = queue->first;
    struct weft_retry stand_in = {.next = NULL};
    enum weft_rc rc;

    replace_first(queue, &stand_in);
    rc = tried->again(tried);
    assert(queue->first == &stand_in);
    if (rc == WEFT_AGAIN) {
        replace_first(queue, tried);
        return false;
    }
    queue->first = stand_in.next;
    return true;
}

/* True if nothing is left. */
static bool retry_queue(struct weft_peer *peer, enum weft_retry_class which)
{
    struct weft_retry_queue *queue = &peer->retries->queue[which];

    while (queue->first != NULL) {
        if (!retry_first(queue)) {
            return false;
        }
        weft_engine.has_new_retry |= queue->first != NULL;
    }
    return true;
}

static bool retry_peer(struct weft_peer *peer)
{
    if (!retry_queue(peer, WEFT_RETRY_CONTROL) ||
        !retry_queue(peer, WEFT_RETRY_ORDERED)) {
        return false;
    }
    weft_engine_update_fast(peer);
    /* Bulk data may have left a control packet behind. */
    return retry_queue(peer, WEFT_RETRY_BULK) &&
           !weft_peer_retries(peer, WEFT_RETRY_CONTROL);
}

void weft_engine_retry(void)
{
    struct weft_engine *e = &weft_engine;
    struct weft_peer **at = &e->retrying;

    weft_assert_locked();
    if (weft_unlikely(e->promoted != NULL)) { /* may let packets go that were held */
        e->go_on_promoting();
    }
    while (*at != NULL) {
        struct weft_peer *peer = *at;

        if (retry_peer(peer)) {
            *at = peer->retries->next;
            weft_reserve_give(peer->retries);
            peer->retries = NULL;
            weft_reason_drop(WEFT_REASON_RETRY);
        } else {
            at = &peer->retries->next;
        }
    }
    if (e->retrying == NULL && e->is_room_awaited) {
        weft_node_ring(&e->node);
    }
}

void weft_engine_fail_retries(struct weft_peer *peer, enum weft_retry_class which)
{
    while (weft_peer_retries(peer, which)) {
        struct weft_retry_queue *queue = &peer->retries->queue[which];
        struct weft_retry *retry = queue->first;

        queue->first = retry->next;
        retry->failed(retry);
    }
}

void weft_retry_free(struct weft_retry *retry)
{
    weft_reserve_give(retry);
}

void weft_engine_drop_retries(struct weft_peer *peer, enum weft_retry_class which)
{
    while (weft_peer_retries(peer, which)) {
        struct weft_retry_queue *queue = &peer->retries->queue[which];
        struct weft_retry *retry = queue->first;

        queue->first = retry->next;
        if (retry->failed == weft_retry_free) {
            weft_retry_free(retry);
        }
    }
}

/* ---- packets ---- */

/* It has no queue, so its turn is now. The handler may send to ourselves, too: the next
 * number comes first. */
static void send_to_self(struct weft_peer *self, const struct weft_header *header,
                         const void *data, size_t len)
{
    struct weft_engine *e = &weft_engine;
    enum weft_taken taken;

    self->next_sequence++;
    taken = e->up.arrived(e, self, header, data, len, 0);
    assert(taken == WEFT_TAKEN);
    (void)taken;
}

enum weft_rc weft_engine_send(struct weft_peer *peer, struct weft_header *header,
                              const void *data, size_t len, unsigned flags)
{
    struct weft_engine *e = &weft_engine;
    enum weft_rc rc;

    header->sequence = (uint32_t)peer->next_sequence;
    header->length = (uint32_t)len;
    if (weft_unlikely(e->hooks.seal != NULL)) {
        e->hooks.seal(header, data, len);
    }
    if (weft_unlikely(peer->is_self)) {
        send_to_self(peer, header, data, len);
        return WEFT_OK;
    }
    if (weft_peer_is_held(peer)) {
        return WEFT_AGAIN;
    }
    rc = peer->path->packets->send(peer->path, header, data, len, flags);
    if (weft_likely(rc == WEFT_OK)) {
        peer->next_sequence++;
        if (weft_unlikely(peer->choice == WEFT_CHOICE_TRIAL)) {
            e->counted(peer);
        }
    }
    return rc;
}

static enum weft_rc try_control(struct weft_path *path, const struct weft_header *header,
                                const void *data)
{
    return path->packets->send(path, header, data, header->length, WEFT_SEND_CONTROL);
}

static enum weft_rc retry_control(struct weft_retry *retry)
{
    struct control *c = (struct control *)retry;

    c->path = weft_peer_path_now(c->peer, c->path);
    if (try_control(c->path, &c->header, c->data) != WEFT_OK) {
        return WEFT_AGAIN;
    }
    weft_reserve_give(c);
    return WEFT_OK;
}

static void keep_control(struct weft_peer *peer, struct weft_path *path,
                         const struct weft_header *header, const void *data)
{
    struct control *kept = weft_reserve_take(sizeof(*kept));

    if (kept == NULL) {
        weft_wireup_abort(weft_engine.job, 1, WEFT_S_OOM_ANSWER);
    }
    *kept = (struct control){
        .retry = {.again = retry_control, .failed = weft_retry_free},
        .peer = peer,
        .path = path,
        .header = *header,
    };
    memcpy(kept->data, data, header->length);
    weft_engine_retry_later(peer, WEFT_RETRY_CONTROL, &kept->retry);
}

static struct weft_header control_header(enum weft_packet kind, const void *data,
                                         size_t len)
{
    const struct weft_engine *e = &weft_engine;
    struct weft_header header = {.kind = (uint8_t)kind, .length = (uint32_t)len};

    assert(len <= WEFT_CONTROL_MAX && !e->kinds[kind].is_ordered);
    if (weft_unlikely(e->hooks.seal != NULL)) {
        e->hooks.seal(&header, data, len);
    }
    return header;
}

void weft_engine_control_by(struct weft_peer *peer, struct weft_path *path,
                            enum weft_packet kind, const void *data, size_t len)
{
    struct weft_engine *e = &weft_engine;
    const struct weft_header header = control_header(kind, data, len);

    weft_assert_locked();
    if (peer->is_self) {
        e->up.control(e, peer, &header, data, len);
        return;
    }
    if (weft_unlikely(peer->is_failed) || (!weft_peer_retries(peer, WEFT_RETRY_CONTROL) &&
                                           try_control(path, &header, data) == WEFT_OK)) {
        return;
    }
    keep_control(peer, path, &header, data);
}

bool weft_engine_try_control(struct weft_peer *peer, enum weft_packet kind,
                             const void *data, size_t len)
{
    const struct weft_header header = control_header(kind, data, len);

    weft_assert_locked();
    assert(!peer->is_self && !peer->is_failed);
    return !weft_peer_retries(peer, WEFT_RETRY_CONTROL) &&
           try_control(peer->path, &header, data) == WEFT_OK;
}

const struct weft_header *weft_engine_kept_control(const struct weft_retry *retry)
{
    return retry->again == retry_control ? &((const struct control *)retry)->header
                                         : NULL;
}

void weft_engine_keep_control(struct weft_peer *peer, const void *header,
                              const void *data)
{
    struct weft_header copy;

    memcpy(&copy, header, sizeof(copy));
    keep_control(peer, peer->path, &copy, data);
}

void weft_engine_control(struct weft_peer *peer, enum weft_packet kind, const void *data,
                         size_t len)
{
    weft_engine_control_by(peer, peer->path, kind, data, len);
}
