#include "report_datagrams.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { TIMES = 3 };

/* The beginning of a datagram; a long one has zeros behind it. */
struct greeting {
    char magic[12];
    int32_t from;
};

static const char MAGIC[sizeof(((struct greeting *)NULL)->magic)] = "weft report";

/* One for each address of ours. */
static struct {
    int fd;
    struct sockaddr_storage at;
} sockets[WEFT_NET_MOST];

static int socket_count;

/* No datagram is split on its way, as those of ranks are not. */
static void set_options(int fd, int family)
{
    const int four = IP_PMTUDISC_PROBE;
    const int six = IPV6_PMTUDISC_PROBE;

    if (family == AF_INET6) {
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, &six, sizeof(six));
    } else {
        (void)setsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &four, sizeof(four));
    }
}

static int open_socket(int family)
{
    return socket(family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

static bool open_at(const struct weft_net_address *own, int port)
{
    struct sockaddr_storage at;
    socklen_t bytes;
    int fd;

    if (!weft_net_address_of(own->text, port, &at, &bytes)) {
        errno = EINVAL;
        return false;
    }
    fd = open_socket(at.ss_family);
    if (fd < 0 || bind(fd, (const struct sockaddr *)&at, bytes) != 0) {
        const int error = errno;

        if (fd >= 0) {
            close(fd);
        }
        errno = error;
        return false;
    }
    set_options(fd, at.ss_family);
    sockets[socket_count].fd = fd;
    sockets[socket_count++].at = at;
    return true;
}

static bool open_at_all(const struct weft_net_address *list, int count, int port)
{
    for (int a = 0; a < count && a < WEFT_NET_MOST; a++) {
        if (!open_at(&list[a], port)) {
            const int error = errno;

            while (socket_count > 0) {
                close(sockets[--socket_count].fd);
            }
            errno = error;
            return false;
        }
    }
    return true;
}

int datagrams_open(const struct weft_net_address *list, int count,
                   const struct weft_net_ports *ports)
{
    const int all = ports->last - ports->first + 1;

    for (int i = 0; i < all; i++) {
        const int port = ports->first + (ports->begin + i) % all;

        if (open_at_all(list, count, port)) {
            return socket_count > 0 ? port : 0;
        }
        if (errno != EADDRINUSE) {
            return 0;
        }
    }
    return 0;
}

static bool is_same_address(const struct sockaddr_storage *a,
                            const struct sockaddr_storage *b)
{
    const struct sockaddr_in *four[] = {(const void *)a, (const void *)b};
    const struct sockaddr_in6 *six[] = {(const void *)a, (const void *)b};

    if (a->ss_family != b->ss_family) {
        return false;
    }
    return a->ss_family == AF_INET6
               ? memcmp(&six[0]->sin6_addr, &six[1]->sin6_addr,
                        sizeof(struct in6_addr)) == 0
               : four[0]->sin_addr.s_addr == four[1]->sin_addr.s_addr;
}

/* The socket of the address from which the system would send there; else any of ours that
 * might; -1: there is none. */
static int socket_towards(const struct sockaddr_storage *to, socklen_t bytes)
{
    struct sockaddr_storage from = {.ss_family = AF_UNSPEC};
    socklen_t length = sizeof(from);
    const int fd = open_socket(to->ss_family);
    int found = -1;

    if (fd >= 0) {
        if (connect(fd, (const struct sockaddr *)to, bytes) != 0 ||
            getsockname(fd, (struct sockaddr *)&from, &length) != 0) {
            from.ss_family = AF_UNSPEC;
        }
        close(fd);
    }
    for (int i = socket_count - 1; i >= 0; i--) {
        if (is_same_address(&sockets[i].at, &from)) {
            return sockets[i].fd;
        }
        if (sockets[i].at.ss_family == to->ss_family) {
            found = sockets[i].fd;
        }
    }
    return found;
}

void datagrams_send(int me, const char *address, int port)
{
    char whole[DATAGRAM_BYTES] = {0};
    struct greeting greeting = {.from = me};
    struct sockaddr_storage to;
    socklen_t bytes;
    int fd;

    if (!weft_net_address_of(address, port, &to, &bytes)) {
        return;
    }
    fd = socket_towards(&to, bytes);
    memcpy(greeting.magic, MAGIC, sizeof(MAGIC));
    memcpy(whole, &greeting, sizeof(greeting));
    for (int i = 0; fd >= 0 && i < TIMES;
         i++) { /* what the kernel refuses is lost, too */
        (void)sendto(fd, whole, sizeof(greeting), 0, (struct sockaddr *)&to, bytes);
        (void)sendto(fd, whole, sizeof(whole), 0, (struct sockaddr *)&to, bytes);
    }
}

static void read_from(int fd, uint8_t *heard, int daemons)
{
    char whole[DATAGRAM_BYTES + 1];
    ssize_t length;

    while ((length = recv(fd, whole, sizeof(whole), 0)) >= 0) {
        struct greeting greeting;

        if (length != (ssize_t)sizeof(greeting) && length != DATAGRAM_BYTES) {
            continue; /* somebody else's */
        }
        memcpy(&greeting, whole, sizeof(greeting));
        if (memcmp(greeting.magic, MAGIC, sizeof(MAGIC)) == 0 && greeting.from >= 0 &&
            greeting.from < daemons) {
            heard[greeting.from] |=
                length == DATAGRAM_BYTES ? DATAGRAM_LONG : DATAGRAM_SHORT;
        }
    }
}

void datagrams_read(uint8_t *heard, int daemons)
{
    for (int i = 0; i < socket_count; i++) {
        read_from(sockets[i].fd, heard, daemons);
    }
}

const char *datagrams_say(uint8_t from_a, uint8_t from_b)
{
    const uint8_t both = from_a & from_b;

    if (both == DATAGRAM_BOTH) {
        return "datagrams both ways";
    }
    if ((both & DATAGRAM_SHORT) != 0) {
        return "only short datagrams both ways (UDP): not fit for WEFT_TRANSPORT=dgram";
    }
    return "no datagrams both ways (UDP): not fit for WEFT_TRANSPORT=dgram";
}
