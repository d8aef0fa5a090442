/*
 * send.c - lane or inbox, and the wake-up after it.
 *
 * The first few packets to a peer go through its inbox; a sender with more packets gets a
 * lane, if one is free. Control packets go through a queue of their own, which is always
 * taken.
 */
#include "transport/shm/shm.h"

enum { BEFORE_LANE = 2 };

/* Looks for a free lane of the peer's. */
static void claim_lane(struct weft_shm_path *path, uint32_t me)
{
    for (uint32_t i = 0; i < WEFT_LANES; i++) {
        _Atomic uint32_t *slot = &path->area->lane_owner[i];
        uint32_t owner = 0;

        if (atomic_load_explicit(slot, memory_order_relaxed) == 0 &&
            atomic_compare_exchange_strong_explicit(
                slot, &owner, me + 1, memory_order_acquire, memory_order_relaxed)) {
            path->before = path->number;
            path->out = (struct weft_lane_out){.lane = &path->area->lanes[i]};
            /* Release: a process that sees the bit sees the owner. */
            atomic_fetch_or_explicit(&path->area->lane_mask, 1u << i,
                                     memory_order_release);
            return;
        }
    }
    atomic_fetch_add_explicit(&path->area->lanes_wanted, 1, memory_order_relaxed);
}

static enum weft_rc send_by_inbox(struct weft_shm_path *path, const void *header,
                                  const void *data, size_t len, bool *is_followed)
{
    const struct weft_transport *tp = path->base.transport;
    const struct weft_ring_head head = {
        .from = tp->me,
        .local = tp->local,
        .len = (uint32_t)len,
    };
    enum weft_rc rc = weft_ring_push(
        &path->area->inbox, path->area->inbox_cells, WEFT_INBOX_CELLS, &tp->area->claim,
        WEFT_RING_INBOX + 2 * path->local, &head, header, data, is_followed);

    if (rc == WEFT_OK) {
        path->by_inbox++;
        path->inbox_bytes += WEFT_HEADER_BYTES + len;
        path->number++;
    }
    return rc;
}

static enum weft_rc send_control(struct weft_shm_path *path, const void *header,
                                 const void *data, size_t len, unsigned flags)
{
    const struct weft_transport *tp = path->base.transport;
    const struct weft_ring_head head = {
        .from = tp->me,
        .local = tp->local,
        .len = (uint32_t)len,
    };
    bool is_followed = false;
    enum weft_rc rc = weft_ring_push(&path->area->control, path->area->control_cells,
                                     WEFT_CONTROL_CELLS, &tp->area->claim,
                                     WEFT_RING_CONTROL + 2 * path->local, &head, header,
                                     data, &is_followed);

    if (rc == WEFT_OK && ((flags & WEFT_SEND_QUIET) == 0 || is_followed)) {
        weft_node_notice_urgent(path->node);
    }
    return rc;
}

/*
 * The receiver tells us when it has taken something (poll.c), and a full lane is worth
 * waking it for, again when more was sent since it was told. The barrier between this
 * store and our next look at the lane is that of weft_node_publish(), without which
 * nobody sleeps: a sender that has asked after it publishes again (`has_asked_for_room`).
 */
static void ask_for_room(struct weft_shm_path *path)
{
    _Atomic uint32_t *wants_room = &path->out.lane->wants_room;

    if (atomic_load_explicit(wants_room, memory_order_relaxed) == 0 ||
        path->asked_at != path->out.head) {
        path->asked_at = path->out.head;
        path->base.transport->node->has_asked_for_room = true;
        atomic_store_explicit(wants_room, 1, memory_order_relaxed);
        weft_node_notice_urgent(path->node);
    }
}

bool weft_shm_may_be_queued(struct weft_path *base,
                            bool (*is_it)(const void *header, const void *argument),
                            const void *argument)
{
    struct weft_shm_path *path = (struct weft_shm_path *)base;
    struct weft_lane *lane = path->out.lane;
    uint64_t at;

    if (lane == NULL) {
        return path->number > 0; /* nobody tells when the inbox was emptied */
    }
    /* Acquire: what was taken has been matched. */
    at = atomic_load_explicit(&lane->taken, memory_order_acquire);
    if (at == 0 && path->before > 0) {
        return true;
    }
    while (at < path->out.head) {
        const struct weft_cell *cell = weft_lane_cell(lane, at);
        const uint32_t flag = atomic_load_explicit(&cell->flag, memory_order_relaxed);

        if (flag == WEFT_CELL_WRAP) {
            at += WEFT_LANE_CELLS - (at & WEFT_LANE_MASK);
        } else if (is_it(cell->header, argument)) {
            return true;
        } else {
            at += weft_lane_cells(flag - 1);
        }
    }
    return false;
}

/* First contact, rare peers, control packets, and messages of more than one cell. */
static __attribute__((noinline)) enum weft_rc send_otherwise(struct weft_shm_path *path,
                                                             const void *header,
                                                             const void *data, size_t len,
                                                             unsigned flags)
{
    enum weft_rc rc = WEFT_OK;
    bool is_followed = false;

    if ((flags & WEFT_SEND_CONTROL) != 0) {
        return send_control(path, header, data, len, flags);
    }
    if (path->out.lane == NULL && path->by_inbox >= BEFORE_LANE) {
        claim_lane(path, path->base.transport->local);
        path->by_inbox = 0; /* asks again after as many, if there was none */
    }
    if (path->out.lane == NULL) {
        rc = send_by_inbox(path, header, data, len, &is_followed);
    } else if (weft_lane_push(&path->out, header, data, len)) {
        path->number++;
    } else {
        ask_for_room(path);
        rc = WEFT_AGAIN;
    }
    if (rc == WEFT_OK && ((flags & WEFT_SEND_URGENT) != 0 || is_followed)) {
        weft_node_notice_urgent(path->node);
    } else if (rc == WEFT_OK) {
        weft_node_notice(path->node, WEFT_WAKE_ANYTHING);
    }
    return rc;
}

enum weft_rc weft_shm_send(struct weft_path *base, const void *header, const void *data,
                           size_t len, unsigned flags)
{
    struct weft_shm_path *path = (struct weft_shm_path *)base;

    if (weft_unlikely(flags != 0 || len > sizeof(((struct weft_cell *)0)->data) ||
                      path->out.lane == NULL)) {
        return send_otherwise(path, header, data, len, flags);
    }
    if (weft_unlikely(!weft_lane_push_small(&path->out, header, data, len))) {
        ask_for_room(path);
        return WEFT_AGAIN;
    }
    path->number++;
    weft_node_notice(path->node, WEFT_WAKE_ANYTHING);
    return WEFT_OK;
}
