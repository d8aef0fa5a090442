/*
 * send.h - the packets of this room on their way out. Needs the lock.
 */
#ifndef WEFT_RMA_SEND_H
#define WEFT_RMA_SEND_H

#include "rma/win.h"

/* The most bytes behind the header of a packet to this peer. */
size_t weft_rma_packet_max(const struct weft_peer *peer);

/* Sends a packet now. WEFT_AGAIN: there is no room, or others wait for it. */
WEFT_MUST_CHECK enum weft_rc weft_rma_try(const struct weft_win *win,
                                          struct weft_peer *peer, enum weft_packet kind,
                                          const void *data, size_t len);

/* Sends a packet, or keeps a copy until there is room. The job ends if there is no
 * memory for it. A peer that has failed gets nothing. */
void weft_rma_send(const struct weft_win *win, struct weft_peer *peer,
                   enum weft_packet kind, const void *data, size_t len);

/* Sends a step of an epoch. */
void weft_rma_sync(const struct weft_win *win, struct weft_peer *peer,
                   enum weft_rma_sync what, uint32_t number);

#endif
