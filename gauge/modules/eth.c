/*
 * eth.c - frames of the link, of a type that is nobody's: a message is one of them, fits
 * into one, and may be lost. All ends use interfaces of the same link.
 */
#include "gauge/modules/datagram.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum {
    TYPE = 0x88b5,    /* for local experiments, IEEE 802 */
    LINK_HEADER = 14, /* addresses and type; the kernel puts it there */
};

static struct gauge_option options[] = {
    {"interface", GAUGE_TEXT, "lo", "NAME", "which to use"},
    {"wait", GAUGE_TEXT, "spin", "KIND", "how to wait: spin or block"},
    {"patience", GAUGE_NUMBER, "200", "MILLISECONDS",
     "what does not come for so long is lost"},
    {"loss", GAUGE_NUMBER, "0", "SHARE", "of messages, thrown away on purpose"},
    {NULL, GAUGE_TEXT, NULL, NULL, NULL},
};

static int open_socket(void)
{
    return socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC, htons(TYPE));
}

/* Asks the kernel about the interface. */
static bool ask(unsigned long what, struct ifreq *answer)
{
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool is_answered = false;

    *answer = (struct ifreq){0};
    snprintf(answer->ifr_name, sizeof(answer->ifr_name), "%s",
             gauge_option_text(options, "interface"));
    if (fd >= 0) {
        is_answered = ioctl(fd, what, answer) == 0;
        close(fd);
    }
    return is_answered;
}

static int eth_open(struct datagram_address *mine)
{
    struct sockaddr_ll *address = (struct sockaddr_ll *)&mine->address;
    struct ifreq answer;
    int one = 1;
    int fd = open_socket();

    mine->length = sizeof(*address);
    *address = (struct sockaddr_ll){
        .sll_family = AF_PACKET, .sll_protocol = htons(TYPE), .sll_halen = 6};
    if (fd < 0) {
        gauge_fail("eth: no socket for frames: %s", strerror(errno));
        return -1;
    }
    if (ask(SIOCGIFINDEX, &answer)) {
        address->sll_ifindex = answer.ifr_ifindex;
    }
    if (bind(fd, (struct sockaddr *)address, sizeof(*address)) != 0 ||
        !ask(SIOCGIFHWADDR, &answer)) {
        gauge_fail("eth: cannot use %s: %s", gauge_option_text(options, "interface"),
                   strerror(errno));
        close(fd);
        return -1;
    }
    memcpy(address->sll_addr, answer.ifr_hwaddr.sa_data, 6);
    /* What we send ourselves need not come back; where it does, it is not for us. */
    setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &one, sizeof(one));
    return fd;
}

/* An end tells its address on the link; the interface is ours. */
static enum gauge_rc eth_complete(const char *host, struct datagram_address *theirs)
{
    struct sockaddr_ll *address = (struct sockaddr_ll *)&theirs->address;
    struct ifreq answer;

    (void)host;
    if (!ask(SIOCGIFINDEX, &answer)) {
        return gauge_fail("eth: the interface has gone: %s", strerror(errno));
    }
    address->sll_ifindex = answer.ifr_ifindex;
    return GAUGE_OK;
}

static enum gauge_rc eth_init(struct gauge_module *module,
                              const struct gauge_world *world)
{
    static const struct datagram_carrier carrier = {
        .name = "eth", .options = options, .open = eth_open, .complete = eth_complete};

    return datagram_init(module, world, &carrier);
}

static const char *eth_configure(struct gauge_module *module)
{
    static char fault[120];
    struct ifreq answer;

    if (!ask(SIOCGIFMTU, &answer)) {
        snprintf(fault, sizeof(fault), "there is no interface \"%.60s\"",
                 gauge_option_text(options, "interface"));
        return fault;
    }
    module->largest = (size_t)answer.ifr_mtu - sizeof(struct datagram_header);
    if (module->largest > 65535 - sizeof(struct datagram_header)) {
        module->largest = 65535 - sizeof(struct datagram_header);
    }
    if (!ask(SIOCGIFFLAGS, &answer) || !(answer.ifr_flags & IFF_UP)) {
        snprintf(fault, sizeof(fault), "the interface %.60s is down",
                 gauge_option_text(options, "interface"));
        return fault;
    }
    return datagram_configure(options);
}

static const char *eth_available(struct gauge_module *module)
{
    (void)module;
    return datagram_tried(
        open_socket(), "raw frames need the right CAP_NET_RAW, which this process lacks");
}

struct gauge_module gauge_eth = {
    .name = "eth",
    .description = "raw frames of a link, one for each message; may lose them",
    .flags = GAUGE_CHANNEL,
    .largest = 1500 - sizeof(struct datagram_header), /* until the interface is known */
    .header = LINK_HEADER + sizeof(struct datagram_header),
    .options = options,
    .available = eth_available,
    .configure = eth_configure,
    .init = eth_init,
    .shutdown = datagram_shutdown,
    .sendto = datagram_sendto,
    .recvfrom = datagram_recvfrom,
    .isendto = datagram_isendto,
    .irecvfrom = datagram_irecvfrom,
    .test = datagram_test,
    .wait = datagram_wait,
    .drain = datagram_drain,
};
