#include "rma/combine.h"

#include "base/copy.h"
#include "engine/engine.h"
#include "rma/operation.h"
#include "rma/send.h"

#include <stdlib.h>
#include <string.h>

enum { SMALL = 512 }; /* bytes of a put or get that is combined */

struct weft_combined {
    struct weft_combined *next; /* of all */
    struct weft_combined **link;
    struct weft_win *win;
    struct weft_target *target;
    size_t max;                /* bytes of a packet to the target */
    struct weft_gets *gets;    /* NULL: it is puts */
    struct weft_rma_runs runs; /* of puts, and their data */
    uint8_t data[WEFT_EAGER_MAX];
};

static struct weft_combined *all;

/* Relaxed: a thread that sees an older value goes the way that checks everything. */
static void count_packets(struct weft_win *win, int more)
{
    const int now = atomic_load_explicit(&win->combined, memory_order_relaxed);

    atomic_store_explicit(&win->combined, now + more, memory_order_relaxed);
}

/* ---- out ---- */

static void forget(struct weft_combined *c)
{
    *c->link = c->next;
    if (c->next != NULL) {
        c->next->link = c->link;
    }
    c->target->combined = NULL;
    count_packets(c->win, -1);
    weft_engine.watched--;
    free(c);
}

/* With the step that follows, or 0. */
static void send_puts(struct weft_combined *c, enum weft_rma_sync step, uint32_t number)
{
    const struct weft_win *win = c->win;
    struct weft_target *target = c->target;
    const struct weft_pkt_rma head = {
        .operation = number,
        .bytes = (uint32_t)c->runs.bytes,
        .data = (uint32_t)c->runs.bytes,
        .runs = (uint16_t)c->runs.n,
        .kind = WEFT_RMA_PUT,
        .step = (uint8_t)step,
    };
    const size_t runs = c->runs.n * sizeof(c->runs.at[0]);
    const size_t len = sizeof(head) + runs + head.data;
    uint8_t packet[WEFT_EAGER_MAX];

    memcpy(packet, &head, sizeof(head));
    memcpy(packet + sizeof(head), c->runs.at, runs);
    memcpy(packet + sizeof(head) + runs, c->data, head.data);
    forget(c);
    weft_rma_send_copied(win, target, packet, len);
}

static void send_packet(struct weft_combined *c)
{
    struct weft_gets *gets = c->gets;
    struct weft_win *win = c->win;
    struct weft_target *target = c->target;

    if (gets == NULL) {
        send_puts(c, 0, 0);
        return;
    }
    forget(c);
    weft_operation_start_gets(win, target, gets);
}

void weft_combine_send(struct weft_target *target)
{
    weft_assert_locked();
    target->small_ones = 0;
    if (target->combined != NULL) {
        send_packet(target->combined);
    }
}

void weft_combine_tell(struct weft_win *win, struct weft_target *target,
                       enum weft_rma_sync what, uint32_t number)
{
    if (target->combined == NULL || target->combined->gets != NULL) {
        weft_combine_send(target);
        weft_rma_sync(win, target->peer, what, number);
        return;
    }
    target->small_ones = 0;
    send_puts(target->combined, what, number);
}

void weft_combine_send_gets(struct weft_target *target)
{
    if (target->combined == NULL || target->combined->gets != NULL) {
        weft_combine_send(target);
    }
}

static void send_all(void)
{
    while (all != NULL) {
        send_packet(all);
    }
}

/* Whoever polls sends them. A packet that waits for more puts is no news of a peer: it
 * does not keep a thread from leaving MPI. */
void weft_combine_open(void)
{
    weft_engine_on_look(send_all, NULL);
}

/* ---- in ---- */

/* Of a packet with so many runs. */
static size_t bytes_of(size_t runs, uint64_t data)
{
    return sizeof(struct weft_pkt_rma) + runs * sizeof(struct weft_rma_run) +
           (size_t)data;
}

/* A member whose memory nobody but itself knows (a dynamic window) may refuse an
 * operation, and with it would refuse the packet. */
static bool may_combine(const struct weft_win *win, const struct weft_target *target,
                        const struct weft_rma_call *call)
{
    const struct weft_peer *peer = target->peer;

    return call->bytes <= SMALL && call->bytes > 0 &&
           win->flavor != MPI_WIN_FLAVOR_DYNAMIC && !peer->is_failed &&
           peer->path != NULL && !peer->path->packets->is_node_local &&
           bytes_of(1, call->bytes) <= weft_rma_packet_max(peer);
}

static bool has_room(const struct weft_combined *c, uint64_t bytes)
{
    const struct weft_gets *gets = c->gets;

    if (gets == NULL) {
        return c->runs.n < WEFT_RUNS_MAX &&
               bytes_of(c->runs.n + 1, c->runs.bytes + bytes) <= c->max;
    }
    return gets->there.n < WEFT_RUNS_MAX && gets->here.n < WEFT_RUNS_MAX &&
           gets->request_count < WEFT_GETS_REQUESTS &&
           bytes_of(gets->there.n + 1, 0) <= c->max &&
           sizeof(struct weft_pkt_rma_data) + gets->there.bytes + bytes <= c->max;
}

static bool takes_gets(const struct weft_combined *c)
{
    return c->gets != NULL;
}

/* Room for data is taken for puts only. */
static struct weft_combined *allocate(bool is_get)
{
    const size_t bytes =
        is_get ? offsetof(struct weft_combined, runs) : sizeof(struct weft_combined);
    struct weft_combined *c = malloc(bytes);
    struct weft_gets *gets = is_get && c != NULL ? malloc(sizeof(*gets)) : NULL;

    if (c == NULL || (is_get && gets == NULL)) {
        free(c);
        return NULL;
    }
    c->gets = gets;
    if (is_get) {
        gets->there.n = gets->here.n = 0;
        gets->there.bytes = gets->here.bytes = 0;
        gets->request_count = 0;
    } else {
        c->runs.n = 0;
        c->runs.bytes = 0;
    }
    return c;
}

static struct weft_combined *begin(struct weft_win *win, struct weft_target *target,
                                   bool is_get)
{
    struct weft_combined *c = allocate(is_get);

    if (c == NULL) {
        return NULL;
    }
    c->next = all;
    c->link = &all;
    c->win = win;
    c->target = target;
    c->max = weft_rma_packet_max(target->peer);
    if (all != NULL) {
        all->link = &c->next;
    }
    all = c;
    target->combined = c;
    count_packets(win, 1);
    weft_engine.watched++;
    return c;
}

/* The target's packet, with room for so many bytes; NULL: there is no memory. */
static struct weft_combined *packet_for(struct weft_win *win, struct weft_target *target,
                                        uint64_t bytes, bool is_get)
{
    struct weft_combined *c = target->combined;

    if (c != NULL && (takes_gets(c) != is_get || !has_room(c, bytes))) {
        send_packet(c);
    }
    return target->combined != NULL ? target->combined : begin(win, target, is_get);
}

/* Is this one to go by itself, because others may not follow? */
static bool goes_at_once(struct weft_target *target, bool is_get)
{
    const struct weft_memory_ops *memory = target->peer->path->memory;

    if (target->small_ones >= WEFT_RMA_AT_ONCE ||
        (!is_get && (memory == NULL || memory->flush == NULL))) {
        return false;
    }
    target->small_ones++;
    return true;
}

static void append_put(struct weft_combined *c, uint64_t at, const struct weft_data *from,
                       uint64_t bytes)
{
    weft_data_gather(from, 0, c->data + c->runs.bytes, (size_t)bytes);
    weft_runs_append(&c->runs, at, bytes);
}

static void append_get(struct weft_combined *c, uint64_t at, void *to, uint64_t bytes)
{
    weft_runs_append(&c->gets->there, at, bytes);
    weft_runs_append(&c->gets->here, (uint64_t)(uintptr_t)to, bytes);
}

bool weft_combine_put(struct weft_win *win, struct weft_target *target,
                      const struct weft_rma_call *call)
{
    struct weft_combined *c;
    uint64_t at;
    bool asks;

    weft_assert_locked();
    if (call->kind != WEFT_RMA_PUT || !may_combine(win, target, call) ||
        !weft_rma_find_place(call, weft_win_size_of(&win->parts, (int)target->rank),
                             &at) ||
        goes_at_once(target, false)) {
        return false;
    }
    asks = weft_rma_asks_at_once(win, target);
    c = packet_for(win, target, call->bytes, false);
    if (c == NULL) {
        return false;
    }
    append_put(c, at, &call->origin, call->bytes);
    target->is_dirty = true;
    win->has_messages = true;
    if (asks) {
        send_puts(c, WEFT_RMA_FLUSH, weft_rma_ask_at_once(target));
    }
    return true;
}

bool weft_combine_get(struct weft_win *win, struct weft_target *target,
                      const struct weft_rma_call *call, struct weft_request *request)
{
    struct weft_combined *c;
    uint64_t at;

    weft_assert_locked();
    if (call->kind != WEFT_RMA_GET || call->result.type != NULL ||
        !may_combine(win, target, call) ||
        !weft_rma_find_place(call, weft_win_size_of(&win->parts, (int)target->rank),
                             &at) ||
        goes_at_once(target, true)) {
        return false;
    }
    c = packet_for(win, target, call->bytes, true);
    if (c == NULL) {
        return false;
    }
    append_get(c, at, weft_data_at(&call->result, 0), call->bytes);
    if (request != NULL) {
        c->gets->requests[c->gets->request_count++] = request;
    }
    win->has_messages = true;
    return true;
}

static bool find_offset(const struct weft_win *win, int rank, MPI_Aint disp,
                        uint32_t bytes, uint64_t *at)
{
    const uint64_t size = weft_win_size_of(&win->parts, rank);
    const int64_t unit = (int64_t)weft_win_unit_of(&win->parts, rank);
    int64_t offset;

    if (__builtin_mul_overflow(disp, unit, &offset) || offset < 0 ||
        (uint64_t)offset > size || bytes > size - (uint64_t)offset) {
        return false;
    }
    *at = (uint64_t)offset;
    return true;
}

bool weft_combine_more(struct weft_win *win, int rank, MPI_Aint disp, void *ours,
                       uint32_t bytes, bool is_put)
{
    const struct weft_target *target;
    struct weft_combined *c;
    uint64_t at;
    bool is_taken;

    weft_assert_unlocked();
    weft_lock();
    target = weft_win_find_target(win, rank);
    c = target != NULL ? target->combined : NULL;
    is_taken = c != NULL && takes_gets(c) != is_put && bytes > 0 && bytes <= SMALL &&
               has_room(c, bytes) && find_offset(win, rank, disp, bytes, &at);
    if (is_taken && is_put) {
        weft_copy(c->data + c->runs.bytes, ours, bytes);
        weft_runs_append(&c->runs, at, bytes);
    } else if (is_taken) {
        append_get(c, at, ours, bytes);
    }
    weft_unlock();
    return is_taken;
}

/* ---- the end ---- */

static void drop(struct weft_combined *c)
{
    struct weft_target *target = c->target;
    struct weft_gets *gets = c->gets;

    forget(c);
    if (gets != NULL) {
        target->rc = target->rc == WEFT_OK ? WEFT_ERR_PROC_FAILED : target->rc;
        weft_gets_end(gets, WEFT_ERR_PROC_FAILED);
    }
}

void weft_combine_fail(void)
{
    struct weft_combined *next;

    weft_assert_locked();
    for (struct weft_combined *c = all; c != NULL; c = next) {
        next = c->next;
        if (c->target->peer->is_failed) {
            drop(c);
        }
    }
}

void weft_combine_close(const struct weft_win *win)
{
    struct weft_combined *next;

    weft_assert_locked();
    for (struct weft_combined *c = all; c != NULL; c = next) {
        next = c->next;
        if (c->win == win) {
            drop(c);
        }
    }
}
