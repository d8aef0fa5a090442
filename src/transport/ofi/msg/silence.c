/*
 * silence.c - networks that fall silent.
 *
 * If the way to a host is cut, or a firewall drops what goes there, no error comes: TCP
 * tries again for about 15 minutes, for two if it is connecting, and a process that only
 * waits for a message would wait for ever. So we find the provider's sockets. A peer
 * whose kernel has not answered for LIMIT_BEATS heartbeats (WEFT_HEARTBEAT) is lost:
 *
 *   - while we connect, the kernel gives up after that time (TCP_USER_TIMEOUT);
 *   - afterwards an idle connection asks for a sign of life (keep-alive), data on their
 *     way are asked for by TCP itself, and TCP_INFO tells since when there is no answer.
 *
 * TCP_USER_TIMEOUT is taken back once the connection stands: it would also end one whose
 * peer answers and does not read, because its process computes or was stopped. Providers
 * that are not over sockets have nothing that this would find.
 */
#include "transport/ofi/msg/msg.h"

#include "base/clock.h"
#include "base/settings.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

enum { LIMIT_BEATS = 2, CHECKS_PER_BEAT = 4, UNANSWERED = 2 };

static uint64_t beat_ms(void)
{
    const int64_t seconds = weft_setting(WEFT_SET_HEARTBEAT);

    return seconds > 0 ? (uint64_t)seconds * 1000 : 1000;
}

uint64_t weft_msg_silence_ms(void)
{
    return LIMIT_BEATS * beat_ms();
}

/* ---- the provider's sockets ---- */

/* The descriptor of the stream's socket, or 0. */
static int find_socket(const struct weft_msg_stream *stream)
{
    struct weft_transport *tp = stream->base.transport;
    struct weft_msg_place own;
    struct weft_msg_place peer;
    bool has_peer;
    int fd;

    if (!tp->is_over_sockets || !weft_msg_place_of(&stream->ep->fid, &own)) {
        return 0;
    }
    has_peer = weft_msg_place_of_peer(stream->ep, &peer); /* not while it connects */
    fd = weft_msg_find_socket(tp, &own, has_peer ? &peer : NULL);
    return fd > 0 ? fd : 0;
}

static void set_option(int fd, int level, int name, uint64_t value)
{
    const int number = (int)value;

    (void)setsockopt(fd, level, name, &number, sizeof(number));
}

void weft_msg_watch_connecting(struct weft_msg_stream *stream)
{
    stream->socket = find_socket(stream);
    if (stream->socket != 0) {
        weft_msg_close_on_exec(stream->socket);
        set_option(stream->socket, IPPROTO_TCP, TCP_USER_TIMEOUT, weft_msg_silence_ms());
    }
}

void weft_msg_watch(struct weft_msg_stream *stream)
{
    const uint64_t seconds = beat_ms() / 1000;

    if (stream->socket == 0) {
        stream->socket = find_socket(stream);
    }
    if (stream->socket != 0) {
        set_option(stream->socket, IPPROTO_TCP, TCP_USER_TIMEOUT, 0);
        set_option(stream->socket, IPPROTO_TCP, TCP_KEEPIDLE, seconds);
        set_option(stream->socket, IPPROTO_TCP, TCP_KEEPINTVL,
                   seconds < CHECKS_PER_BEAT ? 1 : seconds / CHECKS_PER_BEAT);
        set_option(stream->socket, SOL_SOCKET, SO_KEEPALIVE, 1);
    }
}

/* ---- looking at them ---- */

/*
 * Has the other kernel been asked again and again, and not answered for so long? Data
 * that a peer has no room for are not on their way; their probes are answered, if seldom.
 */
static bool is_silent(int fd, uint64_t limit_ms)
{
    struct tcp_info info = {0};
    socklen_t bytes = sizeof(info);

    return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &bytes) == 0 &&
           info.tcpi_last_ack_recv >= limit_ms &&
           ((info.tcpi_unacked > 0 && info.tcpi_retransmits >= UNANSWERED) ||
            info.tcpi_probes >= UNANSWERED);
}

static void check_peer(struct weft_transport *tp, struct weft_msg_peer *peer)
{
    const uint64_t limit_ms = weft_msg_silence_ms();

    for (uint32_t i = 0; i < WEFT_STREAMS_MAX; i++) {
        struct weft_msg_stream *stream = peer->streams[i];

        if (stream != NULL && stream->socket != 0 && stream->state != WEFT_MSG_LOST &&
            is_silent(stream->socket, limit_ms)) {
            weft_msg_lose_silent(tp, stream);
        }
    }
}

static uint64_t check_all(struct weft_transport *tp, uint64_t now)
{
    struct weft_msg_peer *peer;
    uint32_t at = 0;

    if (now >= tp->check_at_ns) {
        tp->check_at_ns = now + beat_ms() * 1000000 / CHECKS_PER_BEAT;
        while ((peer = weft_ranks_next(&tp->peers, &at)) != NULL) {
            check_peer(tp, peer);
        }
    }
    return tp->check_at_ns;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a == 0 || (b != 0 && b < a) ? b : a;
}

void weft_msg_look_at_clock(struct weft_transport *tp)
{
    uint64_t next = 0;

    if (tp->connections + tp->pending > 0) {
        next = check_all(tp, weft_clock_ns());
    }
    if (tp->losing != NULL) {
        next = earlier(next, weft_msg_tell_losses(tp));
    }
    tp->due_ns = next;
}
