#include "rma/combine.h"

#include "base/copy.h"
#include "engine/engine.h"
#include "rma/send.h"

#include <stdlib.h>
#include <string.h>

enum {
    SMALL = 512, /* bytes of a put that is combined */
    AT_ONCE = 1, /* small puts of an epoch that go by themselves */
};

struct weft_combined {
    struct weft_combined *next; /* of all */
    struct weft_combined **link;
    struct weft_win *win;
    struct weft_target *target;
    size_t max; /* bytes of a packet to the target */
    struct weft_rma_runs runs;
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

static void send_packet(struct weft_combined *c)
{
    const struct weft_win *win = c->win;
    struct weft_peer *peer = c->target->peer;
    const struct weft_pkt_rma head = {
        .bytes = (uint32_t)c->runs.bytes,
        .data = (uint32_t)c->runs.bytes,
        .runs = (uint16_t)c->runs.n,
        .kind = WEFT_RMA_PUT,
    };
    const size_t runs = c->runs.n * sizeof(c->runs.at[0]);
    const size_t len = sizeof(head) + runs + head.data;
    uint8_t packet[WEFT_EAGER_MAX];

    memcpy(packet, &head, sizeof(head));
    memcpy(packet + sizeof(head), c->runs.at, runs);
    memcpy(packet + sizeof(head) + runs, c->data, head.data);
    forget(c);
    weft_rma_send(win, peer, WEFT_PKT_RMA, packet, len);
}

void weft_combine_send(struct weft_target *target)
{
    weft_assert_locked();
    target->small_puts = 0;
    if (target->combined != NULL) {
        send_packet(target->combined);
    }
}

static void send_all(void)
{
    while (all != NULL) {
        send_packet(all);
    }
}

static bool is_any(void)
{
    return all != NULL;
}

void weft_combine_open(void)
{
    weft_engine_on_look(send_all, is_any);
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

    return call->kind == WEFT_RMA_PUT && call->bytes <= SMALL && call->bytes > 0 &&
           win->flavor != MPI_WIN_FLAVOR_DYNAMIC && !peer->is_failed &&
           peer->path != NULL && !peer->path->packets->is_node_local &&
           bytes_of(1, call->bytes) <= weft_rma_packet_max(peer);
}

static bool has_room(const struct weft_combined *c, uint64_t bytes)
{
    return c->runs.n < WEFT_RUNS_MAX &&
           bytes_of(c->runs.n + 1, c->runs.bytes + bytes) <= c->max;
}

static struct weft_combined *begin(struct weft_win *win, struct weft_target *target)
{
    struct weft_combined *c = malloc(sizeof(*c));

    if (c == NULL) {
        return NULL;
    }
    c->next = all;
    c->link = &all;
    c->win = win;
    c->target = target;
    c->max = weft_rma_packet_max(target->peer);
    c->runs.n = 0;
    c->runs.bytes = 0;
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
                                        uint64_t bytes)
{
    if (target->combined != NULL && !has_room(target->combined, bytes)) {
        send_packet(target->combined);
    }
    return target->combined != NULL ? target->combined : begin(win, target);
}

bool weft_combine_take(struct weft_win *win, struct weft_target *target,
                       const struct weft_rma_call *call)
{
    struct weft_combined *c;
    uint64_t at;

    weft_assert_locked();
    if (!may_combine(win, target, call) ||
        !weft_rma_find_place(call, weft_win_size_of(&win->parts, (int)target->rank),
                             &at)) {
        return false;
    }
    if (target->small_puts < AT_ONCE) {
        target->small_puts++;
        return false;
    }
    c = packet_for(win, target, call->bytes);
    if (c == NULL) {
        return false;
    }
    weft_data_gather(&call->origin, 0, c->data + c->runs.bytes, (size_t)call->bytes);
    weft_runs_append(&c->runs, at, call->bytes);
    target->is_dirty = true;
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

bool weft_combine_more(struct weft_win *win, int rank, MPI_Aint disp, const void *from,
                       uint32_t bytes)
{
    const struct weft_target *target;
    struct weft_combined *c;
    uint64_t at;
    bool is_taken;

    weft_assert_unlocked();
    weft_lock();
    target = weft_win_find_target(win, rank);
    c = target != NULL ? target->combined : NULL;
    is_taken = c != NULL && bytes > 0 && bytes <= SMALL && has_room(c, bytes) &&
               find_offset(win, rank, disp, bytes, &at);
    if (is_taken) {
        weft_copy(c->data + c->runs.bytes, from, bytes);
        weft_runs_append(&c->runs, at, bytes);
    }
    weft_unlock();
    return is_taken;
}

/* ---- the end ---- */

void weft_combine_fail(void)
{
    struct weft_combined *next;

    weft_assert_locked();
    for (struct weft_combined *c = all; c != NULL; c = next) {
        next = c->next;
        if (c->target->peer->is_failed) {
            forget(c);
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
            forget(c);
        }
    }
}
