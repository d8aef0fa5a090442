#include "transport/shm/shm.h"

#include <stdlib.h>

static enum weft_rc shm_open(struct weft_upcalls *up, struct weft_node *node,
                             struct weft_transport **out)
{
    struct weft_job *job = node->job;
    struct weft_transport *tp = calloc(1, sizeof(*tp));

    if (tp == NULL) {
        return WEFT_ERR_NOMEM;
    }
    tp->expected = calloc(job->segment.header->local_size, sizeof(*tp->expected));
    if (tp->expected == NULL) {
        free(tp);
        return WEFT_ERR_NOMEM;
    }
    tp->up = up;
    tp->node = node;
    tp->job = job;
    tp->me = (uint32_t)job->who.rank;
    tp->local = (uint32_t)job->who.local_rank;
    tp->area = weft_shm_area_of(&job->segment, tp->local);
    *out = tp;
    return WEFT_OK;
}

static void shm_close(struct weft_transport *tp)
{
    free(tp->expected);
    free(tp);
}

static enum weft_rc shm_connect(struct weft_transport *tp, uint32_t rank,
                                struct weft_endpoint **out)
{
    const struct weft_segment *segment = &tp->job->segment;
    struct weft_shm_endpoint *ep;
    uint32_t local;

    if (!weft_node_has(tp->node, rank, &local)) {
        return WEFT_ERR_UNSUPPORTED;
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
    ep->local = local;
    ep->area = weft_shm_area_of(segment, local);
    ep->node = weft_node_area_of(segment, local);
    ep->slot = weft_segment_slot(segment, local);
    *out = &ep->base;
    return WEFT_OK;
}

static void shm_disconnect(struct weft_endpoint *ep)
{
    free(ep);
}

/* The last look before sleeping. */
static enum weft_rc shm_arm(struct weft_transport *tp)
{
    return weft_shm_has_work(tp) ? WEFT_AGAIN : WEFT_OK;
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
}

const struct weft_transport_ops weft_shm_ops = {
    .name = "shm",
    .caps = WEFT_CAP_SAME_NODE | WEFT_CAP_ORDERED | WEFT_CAP_FETCH,
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
    .may_be_queued = weft_shm_may_be_queued,
    .poll = weft_shm_poll,
    .arm = shm_arm,
    .count_sent = count_sent,
    .count = count,
};
