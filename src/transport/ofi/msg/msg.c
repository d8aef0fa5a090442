#include "transport/ofi/msg/msg.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/settings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { WAY_AUTO, WAY_PUSH, WAY_FETCH }; /* words of WEFT_LONG */

struct weft_msg_limits weft_msg_limits;

/* What goes at once fits into a buffer of the pool, and four times into the window. */
static uint32_t zcopy_max(const struct weft_transport *tp)
{
    if (tp->ofi.info->tx_attr->iov_limit < 2) {
        return 0;
    }
    return tp->window / 4 < WEFT_MSG_ZCOPY_MAX ? tp->window / 4 : WEFT_MSG_ZCOPY_MAX;
}

/* Hardware reads a peer's memory by itself; over tcp the peer has to be asked, and could
 * have sent at once. */
static bool is_fetching(const struct weft_transport *tp)
{
    const char *provider = tp->ofi.info->fabric_attr->prov_name;
    const int64_t way = weft_setting(WEFT_SET_LONG);

    return way == WAY_FETCH || (way == WAY_AUTO && strncmp(provider, "verbs", 5) == 0);
}

struct weft_msg_peer *weft_msg_peer_get(struct weft_transport *tp, uint32_t rank)
{
    struct weft_msg_peer *peer = weft_ranks_find(&tp->peers, rank);

    if (peer != NULL) {
        return peer;
    }
    peer = weft_ranks_add(&tp->peers, rank, sizeof(*peer));
    if (peer != NULL) {
        peer->above = tp->up->meet(tp->up->owner, rank);
        peer->first = (struct weft_msg_stream){
            .base =
                {
                    .ops = &weft_msg_ops,
                    .transport = tp,
                    .rank = rank,
                    .short_max = WEFT_MSG_SHORT_MAX,
                    .zcopy_max = zcopy_max(tp),
                    .is_fetched = is_fetching(tp),
                },
            .peer = peer,
        };
        peer->streams[0] = &peer->first;
    }
    return peer;
}

/* Less for each where there are many, so that all together stay bounded; more for
 * several streams, of which each has packets under way. */
static uint32_t choose_window(const struct weft_job *job, uint32_t streams)
{
    const uint32_t others = job->who.size > 1 ? (uint32_t)job->who.size - 1 : 1;
    const uint32_t share = 8 * 1024 * 1024 / others;
    const uint32_t most = WEFT_MSG_WINDOW_MOST * streams;

    if (weft_msg_limits.window != 0) {
        return weft_msg_limits.window;
    }
    return share > most                    ? most
           : share < WEFT_MSG_WINDOW_LEAST ? WEFT_MSG_WINDOW_LEAST
                                           : share;
}

static uint32_t choose_streams(void)
{
    const int64_t wanted = weft_setting(WEFT_SET_STREAMS);
    const int64_t most = wanted < WEFT_STREAMS_MAX ? wanted : WEFT_STREAMS_MAX;

    return most < 1 ? 1 : (uint32_t)most;
}

/* ---- buffers ---- */

/* Pages are touched when they are used: a buffer costs what has come in it. */
static uint8_t *map(size_t bytes)
{
    void *memory =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return memory == MAP_FAILED ? NULL : memory;
}

static size_t packet_bytes(size_t data)
{
    return (sizeof(struct weft_msg_frame) + data + 63) / 64 * 64;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* All that can be posted at once has room in the completion queue. */
static void choose_counts(struct weft_transport *tp)
{
    const struct fi_info *info = tp->ofi.info;
    const size_t room = tp->ofi.completions;
    const size_t receives =
        least(WEFT_MSG_RECEIVES, least(info->rx_attr->size, room / 2));

    tp->receive_count = weft_msg_limits.receives != 0
                            ? (uint32_t)least(weft_msg_limits.receives, receives)
                            : (uint32_t)receives;
    tp->send_count =
        (uint32_t)least(WEFT_MSG_SENDS, least(info->tx_attr->size / 2, room - receives));
}

static enum weft_rc make_sends(struct weft_transport *tp)
{
    const size_t each = packet_bytes(WEFT_MSG_SHORT_MAX);

    tp->sends = calloc(tp->send_count, sizeof(*tp->sends));
    tp->send_memory = map(tp->send_count * each);
    if (tp->sends == NULL || tp->send_memory == NULL) {
        return WEFT_ERR_NOMEM;
    }
    for (uint32_t i = 0; i < tp->send_count; i++) {
        tp->sends[i].buffer = tp->send_memory + i * each;
        tp->sends[i].next = tp->free_sends;
        tp->free_sends = &tp->sends[i];
    }
    return weft_ofi_register_local(&tp->ofi, tp->send_memory, tp->send_count * each,
                                   FI_SEND, &tp->send_mr);
}

static enum weft_rc make_receives(struct weft_transport *tp)
{
    enum weft_rc rc;

    tp->receive_bytes = packet_bytes(WEFT_HEAD_MAX + WEFT_MSG_ZCOPY_MAX);
    tp->receives = calloc(tp->receive_count, sizeof(*tp->receives));
    tp->receive_memory = map(tp->receive_count * tp->receive_bytes);
    if (tp->receives == NULL || tp->receive_memory == NULL) {
        return WEFT_ERR_NOMEM;
    }
    rc = weft_ofi_register_local(&tp->ofi, tp->receive_memory,
                                 tp->receive_count * tp->receive_bytes, FI_RECV,
                                 &tp->receive_mr);
    for (uint32_t i = 0; rc == WEFT_OK && i < tp->receive_count; i++) {
        tp->receives[i].buffer = tp->receive_memory + i * tp->receive_bytes;
        weft_msg_post(tp, &tp->receives[i]);
    }
    return rc;
}

static void free_buffers(struct weft_transport *tp)
{
    weft_ofi_unregister(tp->send_mr);
    weft_ofi_unregister(tp->receive_mr);
    tp->send_mr = NULL;
    tp->receive_mr = NULL;
    if (tp->send_memory != NULL) {
        munmap(tp->send_memory, tp->send_count * packet_bytes(WEFT_MSG_SHORT_MAX));
    }
    if (tp->receive_memory != NULL) {
        munmap(tp->receive_memory, tp->receive_count * tp->receive_bytes);
    }
    free(tp->sends);
    free(tp->receives);
    tp->send_memory = NULL;
    tp->receive_memory = NULL;
    tp->sends = NULL;
    tp->receives = NULL;
}

/* ---- opening and closing ---- */

/* What needs libfabric, as far as it is there. */
static void go_down(struct weft_transport *tp)
{
    weft_msg_unguard(tp);
    for (int i = 0; i < tp->listener_count; i++) {
        fi_close(&tp->listeners[i]->fid);
    }
    tp->listener_count = 0;
    if (tp->ofi.shared_receive != NULL) { /* before the buffers that are posted there */
        fi_close(&tp->ofi.shared_receive->fid);
        tp->ofi.shared_receive = NULL;
    }
    free_buffers(tp);
    weft_ofi_close(&tp->ofi);
}

static void msg_close(struct weft_transport *tp)
{
    struct weft_msg_peer *peer;
    uint32_t at = 0;

    tp->is_closing = true;
    while ((peer = weft_ranks_next(&tp->peers, &at)) != NULL) {
        weft_msg_close_streams(peer);
        weft_msg_empty(&peer->held);
    }
    go_down(tp);
    weft_msg_close_doors(tp);
    weft_ranks_close(&tp->peers);
    free(tp);
}

/* libfabric and its queues, whose descriptors our children do not inherit. */
static enum weft_rc open_fabric(struct weft_transport *tp)
{
    struct weft_msg_noted before;
    struct sockaddr_storage at;
    socklen_t at_bytes;
    enum weft_rc rc;

    if (!weft_net_address_of(tp->own[0].text, 0, &at, &at_bytes)) {
        return WEFT_ERR_ARGUMENT;
    }
    rc = weft_libfabric_open(); /* which takes long: others may open files meanwhile */
    if (rc != WEFT_OK) {
        return rc;
    }
    tp->all_descriptors = opendir("/proc/self/fd");
    if (tp->all_descriptors == NULL) {
        weft_log_error("cannot list our descriptors: %s", strerror(errno));
        return WEFT_ERR_SYSTEM;
    }
    weft_msg_note_sockets(tp, &before);
    rc = weft_ofi_open(&tp->ofi, &at, at_bytes, WEFT_MSG_RECEIVES + WEFT_MSG_SENDS);
    weft_msg_close_new_on_exec(tp, &before);
    for (int i = 0; rc == WEFT_OK && i < 2; i++) {
        struct fid *queue = i == 0 ? &tp->ofi.eq->fid : &tp->ofi.cq->fid;
        int fd = -1;

        if (fi_control(queue, FI_GETWAIT, &fd) == 0) {
            weft_msg_close_on_exec(fd);
        }
    }
    return rc;
}

static enum weft_rc go_up(struct weft_transport *tp)
{
    enum weft_rc rc = weft_sodium_open();

    if (rc == WEFT_OK) {
        rc = open_fabric(tp);
    }
    if (rc == WEFT_OK) {
        weft_msg_keep_reserve(tp);
        choose_counts(tp);
        rc = make_sends(tp);
    }
    if (rc == WEFT_OK) {
        rc = make_receives(tp);
    }
    return rc == WEFT_OK ? weft_msg_listen(tp) : rc;
}

enum weft_rc weft_msg_come_up(struct weft_transport *tp)
{
    enum weft_rc rc;

    if (tp->is_up || tp->has_failed) {
        return tp->is_up ? WEFT_OK : WEFT_ERR_UNREACHABLE;
    }
    rc = go_up(tp);
    tp->is_up = rc == WEFT_OK;
    tp->has_failed = rc != WEFT_OK;
    tp->has_moved = true;
    weft_msg_end_knocks(tp);
    if (tp->has_failed) {
        go_down(tp);
        weft_msg_close_doors(tp); /* who knocks shall not wait for nothing */
    }
    return rc;
}

/* Doors first; libfabric now or later. */
static enum weft_rc open_all(struct weft_transport *tp)
{
    enum weft_rc rc;

    if (!weft_msg_find_own(tp)) {
        return WEFT_ERR_UNREACHABLE;
    }
    rc = weft_msg_open_doors(tp);
    if (rc == WEFT_OK) {
        rc = weft_msg_publish(tp);
    }
    weft_libfabric_prepare();
    return rc != WEFT_OK || weft_msg_may_defer() ? rc : weft_msg_come_up(tp);
}

static enum weft_rc msg_open(struct weft_upcalls *up, struct weft_node *node,
                             struct weft_transport **out)
{
    static uint32_t openings;
    struct weft_job *job = node->job;
    struct weft_transport *tp = calloc(1, sizeof(*tp));
    enum weft_rc rc;

    if (tp == NULL) {
        return WEFT_ERR_NOMEM;
    }
    tp->up = up;
    tp->job = job;
    tp->me = (uint32_t)job->who.rank;
    tp->streams = choose_streams();
    tp->window = choose_window(job, tp->streams);
    tp->told_each = choose_window(job, 1) / 2;
    tp->opening = openings++;
    tp->self = (struct weft_handshake_self){
        .secret = job->segment.header->secret,
        .rank = tp->me,
        .ranks = (uint32_t)job->who.size,
        .streams = WEFT_STREAMS_MAX, /* as many as the other side wants */
        .packets = up->packet_version,
    };
    tp->knocks = -1;
    tp->reserved = -1;
    tp->next_accepted = -1;
    for (int i = 0; i < WEFT_MSG_LISTENERS; i++) {
        tp->doors[i] = -1;
    }
    rc = open_all(tp);
    if (rc != WEFT_OK) {
        msg_close(tp);
        return rc;
    }
    tp->has_moved = false; /* nobody has asked for descriptors before */
    *out = tp;
    return WEFT_OK;
}

/* Nothing is sent before there is something to send. */
static enum weft_rc msg_connect(struct weft_transport *tp, uint32_t rank,
                                struct weft_endpoint **out)
{
    struct weft_msg_peer *peer;
    enum weft_rc rc = weft_msg_come_up(tp);

    if (rc != WEFT_OK) {
        return rc;
    }
    peer = weft_msg_peer_get(tp, rank);
    if (peer == NULL) {
        return WEFT_ERR_NOMEM;
    }
    *out = &peer->first.base;
    return WEFT_OK;
}

static void warm_up(struct weft_transport *tp)
{
    (void)tp;
    weft_ofi_warm_up();
}

static enum weft_rc wire(struct weft_endpoint *ep)
{
    struct weft_msg_stream *stream = weft_msg_stream_of(ep);

    weft_msg_connect(ep->transport, stream);
    return stream->state == WEFT_MSG_OPEN   ? WEFT_OK
           : stream->state == WEFT_MSG_LOST ? weft_msg_gone(stream->peer)
                                            : WEFT_AGAIN;
}

/* The connection may be the other's as well; it ends with the transport. */
static void msg_disconnect(struct weft_endpoint *ep)
{
    (void)ep;
}

static bool can_reach(struct weft_endpoint *ep)
{
    (void)ep;
    return false;
}

static bool may_be_queued(struct weft_endpoint *ep,
                          bool (*is_it)(const void *header, const void *argument),
                          const void *argument)
{
    (void)ep;
    (void)is_it;
    (void)argument;
    return true;
}

/* ---- sleeping, and counts ---- */

static bool has_asked(struct weft_transport *tp)
{
    const bool has = tp->has_stumbled;

    tp->has_stumbled = false;
    return has;
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
    if (tp->to_post != NULL || (tp->owing != NULL && tp->is_telling_refused) ||
        weft_msg_may_take_held(tp) ||
        (tp->due_ns != 0 && weft_clock_ns() >= tp->due_ns)) {
        return WEFT_AGAIN; /* no descriptor tells of these */
    }
    return fi_trywait(tp->ofi.fabric, both, 2) == 0 ? WEFT_OK : WEFT_AGAIN;
}

static uint64_t due_ns(const struct weft_transport *tp)
{
    return tp->due_ns;
}

static bool descriptors(struct weft_transport *tp, int out[2])
{
    if (!tp->is_up) {
        out[0] = -1;
        out[1] = tp->knocks;
        return true;
    }
    return fi_control(&tp->ofi.cq->fid, FI_GETWAIT, &out[0]) == 0 &&
           fi_control(&tp->ofi.eq->fid, FI_GETWAIT, &out[1]) == 0;
}

static void count_sent(const struct weft_endpoint *base, struct weft_traffic *traffic)
{
    const struct weft_msg_peer *peer = weft_msg_stream_of(base)->peer;

    traffic->packets_sent += peer->packets_sent;
    traffic->bytes_sent += peer->bytes_sent;
    traffic->bytes_stored += peer->bytes_put;
    traffic->bytes_fetched += peer->bytes_got;
}

static void count(const struct weft_transport *tp, struct weft_traffic *traffic)
{
    traffic->packets_received += tp->packets_received;
    traffic->bytes_received += tp->bytes_received;
    traffic->lanes += tp->connections;
    traffic->rejected += tp->rejected;
}

const struct weft_transport_ops weft_msg_ops = {
    .name = "msg",
    .caps = WEFT_CAP_ORDERED,
    .open = msg_open,
    .close = msg_close,
    .connect = msg_connect,
    .disconnect = msg_disconnect,
    .send = weft_msg_send,
    .next_stream = weft_msg_next_stream,
    .find_stream = weft_msg_find_stream,
    .send_zcopy = weft_msg_send_zcopy,
    .put = weft_msg_put,
    .get = weft_msg_get,
    .mr_register = weft_msg_mr_register,
    .mr_deregister = weft_msg_mr_deregister,
    .can_reach = can_reach,
    .may_be_queued = may_be_queued,
    .poll = weft_msg_poll,
    .warm_up = warm_up,
    .wire = wire,
    .arm = arm,
    .due_ns = due_ns,
    .leave = weft_msg_leave,
    .descriptors = descriptors,
    .has_asked = has_asked,
    .count_sent = count_sent,
    .count = count,
};
