#include "transport/ofi/msg/msg.h"

#include "base/clock.h"
#include "base/settings.h"
#include "base/wait.h"
#include "transport/ofi/common/publish.h"
#include "transport/ofi/msg/address.h"
#include "transport/ofi/msg/connect.h"
#include "transport/ofi/msg/peer.h"
#include "transport/ofi/msg/poll.h"
#include "transport/ofi/msg/send.h"
#include "transport/ofi/msg/stream.h"
#include "transport/ofi/msg/up.h"
#include "transport/ofi/msg/zcopy.h"

#include <stdlib.h>

enum { LEAVING_NS = 1000 * 1000 * 1000 };

static uint32_t choose_streams(void)
{
    const int64_t wanted = weft_setting(WEFT_SET_STREAMS);
    const int64_t most = wanted < WEFT_STREAMS_MAX ? wanted : WEFT_STREAMS_MAX;

    return most < 1 ? 1 : (uint32_t)most;
}

/* ---- opening and closing ---- */

static void msg_close(struct weft_transport *tp)
{
    struct weft_msg_peer *peer;
    uint32_t at = 0;

    tp->is_closing = true;
    while ((peer = weft_table_next(&tp->peers, &at)) != NULL) {
        weft_msg_close_streams(peer);
    }
    weft_msg_go_down(tp);
    weft_early_close(&tp->quirks.early);
    weft_table_close(&tp->peers);
    weft_ofi_index_close(&tp->index);
    free(tp);
}

/* Early listeners first; libfabric now or later. */
static enum weft_rc open_all(struct weft_transport *tp)
{
    enum weft_rc rc;

    if (!weft_msg_find_own(tp)) {
        return WEFT_ERR_UNREACHABLE;
    }
    rc = weft_early_open(&tp->quirks.early, tp->own, tp->own_count,
                         tp->job->who.local_rank);
    if (rc == WEFT_OK) {
        rc = weft_msg_publish(tp);
    }
    weft_libfabric_prepare();
    return rc != WEFT_OK || weft_early_may_defer() ? rc : weft_msg_come_up(tp);
}

static enum weft_rc msg_open(struct weft_upcalls *up, struct weft_node *node,
                             struct weft_transport **out)
{
    struct weft_job *job = node->job;
    struct weft_transport *tp = calloc(1, sizeof(*tp));
    enum weft_rc rc;

    if (tp == NULL) {
        return WEFT_ERR_NOMEM;
    }
    tp->packets = &weft_msg_ops;
    tp->up = up;
    tp->job = job;
    tp->me = (uint32_t)job->who.rank;
    tp->streams = choose_streams();
    tp->window = weft_ofi_slots_window((uint32_t)job->who.size, tp->streams);
    tp->return_each = weft_ofi_slots_window((uint32_t)job->who.size, 1) / 2;
    tp->opening = weft_ofi_number_opening();
    tp->self = (struct weft_handshake_self){
        .secret = job->segment.header->secret,
        .process = weft_process(job->segment.header->job, tp->me),
        .ranks = (uint32_t)job->who.size,
        .streams = WEFT_STREAMS_MAX, /* as many as the other side wants */
        .packets = up->packet_version,
    };
    weft_table_open(&tp->peers);
    weft_quirks_init(&tp->quirks);
    rc = open_all(tp);
    if (rc != WEFT_OK) {
        msg_close(tp);
        return rc;
    }
    tp->has_moved = false; /* nobody has asked for descriptors before */
    *out = tp;
    return WEFT_OK;
}

/* Nothing is sent before there is something to send. The path has no disconnect(): its
 * connection may be the peer's as well, and ends with the transport. */
static enum weft_rc msg_connect(struct weft_transport *tp, struct weft_peer *above,
                                uint64_t process, struct weft_path **out)
{
    struct weft_msg_peer *peer;
    enum weft_rc rc = weft_msg_come_up(tp);

    if (rc != WEFT_OK) {
        return rc;
    }
    peer = weft_msg_peer_get(tp, process, above);
    if (peer == NULL) {
        return WEFT_ERR_NOMEM;
    }
    *out = &peer->first.base;
    return WEFT_OK;
}

/* Half of the window: so much is free when the receiver has returned credits for what it
 * has taken (return_each), however little that was. */
static uint32_t handed_max(const struct weft_transport *tp)
{
    const uint32_t half = tp->window / 2;

    return half < WEFT_MSG_PACKET_MAX + sizeof(struct weft_frame) ? WEFT_MSG_PACKET_MAX
           : half < WEFT_MSG_ZCOPY_MAX ? half - (uint32_t)sizeof(struct weft_frame)
                                       : WEFT_MSG_ZCOPY_MAX;
}

static void warm_up(struct weft_transport *tp)
{
    (void)tp;
    weft_ofi_warm_up();
}

static enum weft_rc establish(struct weft_path *path)
{
    struct weft_msg_stream *stream = weft_msg_stream_of(path);

    weft_msg_connect(path->transport, stream);
    return stream->state == WEFT_MSG_OPEN   ? WEFT_OK
           : stream->state == WEFT_MSG_LOST ? weft_msg_gone(stream->peer)
                                            : WEFT_AGAIN;
}

/* A peer that does not read, so that nothing can be sent to it, is not waited for long.
 */
static void leave(struct weft_transport *tp)
{
    const uint64_t until = weft_clock_ns() + LEAVING_NS;
    struct weft_msg_peer *peer;
    uint32_t at = 0;

    while ((peer = weft_table_next(&tp->peers, &at)) != NULL) {
        while (peer->first.state == WEFT_MSG_OPEN &&
               !weft_msg_send_bare(tp, peer, WEFT_FRAME_LEAVE) &&
               weft_clock_ns() < until) {
            weft_msg_poll(tp, 0);
            weft_wait_moment();
        }
    }
}

/* ---- sleeping, and counts ---- */

static bool needs_retry(struct weft_transport *tp)
{
    const bool needs_it = tp->needs_retry;

    tp->needs_retry = false;
    return needs_it;
}

static enum weft_rc arm(struct weft_transport *tp)
{
    struct fid *both[2];

    if (weft_unlikely(tp->has_moved)) {
        tp->has_moved = false;
        return WEFT_PENDING;
    }
    if (weft_unlikely(!tp->is_up)) {
        return WEFT_OK;
    }
    both[0] = &tp->ofi.cq->fid;
    both[1] = &tp->ofi.eq->fid;
    if (tp->slots.to_post != NULL || weft_credits_are_refused(&tp->credits_due) ||
        weft_msg_may_take_kept(tp) ||
        (tp->deadline != 0 && weft_clock_ns() >= tp->deadline)) {
        return WEFT_AGAIN; /* no descriptor tells of these */
    }
    return fi_trywait(tp->ofi.fabric, both, 2) == 0 ? WEFT_OK : WEFT_AGAIN;
}

static uint64_t deadline(const struct weft_transport *tp)
{
    return tp->deadline;
}

static int descriptors(struct weft_transport *tp, int out[WEFT_DESCRIPTORS])
{
    if (!tp->is_up) {
        out[0] = -1;
        out[1] = tp->quirks.early.pending;
        return 2;
    }
    return fi_control(&tp->ofi.cq->fid, FI_GETWAIT, &out[0]) == 0 &&
                   fi_control(&tp->ofi.eq->fid, FI_GETWAIT, &out[1]) == 0
               ? 2
               : 0;
}

static void count(const struct weft_transport *tp, struct weft_traffic *traffic)
{
    for (uint32_t i = 0; i < tp->index.count; i++) {
        const struct weft_msg_peer *peer = tp->index.at[i];

        traffic->packets_sent += peer->packets_sent;
        traffic->bytes_sent += peer->bytes_sent;
    }
    traffic->bytes_stored += tp->bytes_put;
    traffic->registered += tp->slots.cache.made;
    traffic->reused += tp->slots.cache.found;
    traffic->bytes_fetched += tp->bytes_got;
    traffic->packets_received += tp->packets_received;
    traffic->bytes_received += tp->bytes_received;
    traffic->lanes += tp->connections;
    traffic->rejected += tp->quirks.reap.rejected;
}

const struct weft_packet_ops weft_msg_ops = {
    .name = "msg",
    .poll_every = 8,
    .open = msg_open,
    .close = msg_close,
    .connect = msg_connect,
    .send = weft_msg_send,
    .poll = weft_msg_poll,
    .arm = arm,
    .count = count,
    .send_zcopy = weft_msg_send_zcopy,
    .next_path = weft_msg_next_path,
    .find_path = weft_msg_find_path,
    .handed_max = handed_max,
    .warm_up = warm_up,
    .establish = establish,
    .descriptors = descriptors,
    .deadline = deadline,
    .needs_retry = needs_retry,
    .leave = leave,
};
