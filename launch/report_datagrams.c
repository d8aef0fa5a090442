#include "report_datagrams.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

enum { TIMES = 3 };

/* The beginning of a datagram; a long one has zeros behind it. */
struct greeting {
    char magic[12];
    int32_t from;
};

static const char MAGIC[sizeof(((struct greeting *)NULL)->magic)] = "weft report";

static int fd = -1;

/* No datagram is split on its way, as those of ranks are not. */
static void set_options(int family)
{
    const int four = IP_PMTUDISC_PROBE;
    const int six = IPV6_PMTUDISC_PROBE;

    if (family == AF_INET6) {
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, &six, sizeof(six));
    } else {
        (void)setsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &four, sizeof(four));
    }
}

int datagrams_open(const struct weft_net_address *own, const struct weft_net_ports *ports)
{
    const char *any = strchr(own->text, ':') != NULL ? "::" : "0.0.0.0";
    const int all = ports->last - ports->first + 1;
    struct sockaddr_storage at;
    socklen_t bytes;

    for (int i = 0; i < all; i++) {
        const int port = ports->first + (ports->begin + i) % all;

        if (!weft_net_address_of(any, port, &at, &bytes)) {
            return 0;
        }
        if (fd < 0) {
            fd = socket(at.ss_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        }
        if (fd >= 0 && bind(fd, (const struct sockaddr *)&at, bytes) == 0) {
            set_options(at.ss_family);
            return port;
        }
        if (fd < 0 || errno != EADDRINUSE) {
            return 0;
        }
    }
    return 0;
}

void datagrams_send(int me, const char *address, int port)
{
    char whole[DATAGRAM_BYTES] = {0};
    struct greeting greeting = {.from = me};
    struct sockaddr_storage to;
    socklen_t bytes;

    if (fd < 0 || !weft_net_address_of(address, port, &to, &bytes)) {
        return;
    }
    memcpy(greeting.magic, MAGIC, sizeof(MAGIC));
    memcpy(whole, &greeting, sizeof(greeting));
    for (int i = 0; i < TIMES; i++) { /* what the kernel refuses is lost, too */
        (void)sendto(fd, whole, sizeof(greeting), 0, (struct sockaddr *)&to, bytes);
        (void)sendto(fd, whole, sizeof(whole), 0, (struct sockaddr *)&to, bytes);
    }
}

void datagrams_read(uint8_t *heard, int daemons)
{
    char whole[DATAGRAM_BYTES + 1];
    ssize_t length;

    while (fd >= 0 && (length = recv(fd, whole, sizeof(whole), 0)) >= 0) {
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
