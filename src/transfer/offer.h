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
 * Such a message takes no part in the queues. That it does not overtake another is seen
 * to on both sides: a receive is offered only if no older one could take its message, or
 * they were offered to the same sender (weft_match_may_offer); and a sender uses an offer
 * only if nothing that it has queued to this peer and that may not have been taken yet
 * has the same context and tag. What was taken since has been matched, and if that took
 * the offered receive, the share cannot be claimed any more.
 *
 * A receiver that finds the queue full offers nothing, nor what comes after this receive
 * and may match the same. A sender never forgets an offer that holds, or it would take a
 * younger one for its message: of a share it keeps the last generation only, so that it
 * has at most one offer for each of the peer's shares.
 */
#ifndef WEFT_TRANSFER_OFFER_H
#define WEFT_TRANSFER_OFFER_H

#include "transfer/protocol.h"

/* Worth it for receives of at least so many bytes. */
enum { WEFT_OFFER_FROM = 32 * 1024 };

/*
 * Offers a receive that has a header with the context, source and tag of its message, and
 * that is_offered. False: it cannot be offered, and is to be dropped.
 */
WEFT_MUST_CHECK bool weft_offer_make(struct weft_transfer *recv);

/* Stores the message of a send where it is wanted; false: it is to be announced. */
bool weft_offer_use(struct weft_transfer *send, bool is_blocking);

/* OFFER has come. NULL, or what is wrong with it. */
const char *weft_offer_on_offer(struct weft_peer *peer,
                                const union weft_pkt_control *packet);

#endif
