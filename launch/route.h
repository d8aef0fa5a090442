/*
 * route.h - by which network ssh goes to a host.
 *
 * ssh goes where the name of a host leads. Where WEFT_NET names a network, and the name
 * has an address there, as far as this host can look it up, the launch takes that address
 * and starts from our own on that network, so that it needs no other network than the
 * job.
 */
#ifndef WEFT_LAUNCH_ROUTE_H
#define WEFT_LAUNCH_ROUTE_H

#include "wireup/net.h"

struct route {
    char from[WEFT_NET_TEXT]; /* our address */
    char to[WEFT_NET_TEXT];   /* the host's */
};

/* False if no network is named, or no address of the host's is known there. */
bool route_find(struct route *route, const char *host, const char *net);

#endif
