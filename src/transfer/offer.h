/*
 * offer.h - receiver-initiated rendezvous: a posted receive tells its sender where the
 * message is to go.
 *
 *   receiver                                    sender
 *   Irecv, 32 KiB or more: posted, and
 *   OFFER share, context, tag, length      -->  kept with the peer
 *   computes                                    Send: claims the share, opens it, stores
 *   Wait: sees all counted                      sees all counted
 *
 * Such a message does not go through the queues. Two rules keep the order of messages. A
 * receive is offered only if no older receive could take its message, or if such older
 * ones were offered to the same sender (weft_match_may_offer). A sender uses an offer
 * only if it has sent this peer nothing with the same context and tag that the peer may
 * not have taken yet. What the peer has taken was matched; if that took the offered
 * receive, the share cannot be claimed any more.
 *
 * A receiver that finds the queue full does not offer this receive, nor later ones that
 * could match the same message. A sender never drops a valid offer, because it would then
 * use a younger one for its message. It keeps only the last generation of each share, so
 * it has at most one offer for each of the peer's shares.
 */
#ifndef WEFT_TRANSFER_OFFER_H
#define WEFT_TRANSFER_OFFER_H

#include "transfer/protocol.h"

/* Receives of fewer bytes are not offered. */
enum { WEFT_OFFER_FROM = 32 * 1024 };

/*
 * Offers a receive that has a header with the context, source and tag of its message, and
 * that is_offered. False: it cannot be offered, and is to be dropped.
 */
WEFT_MUST_CHECK bool weft_offer_make(struct weft_transfer *recv);

/* Stores the message of a send into the buffer that was offered for it; false: there is
 * no such offer, and the message is to be announced. */
bool weft_offer_use(struct weft_transfer *send, bool is_blocking);

/* Handles a packet OFFER. Returns NULL, or what is wrong with it. */
const char *weft_offer_on_offer(struct weft_peer *peer,
                                const union weft_pkt_control *packet);

#endif
