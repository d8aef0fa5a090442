/*
 * report_datagrams.h - the part of mpiexec --report that tries datagrams (UDP).
 *
 * Each daemon binds a socket for each of the addresses that ranks may use, as WEFT_NET
 * chooses them, all at one port of WEFT_PORTS. It sends a short datagram and a long one,
 * three times each, to every address of every other host, and then tells the root what
 * else it has found. When all have told that, the root asks what has come: by then a
 * datagram is there, or is lost. Nobody answers one.
 */
#ifndef WEFT_LAUNCH_REPORT_DATAGRAMS_H
#define WEFT_LAUNCH_REPORT_DATAGRAMS_H

#include "wireup/net.h"

#include <stdint.h>

enum {
    DATAGRAM_SHORT = 1, /* bits of what has come from a host */
    DATAGRAM_LONG = 2,
    DATAGRAM_BOTH = DATAGRAM_SHORT | DATAGRAM_LONG,
    DATAGRAM_BYTES = 1452, /* of a long one: as many as fit a packet of Ethernet */
};

/* Binds the sockets, which stay open until the process ends, to these addresses. Returns
 * their port, or 0: no port of the range is free at all of them. */
int datagrams_open(const struct weft_net_address *list, int count,
                   const struct weft_net_ports *ports);

/* Sends to the daemon at this address and port, in the name of daemon `me`. */
void datagrams_send(int me, const char *address, int port);

/* Sets the bits of those that have come, by the daemon that has sent them. */
void datagrams_read(uint8_t *heard, int daemons);

/* What is said of two hosts, by the bits from the first and those from the second. */
const char *datagrams_say(uint8_t from_a, uint8_t from_b);

#endif
