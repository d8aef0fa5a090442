/*
 * pairs.c - a transport in one file, over pairs of Unix sockets between the ranks of a
 * node. docs/adding-a-transport.md explains it; it carries tests, nothing else.
 *
 * Each rank listens at an abstract address and publishes it. The first send opens two
 * connections that only the caller sends on, one for ordered packets and one for control
 * packets: so nobody has to decide which of two crossing connections stays, and ordered
 * packets that the receiver does not take hold nothing up but themselves. A message of a
 * socket is a packet: header and data. The first one says who calls.
 *
 * Sleep. One epoll descriptor watches the listener and the connections that packets come
 * by, unless they are held back (Taking, in transport.h). Nothing tells when a full
 * socket has room again, so the engine is asked to try again.
 */
#include "base/process.h"
#include "transport/transport.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum {
    ORDERED,
    CONTROL,
    LANES,
    PACKET = 4096, /* unless WEFT_TEST_PACKET says fewer */
    NAME = 6,      /* bytes of an abstract name that the kernel chose */
    BATCH = 8,     /* packets of one connection, then it is the next one's turn */
    EVENTS = 16,
    KIND = SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC,
};

/* A peer, and our way to it. */
struct pair {
    struct weft_path path; /* first */
    int out[LANES];        /* sockets; -1: not connected */
    bool is_lost;
};

/* What epoll hands back: a connection that packets come by, or the listener. */
struct line {
    struct line *next;
    int fd;
    uint32_t lane;     /* LANES: its caller has not said it yet */
    struct pair *pair; /* whose it is */
    bool is_held;      /* its next packet was not taken: not watched */
};

struct weft_transport {
    struct weft_upcalls *up;
    struct weft_node *node;
    struct line listener;
    struct line *lines;
    int epoll;
    char key[32]; /* under which addresses of this opening are published */
    struct weft_traffic traffic;
    _Alignas(8) uint8_t packet[WEFT_HEADER_BYTES + PACKET];
    struct pair pairs[]; /* by rank */
};

extern const struct weft_packet_ops weft_pairs_ops;

static bool watch(struct weft_transport *tp, struct line *line, int how, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = line};

    return epoll_ctl(tp->epoll, how, line->fd, &event) == 0;
}

/* ---- connecting: the caller ---- */

/* False: the peer has too many callers now. */
static bool open_lane(struct pair *pair, uint32_t lane, const char *text)
{
    struct weft_transport *tp = pair->path.transport;
    const uint32_t hello[] = {(uint32_t)tp->node->job->who.rank, lane};
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    const int fd = socket(AF_UNIX, KIND, 0);

    memcpy(name.sun_path + 1, text, NAME - 1);
    if (connect(fd, (void *)&name, sizeof(name.sun_family) + NAME) != 0 ||
        send(fd, hello, sizeof(hello), MSG_NOSIGNAL) != (ssize_t)sizeof(hello)) {
        close(fd);
        return false;
    }
    pair->out[lane] = fd;
    tp->traffic.lanes += lane == ORDERED ? 1 : 0;
    return true;
}

static enum weft_rc open_lanes(struct pair *pair)
{
    struct weft_transport *tp = pair->path.transport;
    char text[WEFT_KVS_VALUE_MAX + 1];
    enum weft_rc rc;

    if (pair->is_lost || pair->out[CONTROL] >= 0) {
        return pair->is_lost ? WEFT_ERR_PROC_FAILED : WEFT_OK;
    }
    rc = weft_wireup_try_lookup(tp->node->job, (int)weft_process_rank(pair->path.process),
                                tp->key, text);
    for (uint32_t lane = 0; lane < LANES && rc == WEFT_OK; lane++) {
        rc = pair->out[lane] >= 0 || open_lane(pair, lane, text) ? WEFT_OK : WEFT_AGAIN;
    }
    return rc;
}

static void close_lanes(struct pair *pair)
{
    for (int lane = 0; lane < LANES; lane++) {
        if (pair->out[lane] >= 0) {
            close(pair->out[lane]);
            pair->out[lane] = -1;
        }
    }
}

/* ---- sending ---- */

/* The peer has closed its sockets: we learn it when we send. */
static enum weft_rc lose(struct pair *pair)
{
    struct weft_upcalls *up = pair->path.transport->up;

    close_lanes(pair);
    pair->is_lost = true;
    up->lost(up->owner, pair->path.process, false, "its sockets are closed");
    return WEFT_ERR_PROC_FAILED;
}

static enum weft_rc send_packet(struct weft_path *path, const void *header,
                                const void *data, size_t len, unsigned flags)
{
    const int lane = (flags & WEFT_SEND_CONTROL) != 0 ? CONTROL : ORDERED;
    struct iovec parts[] = {{(void *)(uintptr_t)header, WEFT_HEADER_BYTES},
                            {(void *)(uintptr_t)data, len}};
    const struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    struct pair *pair = (struct pair *)path;
    struct weft_transport *tp = path->transport;
    const enum weft_rc rc =
        len <= path->packet_max ? open_lanes(pair) : WEFT_ERR_ARGUMENT;
    ssize_t sent;

    if (rc != WEFT_OK) {
        return rc;
    }
    sent = sendmsg(pair->out[lane], &message, MSG_NOSIGNAL);
    if (sent < 0) {
        return errno == EPIPE || errno == ECONNRESET ? lose(pair) : WEFT_AGAIN;
    }
    tp->traffic.packets_sent += lane == ORDERED ? 1 : 0;
    tp->traffic.bytes_sent += (uint64_t)sent;
    return WEFT_OK;
}

/* ---- connecting: the listener ---- */

static void accept_one(struct weft_transport *tp)
{
    struct line *line = calloc(1, sizeof(*line));
    const int fd = accept4(tp->listener.fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

    if (fd < 0 || line == NULL) {
        free(line);
        return;
    }
    *line = (struct line){.next = tp->lines, .fd = fd, .lane = LANES};
    tp->lines = line;
    (void)watch(tp, line, EPOLL_CTL_ADD, EPOLLIN);
}

/* The first message of a line: whose it is. */
static bool greet(struct weft_transport *tp, struct line *line, ssize_t len)
{
    uint32_t hello[2];
    struct ucred caller;
    socklen_t bytes = sizeof(caller);

    memcpy(hello, tp->packet, sizeof(hello));
    if (len != (ssize_t)sizeof(hello) || hello[0] >= (uint32_t)tp->node->job->who.size ||
        hello[1] >= LANES ||
        getsockopt(line->fd, SOL_SOCKET, SO_PEERCRED, &caller, &bytes) != 0 ||
        caller.uid != getuid()) {
        tp->traffic.rejected++;
        return false;
    }
    line->lane = hello[1];
    line->pair = &tp->pairs[hello[0]];
    line->pair->path.peer = tp->up->meet(tp->up->owner, line->pair->path.process);
    return true;
}

/* ---- receiving ---- */

/* Would the next packet of a line be taken? It stays in the socket. */
static bool may_take(struct weft_transport *tp, const struct line *line)
{
    const ssize_t len = recv(line->fd, tp->packet, WEFT_HEADER_BYTES, MSG_PEEK);

    return len != WEFT_HEADER_BYTES ||
           tp->up->may_take(tp->up->owner, line->pair->path.peer, tp->packet, 0);
}

static void hold(struct weft_transport *tp, struct line *line, bool is_held)
{
    line->is_held = is_held;
    (void)watch(tp, line, EPOLL_CTL_MOD, is_held ? 0 : EPOLLIN);
}

/* Offers a packet of `len` bytes. An ordered one that is not taken stays in the socket,
 * where nobody watches it. */
static bool offer(struct weft_transport *tp, struct line *line, size_t len)
{
    const uint8_t *data = tp->packet + WEFT_HEADER_BYTES;
    struct weft_peer *from = line->pair->path.peer;

    if (line->lane == CONTROL) {
        tp->up->control(tp->up->owner, from, tp->packet, data, len - WEFT_HEADER_BYTES);
    } else if (tp->up->arrived(tp->up->owner, from, tp->packet, data,
                               len - WEFT_HEADER_BYTES, 0) == WEFT_TAKEN) {
        (void)recv(line->fd, tp->packet, 1, 0); /* its rest goes with it */
        tp->traffic.packets_received++;
    } else {
        hold(tp, line, true);
        return false;
    }
    tp->traffic.bytes_received += len;
    return true;
}

/* One message; false: there is none, or it was not taken. */
static bool take_one(struct weft_transport *tp, struct line *line)
{
    const ssize_t len = recv(line->fd, tp->packet, sizeof(tp->packet),
                             line->lane == ORDERED ? MSG_PEEK : 0);

    if (len <= 0 || (line->lane == LANES && !greet(tp, line, len))) {
        if (len >= 0 || errno != EAGAIN) { /* its end, or it was rejected */
            close(line->fd);
            line->fd = -1;
        }
        return false;
    }
    return len < WEFT_HEADER_BYTES || offer(tp, line, (size_t)len); /* or the greeting */
}

/* Lines that may go on are watched again; those that have ended are freed. */
static void look_at_lines(struct weft_transport *tp)
{
    for (struct line **at = &tp->lines; *at != NULL;) {
        struct line *line = *at;

        if (line->fd < 0) {
            *at = line->next;
            free(line);
            continue;
        }
        if (line->is_held && may_take(tp, line)) {
            hold(tp, line, false);
        }
        at = &line->next;
    }
}

static int poll_all(struct weft_transport *tp, int budget)
{
    struct epoll_event events[EVENTS];
    int count;
    int taken = 0;

    look_at_lines(tp);
    count = epoll_wait(tp->epoll, events, EVENTS, 0);
    for (int i = 0; i < count; i++) {
        struct line *line = events[i].data.ptr;

        if (line == &tp->listener) {
            accept_one(tp);
            continue;
        }
        for (int n = 0; n < BATCH && taken < budget && take_one(tp, line); n++) {
            taken++;
        }
    }
    return taken;
}

/* ---- sleeping ---- */

static enum weft_rc arm(struct weft_transport *tp)
{
    for (const struct line *line = tp->lines; line != NULL; line = line->next) {
        if (line->is_held && may_take(tp, line)) {
            return WEFT_AGAIN;
        }
    }
    return WEFT_OK;
}

/* WEFT_TEST_TICK: as a transport that has none. */
static int descriptors(struct weft_transport *tp, int out[WEFT_DESCRIPTORS])
{
    out[0] = tp->epoll;
    return getenv("WEFT_TEST_TICK") == NULL ? 1 : 0;
}

static bool needs_retry(struct weft_transport *tp)
{
    (void)tp;
    return true;
}

/* ---- life ---- */

/* The kernel chooses an abstract name, five characters behind a zero; we publish it. */
static enum weft_rc listen_and_publish(struct weft_transport *tp)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    socklen_t len = sizeof(name);
    const int fd = socket(AF_UNIX, KIND, 0);

    tp->listener.fd = fd;
    if (bind(fd, (void *)&name, sizeof(name.sun_family)) != 0 ||
        listen(fd, SOMAXCONN) != 0 || getsockname(fd, (void *)&name, &len) != 0 ||
        !watch(tp, &tp->listener, EPOLL_CTL_ADD, EPOLLIN)) {
        return WEFT_ERR_SYSTEM;
    }
    name.sun_path[NAME] = '\0';
    return weft_wireup_publish(tp->node->job, tp->key, name.sun_path + 1);
}

static void close_all(struct weft_transport *tp)
{
    for (int r = 0; r < tp->node->job->who.size; r++) {
        close_lanes(&tp->pairs[r]);
    }
    for (struct line *line = tp->lines; line != NULL; line = line->next) {
        close(line->fd);
        line->fd = -1;
    }
    look_at_lines(tp);
    close(tp->listener.fd);
    close(tp->epoll);
    free(tp);
}

static enum weft_rc open_all(struct weft_upcalls *up, struct weft_node *node,
                             struct weft_transport **out)
{
    static unsigned openings;
    const uint32_t size = (uint32_t)node->job->who.size;
    struct weft_transport *tp = calloc(1, sizeof(*tp) + size * sizeof(tp->pairs[0]));
    const char *packet = getenv("WEFT_TEST_PACKET");
    enum weft_rc rc;

    if (tp == NULL) {
        return WEFT_ERR_NOMEM;
    }
    tp->up = up;
    tp->node = node;
    for (uint32_t r = 0; r < size; r++) {
        const struct weft_path path = {
            .packets = &weft_pairs_ops,
            .transport = tp,
            .process = weft_process(node->job->segment.job, r),
            .packet_max = packet != NULL ? (uint32_t)atoi(packet) : PACKET};

        tp->pairs[r] = (struct pair){.path = path, .out = {-1, -1}};
    }
    snprintf(tp->key, sizeof(tp->key), "pairs.%u", openings++);
    tp->epoll = epoll_create1(EPOLL_CLOEXEC);
    rc = listen_and_publish(tp);
    if (rc != WEFT_OK) {
        close_all(tp);
        return rc;
    }
    *out = tp;
    return WEFT_OK;
}

static enum weft_rc connect_to(struct weft_transport *tp, struct weft_peer *peer,
                               uint64_t process, struct weft_path **out)
{
    *out = &tp->pairs[weft_process_rank(process)].path;
    (*out)->peer = peer;
    return weft_node_find(tp->node, process) != NULL ? WEFT_OK : WEFT_ERR_UNSUPPORTED;
}

static void count(const struct weft_transport *tp, struct weft_traffic *traffic)
{
    traffic->packets_sent += tp->traffic.packets_sent;
    traffic->packets_received += tp->traffic.packets_received;
    traffic->bytes_sent += tp->traffic.bytes_sent;
    traffic->bytes_received += tp->traffic.bytes_received;
    traffic->lanes += tp->traffic.lanes;
    traffic->rejected += tp->traffic.rejected;
}

const struct weft_packet_ops weft_pairs_ops = {
    .name = "pairs",
    .poll_every = 8,
    .open = open_all,
    .close = close_all,
    .connect = connect_to,
    .send = send_packet,
    .poll = poll_all,
    .arm = arm,
    .count = count,
    .descriptors = descriptors,
    .needs_retry = needs_retry,
};
