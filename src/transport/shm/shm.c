#include "transport/shm/shm.h"

#include "base/reserve.h"

#include <stdlib.h>

static enum weft_rc shm_open(struct weft_upcalls *up, struct weft_node *node,
                             struct weft_transport **out)
{
    struct weft_job *job = node->job;
    struct weft_transport *tp = calloc(1, sizeof(*tp));

    if (tp == NULL) {
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
    free(tp);
}

static void add_path(struct weft_transport *tp, struct weft_shm_path *path)
{
    path->next = tp->paths;
    path->link = &tp->paths;
    if (path->next != NULL) {
        path->next->link = &path->next;
    }
    tp->paths = path;
}

static enum weft_rc shm_connect(struct weft_transport *tp, struct weft_peer *peer,
                                uint64_t process, struct weft_path **out)
{
    const struct weft_segment *segment = &tp->job->segment;
    struct weft_shm_path *path;
    uint32_t local;

    if (!weft_node_has(tp->node, process, &local)) {
        return WEFT_ERR_UNSUPPORTED;
    }
    path = weft_reserve_take_zeroed(sizeof(*path));
    if (path == NULL) {
        return WEFT_ERR_NOMEM;
    }
    path->base = (struct weft_path){
        .packets = &weft_shm_ops,
        .transport = tp,
        .peer = peer,
        .process = process,
        .packet_max = WEFT_SHORT_MAX,
    };
    path->local = local;
    path->area = weft_shm_area_of(segment, local);
    path->node = weft_node_area_of(segment, local);
    path->slot = weft_segment_slot(segment, local);
    add_path(tp, path);
    *out = &path->base;
    return WEFT_OK;
}

static void shm_disconnect(struct weft_path *base)
{
    struct weft_shm_path *path = (struct weft_shm_path *)base;

    *path->link = path->next;
    if (path->next != NULL) {
        path->next->link = path->link;
    }
    weft_reserve_give(path);
}

/* The last look before sleeping. */
static enum weft_rc shm_arm(struct weft_transport *tp)
{
    return weft_shm_has_work(tp) ? WEFT_AGAIN : WEFT_OK;
}

/* A full lane tells when it has room, an inbox and a control queue do not. */
static bool shm_needs_retry(struct weft_transport *tp)
{
    (void)tp;
    return true;
}

/* ---- counts: what the data path keeps anyway, added up when somebody asks ---- */

static void count(const struct weft_transport *tp, struct weft_traffic *traffic)
{
    for (const struct weft_shm_path *path = tp->paths; path != NULL; path = path->next) {
        traffic->packets_sent += path->number;
        traffic->bytes_sent += path->out.head * WEFT_CELL_BYTES + path->inbox_bytes;
    }
    traffic->packets_received += tp->packets;
    for (uint32_t i = 0; i < tp->lane_count; i++) {
        traffic->bytes_received += tp->lanes[i].position * WEFT_CELL_BYTES;
    }
    traffic->bytes_received += tp->inbox_bytes;
    traffic->bytes_fetched += atomic_load_explicit(&tp->fetched, memory_order_relaxed);
    traffic->bytes_stored += atomic_load_explicit(&tp->stored, memory_order_relaxed);
    traffic->lanes += tp->lane_count;
}

const struct weft_packet_ops weft_shm_ops = {
    .name = "shm",
    .is_node_local = true,
    .open = shm_open,
    .close = shm_close,
    .connect = shm_connect,
    .disconnect = shm_disconnect,
    .send = weft_shm_send,
    .poll = weft_shm_poll,
    .arm = shm_arm,
    .count = count,
    .try_memory = weft_shm_try_memory,
    .may_be_queued = weft_shm_may_be_queued,
    .needs_retry = shm_needs_retry,
};
