/*
 * pairs.c - a transport in one file, over pairs of Unix sockets between the ranks of a
 * node. docs/adding-a-transport.md explains it line by line; it carries tests, nothing
 * else.
 *
 * Each rank listens at an abstract address and publishes it. First contact opens two
 * connections that only the caller sends on, one for ordered packets and one for control
 * packets: so nobody has to decide which of two crossing connections stays, and ordered
 * packets that the receiver does not take hold nothing up but themselves. A message of a
 * socket is a packet: header and data. The first one says who calls; one byte says
 * that the caller leaves MPI.
 *
 * Sleep. One epoll descriptor watches the listener and all connections: those that
 * packets come by, unless they are held back (Taking, in transport.h), and those that
 * were full, for room.
 *
 * Memory of a peer is read and written by system calls, with its process number from the
 * kernel; an operation is done before the call returns, and said to be in poll().
 */
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
    LISTENER, /* watched like a lane */
    PACKET = 4096,
    ZCOPY = 32 * 1024,
    NAME = 6,  /* bytes of an abstract name that the kernel chose */
    BATCH = 8, /* packets of one connection, then it is the next one's turn */
    EVENTS = 16,
};

/* What epoll hands back: a connection, or the listener. */
struct line {
    struct line *next;
    int fd;
    int lane;
    bool is_out;
    bool is_held; /* its packets may not be taken: not watched */
    struct pair *pair;
};

/* A peer, and our way to it. */
struct pair {
    struct weft_path path; /* first */
    struct weft_peer *peer;
    struct line out[LANES]; /* fd -1: not connected */
    pid_t pid;
    bool is_lost;
    bool has_left;
    uint64_t sent;
    uint64_t sent_bytes;
};

struct weft_transport {
    struct weft_upcalls *up;
    struct weft_node *node;
    struct pair *pairs; /* by rank */
    struct line listener;
    struct line *lines; /* that packets come by */
    struct weft_op *done;
    struct weft_op **done_end;
    int epoll;
    char key[32]; /* under which addresses of this opening are published */
    int held;
    bool has_stumbled; /* a connection was refused, and nothing will tell */
    struct weft_traffic traffic;
    _Alignas(8) uint8_t packet[WEFT_HEADER_BYTES + WEFT_HEAD_MAX + ZCOPY];
};

extern const struct weft_packet_ops weft_pairs_ops;
static const struct weft_memory_ops memory_ops;

static uint32_t size_of(const struct weft_transport *tp)
{
    return (uint32_t)tp->node->job->who.size;
}

static bool watch(struct weft_transport *tp, struct line *line, int how, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = line};

    return epoll_ctl(tp->epoll, how, line->fd, &event) == 0;
}

/* The kernel chooses an abstract name, five characters behind a zero; we publish it. */
static enum weft_rc listen_and_publish(struct weft_transport *tp)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    socklen_t len = sizeof(name);

    tp->listener.lane = LISTENER;
    tp->listener.fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (tp->listener.fd < 0 ||
        bind(tp->listener.fd, (void *)&name, sizeof(name.sun_family)) != 0 ||
        listen(tp->listener.fd, SOMAXCONN) != 0 ||
        getsockname(tp->listener.fd, (void *)&name, &len) != 0 ||
        !watch(tp, &tp->listener, EPOLL_CTL_ADD, EPOLLIN)) {
        return WEFT_ERR_SYSTEM;
    }
    name.sun_path[NAME] = '\0';
    return weft_wireup_publish(tp->node->job, tp->key, name.sun_path + 1);
}

/* ---- peers ---- */

static struct pair *pair_of(struct weft_transport *tp, uint32_t rank)
{
    struct pair *pair = &tp->pairs[rank];

    if (pair->peer == NULL) {
        pair->peer = tp->up->meet(tp->up->owner, rank);
        pair->path = (struct weft_path){.packets = &weft_pairs_ops,
                                        .memory = &memory_ops,
                                        .transport = tp,
                                        .peer = pair->peer,
                                        .process = rank,
                                        .packet_max = PACKET,
                                        .zcopy_max = ZCOPY};
    }
    return pair;
}

static void close_lanes(struct pair *pair)
{
    for (int lane = 0; lane < LANES; lane++) {
        if (pair->out[lane].fd >= 0) {
            close(pair->out[lane].fd); /* epoll forgets it */
            pair->out[lane].fd = -1;
        }
    }
}

static void lose(struct pair *pair)
{
    struct weft_upcalls *up = pair->path.transport->up;

    close_lanes(pair);
    if (!pair->is_lost) {
        pair->is_lost = true;
        up->lost(up->owner, pair->path.process, pair->has_left, "its sockets are closed");
    }
}

/* ---- connecting ---- */

/* False: the peer has too many callers now. */
static bool open_lane(struct weft_transport *tp, struct line *line, const char *text)
{
    const uint32_t hello[2] = {(uint32_t)tp->node->job->who.rank, (uint32_t)line->lane};
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    struct ucred peer;
    socklen_t bytes = sizeof(peer);

    memcpy(name.sun_path + 1, text, NAME - 1);
    line->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (connect(line->fd, (void *)&name, sizeof(name.sun_family) + NAME) == 0 &&
        send(line->fd, hello, sizeof(hello), MSG_NOSIGNAL) == (ssize_t)sizeof(hello) &&
        getsockopt(line->fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0 &&
        watch(tp, line, EPOLL_CTL_ADD, 0)) {
        line->pair->pid = peer.pid;
        return true;
    }
    close(line->fd);
    line->fd = -1;
    return false;
}

static enum weft_rc establish(struct weft_path *path)
{
    struct weft_transport *tp = path->transport;
    struct pair *pair = (struct pair *)path;
    char text[WEFT_KVS_VALUE_MAX + 1];
    enum weft_rc rc;

    if (pair->is_lost) {
        return WEFT_ERR_PROC_FAILED;
    }
    if (pair->out[CONTROL].fd >= 0) {
        return WEFT_OK;
    }
    rc = weft_wireup_try_lookup(tp->node->job, (int)path->process, tp->key, text);
    for (int lane = 0; lane < LANES && rc == WEFT_OK; lane++) {
        struct line *line = &pair->out[lane];

        rc = line->fd >= 0 || open_lane(tp, line, text) ? WEFT_OK : WEFT_AGAIN;
    }
    tp->has_stumbled |= rc == WEFT_AGAIN;
    return rc;
}

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
    struct ucred peer;
    socklen_t bytes = sizeof(peer);

    memcpy(hello, tp->packet, sizeof(hello));
    if (len != (ssize_t)sizeof(hello) || hello[0] >= size_of(tp) || hello[1] >= LANES ||
        getsockopt(line->fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) != 0 ||
        peer.uid != getuid()) {
        tp->traffic.rejected++;
        return false;
    }
    line->lane = (int)hello[1];
    line->pair = pair_of(tp, hello[0]);
    return true;
}

/* ---- sending ---- */

static enum weft_rc send_parts(struct pair *pair, int lane, struct iovec *parts,
                               int count)
{
    const struct msghdr message = {.msg_iov = parts, .msg_iovlen = (size_t)count};
    struct weft_transport *tp = pair->path.transport;
    struct line *line = &pair->out[lane];
    const enum weft_rc rc = establish(&pair->path);
    ssize_t sent;

    if (rc != WEFT_OK) {
        return rc;
    }
    sent = sendmsg(line->fd, &message, MSG_NOSIGNAL);
    if (sent < 0 && (errno == EPIPE || errno == ECONNRESET)) {
        lose(pair);
        return WEFT_ERR_PROC_FAILED;
    }
    if (sent < 0) {
        (void)watch(tp, line, EPOLL_CTL_MOD, EPOLLOUT);
        return WEFT_AGAIN;
    }
    pair->sent += lane == ORDERED ? 1 : 0;
    pair->sent_bytes += (uint64_t)sent;
    return WEFT_OK;
}

static enum weft_rc send_packet(struct weft_path *path, const void *header,
                                const void *data, size_t len, unsigned flags)
{
    struct iovec parts[] = {{(void *)(uintptr_t)header, WEFT_HEADER_BYTES},
                            {(void *)(uintptr_t)data, len}};

    return send_parts((struct pair *)path,
                      (flags & WEFT_SEND_CONTROL) != 0 ? CONTROL : ORDERED, parts, 2);
}

static enum weft_rc finish_later(struct weft_transport *tp, struct weft_op *op)
{
    op->next = NULL;
    *tp->done_end = op;
    tp->done_end = &op->next;
    return WEFT_PENDING;
}

static enum weft_rc send_zcopy(struct weft_path *path, const void *header,
                               const void *head, size_t head_len, const void *data,
                               size_t len, struct weft_op *op)
{
    struct iovec parts[] = {{(void *)(uintptr_t)header, WEFT_HEADER_BYTES},
                            {(void *)(uintptr_t)head, head_len},
                            {(void *)(uintptr_t)data, len}};
    const enum weft_rc rc = send_parts((struct pair *)path, ORDERED, parts, 3);

    return rc == WEFT_OK ? finish_later(path->transport, op) : rc;
}

/* ---- memory ---- */

static enum weft_rc move(struct weft_path *path, const struct weft_move *m, bool is_put,
                         struct weft_op *op)
{
    struct pair *pair = (struct pair *)path;
    const enum weft_rc rc = establish(path);
    ssize_t moved;

    if (rc != WEFT_OK) {
        return rc;
    }
    moved = is_put ? process_vm_writev(pair->pid, m->ours, 1, m->theirs, 1, 0)
                   : process_vm_readv(pair->pid, m->ours, 1, m->theirs, 1, 0);
    return moved == (ssize_t)m->ours->iov_len ? finish_later(path->transport, op)
                                              : WEFT_ERR_ADDRESS;
}

static enum weft_rc put(struct weft_path *path, const struct weft_move *m,
                        struct weft_op *op)
{
    return move(path, m, true, op);
}

static enum weft_rc get(struct weft_path *path, const struct weft_move *m,
                        struct weft_op *op)
{
    return move(path, m, false, op);
}

static enum weft_rc mr_register(struct weft_transport *tp, void *memory, size_t bytes,
                                unsigned how, struct weft_key *key, void **mr)
{
    (void)tp;
    (void)bytes;
    (void)how;
    *key = (struct weft_key){.address = (uintptr_t)memory};
    *mr = memory;
    return WEFT_OK;
}

static void mr_deregister(struct weft_transport *tp, void *mr)
{
    (void)tp;
    (void)mr;
}

static const struct weft_memory_ops memory_ops = {
    .iov_max = 1,
    .put = put,
    .get = get,
    .mr_register = mr_register,
    .mr_deregister = mr_deregister,
};

/* ---- receiving ---- */

static bool may_take(struct weft_transport *tp, const struct line *line)
{
    return line->lane != ORDERED || !tp->up->is_full ||
           tp->up->may_take(tp->up->owner, line->pair->peer);
}

static void hold(struct weft_transport *tp, struct line *line, bool is_held)
{
    line->is_held = is_held;
    tp->held += is_held ? 1 : -1;
    (void)watch(tp, line, EPOLL_CTL_MOD, is_held ? 0 : EPOLLIN);
}

/* One message; false: there is none, or none that may be taken. */
static bool take_one(struct weft_transport *tp, struct line *line)
{
    ssize_t len;

    if (!may_take(tp, line)) {
        hold(tp, line, true);
        return false;
    }
    len = recv(line->fd, tp->packet, sizeof(tp->packet), 0);
    if (len <= 0 || (line->lane == LANES && !greet(tp, line, len))) {
        if (len >= 0 || errno != EAGAIN) { /* its end, or a stranger */
            close(line->fd);
            line->fd = -1;
        }
        return false;
    }
    if (len < WEFT_HEADER_BYTES) { /* hello, or goodbye */
        line->pair->has_left = len == 1;
        return true;
    }
    tp->traffic.packets_received += line->lane == ORDERED ? 1 : 0;
    tp->traffic.bytes_received += (uint64_t)len;
    tp->up->arrived(tp->up->owner, line->pair->peer, tp->packet,
                    tp->packet + WEFT_HEADER_BYTES, (size_t)len - WEFT_HEADER_BYTES);
    return true;
}

/* What an event says of a line; returns how many packets came. */
static int serve(struct weft_transport *tp, struct line *line, uint32_t events,
                 int budget)
{
    int taken = 0;

    if (line->lane == LISTENER) {
        accept_one(tp);
    } else if (line->is_out) {
        (void)watch(tp, line, EPOLL_CTL_MOD, 0);
        if ((events & (EPOLLHUP | EPOLLERR)) != 0) {
            lose(line->pair);
        }
    } else {
        while (taken < budget && taken < BATCH && take_one(tp, line)) {
            taken++;
        }
    }
    return taken;
}

static void release_held(struct weft_transport *tp)
{
    for (struct line *line = tp->lines; tp->held > 0 && line != NULL; line = line->next) {
        if (line->is_held && may_take(tp, line)) {
            hold(tp, line, false);
        }
    }
}

static void free_closed(struct weft_transport *tp)
{
    for (struct line **at = &tp->lines; *at != NULL;) {
        struct line *line = *at;

        if (line->fd >= 0) {
            at = &line->next;
        } else {
            *at = line->next;
            free(line);
        }
    }
}

static int poll_all(struct weft_transport *tp, int budget)
{
    struct epoll_event events[EVENTS];
    int taken = 0;
    int before;
    int count;

    while (tp->done != NULL) {
        struct weft_op *op = tp->done;

        tp->done = op->next;
        tp->done_end = tp->done == NULL ? &tp->done : tp->done_end;
        op->done(op, WEFT_OK);
    }
    release_held(tp);
    do {
        before = taken;
        count = epoll_wait(tp->epoll, events, EVENTS, 0);
        for (int i = 0; i < count; i++) {
            taken += serve(tp, events[i].data.ptr, events[i].events, budget - taken);
        }
    } while (taken > before && taken < budget);
    free_closed(tp);
    return taken;
}

/* ---- sleeping ---- */

static enum weft_rc arm(struct weft_transport *tp)
{
    for (const struct line *line = tp->lines; tp->held > 0 && line != NULL;
         line = line->next) {
        if (line->is_held && may_take(tp, line)) {
            return WEFT_AGAIN;
        }
    }
    return tp->done != NULL ? WEFT_AGAIN : WEFT_OK;
}

static int descriptors(struct weft_transport *tp, int out[WEFT_DESCRIPTORS])
{
    out[0] = tp->epoll;
    return 1;
}

static bool needs_retry(struct weft_transport *tp)
{
    const bool has_stumbled = tp->has_stumbled;

    tp->has_stumbled = false;
    return has_stumbled;
}

/* ---- life ---- */

static void close_all(struct weft_transport *tp)
{
    for (uint32_t r = 0; r < size_of(tp); r++) {
        close_lanes(&tp->pairs[r]);
    }
    for (struct line *line = tp->lines; line != NULL; line = line->next) {
        close(line->fd);
        line->fd = -1;
    }
    free_closed(tp);
    close(tp->listener.fd);
    close(tp->epoll);
    free(tp->pairs);
    free(tp);
}

static enum weft_rc open_all(struct weft_upcalls *up, struct weft_node *node,
                             struct weft_transport **out)
{
    static unsigned openings;
    const uint32_t size = (uint32_t)node->job->who.size;
    struct weft_transport *tp = calloc(1, sizeof(*tp));
    struct pair *pairs = calloc(size, sizeof(*pairs));
    enum weft_rc rc;

    if (tp == NULL || pairs == NULL) {
        free(pairs);
        free(tp);
        return WEFT_ERR_NOMEM;
    }
    for (uint32_t i = 0; i < size * LANES; i++) {
        pairs[i / LANES].out[i % LANES] = (struct line){
            .fd = -1, .is_out = true, .lane = i % LANES, .pair = &pairs[i / LANES]};
    }
    *tp = (struct weft_transport){.up = up, .node = node, .pairs = pairs};
    snprintf(tp->key, sizeof(tp->key), "pairs.%u", openings++);
    tp->done_end = &tp->done;
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
                               uint32_t process, struct weft_path **out)
{
    uint32_t local;

    (void)peer;
    if (!weft_node_has(tp->node, process, &local)) {
        return WEFT_ERR_UNSUPPORTED;
    }
    *out = &pair_of(tp, process)->path;
    return WEFT_OK;
}

static void leave(struct weft_transport *tp)
{
    for (uint32_t r = 0; r < size_of(tp); r++) {
        if (tp->pairs[r].out[CONTROL].fd >= 0) {
            (void)send(tp->pairs[r].out[CONTROL].fd, "", 1, MSG_NOSIGNAL);
        }
    }
}

static void count(const struct weft_transport *tp, struct weft_traffic *traffic)
{
    traffic->packets_received += tp->traffic.packets_received;
    traffic->bytes_received += tp->traffic.bytes_received;
    traffic->rejected += tp->traffic.rejected;
    for (uint32_t r = 0; r < size_of(tp); r++) {
        traffic->packets_sent += tp->pairs[r].sent;
        traffic->bytes_sent += tp->pairs[r].sent_bytes;
        traffic->lanes += tp->pairs[r].out[CONTROL].fd >= 0 ? 1 : 0;
    }
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
    .send_zcopy = send_zcopy,
    .establish = establish,
    .descriptors = descriptors,
    .needs_retry = needs_retry,
    .leave = leave,
};
