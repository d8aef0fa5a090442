/*
 * send.h - packets go in here.
 */
#ifndef WEFT_DGRAM_SEND_H
#define WEFT_DGRAM_SEND_H

#include "transport/dgram/core.h"

/*
 * Takes a copy of a packet, ordered or (WEFT_SEND_CONTROL) not, and sends it when it may.
 * WEFT_AGAIN: too much is under way. WEFT_ERR_PROC_FAILED: the peer is lost.
 * WEFT_ERR_ARGUMENT: header and data are longer than WEFT_DGRAM_PACKET_MAX.
 */
WEFT_MUST_CHECK enum weft_rc weft_dgram_send(struct weft_dgram_core *core,
                                             struct weft_dgram_peer *peer,
                                             const void *header, const void *data,
                                             size_t len, unsigned flags, uint64_t now);

/*
 * The slot of transport.h: an ordered packet of header, head and data. The data of one
 * with fewer than WEFT_DGRAM_ACK_EACH parts are copied, because its acknowledgement may
 * be put off, and so are those of all where payloads have a CRC: memory that the owner
 * has given up after a failure is never read but by the port. WEFT_PENDING, or a failure
 * as of weft_dgram_send().
 */
WEFT_MUST_CHECK enum weft_rc
weft_dgram_send_zcopy(struct weft_dgram_core *core, struct weft_dgram_peer *peer,
                      const void *header, const void *head, size_t head_len,
                      const void *data, size_t len, struct weft_op *op, uint64_t now);

/* Tells the peer that this process has ended its use of MPI. */
WEFT_MUST_CHECK enum weft_rc weft_dgram_send_leave(struct weft_dgram_core *core,
                                                   struct weft_dgram_peer *peer,
                                                   uint64_t now);

/* As the slot of transport.h. */
bool weft_dgram_may_be_queued(const struct weft_dgram_peer *peer,
                              bool (*is_it)(const void *header, const void *argument),
                              const void *argument);

/* The two slots of transport.h: what is known of all that was sent to the peer, and what
 * of it is not acknowledged, back. The peer's own packets are still taken. */
enum weft_delivery weft_dgram_delivery(const struct weft_dgram_peer *peer);
void weft_dgram_hand_back(struct weft_dgram_core *core, struct weft_dgram_peer *peer,
                          weft_take_back *take_back, void *argument, enum weft_rc rc);

#endif
