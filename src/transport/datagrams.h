/*
 * datagrams.h - what only a network of datagrams counts, beside struct weft_traffic.
 */
#ifndef WEFT_TRANSPORT_DATAGRAMS_H
#define WEFT_TRANSPORT_DATAGRAMS_H

#include "transport/transport.h"

struct weft_datagram_traffic {
    uint64_t peers;      /* that were spoken with */
    uint64_t sent;       /* datagrams, repeated ones included */
    uint64_t repeated;   /* of these: sent again */
    uint64_t duplicates; /* datagrams that came although they had come before */
    uint64_t dropped;    /* datagrams that found no room here: they come again */
};

/* Adds what a transport of weft_dgram_ops has counted. */
void weft_datagrams_count(const struct weft_transport *tp,
                          struct weft_datagram_traffic *traffic);

#endif
