/*
 * pump.h - sends what is queued and granted.
 */
#ifndef WEFT_DGRAM_PUMP_H
#define WEFT_DGRAM_PUMP_H

#include "transport/dgram/core.h"

/* Sends datagrams of queued packets to a busy peer, as many as it may have. Control
 * packets come first. */
void weft_dgram_pump(struct weft_dgram_core *core, struct weft_dgram_peer *peer);

/* Asks a peer that grants nothing. False: the port does not take it now. */
bool weft_dgram_probe(struct weft_dgram_core *core, struct weft_dgram_peer *peer);

#endif
