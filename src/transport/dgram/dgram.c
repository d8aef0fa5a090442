/*
 * dgram.c - the transport over datagrams: joins the core, which is a pure machine
 * (core.h), with a port (port.h), and keeps the contract of transport.h.
 *
 * One port serves all peers. A path is made without a word to its peer; the peer's
 * address, nonce and longest datagram are looked up at the first send. Nobody is asked
 * for anything before the first packet goes out.
 */
#include "base/clock.h"
#include "base/log.h"
#include "base/process.h"
#include "base/settings.h"
#include "base/texts.h"
#include "base/wait.h"
#include "transport/datagrams.h"
#include "transport/dgram/assemble.h"
#include "transport/dgram/look.h"
#include "transport/dgram/open.h"
#include "transport/dgram/peer.h"
#include "transport/dgram/port.h"
#include "transport/dgram/receive.h"
#include "transport/dgram/send.h"
#include "transport/ofi/common/own.h"
#include "transport/ofi/common/publish.h"
#include "transport/ofi/sodium.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

enum {
    BATCH = 256, /* datagrams that are read at once: a window */
    LATE_NS = 10 * 1000 * 1000,
    AWAIT_NS = 1000 * 1000,
    RECEIVE_POOL_LEAST = 128, /* KiB: a packet, and one beside it */
    SEND_POOL = 4 << 20,
};

#define LOST_AFTER_NS   UINT64_C(15000000000) /* docs/dgram.md, Ends */
#define LOST_SHARING_NS UINT64_C(400000000)
#define SILENT_AFTER_NS UINT64_C(100000000) /* the same, Two paths */
#define LOOK_NS         UINT64_C(1000000000)
#define NEVER_NS        (UINT64_MAX / 2)

struct weft_transport {
    struct weft_upcalls *up;
    struct weft_job *job;
    struct weft_port *port;
    struct weft_dgram_core core;
    bool has_core;
    uint32_t opening;
    uint32_t asking; /* paths that wait for an address */
    bool is_refused; /* arm() has found answers, and nobody has looked since */
    bool had_turn;   /* the same before, and what waits was tried again since */
    bool needs_retry;
    bool is_armed;
    uint64_t second_at;   /* when up->each_second is due */
    uint64_t armed_until; /* the deadline when it was armed; 0: none */
    uint64_t watched;     /* the time that the owner was told last; 0: none */
    uint64_t looked_at;   /* the end of the last look */
};

/* A path begins its peer, which the core may not have met yet. */
static struct weft_dgram_peer *peer_of(const struct weft_path *path)
{
    return (struct weft_dgram_peer *)(uintptr_t)path;
}

/* May packets be sent to it? Who has asked for its address takes the answer first, though
 * its HELLO may have come meanwhile: see find_peer(). */
static bool is_known(const struct weft_dgram_peer *peer)
{
    return weft_dgram_is_met(peer) && !peer->is_asking;
}

/* ---- what the core asks for ---- */

static unsigned emit(void *owner, void *place, const struct weft_dgram_train *train)
{
    struct weft_port *port = ((struct weft_transport *)owner)->port;
    const struct weft_train out = {train->pieces, 2 * train->datagrams, train->datagrams,
                                   train->bytes};
    uint32_t taken = 0;

    (void)port->ops->send(port, place, &out, &taken); /* the core repeats */
    return taken;
}

static bool accept_peer(void *owner, uint64_t process, const void *address, size_t length,
                        void *place)
{
    struct weft_transport *tp = owner;
    struct weft_port_address told = {.length = (uint8_t)length};

    if (length > sizeof(told.bytes) ||
        weft_process_job(process) != tp->job->segment.header->job ||
        weft_process_rank(process) >= (uint32_t)tp->job->who.size) {
        return false;
    }
    memcpy(told.bytes, address, length);
    return tp->port->ops->accept_peer(tp->port, &told, place) == WEFT_OK;
}

static bool is_from(void *owner, const void *source, const void *place)
{
    const struct weft_port *port = ((struct weft_transport *)owner)->port;

    return port->ops->may_be_from(port, source, place);
}

/* A datagram with the right tag that no rank sends comes from damaged memory: the job
 * ends. */
static void nonsense(void *owner, uint64_t process, const char *why)
{
    const struct weft_transport *tp = owner;
    char cause[WEFT_CAUSE_BYTES];

    snprintf(cause, sizeof(cause), WEFT_S_NETWORK_NONSENSE, weft_process_rank(process),
             why);
    weft_wireup_abort(tp->job, 1, cause);
}

/* ---- opening and closing ---- */

static void dgram_close(struct weft_transport *tp)
{
    if (tp->has_core) {
        weft_dgram_close(&tp->core);
    }
    if (tp->port != NULL) {
        tp->port->ops->close(tp->port);
    }
    free(tp);
}

/* A later port has a greater one (docs/dgram.md, Who may speak). */
static enum weft_rc draw_nonce(uint64_t *nonce)
{
    uint32_t low;

    if (getrandom(&low, sizeof(low), 0) != (ssize_t)sizeof(low)) {
        return WEFT_ERR_SYSTEM;
    }
    *nonce = (uint64_t)time(NULL) << 32 | low;
    return WEFT_OK;
}

static enum weft_rc open_port(struct weft_transport *tp)
{
    struct weft_net_address own[WEFT_NET_MOST];
    struct weft_port_wishes wishes = {.own = own, .job = tp->job->segment.header->job};
    enum weft_rc rc = weft_port_ports(tp->job->who.local_rank, &wishes.ports);

    if (rc != WEFT_OK) {
        return rc;
    }
    if (weft_ofi_list_own(tp->job, own) == 0) {
        return WEFT_ERR_UNREACHABLE; /* which was said */
    }
    return weft_port_open(&wishes, &tp->port);
}

/* Ranks of this node for each of its processors. Who is not alone on its processor gets
 * it every so often only, and assumes the same of others. */
static uint32_t sharing(const struct weft_transport *tp)
{
    const struct weft_segment_header *header = tp->job->segment.header;
    const uint32_t processors = header->cpu_count > 0 ? header->cpu_count : 1;

    return (header->local_size + processors - 1) / processors;
}

/* Three heartbeats, if that is longer: who gives busy hosts more time to answer means
 * their ranks, too. Without a progress thread nobody answers for a peer that computes. */
static uint64_t lost_after(const struct weft_transport *tp)
{
    const int64_t beat = weft_setting(WEFT_SET_HEARTBEAT);
    const uint64_t beats = beat > 0 ? 3 * (uint64_t)beat * UINT64_C(1000000000) : 0;
    const uint64_t least = beats > LOST_AFTER_NS ? beats : LOST_AFTER_NS;

    return weft_setting(WEFT_SET_PROGRESS) != 0
               ? least + (sharing(tp) - 1) * LOST_SHARING_NS
               : NEVER_NS;
}

/* 0: nobody wants to know. */
static uint64_t silent_after(const struct weft_transport *tp)
{
    return tp->up->silent != NULL ? sharing(tp) * SILENT_AFTER_NS : 0;
}

/* Longer than silence: others have been answered meanwhile. */
static uint64_t narrow_after(const struct weft_transport *tp)
{
    return 3 * silent_after(tp);
}

static size_t receive_pool(void)
{
    const int64_t wanted = weft_setting(WEFT_SET_RECEIVE_POOL);

    return (size_t)(wanted > RECEIVE_POOL_LEAST ? wanted : RECEIVE_POOL_LEAST) << 10;
}

static enum weft_rc open_core(struct weft_transport *tp)
{
    const struct weft_segment_header *header = tp->job->segment.header;
    struct weft_dgram_config config = {
        .owner = tp,
        .up = tp->up,
        .emit = emit,
        .accept = accept_peer,
        .is_from = is_from,
        .nonsense = nonsense,
        .place_bytes = tp->port->peer_bytes,
        .secret = header->secret,
        .self = {.process = weft_process(header->job, (uint32_t)tp->job->who.rank)},
        .address = tp->port->address.bytes,
        .address_length = tp->port->address.length,
        .has_crc = weft_setting(WEFT_SET_CHECKSUM) != 0, /* docs/decisions.md */
        .datagram = tp->port->datagram_max,
        .train = tp->port->train_max,
        .room = tp->port->room_datagrams,
        .receive_pool = receive_pool(),
        .send_pool = SEND_POOL,
        .lost_after = lost_after(tp),
        .silent_after = silent_after(tp),
        .narrow_after = narrow_after(tp),
    };
    enum weft_rc rc = draw_nonce(&config.self.nonce);

    if (rc == WEFT_OK) {
        rc = weft_dgram_open(&tp->core, &config, weft_clock_ns());
    }
    tp->has_core = rc == WEFT_OK;
    return rc;
}

/* Version of packets, nonce, longest datagram, address. */
static enum weft_rc publish(struct weft_transport *tp)
{
    const struct weft_port_address *own = &tp->port->address;
    char value[WEFT_OFI_VALUE_MAX + 1];
    const size_t used = (size_t)snprintf(
        value, sizeof(value), "%u/%" PRIx64 "/%u/", tp->up->packet_version,
        tp->core.config.self.nonce, tp->port->datagram_max);

    (void)weft_ofi_write_bytes(value, used, own->bytes, own->length);
    return weft_ofi_publish(tp->job, tp->opening, &weft_dgram_ops, value);
}

static enum weft_rc dgram_open(struct weft_upcalls *up, struct weft_node *node,
                               struct weft_transport **out)
{
    struct weft_transport *tp = calloc(1, sizeof(*tp));
    enum weft_rc rc;

    if (tp == NULL) {
        return WEFT_ERR_NOMEM;
    }
    tp->up = up;
    tp->job = node->job;
    tp->opening = weft_ofi_number_opening();
    tp->looked_at = weft_clock_ns();
    rc = weft_sodium_open();
    if (rc == WEFT_OK) {
        rc = open_port(tp);
    }
    if (rc == WEFT_OK) {
        rc = open_core(tp);
    }
    if (rc == WEFT_OK) {
        rc = publish(tp);
    }
    if (rc != WEFT_OK) {
        dgram_close(tp);
        return rc;
    }
    *out = tp;
    return WEFT_OK;
}

/* ---- peers ---- */

/* What one packet carries: as much as the datagrams of one train, so that it costs one
 * call on each side. */
static uint32_t packet_max(const struct weft_port *port)
{
    const uint32_t part = port->datagram_max - (uint32_t)sizeof(struct weft_dgram_header);
    const uint32_t train = port->train_max * part;

    return (train < WEFT_DGRAM_PACKET_MAX ? train : (uint32_t)WEFT_DGRAM_PACKET_MAX) -
           (uint32_t)WEFT_HEADER_BYTES;
}

static enum weft_rc dgram_connect(struct weft_transport *tp, struct weft_peer *above,
                                  uint64_t process, struct weft_path **out)
{
    struct weft_dgram_peer *peer = weft_dgram_peer_reserve(&tp->core, process);

    if (peer == NULL) {
        return WEFT_ERR_NOMEM;
    }
    peer->path = (struct weft_path){
        .process = process,
        .packets = &weft_dgram_ops,
        .transport = tp,
        .peer = above,
        .packet_max = packet_max(tp->port),
        .zcopy_max =
            tp->core.config.has_crc || tp->port->is_reader ? 0 : packet_max(tp->port),
    };
    *out = &peer->path;
    return WEFT_OK;
}

static void set_asking(struct weft_transport *tp, struct weft_dgram_peer *peer,
                       bool is_asking)
{
    tp->asking -= peer->is_asking;
    peer->is_asking = is_asking;
    tp->asking += peer->is_asking;
}

static void dgram_disconnect(struct weft_path *path)
{
    struct weft_dgram_peer *peer = peer_of(path);

    set_asking(path->transport, peer, false);
}

/* What a peer has published. */
struct told {
    unsigned packets;
    unsigned datagram;
    uint64_t nonce;
    struct weft_port_address address;
};

static bool read_told(const char *value, struct told *told)
{
    int used = 0;

    if (sscanf(value, "%u/%" SCNx64 "/%u/%n", &told->packets, &told->nonce,
               &told->datagram, &used) != 3 ||
        used == 0) {
        return false;
    }
    value += used;
    told->address.length = (uint8_t)weft_ofi_read_bytes(
        value, strlen(value), told->address.bytes, sizeof(told->address.bytes));
    return told->address.length > 0 && told->datagram >= WEFT_DGRAM_LEAST &&
           told->datagram <= UINT16_MAX;
}

static enum weft_rc meet_peer(struct weft_transport *tp, struct weft_dgram_peer *peer,
                              const struct told *told)
{
    const struct weft_dgram_end end = {peer->path.process, told->nonce};
    struct weft_port_peer place = {.datagram_max = 0};

    if (tp->port->ops->accept_peer(tp->port, &told->address, &place) != WEFT_OK) {
        return WEFT_ERR_UNREACHABLE;
    }
    peer = weft_dgram_connect(&tp->core, &end, told->datagram, &place, peer->path.peer);
    return peer != NULL ? WEFT_OK : WEFT_ERR_NOMEM;
}

/* WEFT_AGAIN: it has not published anything yet. WEFT_ERR_UNREACHABLE: datagrams do not
 * lead there, which somebody was told. */
static enum weft_rc look_up_peer(struct weft_transport *tp, struct weft_dgram_peer *peer)
{
    const uint32_t rank = weft_process_rank(peer->path.process);
    char value[WEFT_KVS_VALUE_MAX + 1];
    struct told told;
    enum weft_rc rc =
        weft_ofi_look_up(tp->job, rank, tp->opening, &weft_dgram_ops, value);

    if (rc != WEFT_OK) {
        return rc;
    }
    if (!read_told(value, &told) || told.packets != tp->up->packet_version) {
        rc = WEFT_ERR_UNREACHABLE;
    } else {
        rc = meet_peer(tp, peer, &told);
    }
    if (rc != WEFT_ERR_UNREACHABLE) {
        return rc;
    }
    if (tp->up->silent != NULL) { /* another network may lead there */
        tp->up->lost(tp->up->owner, peer->path.process, false,
                     "its address is none that datagrams from here reach");
    } else {
        weft_log_error(WEFT_S_PEER_NO_ADDRESS, rank);
    }
    return rc;
}

/*
 * A program may wait for the addresses of all ranks at once, and the engine tries all of
 * them again in each of its turns: they are asked for again only when an answer has come.
 * That of another path, which has had its turn, may have come along with it, and does not
 * wake anybody any more.
 */
static enum weft_rc ask_for_peer(struct weft_transport *tp, struct weft_dgram_peer *peer)
{
    enum weft_rc rc = WEFT_AGAIN;

    if (!peer->is_asking || weft_wireup_has_answers(tp->job)) {
        rc = look_up_peer(tp, peer);
        tp->needs_retry |= weft_wireup_has_answers(tp->job);
    }
    return rc;
}

/*
 * A peer that has made itself known by its HELLO is not looked up: it has looked this
 * process up, so their versions agree. Who has asked takes the answer: it would lie in
 * the descriptor, and wake this process again and again.
 */
static enum weft_rc find_peer(struct weft_transport *tp, struct weft_dgram_peer *peer)
{
    enum weft_rc rc = WEFT_OK;

    if (!is_known(peer)) {
        rc = ask_for_peer(tp, peer);
    }
    set_asking(tp, peer, rc == WEFT_AGAIN);
    /* Where another network may lead there, the packet is sent again by that. */
    return rc == WEFT_ERR_UNREACHABLE && tp->up->silent != NULL ? WEFT_AGAIN : rc;
}

/* ---- answers that nobody comes for ---- */

/*
 * Not every path that has asked is tried again: the packet that was not taken may have
 * been dropped, or may go by another path. Its answer would lie there, and nobody could
 * arm. So whoever arms finds it twice: after the first time the engine has tried again
 * what waits, which learns what was wrong, if something was; what is still there is taken
 * by the next look.
 */
static bool has_answers(struct weft_transport *tp)
{
    tp->is_refused = tp->asking > 0 && weft_wireup_has_answers(tp->job);
    tp->had_turn = tp->had_turn && tp->is_refused;
    return tp->is_refused;
}

static void take_answers(struct weft_transport *tp)
{
    struct weft_dgram_peer *peer;
    uint32_t at = 0;

    tp->is_refused = false;
    tp->had_turn = !tp->had_turn;
    if (tp->had_turn) {
        return;
    }
    while ((peer = weft_table_next(&tp->core.peers, &at)) != NULL) {
        if (peer->is_asking) {
            set_asking(tp, peer, look_up_peer(tp, peer) == WEFT_AGAIN);
        }
    }
}

/* ---- times ---- */

/*
 * The next time-out, or the next look at the latest. Peers repeat what is not
 * acknowledged, and think that this process is gone if that lasts for LOST_AFTER_NS: so
 * somebody has to look now and then, also while the program computes, and also before the
 * first peer is known: its first word may come then.
 */
static uint64_t deadline(const struct weft_transport *tp)
{
    const uint64_t next = weft_dgram_deadline(&tp->core);
    const uint64_t look = tp->looked_at + LOOK_NS;

    return next != 0 && next < look ? next : look;
}

/*
 * Who has sent or polled may leave MPI, and not come back soon. The owner is told of the
 * deadline, a little late: while a thread polls, each datagram has a later one than that
 * before it, and a timer of the system for each would cost more than the datagram.
 */
static void tell_deadline(struct weft_transport *tp, uint64_t now)
{
    const uint64_t next = deadline(tp);

    if (next != 0 && (tp->watched < now || next + LATE_NS < tp->watched) &&
        tp->up->wake_at != NULL) {
        tp->watched = next + LATE_NS;
        tp->up->wake_at(tp->up->owner, tp->watched);
    }
}

/* ---- packets ---- */

static enum weft_rc dgram_send(struct weft_path *base, const void *header,
                               const void *data, size_t len, unsigned flags)
{
    struct weft_transport *tp = base->transport;
    struct weft_dgram_peer *peer = peer_of(base);
    const uint64_t now = weft_clock_ns();
    enum weft_rc rc = weft_likely(is_known(peer)) ? WEFT_OK : find_peer(tp, peer);

    if (rc != WEFT_OK) {
        return rc; /* an answer, or the peer's HELLO, wakes who sleeps */
    }
    rc = weft_dgram_send(&tp->core, peer, header, data, len, flags, now);
    tell_deadline(tp, now);
    return rc;
}

static enum weft_rc dgram_send_zcopy(struct weft_path *base, const void *header,
                                     const void *head, size_t head_len, const void *data,
                                     size_t len, struct weft_op *op)
{
    struct weft_transport *tp = base->transport;
    struct weft_dgram_peer *peer = peer_of(base);
    const uint64_t now = weft_clock_ns();
    enum weft_rc rc = weft_likely(is_known(peer)) ? WEFT_OK : find_peer(tp, peer);

    if (rc != WEFT_OK) {
        return rc;
    }
    rc = weft_dgram_send_zcopy(&tp->core, peer, header, head, head_len, data, len, op,
                               now);
    tell_deadline(tp, now);
    return rc;
}

/*
 * For how long this process wanted to run and did not, in microseconds. One that was
 * armed slept on purpose until its deadline. One that polls should have been back at
 * once.
 */
static uint64_t time_away(const struct weft_transport *tp, uint64_t now)
{
    const uint64_t since = tp->is_armed ? tp->armed_until : tp->looked_at;

    return since != 0 && now > since ? (now - since) / 1000 : 0;
}

/* Reads what is there, but no more than the packets of the budget could be. One message
 * comes alone as a rule, and a second call that finds nothing would cost as much as the
 * first: so it is made only if more has to be known. */
static int dgram_poll(struct weft_transport *tp, int budget)
{
    struct weft_port *port = tp->port;
    /* One thread at a time has the lock, and its stack may have no room for them. */
    static struct weft_datagram batch[BATCH];
    const uint64_t now = weft_clock_ns();
    int left = 4 * budget + BATCH;
    int all = 0;
    int count;

    if (weft_unlikely(tp->is_refused)) {
        take_answers(tp);
    }
    weft_dgram_begin(&tp->core, now, time_away(tp, now), budget);
    tp->is_armed = false;
    do {
        count = port->ops->receive(port, batch, BATCH);
        left -= count;
        all += count;
        weft_dgram_batch_begin(&tp->core);
        for (int i = 0; i < count; i++) {
            weft_dgram_receive(&tp->core, batch[i].bytes, batch[i].length, &batch[i]);
        }
        weft_dgram_batch_end(&tp->core);
    } while (left > 0 && !port->is_drained &&
             (count == BATCH || weft_dgram_is_late(&tp->core)));
    /* One datagram is through before the clock could tell. */
    tp->looked_at = all > 1 ? weft_clock_ns() : now;
    count = weft_dgram_end(&tp->core, tp->looked_at, port->is_drained);
    if (tp->looked_at >= tp->second_at && tp->up->each_second != NULL) {
        tp->second_at = tp->looked_at + LOOK_NS;
        tp->up->each_second(tp->up->owner);
    }
    tell_deadline(tp, tp->looked_at);
    return count;
}

static bool may_be_queued(struct weft_path *path,
                          bool (*is_it)(const void *header, const void *argument),
                          const void *argument)
{
    const struct weft_dgram_peer *peer = peer_of(path);

    return weft_dgram_may_be_queued(peer, is_it, argument);
}

static enum weft_delivery delivery(const struct weft_path *path)
{
    const struct weft_dgram_peer *peer = peer_of(path);

    return weft_dgram_delivery(peer);
}

static void hand_back(struct weft_path *path, weft_take_back *take, void *argument,
                      enum weft_rc rc)
{
    struct weft_dgram_peer *peer = peer_of(path);

    if (is_known(peer)) {
        weft_dgram_hand_back(&path->transport->core, peer, take, argument, rc);
    }
}

static bool is_heard(const struct weft_path *path)
{
    const struct weft_dgram_peer *peer = peer_of(path);

    return peer->is_heard;
}

static bool has_left(const struct weft_path *path)
{
    const struct weft_dgram_peer *peer = peer_of(path);

    return peer->has_left;
}

/* ---- sleeping, leaving, and counts ---- */

static enum weft_rc arm(struct weft_transport *tp)
{
    const uint64_t until = deadline(tp);

    if ((until != 0 && weft_clock_ns() >= until) || weft_dgram_may_take(&tp->core) ||
        has_answers(tp) || tp->port->ops->arm(tp->port) != WEFT_OK) {
        return WEFT_AGAIN;
    }
    tp->is_armed = true;
    tp->armed_until = until;
    tp->watched = until;
    return WEFT_OK;
}

static int descriptors(struct weft_transport *tp, int out[WEFT_DESCRIPTORS])
{
    out[0] = tp->port->fd;
    out[1] = weft_wireup_descriptor(tp->job); /* addresses of peers */
    return tp->port->fd >= 0 ? 2 : 0;
}

static bool needs_retry(struct weft_transport *tp)
{
    const bool needs_it = tp->needs_retry;

    tp->needs_retry = false;
    return needs_it;
}

/* Sleeps until a datagram comes or a time is over: peers that are to answer may need this
 * processor. */
static void await_answer(struct weft_transport *tp)
{
    struct pollfd port = {.fd = tp->port->fd, .events = POLLIN};
    const uint64_t until = deadline(tp);
    const uint64_t now = weft_clock_ns();
    struct timespec rest = {.tv_nsec = AWAIT_NS};

    if (until > now && until - now < AWAIT_NS) {
        rest.tv_nsec = (long)(until - now);
    }
    if (port.fd >= 0 && arm(tp) == WEFT_OK) {
        (void)ppoll(&port, 1, &rest, NULL);
    } else {
        weft_wait_moment();
    }
}

/* Lingers until peers have what they need of us: one that lacks an acknowledgement would
 * repeat for long, and take us for lost. The last acknowledgement of two cannot be made
 * sure, so not for ever (docs/dgram.md, Ends). */
static void leave(struct weft_transport *tp)
{
    const uint64_t begin = weft_clock_ns();
    uint64_t now = begin;

    while ((!weft_dgram_leave(&tp->core, now) && now - begin < WEFT_DGRAM_LINGER) ||
           !weft_dgram_may_go(&tp->core, now - begin, !tp->up->has_failed)) {
        (void)dgram_poll(tp, 0);
        if (!weft_dgram_is_settled(&tp->core)) {
            await_answer(tp);
        }
        now = weft_clock_ns();
    }
}

static void count(const struct weft_transport *tp, struct weft_traffic *traffic)
{
    const struct weft_dgram_counts *counts = &tp->core.counts;

    traffic->packets_sent += counts->packets_out;
    traffic->packets_received += counts->packets_in;
    traffic->bytes_sent += counts->bytes_out;
    traffic->bytes_received += counts->bytes_in;
    traffic->lanes += tp->core.met;
    traffic->rejected += counts->malformed + counts->unknown + counts->forged +
                         counts->replayed + tp->port->counts.rejected;
}

void weft_datagrams_count(const struct weft_transport *tp,
                          struct weft_datagram_traffic *traffic)
{
    const struct weft_dgram_counts *counts = &tp->core.counts;

    traffic->peers += tp->core.met;
    traffic->sent += counts->sent;
    traffic->repeated += counts->repeats_by_time + counts->repeats_by_ack;
    traffic->duplicates += counts->duplicates;
    traffic->dropped += counts->no_room + tp->port->counts.dropped;
}

const struct weft_packet_ops weft_dgram_ops = {
    .name = "dgram",
    .poll_every = 8,
    .open = dgram_open,
    .close = dgram_close,
    .connect = dgram_connect,
    .disconnect = dgram_disconnect,
    .send = dgram_send,
    .send_zcopy = dgram_send_zcopy,
    .poll = dgram_poll,
    .arm = arm,
    .count = count,
    .may_be_queued = may_be_queued,
    .delivery = delivery,
    .hand_back = hand_back,
    .is_heard = is_heard,
    .has_left = has_left,
    .descriptors = descriptors,
    .deadline = deadline,
    .needs_retry = needs_retry,
    .leave = leave,
};
