/*
 * late_sums.h - checksums of a long message that come after its announcement (sums.h).
 * Needs the lock.
 */
#ifndef WEFT_TRANSFER_LATE_SUMS_H
#define WEFT_TRANSFER_LATE_SUMS_H

#include "transfer/protocol.h"

/* Sends SUMS to this receive, and owes them no longer. */
void weft_sums_give(struct weft_transfer *send, uint64_t receive);

/* SUMS has come. NULL, or what is wrong with it. */
const char *weft_sums_on_sums(struct weft_peer *from,
                              const union weft_pkt_control *packet);

#endif
