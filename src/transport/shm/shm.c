#include "transport/shm/shm.h"

#include <stdlib.h>

static enum weft_rc shm_open(struct weft_upcalls *up, struct weft_job *job,
                             struct weft_transport **out)
{
    struct weft_transport *tp = calloc(1, sizeof(*tp));
    struct weft_slice *slice;

    if (tp == NULL) {
        return WEFT_ERR_NOMEM;
    }
    tp->expected = calloc(job->segment.header->local_size, sizeof(*tp->expected));
    if (tp->expected == NULL) {
        free(tp);
        return WEFT_ERR_NOMEM;
    }
    tp->up = up;
    tp->job = job;
    tp->me = (uint32_t)job->who.rank;
    tp->local = (uint32_t)job->who.local_rank;
    tp->area = weft_shm_area_of(&job->segment, tp->local);
    tp->first_bell = atomic_load_explicit(&tp->area->doorbell, memory_order_relaxed);
    slice = weft_segment_slice(&job->segment, tp->local);
    atomic_store_explicit(&slice->bell_at,
                          (uint32_t)((char *)&tp->area->doorbell - (char *)slice),
                          memory_order_seq_cst);
    weft_shm_introduce(tp);
    weft_shm_register_barrier(tp);
    *out = tp;
    return WEFT_OK;
}

static void shm_close(struct weft_transport *tp)
{
    atomic_store_explicit(&tp->area->is_known, 0, memory_order_release);
    free(tp->expected);
    free(tp);
}

static enum weft_rc shm_connect(struct weft_transport *tp, uint32_t rank,
                                struct weft_endpoint **out)
{
    const struct weft_segment *segment = &tp->job->segment;
    const struct weft_place *place = &weft_segment_map(segment)[rank];
    struct weft_shm_endpoint *ep;

    if (place->node != segment->header->node ||
        place->local_rank >= segment->header->local_size ||
        weft_segment_locals(segment)[place->local_rank] != rank) {
        return WEFT_ERR_UNSUPPORTED;
    }
    if (!tp->job->is_by_mpiexec &&
        atomic_load_explicit(&weft_segment_slice(segment, place->local_rank)->is_attached,
                             memory_order_acquire) == 0) {
        return WEFT_ERR_UNSUPPORTED; /* it could not map our segment */
    }
    ep = calloc(1, sizeof(*ep));
    if (ep == NULL) {
        return WEFT_ERR_NOMEM;
    }
    ep->base = (struct weft_endpoint){
        .ops = &weft_shm_ops,
        .transport = tp,
        .rank = rank,
        .short_max = WEFT_SHORT_MAX,
    };
    ep->local = place->local_rank;
    ep->area = weft_shm_area_of(segment, place->local_rank);
    *out = &ep->base;
    return WEFT_OK;
}

static void shm_disconnect(struct weft_endpoint *ep)
{
    free(ep);
}

/* ---- joints and windows ---- */

/* The first bit of `count` that is not set, which is set then; false: there is none. */
static bool take_bit(uint32_t *used, uint32_t count, uint32_t *number)
{
    if (~*used == 0 || (uint32_t)__builtin_ctz(~*used) >= count) {
        return false;
    }
    *number = (uint32_t)__builtin_ctz(~*used);
    *used |= 1u << *number;
    return true;
}

static struct weft_joint *joint_take(struct weft_transport *tp, uint32_t *number)
{
    return take_bit(&tp->joints_used, WEFT_JOINTS, number) ? &tp->area->joints[*number]
                                                           : NULL;
}

static void joint_give(struct weft_transport *tp, uint32_t number)
{
    tp->joints_used &= ~(1u << number);
}

static struct weft_joint *joint_of(struct weft_endpoint *ep, uint32_t number)
{
    return number < WEFT_JOINTS ? &((struct weft_shm_endpoint *)ep)->area->joints[number]
                                : NULL;
}

static void *window_take(struct weft_transport *tp, uint32_t *number)
{
    return take_bit(&tp->windows_used, WEFT_WINDOWS, number) ? tp->area->windows[*number]
                                                             : NULL;
}

static void window_give(struct weft_transport *tp, uint32_t number)
{
    tp->windows_used &= ~(1u << number);
}

static const void *window_of(struct weft_endpoint *ep, uint32_t number)
{
    return number < WEFT_WINDOWS ? ((struct weft_shm_endpoint *)ep)->area->windows[number]
                                 : NULL;
}

static bool has_asked(struct weft_transport *tp)
{
    return tp->has_asked;
}

static void ring(struct weft_transport *tp)
{
    weft_shm_ring_doorbell(tp->area);
}

static uint64_t rings(struct weft_transport *tp)
{
    return atomic_load_explicit(&tp->area->rings, memory_order_relaxed);
}

static _Atomic uint32_t *doorbell(struct weft_transport *tp)
{
    return &tp->area->doorbell;
}

static _Atomic uint32_t *helper_bell(struct weft_transport *tp)
{
    return &tp->area->helper_bell;
}

static bool is_inside(struct weft_endpoint *ep)
{
    return atomic_load_explicit(&((struct weft_shm_endpoint *)ep)->area->is_inside,
                                memory_order_relaxed) != 0;
}

static void set_inside(struct weft_transport *tp, bool inside)
{
    atomic_store_explicit(&tp->area->is_inside, inside ? 1 : 0, memory_order_relaxed);
}

/* ---- counts: what the data path keeps anyway, added up when somebody asks ---- */

static void count_sent(const struct weft_endpoint *base, struct weft_traffic *traffic)
{
    const struct weft_shm_endpoint *ep = (const struct weft_shm_endpoint *)base;

    traffic->packets_sent += ep->number;
    traffic->bytes_sent += ep->out.head * WEFT_CELL_BYTES + ep->inbox_bytes;
}

static void count(const struct weft_transport *tp, struct weft_traffic *traffic)
{
    for (uint32_t i = 0; i < tp->job->segment.header->local_size; i++) {
        traffic->packets_received += tp->expected[i];
    }
    for (uint32_t i = 0; i < tp->lane_count; i++) {
        traffic->bytes_received += tp->lanes[i].position * WEFT_CELL_BYTES;
    }
    traffic->bytes_received += tp->inbox_bytes;
    traffic->bytes_fetched += atomic_load_explicit(&tp->fetched, memory_order_relaxed);
    traffic->bytes_stored += atomic_load_explicit(&tp->stored, memory_order_relaxed);
    traffic->lanes += tp->lane_count;
    traffic->wakeups +=
        atomic_load_explicit(&tp->area->doorbell, memory_order_relaxed) - tp->first_bell;
}

const struct weft_transport_ops weft_shm_ops = {
    .name = "shm",
    .caps = WEFT_CAP_SAME_NODE | WEFT_CAP_ORDERED | WEFT_CAP_FETCH | WEFT_CAP_JOINT,
    .open = shm_open,
    .close = shm_close,
    .connect = shm_connect,
    .disconnect = shm_disconnect,
    .send = weft_shm_send,
    .fetch = weft_shm_fetch,
    .store = weft_shm_store,
    .fetch_vectors = weft_shm_fetch_vectors,
    .store_vectors = weft_shm_store_vectors,
    .can_reach = weft_shm_can_reach,
    .joint_take = joint_take,
    .joint_give = joint_give,
    .joint_of = joint_of,
    .window_take = window_take,
    .window_give = window_give,
    .window_of = window_of,
    .may_be_queued = weft_shm_may_be_queued,
    .poll = weft_shm_poll,
    .arm = weft_shm_arm,
    .doorbell = doorbell,
    .sleep = weft_shm_sleep,
    .disarm = weft_shm_disarm,
    .attend = weft_shm_attend,
    .may_miss = weft_shm_may_miss,
    .has_asked = has_asked,
    .helper_bell = helper_bell,
    .ring = ring,
    .rings = rings,
    .wake = weft_shm_wake,
    .is_inside = is_inside,
    .set_inside = set_inside,
    .count_sent = count_sent,
    .count = count,
};
