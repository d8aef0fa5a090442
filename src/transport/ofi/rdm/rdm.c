#include "transport/ofi/rdm/rdm.h"

#include "base/clock.h"
#include "base/wait.h"
#include "transport/ofi/common/publish.h"
#include "transport/ofi/quirks/layers.h"
#include "transport/ofi/quirks/matching.h"
#include "transport/ofi/rdm/address.h"
#include "transport/ofi/rdm/atomic.h"
#include "transport/ofi/rdm/endpoint.h"
#include "transport/ofi/rdm/lost.h"
#include "transport/ofi/rdm/memory.h"
#include "transport/ofi/rdm/peer.h"
#include "transport/ofi/rdm/poll.h"
#include "transport/ofi/rdm/send.h"
#include "transport/ofi/tagged/tagged.h"

#include <stdlib.h>

enum { LEAVING_NS = 1000 * 1000 * 1000, TICK_NS = 1000 * 1000 };

extern const struct weft_packet_ops weft_tagged_ops; /* below */

/* ---- opening and closing ---- */

static void rdm_close(struct weft_transport *tp)
{
    tp->is_closing = true;
    weft_rdm_endpoint_close(tp);
    weft_rdm_peers_close(tp);
    free(tp);
}

static enum weft_rc open_as(const struct weft_packet_ops *ops, struct weft_upcalls *up,
                            struct weft_node *node, struct weft_transport **out)
{
    struct weft_job *job = node->job;
    struct weft_transport *tp = calloc(1, sizeof(*tp));
    enum weft_rc rc;

    if (tp == NULL) {
        return WEFT_ERR_NOMEM;
    }
    tp->packets = ops;
    tp->is_tagged = ops->tagged != NULL;
    tp->memory = weft_rdm_memory();
    tp->up = up;
    tp->job = job;
    tp->window = weft_ofi_slots_window((uint32_t)job->who.size, 1);
    tp->opening = weft_ofi_number_opening();
    tp->self = (struct weft_handshake_self){
        .secret = job->segment.header->secret,
        .process = weft_process(job->segment.header->job, (uint32_t)job->who.rank),
        .ranks = (uint32_t)job->who.size,
        .streams = 1,
        .packets = up->packet_version,
    };
    weft_table_open(&tp->peers);
    weft_libfabric_prepare();
    rc = weft_rdm_endpoint_open(tp);
    if (rc == WEFT_OK) {
        weft_rdm_find_atomics(tp);
        rc = weft_rdm_publish(tp);
    }
    if (rc != WEFT_OK) {
        rdm_close(tp);
        return rc;
    }
    *out = tp;
    return WEFT_OK;
}

static enum weft_rc rdm_open(struct weft_upcalls *up, struct weft_node *node,
                             struct weft_transport **out)
{
    weft_layers_prepare_packets();
    return open_as(&weft_rdm_ops, up, node, out);
}

static enum weft_rc tagged_open(struct weft_upcalls *up, struct weft_node *node,
                                struct weft_transport **out)
{
    weft_matching_prepare();
    return open_as(&weft_tagged_ops, up, node, out);
}

/* Nothing is sent before there is something to send. */
static enum weft_rc rdm_connect(struct weft_transport *tp, struct weft_peer *above,
                                uint64_t process, struct weft_path **out)
{
    struct weft_rdm_peer *peer = weft_rdm_peer_get(tp, process, above);

    if (peer == NULL) {
        return WEFT_ERR_NOMEM;
    }
    *out = &peer->base;
    return WEFT_OK;
}

static enum weft_rc establish(struct weft_path *path)
{
    return weft_rdm_may_send(path->transport, weft_rdm_peer_of(path));
}

/* All that was sent is on its way? What was injected is, and slots tell of the rest. */
static bool is_sending(const struct weft_transport *tp)
{
    uint32_t used = 0;

    for (uint32_t i = 0; i < tp->index.count; i++) {
        const struct weft_rdm_peer *peer = tp->index.at[i];

        used += peer->slots_used;
    }
    return used > 0;
}

/* A peer that does not read, so that nothing can be sent to it, is not waited for long.
 */
static void leave(struct weft_transport *tp)
{
    const uint64_t until = weft_clock_ns() + LEAVING_NS;

    for (uint32_t i = 0; i < tp->index.count; i++) {
        while (!weft_rdm_send_leave(tp, tp->index.at[i]) && weft_clock_ns() < until) {
            weft_rdm_poll(tp, 0);
            weft_wait_moment();
        }
    }
    while (is_sending(tp) && weft_clock_ns() < until) {
        weft_rdm_poll(tp, 0);
        weft_wait_moment();
    }
}

/* ---- sleeping, and counts ---- */

static bool needs_retry(struct weft_transport *tp)
{
    const bool needs_it = tp->needs_retry;

    tp->needs_retry = false;
    return needs_it;
}

static uint64_t deadline(const struct weft_transport *tp)
{
    const bool is_due = tp->answers != NULL || tp->needs_tick;
    const uint64_t tick = is_due ? weft_clock_ns() + TICK_NS : 0;
    const uint64_t loss = weft_rdm_next_loss(tp);

    return tick == 0 || (loss != 0 && loss < tick) ? loss : tick;
}

static enum weft_rc arm(struct weft_transport *tp)
{
    struct fid *queue = &tp->ofi.cq->fid;
    const uint64_t loss = weft_rdm_next_loss(tp);

    if (tp->slots.to_post != NULL || weft_credits_are_refused(&tp->credits_due) ||
        weft_rdm_may_take_kept(tp) || (loss != 0 && weft_clock_ns() >= loss)) {
        return WEFT_AGAIN; /* no descriptor tells of these */
    }
    return !tp->has_wait || fi_trywait(tp->ofi.fabric, &queue, 1) == 0 ? WEFT_OK
                                                                       : WEFT_AGAIN;
}

static int descriptors(struct weft_transport *tp, int out[WEFT_DESCRIPTORS])
{
    return tp->has_wait && fi_control(&tp->ofi.cq->fid, FI_GETWAIT, &out[0]) == 0 ? 1 : 0;
}

static void count(const struct weft_transport *tp, struct weft_traffic *traffic)
{
    for (uint32_t i = 0; i < tp->index.count; i++) {
        const struct weft_rdm_peer *peer = tp->index.at[i];

        traffic->packets_sent += peer->packets_sent;
        traffic->bytes_sent += peer->bytes_sent;
        traffic->lanes += peer->state == WEFT_RDM_OPEN || peer->has_proved ? 1 : 0;
    }
    traffic->bytes_stored += tp->bytes_put;
    traffic->registered += tp->slots.cache.made;
    traffic->reused += tp->slots.cache.found;
    traffic->bytes_fetched += tp->bytes_got;
    traffic->packets_received += tp->packets_received;
    traffic->bytes_received += tp->bytes_received;
    traffic->rejected += tp->rejected;
}

/* The slots that do not depend on who matches messages. */
#define SLOTS_OF_BOTH                                                                    \
    .poll_every = 8, .close = rdm_close, .connect = rdm_connect, .send = weft_rdm_send,  \
    .poll = weft_rdm_poll, .arm = arm, .count = count,                                   \
    .send_zcopy = weft_rdm_send_zcopy, .establish = establish,                           \
    .descriptors = descriptors, .deadline = deadline, .needs_retry = needs_retry,        \
    .leave = leave

const struct weft_packet_ops weft_rdm_ops = {
    .name = "rdm",
    .open = rdm_open,
    SLOTS_OF_BOTH,
};

const struct weft_packet_ops weft_tagged_ops = {
    .name = "tagged",
    .open = tagged_open,
    .tagged = weft_tagged_table,
    SLOTS_OF_BOTH,
};
