#include "rma/operation.h"

#include "engine/engine.h"
#include "p2p/p2p.h"
#include "rma/attach.h"
#include "rma/combine.h"
#include "rma/direct.h"
#include "rma/far.h"
#include "rma/send.h"
#include "rma/sync.h"
#include "rma/wait.h"

#include <string.h>

enum {
    GETS = 16,   /* parts of one get under way */
    SMALL = 256, /* bytes: copied if there is no room */
};

struct operation {
    uint64_t number; /* first: the key */
    struct weft_retry retry;
    struct weft_win *win;
    struct weft_target *target;
    struct weft_rma_call call;
    struct weft_request *request; /* or NULL */
    uint64_t bytes;
    uint64_t sent;     /* of them: asked for, or gone out */
    uint64_t returned; /* of a fetch: come back */
    bool is_sending;
    bool is_queued; /* for room */
};

static struct weft_table operations;
static uint64_t last_number;

void weft_operations_open(void)
{
    weft_table_open(&operations);
}

static bool is_fetch(const struct operation *o)
{
    return o->call.kind != WEFT_RMA_PUT && o->call.kind != WEFT_RMA_ACCUMULATE;
}

/* ---- the end ---- */

static void keep_type(struct weft_datatype *type)
{
    if (type != NULL) {
        weft_datatype_keep(type);
    }
}

static void release_type(struct weft_datatype *type)
{
    if (type != NULL) {
        weft_datatype_release(type);
    }
}

static void finish(struct operation *o, enum weft_rc rc)
{
    struct weft_win *win = o->win;

    weft_assert_locked();
    assert(o->target->pending > 0 && !o->is_queued);
    release_type(o->call.origin.type);
    release_type(o->call.result.type);
    release_type(o->call.where.type);
    o->target->pending--;
    if (rc != WEFT_OK && o->target->rc == WEFT_OK) {
        o->target->rc = rc;
    }
    if (o->request != NULL) {
        weft_request_complete(o->request, rc);
    }
    weft_table_remove(&operations, o);
    weft_rma_look(win);
}

static bool is_complete(const struct operation *o)
{
    return o->sent == o->bytes && (!is_fetch(o) || o->returned == o->bytes);
}

/* ---- out ---- */

/* Does the part bring data along? */
static bool has_data(const struct operation *o)
{
    return o->call.kind != WEFT_RMA_GET && o->call.op != MPI_NO_OP;
}

/* Two elements at once, and no more: the one to compare with and the other. */
static size_t write_swap(const struct operation *o, uint8_t *to)
{
    const size_t size = o->call.basic->size;

    weft_data_gather(&o->call.compare, 0, to, size);
    weft_data_gather(&o->call.origin, 0, to + size, size);
    return 2 * size;
}

static size_t write_data(const struct operation *o, uint64_t bytes, uint8_t *to)
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

static size_t write_part(const struct operation *o, const struct weft_rma_runs *runs,
                         uint8_t *packet)
{
    const struct weft_rma_call *c = &o->call;
    struct weft_pkt_rma head = {
        .operation = o->number,
        .offset = o->sent,
        .bytes = (uint32_t)runs->bytes,
        .runs = (uint16_t)runs->n,
        .kind = (uint8_t)c->kind,
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
static size_t make_part(const struct operation *o, struct weft_rma_runs *runs,
                        uint8_t *packet)
{
    const size_t max = weft_rma_packet_max(o->target->peer);
    const uint64_t left = o->bytes - o->sent;
    const size_t most = max - sizeof(struct weft_pkt_rma_data);

    weft_runs_take(runs, &o->call.where, o->sent, left < most ? left : most,
                   max - sizeof(struct weft_pkt_rma), has_data(o),
                   o->call.basic != NULL ? o->call.basic->size : 1);
    assert(runs->bytes > 0);
    return write_part(o, runs, packet);
}

static enum weft_rc send_part(struct operation *o)
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

/* May the next part go? Those of a get follow what has come back. */
static bool may_send(const struct operation *o)
{
    const uint64_t most = GETS * (uint64_t)WEFT_EAGER_MAX;

    return o->sent < o->bytes &&
           (o->call.kind != WEFT_RMA_GET || o->sent - o->returned < most);
}

/*
 * Sends what may go now. WEFT_AGAIN: there is no room, and the operation is to be tried
 * again. Otherwise it may be over, and its memory gone. A message to ourselves is
 * answered inside send_part().
 */
static enum weft_rc advance(struct operation *o)
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
    }
    return WEFT_OK;
}

static struct operation *of_retry(struct weft_retry *retry)
{
    return (struct operation *)((char *)retry - offsetof(struct operation, retry));
}

static enum weft_rc try_again(struct weft_retry *retry)
{
    struct operation *o = of_retry(retry);
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
    struct operation *o = of_retry(retry);

    o->is_queued = false;
    finish(o, WEFT_ERR_PROC_FAILED);
}

/*
 * A small put or accumulate that finds no room is copied: it is complete here, and its
 * origin need not wait for room at the target. False: it is not small.
 */
static bool keep_small(struct operation *o)
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
    weft_rma_send(o->win, o->target->peer, WEFT_PKT_RMA, packet, len);
    finish(o, WEFT_OK);
    return true;
}

/* Sends, or waits for room behind all that waits for it. */
static void go_on(struct operation *o)
{
    struct weft_peer *peer = o->target->peer;

    if ((weft_peer_retries(peer, WEFT_RETRY_ORDERED) || advance(o) == WEFT_AGAIN) &&
        !keep_small(o)) {
        o->is_queued = true;
        o->retry = (struct weft_retry){.again = try_again, .failed = has_failed};
        weft_engine_retry_later(peer, WEFT_RETRY_ORDERED, &o->retry);
    }
}

/* ---- back ---- */

const char *weft_operation_on_data(struct weft_win *win, const struct weft_peer *from,
                                   const struct weft_pkt_rma_data *head,
                                   const void *bytes, size_t len)
{
    struct operation *o = weft_table_find(&operations, head->operation);
    const uint64_t some = head->is_refused != 0 ? head->bytes : len;

    if (o == NULL || o->win != win || o->target->peer != from || !is_fetch(o)) {
        return "there is no such operation";
    }
    if (head->offset > o->bytes || some > o->bytes - head->offset ||
        some > o->bytes - o->returned) {
        return "it brings bytes that were not asked for";
    }
    if (head->is_refused != 0) {
        o->target->refused += head->bytes;
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

void weft_operations_fail(void)
{
    struct operation *o;
    uint32_t at = 0;

    weft_assert_locked();
    while ((o = weft_table_next(&operations, &at)) != NULL) {
        if (o->target->peer->is_failed && !o->is_queued && !o->is_sending) {
            finish(o, WEFT_ERR_PROC_FAILED);
        }
    }
}

/* ---- the beginning ---- */

static struct operation *take(struct weft_win *win, struct weft_target *target,
                              const struct weft_rma_call *call)
{
    struct operation *o = weft_table_add(&operations, ++last_number, sizeof(*o));

    if (o == NULL) {
        return NULL;
    }
    o->win = win;
    o->target = target;
    o->call = *call;
    o->bytes = call->bytes;
    keep_type(o->call.origin.type);
    keep_type(o->call.result.type);
    keep_type(o->call.where.type);
    target->pending++;
    target->is_dirty |= !is_fetch(o); /* what has come back has been applied */
    win->has_messages = true;
    return o;
}

static enum weft_rc take_request(struct weft_win *win, struct weft_request **out)
{
    const enum weft_rc rc = weft_request_take(out);

    if (rc == WEFT_OK) {
        (*out)->kind = WEFT_REQUEST_SCHEDULE;
        (*out)->source = MPI_ANY_SOURCE;
        (*out)->tag = MPI_ANY_TAG;
        (*out)->bytes = 0;
        weft_request_set_comm(*out, win->comm);
    }
    return rc;
}

static enum weft_rc run_directly(struct weft_win *win, const struct weft_near *near,
                                 const struct weft_rma_call *call)
{
    enum weft_rc rc;

    weft_unlock();
    rc = weft_direct_run(win, near, call);
    weft_lock();
    return rc;
}

static enum weft_rc send(struct weft_win *win, struct weft_target *target,
                         const struct weft_rma_call *call, struct weft_request *request)
{
    struct operation *o;

    if (target->combined != NULL) {
        weft_combine_send(target);
    }
    if (weft_far_is_reached(win, target, call)) {
        return weft_far_start(win, target, call, request);
    }
    o = take(win, target, call);
    if (o == NULL) {
        return WEFT_ERR_NOMEM;
    }
    o->request = request;
    go_on(o);
    return WEFT_OK;
}

/* An operation that is complete later, and the request that tells. */
static enum weft_rc send_with(struct weft_win *win, struct weft_target *target,
                              const struct weft_rma_call *call,
                              struct weft_request **request)
{
    enum weft_rc rc = WEFT_OK;

    if (request != NULL) {
        rc = take_request(win, request);
    }
    if (rc != WEFT_OK) {
        return rc;
    }
    rc = send(win, target, call, request != NULL ? *request : NULL);
    if (rc != WEFT_OK && request != NULL) {
        weft_request_give(*request);
    } else if (request != NULL) {
        weft_request_hand_out(*request);
    }
    return rc;
}

/* Nothing was done: whoever ends the epoch or flushes is told. */
static enum weft_rc refuse(struct weft_win *win, struct weft_target *target,
                           const struct weft_rma_call *call)
{
    target->refused += call->bytes;
    win->has_messages = true;
    return WEFT_OK;
}

static enum weft_rc start(struct weft_win *win, const struct weft_rma_call *call,
                          struct weft_request **request)
{
    struct weft_near *near;
    struct weft_target *target;
    enum weft_rc rc = weft_win_target(win, call->target, &target);

    if (rc == WEFT_OK) {
        rc = weft_rma_enter(win, target, call->name);
    }
    if (rc != WEFT_OK) {
        return rc;
    }
    if (win->epoch.is_fence) {
        win->epoch.is_used = true;
    }
    near = weft_near_meet(win, call->target);
    if (near == NULL || !weft_near_is_reached(near)) {
        return weft_combine_take(win, target, call)
                   ? WEFT_OK
                   : send_with(win, target, call, request);
    }
    rc = weft_attached_check(win, near, call);
    if (rc == WEFT_AGAIN) {
        return send_with(win, target, call, request);
    }
    if (rc == WEFT_ERR_ARGUMENT) {
        return refuse(win, target, call);
    }
    return rc == WEFT_OK ? run_directly(win, near, call) : rc;
}

enum weft_rc weft_rma_start(struct weft_win *win, const struct weft_rma_call *call,
                            struct weft_request **request)
{
    enum weft_rc rc;

    weft_assert_unlocked();
    weft_lock();
    rc = start(win, call, request);
    weft_engine_leave();
    weft_unlock();
    return rc;
}
