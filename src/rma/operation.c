#include "rma/operation.h"

#include "engine/engine.h"
#include "rma/send.h"
#include "rma/wait.h"

#include <string.h>

enum {
    GETS = 16,   /* parts of gets under way to a target, and packets of small ones */
    SMALL = 256, /* bytes: copied if there is no room */
    ASKS = 512,  /* bytes of an accumulate that may ask for the answer of a flush */
};

struct weft_operation {
    uint64_t number; /* first: the key */
    struct weft_pending pending;
    struct weft_retry retry;
    struct weft_win *win;
    struct weft_target *target;
    struct weft_rma_call call;
    struct weft_request *request; /* or NULL */
    struct weft_gets *gets;       /* it is several small ones; or NULL */
    struct weft_operation *next;  /* of those that are held, */
    struct weft_operation *last;  /* and the last of them, if this is the first */
    size_t ordered;               /* how many of them are accumulates, if it is */
    uint64_t bytes;
    uint64_t sent;     /* of them: asked for, or gone out */
    uint64_t returned; /* of a fetch: come back */
    uint32_t flush;    /* number of the one that its last part asks for, */
    bool is_asking;    /* if it does */
    bool is_sending;
    bool is_queued;  /* for room */
    bool is_held;    /* until others have come back */
    bool is_out;     /* it was held, and counts at the target */
    bool is_reading; /* it brings no data along, and accumulates wait behind it */
};

static struct weft_table operations;

uint64_t weft_operation_number(void)
{
    static uint64_t last;

    weft_assert_locked();
    return ++last;
}

void weft_operations_open(void)
{
    weft_table_open(&operations);
}

static bool is_fetch(const struct weft_operation *o)
{
    return o->call.kind != WEFT_RMA_PUT && o->call.kind != WEFT_RMA_ACCUMULATE;
}

/* Accumulates of one origin stay in order. */
static bool is_accumulate(const struct weft_operation *o)
{
    return o->call.kind != WEFT_RMA_PUT && o->call.kind != WEFT_RMA_GET;
}

/* Does the part bring data along? */
static bool has_data(const struct weft_operation *o)
{
    return o->call.kind != WEFT_RMA_GET && o->call.op != MPI_NO_OP;
}

/* ---- the end ---- */

/* The most bytes of a get, or of an atomic read, that are on their way back at a time:
 * the target keeps what it cannot send. */
static const uint64_t most_asked = GETS * (uint64_t)WEFT_EAGER_MAX;

static uint64_t asked_at_once(const struct weft_operation *o)
{
    return o->bytes < most_asked ? o->bytes : most_asked;
}

static void send_held(struct weft_target *target);

static void finish(struct weft_operation *o, enum weft_rc rc)
{
    struct weft_win *win = o->win;
    struct weft_target *target = o->target;
    const bool was_out = o->is_out;
    const bool was_reading = o->is_reading;
    const bool is_get = o->call.kind == WEFT_RMA_GET;
    const uint64_t asked = asked_at_once(o);

    weft_assert_locked();
    assert(!o->is_queued);
    weft_call_release_type(o->call.origin.type);
    weft_call_release_type(o->call.result.type);
    weft_call_release_type(o->call.where.type);
    weft_pending_remove(&target->pending, &o->pending);
    weft_target_less(target);
    if ((o->is_held || was_out) && !is_fetch(o)) {
        target->staged--;
        target->is_dirty = true; /* a flush may have begun before it was sent */
    }
    if (rc != WEFT_OK && target->rc == WEFT_OK) {
        target->rc = rc;
    }
    if (o->request != NULL) {
        weft_request_complete(o->request, rc);
    }
    if (o->gets != NULL) {
        weft_gets_end(o->gets, rc);
    }
    weft_table_remove(&operations, o);
    target->is_reading &= !was_reading;
    if (was_out) {
        if (is_get) {
            target->gets_out--;
        }
        target->bytes_out -= (uint32_t)asked;
        send_held(target);
    }
    weft_rma_look(win);
}

static bool is_complete(const struct weft_operation *o)
{
    return o->sent == o->bytes && (!is_fetch(o) || o->returned == o->bytes);
}

/* ---- out ---- */

/* Two elements at once, and no more: the one to compare with and the other. */
static size_t write_swap(const struct weft_operation *o, uint8_t *to)
{
    const size_t size = o->call.basic->size;

    weft_data_gather(&o->call.compare, 0, to, size);
    weft_data_gather(&o->call.origin, 0, to + size, size);
    return 2 * size;
}

static size_t write_data(const struct weft_operation *o, uint64_t bytes, uint8_t *to)
{
    if (o->call.kind == WEFT_RMA_SWAP) {
        return write_swap(o, to);
    }
    if (!has_data(o)) {
        return 0;
    }
    weft_data_gather(&o->call.origin, o->sent, to, (size_t)bytes);
    return (size_t)bytes;
}

static size_t write_part(const struct weft_operation *o, const struct weft_rma_runs *runs,
                         uint8_t *packet)
{
    const struct weft_rma_call *c = &o->call;
    const bool asks = o->is_asking && o->sent + runs->bytes == o->bytes;
    struct weft_pkt_rma head = {
        .operation = asks ? o->flush : o->number,
        .offset = o->sent,
        .bytes = (uint32_t)runs->bytes,
        .runs = (uint16_t)runs->n,
        .kind = (uint8_t)c->kind,
        .step = asks ? WEFT_RMA_FLUSH : 0,
    };
    const size_t before = sizeof(head) + runs->n * sizeof(runs->at[0]);

    if (c->basic != NULL) {
        head.type = (uint16_t)(uintptr_t)c->basic->handle;
        head.op = (uint16_t)(uintptr_t)c->op;
    }
    head.data = (uint32_t)write_data(o, runs->bytes, packet + before);
    memcpy(packet, &head, sizeof(head));
    memcpy(packet + sizeof(head), runs->at, runs->n * sizeof(runs->at[0]));
    return before + head.data;
}

/* The next part of an operation, as a packet; returns how long it is. */
static size_t make_part(const struct weft_operation *o, struct weft_rma_runs *runs,
                        uint8_t *packet)
{
    const size_t max = weft_rma_packet_max(o->target->peer);
    const uint64_t left = o->bytes - o->sent;
    const size_t most = max - sizeof(struct weft_pkt_rma_data);

    if (o->gets != NULL) {
        *runs = o->gets->there;
        return write_part(o, runs, packet);
    }
    weft_runs_take(runs, &o->call.where, o->sent, left < most ? left : most,
                   max - sizeof(struct weft_pkt_rma), has_data(o),
                   o->call.basic != NULL ? o->call.basic->size : 1);
    assert(runs->bytes > 0);
    return write_part(o, runs, packet);
}

static enum weft_rc send_part(struct weft_operation *o)
{
    uint8_t packet[WEFT_EAGER_MAX];
    struct weft_rma_runs runs;
    const size_t len = make_part(o, &runs, packet);
    const enum weft_rc rc =
        weft_rma_try(o->win, o->target->peer, WEFT_PKT_RMA, packet, len);

    if (rc == WEFT_OK) {
        o->sent += runs.bytes;
    }
    return rc;
}

/* May the next part go? Those without data follow what has come back. */
static bool may_send(const struct weft_operation *o)
{
    return o->sent < o->bytes && (has_data(o) || o->sent - o->returned < most_asked);
}

/* All parts of an atomic read are sent: accumulates may follow. */
static void end_reading(struct weft_operation *o)
{
    o->is_reading = false;
    o->target->is_reading = false;
    send_held(o->target);
}

/*
 * Sends what may go now. WEFT_AGAIN: there is no room, and the operation is to be tried
 * again. Otherwise it may be over, and its memory gone. A message to ourselves is
 * answered inside send_part().
 */
static enum weft_rc advance(struct weft_operation *o)
{
    enum weft_rc rc = WEFT_OK;

    o->is_sending = true;
    while (rc == WEFT_OK && may_send(o)) {
        rc = send_part(o);
    }
    o->is_sending = false;
    if (rc == WEFT_AGAIN) {
        return rc;
    }
    if (rc != WEFT_OK || is_complete(o)) {
        finish(o, rc);
    } else if (o->is_reading && o->sent == o->bytes) {
        end_reading(o);
    }
    return WEFT_OK;
}

static struct weft_operation *of_retry(struct weft_retry *retry)
{
    return (struct weft_operation *)((char *)retry -
                                     offsetof(struct weft_operation, retry));
}

static enum weft_rc try_again(struct weft_retry *retry)
{
    struct weft_operation *o = of_retry(retry);
    const uint64_t before = o->sent;
    enum weft_rc rc;

    o->is_queued = false;
    rc = advance(o);
    if (rc == WEFT_AGAIN) {
        o->is_queued = true;
        /* Some parts went, and the queue is full once more: as if this were the first
         * that waits, nobody may sleep before it was tried again. */
        weft_engine.has_new_retry |= o->sent != before;
    }
    return rc;
}

static void has_failed(struct weft_retry *retry)
{
    struct weft_operation *o = of_retry(retry);

    o->is_queued = false;
    finish(o, WEFT_ERR_PROC_FAILED);
}

/*
 * A small put or accumulate that finds no room is copied: it is complete here, and its
 * origin need not wait for room at the target, unless many wait for it (send.h).
 * False: it is not small.
 */
static bool keep_small(struct weft_operation *o)
{
    uint8_t packet[WEFT_EAGER_MAX];
    struct weft_rma_runs runs;
    size_t len;

    if (is_fetch(o) || o->bytes > SMALL || o->sent > 0) {
        return false;
    }
    len = make_part(o, &runs, packet);
    if (runs.bytes < o->bytes) {
        return false;
    }
    o->sent = o->bytes;
    weft_rma_send_copied(o->win, o->target, packet, len);
    finish(o, WEFT_OK);
    return true;
}

/* Sends, or waits for room behind all that waits for it. */
static void go_on(struct weft_operation *o)
{
    struct weft_peer *peer = o->target->peer;

    if ((weft_peer_retries(peer, WEFT_RETRY_ORDERED) || advance(o) == WEFT_AGAIN) &&
        !keep_small(o)) {
        o->is_queued = true;
        o->retry = (struct weft_retry){.again = try_again, .failed = has_failed};
        weft_engine_retry_later(peer, WEFT_RETRY_ORDERED, &o->retry);
    }
}

/*
 * ---- requests without data wait for those before them ----
 *
 * The target keeps what it cannot send, so gets and atomic reads (MPI_NO_OP) ask for a
 * bounded number of bytes. What brings data along is bounded by room in queues. But an
 * accumulate behind an atomic read, some parts of which are not sent, waits with it: so
 * they stay in order.
 */

static struct weft_operation *take_held(struct weft_target *target)
{
    struct weft_operation *o = target->held;

    target->held = o->next;
    if (o->next != NULL) {
        o->next->last = o->last;
        o->next->ordered = o->ordered - (is_accumulate(o) ? 1 : 0);
    }
    o->is_held = false;
    o->is_out = true;
    o->is_reading = is_accumulate(o) && !has_data(o);
    target->is_reading |= o->is_reading;
    if (o->call.kind == WEFT_RMA_GET) {
        target->gets_out++;
    }
    target->bytes_out += (uint32_t)asked_at_once(o);
    return o;
}

static bool may_go(const struct weft_target *target, const struct weft_operation *o)
{
    return target->bytes_out < most_asked &&
           (is_accumulate(o) ? !target->is_reading : target->gets_out < GETS);
}

/* Sends those that may go now. A peer that has failed gets nothing: all end soon. */
static void send_held(struct weft_target *target)
{
    if (target->is_going) {
        return; /* one has ended at once */
    }
    target->is_going = true;
    while (!target->peer->is_failed && target->held != NULL &&
           may_go(target, target->held)) {
        go_on(take_held(target));
    }
    target->is_going = false;
    if (target->peer->is_failed) {
        target->held = NULL;
    }
}

static void hold(struct weft_operation *o)
{
    struct weft_target *target = o->target;

    o->is_held = true;
    if (!is_fetch(o)) {
        target->staged++;
    }
    if (target->held == NULL) {
        target->held = o;
    } else {
        target->held->last->next = o;
    }
    target->held->last = o;
    target->held->ordered += is_accumulate(o) ? 1 : 0;
    send_held(target);
}

/* ---- back ---- */

const char *weft_operation_on_data(struct weft_win *win, const struct weft_peer *from,
                                   const struct weft_pkt_rma_data *head,
                                   const void *bytes, size_t len)
{
    struct weft_operation *o = weft_table_find(&operations, head->operation);
    const uint64_t some = head->is_refused != 0 ? head->bytes : len;

    if (o == NULL || o->win != win || o->target->peer != from || !is_fetch(o)) {
        return "there is no such operation";
    }
    if (head->offset > o->bytes || some > o->bytes - head->offset ||
        some > o->bytes - o->returned) {
        return "it brings bytes that were not asked for";
    }
    if (head->is_refused != 0) {
        o->target->is_refused = true;
    } else if (o->gets != NULL) {
        weft_gets_scatter(o->gets, head->offset, bytes, len);
    } else {
        weft_data_scatter(&o->call.result, head->offset, bytes, len);
    }
    o->returned += some;
    if (o->is_sending || o->is_queued) {
        return NULL; /* it goes on by itself */
    }
    if (is_complete(o)) {
        finish(o, WEFT_OK);
    } else if (may_send(o)) {
        go_on(o);
    }
    return NULL;
}

/* Those that are held end, too: they are not sent to a peer that has failed. */
void weft_operations_fail(void)
{
    struct weft_operation *o;
    uint32_t at = 0;

    weft_assert_locked();
    while ((o = weft_table_next(&operations, &at)) != NULL) {
        if (o->target->peer->is_failed && !o->is_queued && !o->is_sending) {
            finish(o, WEFT_ERR_PROC_FAILED);
        }
    }
}

/* ---- the beginning ---- */

static struct weft_operation *take(struct weft_win *win, struct weft_target *target,
                                   const struct weft_rma_call *call)
{
    struct weft_operation *o =
        weft_table_add(&operations, weft_operation_number(), sizeof(*o));

    if (o == NULL) {
        return NULL;
    }
    weft_pending_add(&target->pending, &o->pending, o->number);
    weft_target_more(target);
    o->win = win;
    o->target = target;
    o->call = *call;
    o->bytes = call->bytes;
    weft_call_keep_type(o->call.origin.type);
    weft_call_keep_type(o->call.result.type);
    weft_call_keep_type(o->call.where.type);
    target->is_dirty |= !is_fetch(o); /* what has come back has been applied */
    win->has_messages = true;
    return o;
}

/* Is it to wait for others, or for its turn? */
static bool is_to_be_held(const struct weft_operation *o)
{
    const struct weft_target *target = o->target;

    return !target->peer->is_failed &&
           (!has_data(o) ||
            (is_accumulate(o) && (target->is_reading ||
                                  (target->held != NULL && target->held->ordered > 0))));
}

/* A small accumulate over a network asks at once, as a small put does (combine.h). */
static bool asks_at_once(const struct weft_operation *o)
{
    const struct weft_path *path = o->target->peer->path;

    return o->call.kind == WEFT_RMA_ACCUMULATE && o->bytes > 0 && o->bytes <= ASKS &&
           path != NULL && !path->packets->is_node_local && !o->target->peer->is_failed &&
           weft_rma_asks_at_once(o->win, o->target);
}

enum weft_rc weft_operation_start(struct weft_win *win, struct weft_target *target,
                                  const struct weft_rma_call *call,
                                  struct weft_request *request)
{
    struct weft_operation *o = take(win, target, call);

    if (o == NULL) {
        return WEFT_ERR_NOMEM;
    }
    o->request = request;
    if (is_to_be_held(o)) {
        hold(o);
        return WEFT_OK;
    }
    o->is_asking = asks_at_once(o);
    if (o->is_asking) {
        o->flush = weft_rma_ask_at_once(target);
    }
    go_on(o);
    return WEFT_OK;
}

/* Those for which there is no way: whoever flushes is told. */
static void give_up(struct weft_target *target, struct weft_gets *gets, enum weft_rc rc)
{
    target->rc = target->rc == WEFT_OK ? rc : target->rc;
    weft_gets_end(gets, rc);
}

void weft_operation_start_gets(struct weft_win *win, struct weft_target *target,
                               struct weft_gets *gets)
{
    const struct weft_rma_call call = {
        .name = "MPI_Get",
        .kind = WEFT_RMA_GET,
        .bytes = gets->there.bytes,
        .target = (int)target->rank,
    };
    struct weft_operation *o;

    weft_assert_locked();
    if (target->peer->is_failed) {
        give_up(target, gets, WEFT_ERR_PROC_FAILED);
        return;
    }
    o = take(win, target, &call);
    if (o == NULL) {
        give_up(target, gets, WEFT_ERR_NOMEM);
        return;
    }
    o->gets = gets;
    hold(o);
}
