#include "transport/dgram/buffer.h"

#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

enum {
    PAGE_COST = 4096 + 256, /* a page, and its description */
    LEAST_COST = 768,
    LONGEST = 65507,
};

uint32_t weft_port_buffer_raise(int fd, uint32_t wanted)
{
    const int half = (int)(wanted / 2); /* the kernel doubles it */
    socklen_t bytes = sizeof(int);
    int is = 0;

    (void)getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &is, &bytes);
    if (is >= 0 && (uint32_t)is < wanted &&
        setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &half, sizeof(half)) != 0) {
        (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &half, sizeof(half));
    }
    bytes = sizeof(int);
    if (getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &is, &bytes) != 0 || is < 0) {
        return 0;
    }
    return (uint32_t)is;
}

/* What the kernel says of a socket's memory; false: it does not. */
static bool ask(int fd, uint32_t said[SK_MEMINFO_VARS])
{
    socklen_t bytes = SK_MEMINFO_VARS * sizeof(said[0]);

    memset(said, 0, bytes);
    return getsockopt(fd, SOL_SOCKET, SO_MEMINFO, said, &bytes) == 0 &&
           bytes > SK_MEMINFO_DROPS * sizeof(said[0]);
}

/* Sends one datagram to ourselves, and looks at what the socket has then; 0: unknown. */
static uint32_t measure(int fd, const struct sockaddr *at, socklen_t at_bytes,
                        uint32_t length)
{
    static const uint8_t zeros[LONGEST];
    struct sockaddr_storage own;
    socklen_t own_bytes = sizeof(own);
    uint32_t said[SK_MEMINFO_VARS];

    memcpy(&own, at, at_bytes);
    if (own.ss_family == AF_INET6) {
        ((struct sockaddr_in6 *)&own)->sin6_port = 0;
    } else {
        ((struct sockaddr_in *)&own)->sin_port = 0;
    }
    if (bind(fd, (const struct sockaddr *)&own, at_bytes) != 0 ||
        getsockname(fd, (struct sockaddr *)&own, &own_bytes) != 0 ||
        sendto(fd, zeros, length, MSG_DONTWAIT, (const struct sockaddr *)&own,
               own_bytes) < 0 ||
        !ask(fd, said)) {
        return 0;
    }
    return said[SK_MEMINFO_RMEM_ALLOC];
}

static bool is_loopback(const struct sockaddr *at)
{
    if (at->sa_family == AF_INET6) {
        return IN6_IS_ADDR_LOOPBACK(
            &((const struct sockaddr_in6 *)(const void *)at)->sin6_addr);
    }
    return ntohl(((const struct sockaddr_in *)(const void *)at)->sin_addr.s_addr) >> 24 ==
           IN_LOOPBACKNET;
}

uint32_t weft_port_buffer_cost(const struct sockaddr *at, socklen_t at_bytes,
                               uint32_t length)
{
    const int fd = socket(at->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    const uint32_t pages = (length + 4095) / 4096;
    uint32_t cost = 0;

    if (fd >= 0) {
        cost = measure(fd, at, at_bytes, length);
        close(fd);
    }
    if ((cost == 0 || !is_loopback(at)) && cost < pages * PAGE_COST) {
        cost = pages * PAGE_COST;
    }
    return cost < LEAST_COST ? LEAST_COST : cost;
}

uint32_t weft_port_buffer_room(uint32_t buffer_bytes, uint32_t cost)
{
    const uint32_t room = buffer_bytes / 4 * 3 / cost;

    return room > 0 ? room : 1;
}

uint64_t weft_port_buffer_dropped(int fd)
{
    uint32_t said[SK_MEMINFO_VARS];

    return ask(fd, said) ? said[SK_MEMINFO_DROPS] : 0;
}
