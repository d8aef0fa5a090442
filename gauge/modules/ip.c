/*
 * ip.c - IPv4 packets of a protocol that is nobody's: a message is one of them, and may
 * be lost. Longer than a frame, the kernel cuts it into fragments.
 */
#include "gauge/modules/datagram.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

enum {
    PROTOCOL = 253, /* for experiments, RFC 3692 */
    HEADER = 20,    /* of IPv4, without options; arrives before ours */
    LARGEST = 65535 - HEADER - (int)sizeof(struct datagram_header),
};

static struct gauge_option options[] = {
    {"wait", GAUGE_TEXT, "spin", "KIND", "how to wait: spin or block"},
    {"patience", GAUGE_NUMBER, "200", "MILLISECONDS",
     "what does not come for so long is lost"},
    {"loss", GAUGE_NUMBER, "0", "SHARE", "of messages, thrown away on purpose"},
    {NULL, GAUGE_TEXT, NULL, NULL, NULL},
};

static int open_socket(void)
{
    return socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, PROTOCOL);
}

static int ip_open(struct datagram_address *mine)
{
    int fd = open_socket();

    *mine = (struct datagram_address){.length = sizeof(struct sockaddr_in)};
    if (fd < 0) {
        gauge_fail("ip: no raw socket: %s", strerror(errno));
    }
    return fd;
}

static enum gauge_rc ip_complete(const char *host, struct datagram_address *theirs)
{
    struct sockaddr_in *address = (struct sockaddr_in *)&theirs->address;

    address->sin_family = AF_INET;
    return inet_pton(AF_INET, host, &address->sin_addr) == 1
               ? GAUGE_OK
               : gauge_fail("ip: %s is no address of IPv4", host);
}

static enum gauge_rc ip_init(struct gauge_module *module, const struct gauge_world *world)
{
    static const struct datagram_carrier carrier = {.name = "ip",
                                                    .skip = HEADER,
                                                    .options = options,
                                                    .open = ip_open,
                                                    .complete = ip_complete};

    return datagram_init(module, world, &carrier);
}

static const char *ip_configure(struct gauge_module *module)
{
    (void)module;
    return datagram_configure(options);
}

static const char *ip_available(struct gauge_module *module)
{
    (void)module;
    return datagram_tried(
        open_socket(),
        "raw packets need the right CAP_NET_RAW, which this process lacks");
}

struct gauge_module gauge_ip = {
    .name = "ip",
    .description = "raw IPv4 packets, one for each message; may lose them",
    .flags = GAUGE_CHANNEL,
    .largest = LARGEST,
    .header = HEADER + sizeof(struct datagram_header),
    .options = options,
    .available = ip_available,
    .configure = ip_configure,
    .init = ip_init,
    .shutdown = datagram_shutdown,
    .sendto = datagram_sendto,
    .recvfrom = datagram_recvfrom,
    .isendto = datagram_isendto,
    .irecvfrom = datagram_irecvfrom,
    .test = datagram_test,
    .wait = datagram_wait,
    .drain = datagram_drain,
};
