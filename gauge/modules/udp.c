/*
 * udp.c - UDP datagrams: a message is one of them, and may be lost.
 */
#include "gauge/modules/datagram.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

enum {
    LARGEST = 65507 - (int)sizeof(struct datagram_header),
    HEADERS = 20 + 8, /* of IPv4 and UDP */
};

static struct gauge_option options[] = {
    {"wait", GAUGE_TEXT, "spin", "KIND", "how to wait: spin or block"},
    {"patience", GAUGE_NUMBER, "200", "MILLISECONDS",
     "what does not come for so long is lost"},
    {"loss", GAUGE_NUMBER, "0", "SHARE", "of messages, thrown away on purpose"},
    {NULL, GAUGE_TEXT, NULL, NULL, NULL},
};

static int family; /* of our socket */

/* At any port, for both kinds of addresses where there are both. */
static int udp_open(struct datagram_address *mine)
{
    struct sockaddr_in6 any = {.sin6_family = AF_INET6, .sin6_addr = in6addr_any};
    struct sockaddr_in any_four = {.sin_family = AF_INET};
    int off = 0;
    int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    mine->length = sizeof(mine->address);
    if (fd >= 0 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)) == 0 &&
        bind(fd, (struct sockaddr *)&any, sizeof(any)) == 0 &&
        getsockname(fd, (struct sockaddr *)&mine->address, &mine->length) == 0) {
        family = AF_INET6;
        return fd;
    }
    if (fd >= 0) {
        close(fd);
    }
    fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    mine->length = sizeof(mine->address);
    if (fd >= 0 && bind(fd, (struct sockaddr *)&any_four, sizeof(any_four)) == 0 &&
        getsockname(fd, (struct sockaddr *)&mine->address, &mine->length) == 0) {
        family = AF_INET;
        return fd;
    }
    gauge_fail("udp: no socket: %s", strerror(errno));
    if (fd >= 0) {
        close(fd);
    }
    return -1;
}

/* An end tells its port; its address is that of its host, in our kind. */
static enum gauge_rc udp_complete(const char *host, struct datagram_address *theirs)
{
    struct addrinfo hints = {.ai_family = family,
                             .ai_socktype = SOCK_DGRAM,
                             .ai_flags = AI_NUMERICHOST | AI_V4MAPPED};
    struct addrinfo *found = NULL;
    in_port_t port = theirs->address.ss_family == AF_INET6
                         ? ((struct sockaddr_in6 *)&theirs->address)->sin6_port
                         : ((struct sockaddr_in *)&theirs->address)->sin_port;
    int fault = getaddrinfo(host, NULL, &hints, &found);

    if (fault != 0) {
        return gauge_fail("udp: %s: %s", host, gai_strerror(fault));
    }
    memcpy(&theirs->address, found->ai_addr, found->ai_addrlen);
    theirs->length = found->ai_addrlen;
    if (family == AF_INET6) {
        ((struct sockaddr_in6 *)&theirs->address)->sin6_port = port;
    } else {
        ((struct sockaddr_in *)&theirs->address)->sin_port = port;
    }
    freeaddrinfo(found);
    return GAUGE_OK;
}

static enum gauge_rc udp_init(struct gauge_module *module,
                              const struct gauge_world *world)
{
    static const struct datagram_carrier carrier = {
        .name = "udp", .options = options, .open = udp_open, .complete = udp_complete};

    return datagram_init(module, world, &carrier);
}

static const char *udp_configure(struct gauge_module *module)
{
    (void)module;
    return datagram_configure(options);
}

struct gauge_module gauge_udp = {
    .name = "udp",
    .description = "UDP datagrams, one for each message; may lose them",
    .flags = GAUGE_CHANNEL,
    .largest = LARGEST,
    .header = HEADERS + sizeof(struct datagram_header),
    .options = options,
    .configure = udp_configure,
    .init = udp_init,
    .shutdown = datagram_shutdown,
    .sendto = datagram_sendto,
    .recvfrom = datagram_recvfrom,
    .isendto = datagram_isendto,
    .irecvfrom = datagram_irecvfrom,
    .test = datagram_test,
    .wait = datagram_wait,
    .drain = datagram_drain,
};
