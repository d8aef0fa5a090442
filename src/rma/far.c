#include "rma/far.h"

#include "base/settings.h"
#include "datatype/cursor.h"
#include "engine/engine.h"
#include "engine/promote.h"
#include "p2p/p2p.h"
#include "rma/near.h"
#include "rma/operation.h"
#include "rma/send.h"
#include "rma/wait.h"

#include <stdlib.h>

enum {
    MOST = 64 * 1024 * 1024, /* bytes that are moved at once */
    BLOCK = 8 * 1024,        /* bytes of a place from which on it is moved by itself */
    STAGE = 256 * 1024,      /* bytes of a buffer, of which an operation has STAGES */
    STAGES = 4,
    LOOKED_AT = 16, /* blocks, to find out how long they are */
    BIAS = 1 << 12, /* added for the cursor, which reckons with pointers: 0 is none */
};

/* An operation, or a flush. It stays until all its moves are done, and ends before that
 * if the peer fails. */
struct far {
    struct weft_retry retry; /* first */
    struct weft_pending pending;
    struct far *next; /* of all */
    struct far **link;
    struct weft_win *win; /* NULL: it has ended */
    struct weft_target *target;
    struct weft_path *path;
    struct weft_request *request; /* or NULL */
    enum { PUT, GET, FLUSH } kind;
    struct weft_key key;
    struct weft_data ours;
    struct weft_where where; /* in the target's memory; if it has no type, one block: */
    uint64_t offset;
    uint64_t bytes;
    uint64_t started; /* of them */
    uint32_t moves;   /* under way */
    enum weft_rc rc;
    bool is_queued; /* for room */
};

/* Some bytes of it on their way. */
struct far_move {
    struct weft_op op; /* first */
    struct far *of;
    uint64_t at; /* of a stage: the first of its bytes in the data */
    size_t bytes;
    char stage[]; /* if the data have a type */
};

static struct far *all;

/* ---- the window ---- */

static bool is_wanted(void)
{
    return weft_setting(WEFT_SET_RMA) == WEFT_RMA_AUTO &&
           weft_setting(WEFT_SET_CHECKSUM) == 0;
}

bool weft_far_is_member(const struct weft_win *win, int rank)
{
    return rank != win->comm->rank &&
           !(weft_near_is_wanted() && weft_near_is_here(win->comm, rank));
}

static bool can_move(struct weft_path *path)
{
    const struct weft_memory_ops *memory =
        path != NULL && !path->packets->is_node_local ? weft_path_memory(path) : NULL;

    return memory != NULL && !memory->is_unlocked && memory->mr_register != NULL;
}

/* The path to the next member that is not near: all of them lead over one network. */
static struct weft_path *find_path(const struct weft_win *win)
{
    const int size = win->comm->size;

    for (int i = 1; i < size; i++) {
        const int rank = (win->comm->rank + i) % size;
        struct weft_peer *peer;

        if (weft_far_is_member(win, rank)) {
            struct weft_path *path =
                weft_p2p_reach(weft_comm_process(win->comm, rank), &peer) == WEFT_OK
                    ? weft_promote_memory_path(peer)
                    : NULL;

            return can_move(path) ? path : NULL;
        }
    }
    return NULL;
}

/* With the lock. A member whose memory cannot be registered has no key. */
static void offer_memory(struct weft_win *win, struct weft_win_offer *mine)
{
    if (mine->rc == WEFT_OK && win->size > 0 && win->base != NULL &&
        win->far_path->memory->mr_register(win->far_path->transport, win->base,
                                           (size_t)win->size, WEFT_MR_PUT | WEFT_MR_GET,
                                           &mine->part.key, &win->far_mr) == WEFT_OK) {
        mine->part.access |= WEFT_PART_HAS_KEY;
    }
}

void weft_far_prepare(struct weft_win *win, struct weft_win_offer *mine)
{
    if (!is_wanted()) {
        mine->part.access |= WEFT_PART_BY_MESSAGES;
        return;
    }
    if (win->flavor != MPI_WIN_FLAVOR_CREATE && win->flavor != MPI_WIN_FLAVOR_ALLOCATE) {
        return;
    }
    weft_lock();
    win->far_path = find_path(win);
    if (win->far_path != NULL) {
        offer_memory(win, mine);
    }
    weft_engine_leave();
    weft_unlock();
}

void weft_far_open(struct weft_win *win, const struct weft_win_offer *offers)
{
    bool is_by_messages = false;

    for (int r = 0; r < win->comm->size; r++) {
        is_by_messages |= (offers[r].part.access & WEFT_PART_BY_MESSAGES) != 0;
    }
    win->is_far_reached = win->far_path != NULL && !is_by_messages;
}

void weft_far_close(struct weft_win *win)
{
    weft_assert_locked();
    win->is_far_reached = false;
    if (win->far_mr != NULL) {
        win->far_path->memory->mr_deregister(win->far_path->transport, win->far_mr);
        win->far_mr = NULL;
    }
}

/* ---- the end of an operation ---- */

/* Is something of ours under way to or from its memory? */
static bool is_reaching(const struct weft_target *target)
{
    for (const struct far *o = all; o != NULL; o = o->next) {
        if (o->target == target && o->win != NULL) {
            return true;
        }
    }
    return false;
}

static void answer_withdrawal(const struct weft_win *win,
                              const struct weft_target *target)
{
    if (!is_reaching(target)) {
        weft_rma_sync(win, target->peer, WEFT_RMA_FLUSHED, target->withdrawn);
    }
}

void weft_far_leave(struct weft_win *win, struct weft_target *target, uint32_t number)
{
    target->is_withdrawn = true;
    target->withdrawn = number;
    answer_withdrawal(win, target);
}

static void forget(struct far *o)
{
    weft_call_release_type(o->ours.type);
    weft_call_release_type(o->where.type);
    *o->link = o->next;
    if (o->next != NULL) {
        o->next->link = o->link;
    }
    free(o);
}

/* Tells the window and the request. */
static void end(struct far *o, enum weft_rc rc)
{
    struct weft_win *win = o->win;
    struct weft_target *target = o->target;

    assert(!o->is_queued);
    o->win = NULL;
    weft_pending_remove(&target->pending, &o->pending);
    weft_target_less(target);
    if (o->ours.type != NULL) {
        target->staged--;
        target->is_put |= o->kind == PUT; /* a flush may have begun between its parts */
    }
    if (rc == WEFT_ERR_UNSUPPORTED && o->kind == FLUSH) {
        target->is_dirty = true;
    } else if (rc != WEFT_OK && target->rc == WEFT_OK) {
        target->rc = rc;
    }
    if (o->request != NULL) {
        weft_request_complete(o->request, rc);
    }
    if (target->is_withdrawn) {
        answer_withdrawal(win, target);
    }
    weft_rma_look(win);
}

/* Looks whether it is over; then its memory may be gone. */
static void look(struct far *o)
{
    if (o->is_queued || o->moves > 0 || (o->started < o->bytes && o->rc == WEFT_OK)) {
        return;
    }
    if (o->win != NULL && o->rc == WEFT_ERR_PROC_FAILED && !o->target->peer->is_failed) {
        return; /* the transport tells of the peer soon: weft_far_fail() ends it */
    }
    if (o->win != NULL) {
        end(o, o->rc);
    }
    forget(o);
}

static void go(struct far *o);

/* What was fetched into a stage goes to the user, if that still waits. */
static void move_done(struct weft_op *op, enum weft_rc rc)
{
    const struct far_move *move = (struct far_move *)op;
    struct far *o = move->of;

    weft_assert_locked();
    if (o->ours.type != NULL && o->kind == GET && rc == WEFT_OK && o->win != NULL) {
        weft_data_scatter(&o->ours, move->at, move->stage, move->bytes);
    }
    free(op);
    o->moves--;
    o->rc = o->rc == WEFT_OK ? rc : o->rc;
    if (o->win != NULL && o->rc == WEFT_OK && o->started < o->bytes && !o->is_queued) {
        go(o); /* there is a stage again */
    } else {
        look(o);
    }
}

void weft_far_fail(void)
{
    struct far *next;

    weft_assert_locked();
    for (struct far *o = all; o != NULL; o = next) {
        next = o->next;
        if (o->win != NULL && o->target->peer->is_failed && !o->is_queued) {
            o->rc = o->rc == WEFT_OK ? WEFT_ERR_PROC_FAILED : o->rc;
            end(o, o->rc);
            look(o);
        }
    }
}

/* ---- on its way ---- */

/* The first of some blocks of the target's memory, from a byte of the operation on:
 * returns how many of at most `most` bytes it has. */
static size_t find_block(const struct weft_where *where, uint64_t from, size_t most,
                         uint64_t *at)
{
    struct weft_cursor cursor;
    struct iovec block = {NULL, 0};

    weft_cursor_init(&cursor, &where->type->layout, where->type->extent, where->count,
                     (void *)(uintptr_t)(where->at + BIAS));
    cursor.position = from;
    (void)weft_cursor_iov(&cursor, &block, 1, most);
    *at = (uint64_t)(uintptr_t)block.iov_base - BIAS;
    return block.iov_len;
}

/* Where the next bytes go, or come from, and how many they are. */
static size_t next_bytes(const struct far *o, uint64_t *at)
{
    const uint64_t left = o->bytes - o->started;
    const size_t most = o->ours.type != NULL ? STAGE : MOST;
    const size_t some = left < most ? (size_t)left : most;

    if (o->where.type != NULL) {
        return find_block(&o->where, o->started, some, at);
    }
    *at = o->offset + o->started;
    return some;
}

static enum weft_rc start_move(struct far *o, uint64_t at, struct far_move *move)
{
    char *ours = o->ours.type != NULL ? move->stage : weft_data_at(&o->ours, o->started);

    switch (o->kind) {
    case PUT:
        if (o->ours.type != NULL) {
            weft_data_gather(&o->ours, move->at, ours, move->bytes);
        }
        return weft_path_put(o->path, &o->key, at, ours, move->bytes, &move->op);
    case GET:
        return weft_path_get(o->path, &o->key, at, ours, move->bytes, &move->op);
    case FLUSH:
        break;
    }
    return o->path->memory->flush(o->path, &o->key, &move->op);
}

/* The next bytes. */
static enum weft_rc move_some(struct far *o)
{
    uint64_t at;
    const size_t some = next_bytes(o, &at);
    struct far_move *move = malloc(sizeof(*move) + (o->ours.type != NULL ? some : 0));
    enum weft_rc rc;

    if (move == NULL) {
        return WEFT_ERR_NOMEM;
    }
    *move = (struct far_move){
        .op = {.done = move_done}, .of = o, .at = o->started, .bytes = some};
    rc = start_move(o, at, move);
    if (rc == WEFT_PENDING) {
        o->moves++;
    } else {
        free(move);
    }
    if (rc == WEFT_PENDING || rc == WEFT_OK) {
        o->started += some;
        return WEFT_OK;
    }
    return rc;
}

/* Starts all that has room. WEFT_AGAIN: some has none. */
static enum weft_rc advance(struct far *o)
{
    enum weft_rc rc = o->target->peer->is_failed ? WEFT_ERR_PROC_FAILED : WEFT_OK;

    while (rc == WEFT_OK && o->started < o->bytes &&
           (o->ours.type == NULL || o->moves < STAGES)) {
        rc = move_some(o);
    }
    if (rc != WEFT_AGAIN) {
        o->rc = o->rc == WEFT_OK ? rc : o->rc;
    }
    return rc;
}

static enum weft_rc try_again(struct weft_retry *retry)
{
    struct far *o = (struct far *)retry;
    const uint64_t before = o->started;
    const enum weft_rc rc = advance(o);

    /* What was posted after arm() may need a poll, and if some went and there is no room
     * once more, it is to be tried again: nobody may sleep before both. */
    weft_engine.has_new_retry |= o->started != before;
    if (rc == WEFT_AGAIN) {
        return rc;
    }
    o->is_queued = false;
    look(o);
    return WEFT_OK;
}

static void has_failed(struct weft_retry *retry)
{
    struct far *o = (struct far *)retry;

    o->is_queued = false;
    o->rc = WEFT_ERR_PROC_FAILED;
    end(o, o->rc);
    look(o);
}

/* Goes on its way, behind all that waits for room; then its memory may be gone. */
static void go(struct far *o)
{
    struct weft_peer *peer = o->target->peer;

    if (weft_peer_retries(peer, WEFT_RETRY_ORDERED) || advance(o) == WEFT_AGAIN) {
        o->is_queued = true;
        o->retry = (struct weft_retry){.again = try_again, .failed = has_failed};
        weft_engine_retry_later(peer, WEFT_RETRY_ORDERED, &o->retry);
    }
    look(o);
}

/* ---- the beginning ---- */

static const struct weft_data *data_of(const struct weft_rma_call *call)
{
    return call->kind == WEFT_RMA_PUT ? &call->origin : &call->result;
}

/* Are the blocks of a place long? The first ones stand for all. */
static bool has_long_blocks(const struct weft_rma_call *call)
{
    const uint64_t some = call->bytes < LOOKED_AT * (uint64_t)BLOCK
                              ? call->bytes
                              : LOOKED_AT * (uint64_t)BLOCK;
    uint64_t seen = 0;
    uint64_t at;
    unsigned n = 0;

    while (seen < some && n < LOOKED_AT) {
        seen += find_block(&call->where, seen, (size_t)(some - seen), &at);
        n++;
    }
    return seen >= (uint64_t)n * BLOCK;
}

/* Is the place one block, or are several worth it, and can the data be moved at once? */
static bool suits(const struct weft_rma_call *call, uint64_t size)
{
    uint64_t offset;

    if (data_of(call)->type != NULL && call->bytes < BLOCK) {
        return false;
    }
    return weft_rma_find_place(call, size, &offset) || has_long_blocks(call);
}

bool weft_far_is_reached(const struct weft_win *win, const struct weft_target *target,
                         const struct weft_rma_call *call)
{
    const struct weft_path *path = target->peer->path;
    struct weft_win_part part;

    if (win->is_far_reached && path != NULL && path->memory == NULL) {
        weft_promote_long(target->peer, UINT64_MAX); /* by messages until then */
    }
    if (!win->is_far_reached || path == NULL || path->memory == NULL ||
        path->transport != win->far_path->transport || target->is_withdrawn ||
        (call->kind != WEFT_RMA_PUT && call->kind != WEFT_RMA_GET)) {
        return false;
    }
    part = weft_win_part_of(&win->parts, (int)target->rank);
    return (part.access & WEFT_PART_HAS_KEY) != 0 && call->bytes > 0 &&
           suits(call, part.size);
}

static struct far *take(struct weft_win *win, struct weft_target *target)
{
    struct far *o = malloc(sizeof(*o));

    weft_assert_locked();
    if (o == NULL) {
        return NULL;
    }
    *o = (struct far){
        .next = all,
        .link = &all,
        .win = win,
        .target = target,
        .path = target->peer->path,
        .key = weft_win_part_of(&win->parts, (int)target->rank).key,
        .kind = FLUSH,
        .bytes = 1,
    };
    if (all != NULL) {
        all->link = &o->next;
    }
    all = o;
    weft_pending_add(&target->pending, &o->pending, weft_operation_number());
    weft_target_more(target);
    win->has_messages = true;
    return o;
}

enum weft_rc weft_far_start(struct weft_win *win, struct weft_target *target,
                            const struct weft_rma_call *call,
                            struct weft_request *request)
{
    struct far *o = take(win, target);

    if (o == NULL) {
        return WEFT_ERR_NOMEM;
    }
    if (!weft_rma_find_place(call, weft_win_size_of(&win->parts, (int)target->rank),
                             &o->offset)) {
        o->where = call->where;
    }
    o->kind = call->kind == WEFT_RMA_PUT ? PUT : GET;
    o->ours = *data_of(call);
    o->bytes = call->bytes;
    weft_call_keep_type(o->ours.type);
    weft_call_keep_type(o->where.type);
    o->request = request;
    if (o->ours.type != NULL) {
        target->staged++;
    }
    target->is_put |= o->kind == PUT;
    go(o);
    return WEFT_OK;
}

void weft_far_flush(struct weft_win *win, struct weft_target *target)
{
    const bool can_ask =
        target->peer->path->memory->flush != NULL && !target->is_withdrawn;
    struct far *o = can_ask ? take(win, target) : NULL;

    target->is_put = false;
    if (o == NULL) {
        target->is_dirty = true;
    } else {
        go(o);
    }
}
