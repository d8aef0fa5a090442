#include "transport/dgram/udp.h"

#include "base/log.h"
#include "base/texts.h"
#include "transport/dgram/buffer.h"

#include <errno.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What is published: kind, family, the longest datagram, port and address. Numbers are in
 * the order of the network. */
enum {
    KIND = 'u',
    AT_KIND = 0,
    AT_FAMILY = 1,
    AT_DATAGRAM = 2,
    AT_PORT = 4,
    AT_ADDRESS = 6,
    BYTES_FOUR = AT_ADDRESS + 4,
    BYTES_SIX = AT_ADDRESS + 16,
    FAMILY_FOUR = 4,
    FAMILY_SIX = 6,
};

_Static_assert((int)BYTES_SIX <= (int)WEFT_PORT_ADDRESS_MAX, "an address fits");

/* ---- addresses ---- */

static void write_address(struct weft_udp *udp, const struct weft_port_peer *own)
{
    struct weft_port_address *address = &udp->port.address;
    const bool is_sixth = udp->family == AF_INET6;
    const uint16_t datagram = htons(udp->port.datagram_max);
    const uint16_t port = is_sixth ? own->to.six.sin6_port : own->to.four.sin_port;

    address->length = is_sixth ? BYTES_SIX : BYTES_FOUR;
    address->bytes[AT_KIND] = KIND;
    address->bytes[AT_FAMILY] = is_sixth ? FAMILY_SIX : FAMILY_FOUR;
    memcpy(&address->bytes[AT_DATAGRAM], &datagram, sizeof(datagram));
    memcpy(&address->bytes[AT_PORT], &port, sizeof(port));
    if (is_sixth) {
        memcpy(&address->bytes[AT_ADDRESS], &own->to.six.sin6_addr, 16);
    } else {
        memcpy(&address->bytes[AT_ADDRESS], &own->to.four.sin_addr, 4);
    }
}

/* Is it the address of a port of this kind, and whole? */
static bool is_address(const struct weft_port_address *address)
{
    const uint8_t family = address->bytes[AT_FAMILY];

    return (family == FAMILY_FOUR && address->length == BYTES_FOUR) ||
           (family == FAMILY_SIX && address->length == BYTES_SIX);
}

static enum weft_rc accept_peer(struct weft_port *port,
                                const struct weft_port_address *address,
                                struct weft_port_peer *peer)
{
    const struct weft_udp *udp = weft_udp_of(port);
    const bool is_sixth = udp->family == AF_INET6;
    struct weft_port_peer made = {.datagram_max = 0};
    uint16_t datagram;
    uint16_t number;

    if (address->length <= AT_ADDRESS || address->length > WEFT_PORT_ADDRESS_MAX) {
        return WEFT_ERR_ARGUMENT;
    }
    if (address->bytes[AT_KIND] != KIND) {
        return WEFT_ERR_UNREACHABLE;
    }
    memcpy(&datagram, &address->bytes[AT_DATAGRAM], sizeof(datagram));
    memcpy(&number, &address->bytes[AT_PORT], sizeof(number));
    datagram = ntohs(datagram);
    if (!is_address(address) || datagram < WEFT_PORT_LEAST || number == 0) {
        return WEFT_ERR_ARGUMENT;
    }
    if (address->bytes[AT_FAMILY] != (is_sixth ? FAMILY_SIX : FAMILY_FOUR)) {
        return WEFT_ERR_UNREACHABLE;
    }
    made.datagram_max = datagram < port->datagram_max ? datagram : port->datagram_max;
    if (is_sixth) {
        made.to.six.sin6_family = AF_INET6;
        made.to.six.sin6_port = number;
        memcpy(&made.to.six.sin6_addr, &address->bytes[AT_ADDRESS], 16);
    } else {
        made.to.four.sin_family = AF_INET;
        made.to.four.sin_port = number;
        memcpy(&made.to.four.sin_addr, &address->bytes[AT_ADDRESS], 4);
    }
    memcpy(peer, &made, port->peer_bytes);
    return WEFT_OK;
}

static void drop_peer(struct weft_port *port, struct weft_port_peer *peer)
{
    memset(peer, 0, port->peer_bytes);
}

/* ---- opening ---- */

static bool set_number(int fd, int level, int name, int value)
{
    return setsockopt(fd, level, name, &value, sizeof(value)) == 0;
}

/* What a system does not know is done without. */
static void set_options(struct weft_udp *udp)
{
    const int fd = udp->port.fd;

    if (udp->family == AF_INET6) {
        (void)set_number(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
        (void)set_number(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_INTERFACE);
    } else {
        (void)set_number(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_INTERFACE);
    }
    (void)set_number(fd, SOL_SOCKET, SO_RXQ_OVFL, 1);
    (void)set_number(fd, IPPROTO_UDP, UDP_GRO, 1);
    udp->can_segment = set_number(fd, IPPROTO_UDP, UDP_SEGMENT, 0);
}

/* Before it is bound, so that nothing from outside the job is there. -1, and errno. */
static int open_socket(const struct weft_port_wishes *wishes, sa_family_t family)
{
    const int fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd >= 0 && wishes->job != 0 && !weft_udp_filter(fd, wishes->job)) {
        weft_log_info("no packet filter for datagrams: %s", strerror(errno));
    }
    return fd;
}

/* Binds a socket to a free port of the range; `own` is where that is. -1, and errno. */
static int bind_one(const struct weft_port_wishes *wishes, struct weft_port_peer *own)
{
    const struct weft_net_ports *ports = &wishes->ports;
    const int all = ports->last - ports->first + 1;
    struct sockaddr_storage at;
    socklen_t bytes = 0;
    int fd = -1;

    errno = EINVAL;
    for (int i = 0; i < all; i++) {
        const int port = ports->first + (ports->begin + i) % all;

        if (!weft_net_address_of(wishes->own->text, port, &at, &bytes) ||
            bytes > sizeof(own->to)) {
            errno = EINVAL;
            break;
        }
        memcpy(&own->to, &at, bytes);
        if (fd < 0) {
            fd = open_socket(wishes, at.ss_family);
        }
        if (fd < 0 || bind(fd, &own->to.any, bytes) == 0) {
            return fd;
        }
        if (errno != EADDRINUSE) {
            break;
        }
    }
    if (fd >= 0) {
        const int cause = errno;

        close(fd);
        errno = cause;
    }
    return -1;
}

/* How long datagrams may be, and how many of them have room. */
static void set_limits(struct weft_udp *udp, const struct weft_port_wishes *wishes,
                       const struct weft_port_peer *own)
{
    struct weft_port *port = &udp->port;
    const bool is_sixth = udp->family == AF_INET6;
    const uint32_t most = weft_port_payload(wishes->own->interface, is_sixth);
    const uint32_t wanted = wishes->datagram_max;
    const uint32_t buffer = weft_port_buffer_raise(
        port->fd, wishes->buffer_bytes != 0 ? wishes->buffer_bytes
                                            : (uint32_t)WEFT_PORT_BUFFER_BYTES);
    const socklen_t bytes = is_sixth ? sizeof(own->to.six) : sizeof(own->to.four);
    uint32_t cost;
    uint32_t train;

    port->datagram_max = (uint16_t)(wanted != 0 && wanted < most ? wanted : most);
    train = (uint32_t)WEFT_PORT_BYTES_MAX / port->datagram_max;
    port->train_max =
        (uint16_t)(train < WEFT_PORT_TRAIN_MAX ? train : WEFT_PORT_TRAIN_MAX);
    cost = weft_port_buffer_cost(&own->to.any, bytes, port->datagram_max);
    port->room_datagrams = weft_port_buffer_room(buffer, cost);
    port->room_bytes = port->room_datagrams * cost;
}

static void close_port(struct weft_port *port)
{
    struct weft_udp *udp = weft_udp_of(port);

    weft_udp_close_pool(udp);
    close(port->fd);
    free(udp);
}

static const struct weft_port_ops ops = {
    .name = "udp",
    .close = close_port,
    .accept_peer = accept_peer,
    .drop_peer = drop_peer,
    .send = weft_udp_send,
    .receive = weft_udp_receive,
    .may_be_from = weft_udp_may_be_from,
    .arm = weft_udp_arm,
};

enum weft_rc weft_port_open_udp(const struct weft_port_wishes *wishes,
                                struct weft_port **out)
{
    struct weft_udp *udp = calloc(1, sizeof(*udp));
    struct weft_port_peer own = {.datagram_max = 0};

    if (udp == NULL) {
        return WEFT_ERR_NOMEM;
    }
    udp->port.ops = &ops;
    udp->port.fd = bind_one(wishes, &own);
    if (udp->port.fd < 0) {
        weft_log_error(WEFT_S_LISTEN_PORTS, wishes->own->text, "", wishes->ports.first,
                       wishes->ports.last, strerror(errno));
        free(udp);
        return WEFT_ERR_SYSTEM;
    }
    udp->family = own.to.any.sa_family;
    udp->port.peer_bytes =
        (uint16_t)(offsetof(struct weft_port_peer, to) +
                   (udp->family == AF_INET6 ? sizeof(own.to.six) : sizeof(own.to.four)));
    set_options(udp);
    set_limits(udp, wishes, &own);
    write_address(udp, &own);
    if (weft_udp_open_pool(udp, wishes->pool_bytes != 0
                                    ? wishes->pool_bytes
                                    : (uint32_t)WEFT_PORT_POOL_BYTES) != WEFT_OK) {
        close_port(&udp->port);
        return WEFT_ERR_NOMEM;
    }
    *out = &udp->port;
    return WEFT_OK;
}
