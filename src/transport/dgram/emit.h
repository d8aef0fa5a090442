/*
 * emit.h - datagrams as they leave: headers, tags, sums and trains.
 */
#ifndef WEFT_DGRAM_EMIT_H
#define WEFT_DGRAM_EMIT_H

#include "transport/dgram/core.h"

/* A datagram to be sent. */
struct weft_dgram_shot {
    uint64_t number;
    const struct weft_dgram_out *out; /* NULL: no packet */
    uint8_t part;
};

/*
 * Sends datagrams with numbers to a busy peer, at most WEFT_DGRAM_TRAIN_MAX, and returns
 * how many of the first the port has taken. They carry acknowledgement and grant, too.
 */
unsigned weft_dgram_emit(struct weft_dgram_core *core, struct weft_dgram_peer *peer,
                         const struct weft_dgram_shot *shots, unsigned count);

/* Sends an ACK or a PROBE to a busy peer. False: the port has not taken it. */
bool weft_dgram_emit_ack(struct weft_dgram_core *core, struct weft_dgram_peer *peer,
                         unsigned kind);

/* Does a packet fit behind a HELLO? */
bool weft_dgram_fits_hello(const struct weft_dgram_peer *peer,
                           const struct weft_dgram_out *out);

#endif
