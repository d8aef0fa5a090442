/*
 * poll.c - takes what has come: control packets first, then lanes and the inbox in turn.
 *
 * What the upcall does not take stays where it is, and what is behind it in its lane or
 * in the inbox waits. A sender that has a lane never goes back to the inbox: so its first
 * packets in the lane may come before their turn, but those in the inbox do not, and hold
 * up nobody else for that reason.
 */
#include "transport/shm/shm.h"

#include "base/process.h"

#include <stdio.h>

#define ANY_RANK UINT32_MAX /* for reject(): nobody knows whose fault it is */

/*
 * Queues are memory that every rank of the node can write to. What no rank writes there
 * means that one has overwritten it: the job ends, for nobody knows what else is wrong.
 */
static _Noreturn __attribute__((noinline)) void reject(struct weft_transport *tp,
                                                       const char *queue, uint32_t from)
{
    char who[64] = "a rank";
    char cause[WEFT_CAUSE_BYTES];

    if (from != ANY_RANK) {
        snprintf(who, sizeof(who), "rank %u, or another,", from);
    }
    snprintf(cause, sizeof(cause),
             "what is written in the %s of this rank, in memory that the ranks of this "
             "node share, is no packet: %s has overwritten it",
             queue, who);
    weft_wireup_abort(tp->job, 1, cause);
}

/* Does the head of a packet name a rank of this node, and not ourselves? */
static bool is_from_here(const struct weft_transport *tp,
                         const struct weft_ring_head *head)
{
    const struct weft_segment *segment = &tp->job->segment;

    return head->len != UINT32_MAX && head->local < segment->local_size &&
           head->local != tp->local &&
           head->from == weft_segment_rank(segment, head->local);
}

/* The peer with this rank in our job. */
static struct weft_peer *peer_of(const struct weft_transport *tp, uint32_t rank)
{
    return tp->up->meet(tp->up->owner, weft_process(tp->job->segment.job, rank));
}

/* A sender has been given a lane since we last looked. */
static void meet_lanes(struct weft_transport *tp, uint32_t mask)
{
    uint32_t fresh = mask & ~tp->known_mask;

    while (fresh != 0) {
        uint32_t i = (uint32_t)__builtin_ctz(fresh);
        uint32_t local =
            atomic_load_explicit(&tp->area->lane_owner[i], memory_order_acquire) - 1;
        uint32_t from;

        if (weft_unlikely(local >= tp->job->segment.local_size)) {
            reject(tp, "list of lanes", ANY_RANK);
        }
        from = weft_segment_rank(&tp->job->segment, local);
        tp->lanes[tp->lane_count++] = (struct weft_lane_in){
            .lane = &tp->area->lanes[i],
            .position = 0,
            .peer = peer_of(tp, from),
            .local = local,
            .from = from,
        };
        tp->known_mask |= 1u << i;
        fresh &= fresh - 1;
    }
}

static int poll_lane(struct weft_transport *tp, struct weft_lane_in *in, int budget)
{
    struct weft_upcalls *up = tp->up;
    int done = 0;

    while (done < budget) {
        size_t len;
        struct weft_cell *cell = weft_lane_next(in, &len);

        if (cell == NULL) {
            break;
        }
        if (weft_unlikely(len == SIZE_MAX)) {
            reject(tp, "lane", in->from);
        }
        if (done > 0) { /* a backlog: the sender is done with the cells behind it too */
            __builtin_prefetch(weft_lane_cell(in->lane, in->position + WEFT_LANE_LOOK));
        }
        if (weft_unlikely(up->arrived(up->owner, in->peer, cell->header,
                                      (uint8_t *)cell + WEFT_CELL_HEAD, len,
                                      0) != WEFT_TAKEN)) {
            break;
        }
        weft_lane_drop(in, len);
        done++;
    }
    tp->packets += (uint32_t)done;
    if (weft_unlikely(done > 0 && atomic_load_explicit(&in->lane->wants_room,
                                                       memory_order_relaxed) != 0)) {
        atomic_store_explicit(&in->lane->wants_room, 0, memory_order_relaxed);
        weft_node_notice(weft_node_area_of(&tp->job->segment, in->local),
                         WEFT_WAKE_REQUESTS);
    }
    return done;
}

/* Copies the first packet of a queue that many write to; false: there is no whole one. */
static bool read_first(struct weft_transport *tp, struct weft_ring *ring,
                       struct weft_ring_cell *cells, uint32_t count, const char *name,
                       struct weft_ring_head *head, struct weft_ring_packet *packet)
{
    if (!weft_ring_peek(ring, cells, count, head)) {
        return false;
    }
    if (weft_unlikely(!is_from_here(tp, head))) {
        reject(tp, name, ANY_RANK);
    }
    weft_ring_read(ring, cells, count, head, packet);
    return true;
}

/* One control packet; false: there is no whole one. */
static __attribute__((noinline)) bool take_control(struct weft_transport *tp)
{
    struct weft_shm_area *area = tp->area;
    struct weft_upcalls *up = tp->up;
    struct weft_ring_head head;
    struct weft_ring_packet packet;

    if (!read_first(tp, &area->control, area->control_cells, WEFT_CONTROL_CELLS,
                    "control queue", &head, &packet)) {
        return false;
    }
    weft_ring_drop(&area->control, &head);
    up->control(up->owner, peer_of(tp, head.from), packet.header, packet.data, head.len);
    return true;
}

/* One packet of the inbox; false: there is no whole one, or it was not taken. */
static __attribute__((noinline)) bool take_from_inbox(struct weft_transport *tp)
{
    struct weft_shm_area *area = tp->area;
    struct weft_upcalls *up = tp->up;
    struct weft_ring_head head;
    struct weft_ring_packet packet;

    if (!read_first(tp, &area->inbox, area->inbox_cells, WEFT_INBOX_CELLS, "inbox", &head,
                    &packet) ||
        up->arrived(up->owner, peer_of(tp, head.from), packet.header, packet.data,
                    head.len, WEFT_SHARED_QUEUE) != WEFT_TAKEN) {
        return false;
    }
    weft_ring_drop(&area->inbox, &head);
    tp->inbox_bytes += WEFT_HEADER_BYTES + head.len;
    tp->packets++;
    return true;
}

static int poll_control(struct weft_transport *tp, int budget)
{
    const struct weft_shm_area *area = tp->area;
    int done = 0;

    while (done < budget &&
           weft_unlikely(weft_ring_has_first(&area->control, area->control_cells,
                                             WEFT_CONTROL_CELLS)) &&
           take_control(tp)) {
        done++;
    }
    return done;
}

static int poll_inbox(struct weft_transport *tp, int budget)
{
    const struct weft_shm_area *area = tp->area;
    int done = 0;

    while (done < budget &&
           weft_unlikely(
               weft_ring_has_first(&area->inbox, area->inbox_cells, WEFT_INBOX_CELLS)) &&
           take_from_inbox(tp)) {
        done++;
    }
    return done;
}

/* ---- after a death ---- */

static struct weft_ring_writer writer(const void *of, uint32_t local)
{
    const struct weft_segment *segment = of;

    return (struct weft_ring_writer){
        .claim = &weft_shm_area_of(segment, local)->claim,
        .is_failed = weft_segment_why_lost(segment, local) != NULL,
    };
}

static __attribute__((noinline)) void mend_rings(struct weft_transport *tp)
{
    struct weft_shm_area *area = tp->area;
    const struct weft_segment *segment = &tp->job->segment;
    const uint32_t writers = segment->header->local_size;

    weft_ring_mend(&area->control, area->control_cells, WEFT_CONTROL_CELLS,
                   WEFT_RING_CONTROL + 2 * tp->local, writers, writer, segment);
    weft_ring_mend(&area->inbox, area->inbox_cells, WEFT_INBOX_CELLS,
                   WEFT_RING_INBOX + 2 * tp->local, writers, writer, segment);
}

int weft_shm_poll(struct weft_transport *tp, int budget)
{
    /* Pairs with the release in claim_lane(). */
    uint32_t mask = atomic_load_explicit(&tp->area->lane_mask, memory_order_acquire);
    uint32_t at = tp->poll_from;
    int done;

    if (weft_unlikely(tp->up->has_failed)) {
        mend_rings(tp);
    }
    done = poll_control(tp, budget);
    if (weft_unlikely(mask != tp->known_mask)) {
        meet_lanes(tp, mask);
    }
    for (uint32_t n = 0; n <= tp->lane_count; n++) {
        const bool is_lane = at < tp->lane_count;

        done += is_lane ? poll_lane(tp, &tp->lanes[at], budget - done)
                        : poll_inbox(tp, budget - done);
        at = is_lane ? at + 1 : 0;
        if (weft_unlikely(done >= budget)) {
            tp->poll_from = at; /* the next one first: nobody starves behind a busy one */
            break;
        }
    }
    return done;
}

/* Would the first packet of the inbox be taken? */
static bool inbox_has_work(struct weft_transport *tp)
{
    struct weft_shm_area *area = tp->area;
    struct weft_upcalls *up = tp->up;
    struct weft_ring_head head;
    struct weft_ring_packet packet;

    if (!weft_ring_peek(&area->inbox, area->inbox_cells, WEFT_INBOX_CELLS, &head)) {
        return false;
    }
    if (!is_from_here(tp, &head)) {
        return true; /* poll() rejects it */
    }
    weft_ring_read(&area->inbox, area->inbox_cells, WEFT_INBOX_CELLS, &head, &packet);
    return up->may_take(up->owner, peer_of(tp, head.from), packet.header,
                        WEFT_SHARED_QUEUE);
}

/* Is there anything that poll() would take? */
bool weft_shm_has_work(struct weft_transport *tp)
{
    struct weft_shm_area *area = tp->area;
    struct weft_upcalls *up = tp->up;
    struct weft_ring_head head;

    if (weft_unlikely(up->has_failed)) {
        mend_rings(tp);
    }
    if (atomic_load_explicit(&area->lane_mask, memory_order_acquire) != tp->known_mask) {
        return true;
    }
    for (uint32_t i = 0; i < tp->lane_count; i++) {
        struct weft_lane_in *in = &tp->lanes[i];
        size_t len;
        const struct weft_cell *cell = weft_lane_next(in, &len);

        if (cell != NULL && (len == SIZE_MAX || /* poll() rejects it */
                             up->may_take(up->owner, in->peer, cell->header, 0))) {
            return true;
        }
    }
    return weft_ring_peek(&area->control, area->control_cells, WEFT_CONTROL_CELLS,
                          &head) ||
           inbox_has_work(tp);
}
