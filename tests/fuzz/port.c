/*
 * port.c - what a port for datagrams reads of others: addresses that peers have
 * published, and datagrams that anybody sends.
 */
#include "fuzz.h"

#include "base/log.h"
#include "transport/dgram/udp.h"

#include <sys/socket.h>

enum { FIRST = 42000, LAST = 42999, BATCH = 8 };

static struct weft_port *port;
static struct weft_port_peer self;
static int other; /* the socket of somebody else */

static void set_up(void)
{
    static const struct weft_net_address loopback = {
        .interface = "lo",
        .text = "127.0.0.1",
        .prefix = 8,
    };
    const struct weft_port_wishes wishes = {
        .own = &loopback,
        .ports = {.first = FIRST, .last = LAST, .begin = 1},
        .datagram_max = 600,
    };

    weft_log_set_limit(WEFT_LOG_NONE);
    demand(weft_port_open_udp(&wishes, &port) == WEFT_OK, "no port");
    demand(port->ops->accept_peer(port, &port->address, &self) == WEFT_OK, "not its own");
    other = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    demand(other >= 0, "no socket");
}

static void read_address(struct input *in)
{
    struct weft_port_address address = {.length = (uint8_t)input_number(in, 1)};
    struct weft_port_peer peer = {.datagram_max = 7};
    const bool is_own = input_number(in, 1) % 2 == 0;

    if (is_own) { /* of which some bytes are wrong */
        address = port->address;
    }
    for (int i = 0; in->left > 0 && i < 2 * WEFT_PORT_ADDRESS_MAX; i++) {
        address.bytes[input_number(in, 1) % WEFT_PORT_ADDRESS_MAX] =
            (uint8_t)input_number(in, 1);
    }
    if (port->ops->accept_peer(port, &address, &peer) != WEFT_OK) {
        demand(peer.datagram_max == 7, "written to, and refused");
        return;
    }
    demand(peer.to.any.sa_family == AF_INET, "a peer of another family");
    demand(peer.to.four.sin_port != 0, "a peer without a port");
    demand(peer.datagram_max >= WEFT_PORT_LEAST &&
               peer.datagram_max <= port->datagram_max,
           "datagrams that do not fit");
}

static void read_datagram(struct input *in)
{
    const size_t length = input_number(in, 2) % (2 * port->datagram_max);
    uint8_t *bytes = input_block(in, length);
    const struct weft_port_counts before = port->counts;
    struct weft_datagram got[BATCH];
    int count = 0;

    demand(sendto(other, bytes, length, 0, &self.to.any, sizeof(self.to.four)) ==
               (ssize_t)length,
           "not sent");
    while (count == 0 && port->counts.rejected == before.rejected) {
        count = port->ops->receive(port, got, BATCH);
    }
    demand(count == (length > 0 && length <= port->datagram_max), "not one");
    if (count == 1) {
        demand(got[0].length == length && memcmp(got[0].bytes, bytes, length) == 0,
               "other bytes");
        demand(!port->ops->may_be_from(port, &got[0], &self), "taken for a peer's");
    }
    free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {data, size};

    if (port == NULL) {
        set_up();
    }
    if (input_number(&in, 1) % 2 == 0) {
        read_address(&in);
    } else {
        read_datagram(&in);
    }
    return 0;
}
