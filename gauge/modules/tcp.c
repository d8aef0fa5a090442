/*
 * tcp.c - bare sockets: one stream per pair of ends, spinning or blocking.
 *
 * A message is its bytes and nothing else, but for one of 0 bytes, which travels as one,
 * because a stream cannot carry nothing. Streams are made when the module opens: every
 * end listens, tells its port to the others, and connects to those before it.
 *
 * Spinning polls non-blocking sockets and never sleeps; blocking lets the kernel put the
 * process to sleep and wake it. Non-blocking messages wait in queues (queue.h).
 */
#include "gauge/modules/queue.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static struct gauge_option options[] = {
    {"wait", GAUGE_TEXT, "spin", "KIND", "how to wait: spin or block"},
    {"socket-buffer", GAUGE_BYTES, "0", "BYTES",
     "of each socket; 0: the system's choice"},
    {NULL, GAUGE_TEXT, NULL, NULL, NULL},
};

struct tcp {
    int end;
    int ends;
    int *fd; /* to each end; -1 to ourselves */
    struct queues queues;
    bool is_blocking;
};

static unsigned char nothing; /* what a message of 0 bytes is made of */

static struct transfer make_transfer(int peer, const void *buffer, size_t size,
                                     bool is_send)
{
    return transfer_make(peer, size > 0 ? buffer : &nothing, size > 0 ? size : 1,
                         is_send);
}

/* Moves what the socket takes now; `flags` say whether it may sleep. */
static enum gauge_rc move_some(const struct tcp *tcp, struct transfer *t, int flags)
{
    int fd = tcp->fd[t->peer];

    while (t->done < t->size) {
        ssize_t n = t->is_send ? send(fd, t->bytes + t->done, t->size - t->done,
                                      flags | MSG_NOSIGNAL)
                               : recv(fd, t->bytes + t->done, t->size - t->done, flags);

        if (n > 0) {
            t->done += (size_t)n;
        } else if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            return GAUGE_OK;
        } else if (n == 0 || errno != EINTR) {
            return gauge_fail("tcp: end %d: %s", t->peer,
                              n == 0 ? "has closed its stream" : strerror(errno));
        }
    }
    return GAUGE_OK;
}

static enum gauge_rc move(void *owner, struct transfer *t)
{
    enum gauge_rc rc = move_some(owner, t, MSG_DONTWAIT);

    t->is_over = t->done == t->size;
    return rc;
}

static enum gauge_rc start(struct tcp *tcp, int peer, const void *buffer, size_t size,
                           bool is_send, struct gauge_request *request)
{
    struct transfer t = make_transfer(peer, buffer, size, is_send);

    return queues_start(&tcp->queues, &t, request);
}

static enum gauge_rc tcp_isendto(struct gauge_module *module, int dest,
                                 const void *buffer, size_t size,
                                 struct gauge_request *request)
{
    return start(module->state, dest, buffer, size, true, request);
}

static enum gauge_rc tcp_irecvfrom(struct gauge_module *module, int source, void *buffer,
                                   size_t size, struct gauge_request *request)
{
    return start(module->state, source, buffer, size, false, request);
}

static enum gauge_rc tcp_test(struct gauge_module *module, struct gauge_request *request)
{
    struct tcp *tcp = module->state;

    (void)request;
    return queues_progress(&tcp->queues);
}

/* Sleeps until a stream with something under way is ready. */
static void sleep_for_any(const struct tcp *tcp)
{
    struct pollfd ready[tcp->ends];

    for (int i = 0; i < tcp->ends; i++) {
        ready[i] = (struct pollfd){.fd = tcp->fd[i]};
        if (tcp->queues.receives[i].first != NULL) {
            ready[i].events |= POLLIN;
        }
        if (tcp->queues.sends[i].first != NULL) {
            ready[i].events |= POLLOUT;
        }
        if (ready[i].events == 0) {
            ready[i].fd = -1;
        }
    }
    poll(ready, (nfds_t)tcp->ends, -1);
}

static enum gauge_rc tcp_wait(struct gauge_module *module, struct gauge_request *request)
{
    struct tcp *tcp = module->state;

    while (!request->is_done) {
        if (queues_progress(&tcp->queues) != GAUGE_OK) {
            return GAUGE_FAILED;
        }
        if (!request->is_done && tcp->is_blocking) {
            sleep_for_any(tcp);
        }
    }
    return GAUGE_OK;
}

/* With nothing else under way a message goes straight through. */
static enum gauge_rc transfer_now(struct gauge_module *module, int peer,
                                  const void *buffer, size_t size, bool is_send)
{
    struct tcp *tcp = module->state;
    struct transfer t = make_transfer(peer, buffer, size, is_send);

    if (tcp->queues.under_way > 0) {
        struct gauge_request request = {.is_done = false};
        enum gauge_rc rc = start(tcp, peer, buffer, size, is_send, &request);

        return rc == GAUGE_OK ? tcp_wait(module, &request) : rc;
    }
    do {
        if (move_some(tcp, &t, tcp->is_blocking ? 0 : MSG_DONTWAIT) != GAUGE_OK) {
            return GAUGE_FAILED;
        }
    } while (t.done < t.size);
    return GAUGE_OK;
}

static enum gauge_rc tcp_sendto(struct gauge_module *module, int dest, const void *buffer,
                                size_t size)
{
    return transfer_now(module, dest, buffer, size, true);
}

static enum gauge_rc tcp_recvfrom(struct gauge_module *module, int source, void *buffer,
                                  size_t size)
{
    return transfer_now(module, source, buffer, size, false);
}

/* Opening */

static void prepare(int fd)
{
    int one = 1;
    int bytes = (int)gauge_option_bytes(options, "socket-buffer");

    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    if (bytes > 0) {
        setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
    }
}

/* A listening socket at any port, for both kinds of addresses; -1 when refused. */
static int listen_anywhere(uint16_t *port)
{
    struct sockaddr_in6 any = {.sin6_family = AF_INET6, .sin6_addr = in6addr_any};
    struct sockaddr_in any_four = {.sin_family = AF_INET};
    struct sockaddr_storage got;
    socklen_t length = sizeof(got);
    int off = 0;
    int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr *address = (struct sockaddr *)&any;
    socklen_t size = sizeof(any);

    if (fd < 0) { /* a machine without the newer kind */
        fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        address = (struct sockaddr *)&any_four;
        size = sizeof(any_four);
    } else {
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
    }
    if (fd < 0 || bind(fd, address, size) != 0 || listen(fd, SOMAXCONN) != 0 ||
        getsockname(fd, (struct sockaddr *)&got, &length) != 0) {
        if (fd >= 0) {
            close(fd);
        }
        return -1;
    }
    *port = got.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&got)->sin6_port
                                      : ((struct sockaddr_in *)&got)->sin_port;
    return fd;
}

/* What every end tells the others, and who connects says first. */
struct card {
    uint64_t secret; /* of this end, for this run */
    uint16_t port;   /* in network order */
    uint16_t end;
    uint32_t unused;
};

static int connect_to(const char *host, const struct card *card, const struct card *mine)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST};
    struct addrinfo *found = NULL;
    char port[8];
    struct card hello = {.secret = card->secret, .end = mine->end};
    int fd = -1;

    snprintf(port, sizeof(port), "%u", ntohs(card->port));
    if (getaddrinfo(host, port, &hints, &found) != 0) {
        return -1;
    }
    fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    prepare(fd);
    if (connect(fd, found->ai_addr, found->ai_addrlen) != 0 ||
        send(fd, &hello, sizeof(hello), MSG_NOSIGNAL) != sizeof(hello)) {
        close(fd);
        fd = -1;
    }
    freeaddrinfo(found);
    return fd;
}

/* Takes one connection; whoever does not know our secret is dropped. */
static bool accept_one(struct tcp *tcp, int listener, const struct card *mine)
{
    struct card hello;
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

    if (fd < 0 || recv(fd, &hello, sizeof(hello), MSG_WAITALL) != sizeof(hello) ||
        hello.secret != mine->secret || hello.end >= tcp->ends ||
        tcp->fd[hello.end] >= 0) {
        if (fd >= 0) {
            close(fd);
        }
        return false;
    }
    prepare(fd);
    tcp->fd[hello.end] = fd;
    return true;
}

static enum gauge_rc connect_all(struct tcp *tcp, const struct gauge_world *world,
                                 int listener, const struct card *mine,
                                 const struct card *cards)
{
    for (int i = 0; i < tcp->end; i++) {
        const char *host = world->host(world, i);

        tcp->fd[i] = connect_to(host, &cards[i], mine);
        if (tcp->fd[i] < 0) {
            return gauge_fail("tcp: cannot reach end %d at %s port %u: %s", i, host,
                              ntohs(cards[i].port), strerror(errno));
        }
    }
    for (int missing = tcp->ends - 1 - tcp->end; missing > 0;) {
        missing -= accept_one(tcp, listener, mine) ? 1 : 0;
    }
    return GAUGE_OK;
}

static enum gauge_rc meet(struct tcp *tcp, const struct gauge_world *world)
{
    struct card mine = {.end = (uint16_t)tcp->end};
    struct card *cards = calloc((size_t)tcp->ends, sizeof(*cards));
    int listener = listen_anywhere(&mine.port);
    enum gauge_rc rc = GAUGE_OK;

    if (cards == NULL || listener < 0 ||
        getentropy(&mine.secret, sizeof(mine.secret)) != 0) {
        rc = gauge_fail("tcp: cannot listen: %s", strerror(errno));
    }
    if (rc == GAUGE_OK) {
        rc = world->exchange(world, &mine, sizeof(mine), cards);
    }
    if (rc == GAUGE_OK) {
        rc = connect_all(tcp, world, listener, &mine, cards);
    }
    if (listener >= 0) {
        close(listener);
    }
    free(cards);
    return rc;
}

static void tcp_shutdown(struct gauge_module *module)
{
    struct tcp *tcp = module->state;

    for (int i = 0; tcp->fd != NULL && i < tcp->ends; i++) {
        if (tcp->fd[i] >= 0) {
            close(tcp->fd[i]);
        }
    }
    free(tcp->fd);
    queues_close(&tcp->queues);
    free(tcp);
    module->state = NULL;
}

static enum gauge_rc tcp_init(struct gauge_module *module,
                              const struct gauge_world *world)
{
    struct tcp *tcp = calloc(1, sizeof(*tcp));
    size_t ends = (size_t)world->ends;

    if (tcp == NULL) {
        return gauge_fail("tcp: no memory");
    }
    module->state = tcp;
    tcp->end = world->end;
    tcp->ends = world->ends;
    tcp->is_blocking = strcmp(gauge_option_text(options, "wait"), "block") == 0;
    tcp->fd = calloc(ends, sizeof(*tcp->fd));
    if (tcp->fd == NULL) {
        tcp_shutdown(module);
        return gauge_fail("tcp: no memory");
    }
    for (size_t i = 0; i < ends; i++) {
        tcp->fd[i] = -1;
    }
    if (queues_open(&tcp->queues, world->ends, move, tcp, "tcp") != GAUGE_OK ||
        meet(tcp, world) != GAUGE_OK) {
        tcp_shutdown(module);
        return GAUGE_FAILED;
    }
    return GAUGE_OK;
}

static const char *tcp_configure(struct gauge_module *module)
{
    const char *kind = gauge_option_text(options, "wait");

    (void)module;
    return strcmp(kind, "spin") == 0 || strcmp(kind, "block") == 0
               ? NULL
               : "--wait is spin or block";
}

struct gauge_module gauge_tcp = {
    .name = "tcp",
    .description = "bare TCP sockets, spinning or blocking",
    .flags = GAUGE_RELIABLE | GAUGE_CHANNEL,
    .options = options,
    .configure = tcp_configure,
    .init = tcp_init,
    .shutdown = tcp_shutdown,
    .sendto = tcp_sendto,
    .recvfrom = tcp_recvfrom,
    .isendto = tcp_isendto,
    .irecvfrom = tcp_irecvfrom,
    .test = tcp_test,
    .wait = tcp_wait,
};
