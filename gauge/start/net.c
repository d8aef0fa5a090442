/*
 * net.c - how ends that were not forked find end 0: over TCP with a token, or, started by
 * one launcher on one machine, by a local socket named after their common parent.
 *
 * Whoever connects sends a greeting first. One that does not know the token, that is of
 * another user on a local socket, or that sends nothing for two seconds, is refused and
 * told nothing; the wait goes on.
 */
#include "gauge/start/start.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { TOKEN = 64, PATIENCE_SECONDS = 2, TRIES = 1000, TRY_MILLISECONDS = 10 };

#define MAGIC 0x7765667467617501u /* also tells ends of another byte order apart */

struct greeting {
    uint64_t magic;
    char token[TOKEN];
    int32_t end; /* -1: any */
    int32_t unused;
};
_Static_assert(sizeof(struct greeting) == 80, "ends of all builds agree on it");

struct answer {
    int32_t end;
    int32_t ends;
};

static struct greeting make_greeting(const char *token, int end)
{
    struct greeting hello = {.magic = MAGIC, .end = end};

    snprintf(hello.token, sizeof(hello.token), "%s", token);
    return hello;
}

/* Looks at every byte, whatever the first wrong one is. */
static bool is_same(const char *a, const char *b, size_t size)
{
    unsigned char difference = 0;

    for (size_t i = 0; i < size; i++) {
        difference |= (unsigned char)(a[i] ^ b[i]);
    }
    return difference == 0;
}

static void limit_wait(int fd, int seconds)
{
    struct timeval patience = {.tv_sec = seconds};

    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
}

/* Anybody may bind or reach a local name; only our own user is trusted behind it. */
static bool is_own_user(int fd)
{
    struct ucred peer;
    socklen_t length = sizeof(peer);

    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 &&
           peer.uid == getuid();
}

/* Local ends have no token that others do not know: they have the same user instead. */
static bool is_stranger(int fd)
{
    int domain = AF_UNSPEC;
    socklen_t length = sizeof(domain);

    return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &length) != 0 ||
           (domain == AF_UNIX && !is_own_user(fd));
}

/* Which end the new stream is, or -1. */
static int welcome(int fd, const char *token, int ends, const int *fds)
{
    struct greeting want = make_greeting(token, 0);
    struct greeting got;
    struct answer answer = {.ends = ends};

    if (is_stranger(fd)) {
        return -1;
    }
    limit_wait(fd, PATIENCE_SECONDS);
    if (!gauge_read_all(fd, &got, sizeof(got)) || got.magic != want.magic ||
        !is_same(got.token, want.token, TOKEN)) {
        return -1;
    }
    limit_wait(fd, 0);
    if (got.end < 0) {
        for (got.end = 1; got.end < ends && fds[got.end] >= 0; got.end++) {
        }
    }
    if (got.end < 1 || got.end >= ends || fds[got.end] >= 0) {
        return -1;
    }
    answer.end = got.end;
    return gauge_write_all(fd, &answer, sizeof(answer)) ? got.end : -1;
}

/* Accepts until all ends are there; closes the listening socket. */
static enum gauge_rc welcome_all(int listener, const char *token, int ends, int *fds)
{
    int missing = ends - 1;
    int one = 1;

    for (int i = 0; i < ends; i++) {
        fds[i] = -1;
    }
    while (missing > 0) {
        int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        int end = fd >= 0 ? welcome(fd, token, ends, fds) : -1;

        if (end > 0) {
            setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
            fds[end] = fd;
            missing--;
        } else if (fd >= 0) {
            fprintf(stderr, "weft-gauge: refused somebody who does not belong here\n");
            close(fd);
        } else if (errno != EINTR && errno != ECONNABORTED) {
            close(listener);
            return gauge_fail("cannot accept an end: %s", strerror(errno));
        }
    }
    close(listener);
    return GAUGE_OK;
}

/* The addresses of HOST:PORT; NULL after saying why not. */
static struct addrinfo *look_up(const char *where, int flags)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = flags};
    struct addrinfo *found = NULL;
    char host[256];
    const char *colon = strrchr(where, ':');
    int error = 0;

    if (colon == NULL || (size_t)(colon - where) >= sizeof(host)) {
        gauge_fail("\"%s\" is not HOST:PORT", where);
        return NULL;
    }
    snprintf(host, sizeof(host), "%.*s", (int)(colon - where), where);
    error = getaddrinfo(host[0] != '\0' ? host : NULL, colon + 1, &hints, &found);
    if (error != 0) {
        gauge_fail("%s: %s", where, gai_strerror(error));
        return NULL;
    }
    return found;
}

enum gauge_rc gauge_net_listen(const char *where, const char *token, int ends, int *fds)
{
    struct addrinfo *address = look_up(where, AI_PASSIVE);
    int one = 1;
    int fd = -1;

    if (address == NULL) {
        return GAUGE_FAILED;
    }
    fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (fd < 0 || bind(fd, address->ai_addr, address->ai_addrlen) != 0 ||
        listen(fd, ends) != 0) {
        freeaddrinfo(address);
        return gauge_fail("cannot listen at %s: %s", where, strerror(errno));
    }
    freeaddrinfo(address);
    return welcome_all(fd, token, ends, fds);
}

static void pause_a_little(void)
{
    nanosleep(&(struct timespec){.tv_nsec = TRY_MILLISECONDS * 1000000L}, NULL);
}

/* A connected stream, or -1 when nobody listens for ten seconds. */
static int connect_patiently(int family, const struct sockaddr *address, socklen_t length)
{
    for (int i = 0; i < TRIES; i++) {
        int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);

        if (fd < 0 || connect(fd, address, length) == 0) {
            return fd;
        }
        close(fd);
        pause_a_little();
    }
    return -1;
}

static enum gauge_rc greet(int fd, const char *token, int wanted, int *end, int *ends)
{
    struct greeting hello = make_greeting(token, wanted);
    struct answer answer;

    if (!gauge_write_all(fd, &hello, sizeof(hello)) ||
        !gauge_read_all(fd, &answer, sizeof(answer))) {
        close(fd);
        return gauge_fail("end 0 refused us: another token, or all ends are there");
    }
    *end = answer.end;
    *ends = answer.ends;
    return GAUGE_OK;
}

enum gauge_rc gauge_net_join(const char *where, const char *token, int wanted, int *fd,
                             int *end, int *ends)
{
    struct addrinfo *address = look_up(where, 0);
    int one = 1;

    if (address == NULL) {
        return GAUGE_FAILED;
    }
    *fd = connect_patiently(address->ai_family, address->ai_addr, address->ai_addrlen);
    freeaddrinfo(address);
    if (*fd < 0) {
        return gauge_fail("nobody listens at %s", where);
    }
    setsockopt(*fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    return greet(*fd, token, wanted, end, ends);
}

/* In the abstract name space: it leaves no file, and goes with the last process. */
static socklen_t local_name(struct sockaddr_un *name)
{
    int length = 0;

    *name = (struct sockaddr_un){.sun_family = AF_UNIX};
    length = snprintf(name->sun_path + 1, sizeof(name->sun_path) - 1, "weft-gauge-%u-%d",
                      (unsigned)getuid(), (int)getppid());
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

enum gauge_rc gauge_net_local(int end, int ends, int *fds)
{
    struct sockaddr_un name;
    socklen_t length = local_name(&name);
    int fd = -1;

    if (end == 0) {
        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd < 0 || bind(fd, (struct sockaddr *)&name, length) != 0 ||
            listen(fd, ends) != 0) {
            return gauge_fail("cannot listen for the other ends: %s", strerror(errno));
        }
        return welcome_all(fd, "local", ends, fds);
    }
    fd = connect_patiently(AF_UNIX, (struct sockaddr *)&name, length);
    if (fd < 0) {
        return gauge_fail("end 0 is not on this machine, or has another parent; "
                          "ends on several machines want --control HOST:PORT");
    }
    if (!is_own_user(fd)) {
        close(fd);
        return gauge_fail("end 0 is of another user");
    }
    fds[0] = fd;
    return greet(fd, "local", end, &end, &ends);
}
