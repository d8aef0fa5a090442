/*
 * late_sums.h - sends and receives the checksums of a long message that come after its
 * announcement (sums.h). All functions need the lock.
 */
#ifndef WEFT_TRANSFER_LATE_SUMS_H
#define WEFT_TRANSFER_LATE_SUMS_H

#include "transfer/protocol.h"

/* Sends the checksums of `send`, which are due, to the request `receive` of its peer. */
void weft_sums_give(struct weft_transfer *send, uint64_t receive);

/* Handles a packet SUMS. Returns NULL, or what is wrong with it. */
const char *weft_sums_on_sums(struct weft_peer *from,
                              const union weft_pkt_control *packet);

#endif
