/*
 * net.h - which of this host's addresses are for jobs.
 *
 * Everything that is up and has an address counts, fastest interface first, but for
 * loopback, link-local addresses, and what connects containers and virtual machines to
 * this host alone: bridges, and interfaces named as those of docker and its like.
 * WEFT_NET names an interface ("eth1"), several ("ib0,ib1"), or a network
 * ("10.78.0.0/16"), and is then the one rule. Without it mpiexec tells ranks which
 * networks at least two hosts of the job are in (WEFT_NETWORKS, launch/networks.c), and
 * the others are left out. Connections between hosts use ports of WEFT_PORTS, so that a
 * firewall has one range to let through.
 */
#ifndef WEFT_WIREUP_NET_H
#define WEFT_WIREUP_NET_H

#include "base/rc.h"

#include <stdbool.h>
#include <sys/socket.h>

enum {
    WEFT_NET_MOST = 16,
    WEFT_NET_TEXT = 64,
    WEFT_NET_NAME = 32,
    WEFT_NET_WORDS = 1024, /* of WEFT_NET */
};

struct weft_net_address {
    char interface[WEFT_NET_NAME];
    char text[WEFT_NET_TEXT]; /* the address, as numbers */
    int prefix;               /* bits that are the network's */
    int megabits;             /* of the interface, 0: unknown */
    const char *left_out;     /* why it is not used; NULL: it is */
};

/* Fills up to WEFT_NET_MOST addresses, those that are used first; returns how many. */
int weft_net_list(struct weft_net_address *list, const char *wanted);

/* Does one of the comma-separated words of WEFT_NET name this interface or hold this
 * address? */
bool weft_net_is_wanted(const char *interface, const char *address, const char *wanted);

/* Is an address in a network, both as text? */
bool weft_net_is_in(const char *address, const char *network, int prefix);

/* Writes the network of an address, as "10.78.0.0/16". */
void weft_net_network_of(const struct weft_net_address *address, char out[WEFT_NET_TEXT]);

/*
 * Keeps, of the first `count` addresses, those that are in one of the comma-separated
 * networks; all, if none is or `networks` is NULL. Returns how many.
 */
int weft_net_keep(struct weft_net_address *list, int count, const char *networks);

/* Makes a socket's address of a text; false if it is none. */
bool weft_net_address_of(const char *text, int port, struct sockaddr_storage *out,
                         socklen_t *length);

/* Reads "47000-47999"; false if it is no range of ports. */
bool weft_net_read_ports(const char *text, int *first, int *last);

/* How many addresses of a list are used: they are the first. */
int weft_net_count_used(const struct weft_net_address *list, int count);

struct weft_net_ports {
    int first;
    int last;
    int begin; /* which is tried first: processes of a host take different numbers */
};

/* Called with each socket before it listens. */
typedef void (*weft_net_prepare)(int fd, const void *argument);

/*
 * Listens at `count` addresses, and at no others, all at one port of the range. `fds`
 * gets the sockets, which are the caller's, close-on-exec and without blocking; `prepare`
 * may be NULL. Returns the port, or -1 and errno; then `fds` holds nothing.
 */
int weft_net_listen(const struct weft_net_address *list, int count,
                    const struct weft_net_ports *ports, weft_net_prepare prepare,
                    const void *argument, int *fds);

#endif
