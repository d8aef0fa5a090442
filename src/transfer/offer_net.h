/*
 * offer_net.h - receiver-initiated rendezvous over a network: a posted receive tells its
 * sender where the message is to go, and by which key.
 *
 *   receiver                                      sender
 *   posted: registers its buffer, and
 *   KEY_OFFER key, context, tag, length      -->  kept with the peer
 *                                                 Send: puts, and behind it, by the same
 *   takes the receive, complete              <--  path, STORED request, length
 *
 * So an expected message takes a put and a packet. Over a network there is no word that
 * both see, in which one of them could claim the receive. So a sender uses an offer only
 * if matching will give that receive to this very message. That it does:
 *
 * Numbers. The ordered packets of a sender to a receiver but STORED are its ordinary
 * ones, and are counted from 0. An offer says in `seen` how many the receiver had taken
 * when it made the offer.
 *
 * The receiver (1) offers only to the one process that can send the message: source and
 * tag are named; (2) offers a receive only if each older one that could take its message
 * has been offered too (weft_match_may_offer), in the order of posting; (3) takes an
 * offered receive out in three ways only: for an ordinary packet, and says GONE; for the
 * STORED that names it; or when the sender has said RETURNED, which a STORED for a
 * younger one proves as well, because RETURNED may come by another way, later. KEY_OFFER
 * and GONE take one way, in order, and none is sent before an older one.
 *
 * The sender (4) keeps all offers of a peer until it uses one, GONE names it, or it says
 * RETURNED; (5) for a message takes the oldest offer with its context and tag; and (6)
 * uses it only if the offer is not in doubt. It is in doubt while an ordinary packet that
 * might take the receive may not have been taken itself: when the offer comes, each one
 * that the receiver had not seen; afterwards, each message with this context and tag. The
 * receiver's next KEY_OFFER or GONE says what it has seen meanwhile, and ends the doubt:
 * had the receive been taken, GONE would have come before. (7) STORED is ordered, and
 * nothing ordered goes out between the choice and it.
 *
 * Then the receive P that a STORED names is the first that matches when it is taken. Were
 * an older one, Q, posted that matches, it would have been offered before P (2). The
 * sender would have Q in its list, and not have chosen P (5); or have used Q, and that
 * STORED was taken before (7); or GONE or RETURNED have named it, and Q was not posted,
 * or is cancelled now (3). And P is posted: only messages of this sender with this
 * context and tag could have taken it (1), and an ordinary one among them that P's offer,
 * or a later word of the receiver, did not cover would have put P in doubt (6). The
 * receiver compares all the same: what does not agree ends the job.
 * (tests/models/offers.pml)
 *
 * While a process has offers of a peer, no message to it takes the fast path, because
 * each is to be noted (peer->is_noted). Otherwise small messages pay nothing.
 *
 * An offer costs a registration and a packet, and a second one, GONE, if it was in vain.
 * So a peer has at most WEFT_NET_OFFERS_EACH of them, all peers together
 * WEFT_NET_OFFERS_MOST; and after some that were in vain the next receives are not
 * offered.
 *
 * Needs the lock.
 */
#ifndef WEFT_TRANSFER_OFFER_NET_H
#define WEFT_TRANSFER_OFFER_NET_H

#include "transfer/protocol.h"

enum {
    WEFT_NET_OFFERS_EACH = 2,
    WEFT_NET_OFFERS_MOST = 256,
    WEFT_NET_OFFERS_PAUSE = 16, /* receives, after offers that were in vain */
};

/* ---- the receiver ---- */

/* Is a receive of so many bytes from this peer, which need not have been reached, worth
 * an offer? Counts those that are not because others were in vain. */
bool weft_offer_net_is_worth(const struct weft_peer *peer, uint64_t bytes);

/* Offers a receive, as weft_offer_make(). */
WEFT_MUST_CHECK bool weft_offer_net_make(struct weft_transfer *recv);

/* Another message has taken an offered receive, which is to be dropped next. */
void weft_offer_net_gone(const struct weft_transfer *recv);

/* Asks for an offer back; `returned` is called unless its message comes before. */
void weft_offer_net_recall(struct weft_transfer *recv);

/*
 * STORED has come. The first finds the receive that it names: NULL, or what is wrong with
 * the packet. The second ends it, when it has been matched.
 */
const char *weft_offer_net_find(const struct weft_peer *from, const void *data,
                                struct weft_transfer **out);
void weft_offer_net_stored(struct weft_transfer *recv, const struct weft_header *header,
                           const void *data);

/* ---- the sender ---- */

/* A thread is about to send such a message and to wait for it. If the peer has sent since
 * the last one, it may just be posting its receive: where offers came too late before,
 * looks at the network for a few microseconds, until there is one. Anything may come
 * meanwhile. */
void weft_offer_net_await(struct weft_peer *peer, const struct weft_header *header);

/* Puts the message of a send into the buffer that was offered for it; false: there is no
 * such offer, or it is in doubt, and the message is to be announced. */
bool weft_offer_net_use(struct weft_transfer *send);

/* An ordinary packet with a message has gone out: which offers are in doubt? */
void weft_offer_net_note(struct weft_peer *peer, const struct weft_header *header);

/* ---- packets: NULL, or what is wrong ---- */

const char *weft_offer_net_on_offer(struct weft_peer *from,
                                    const union weft_pkt_control *packet);
const char *weft_offer_net_on_gone(struct weft_peer *from,
                                   const union weft_pkt_control *packet);
const char *weft_offer_net_on_recall(struct weft_peer *from,
                                     const union weft_pkt_control *packet);
const char *weft_offer_net_on_returned(struct weft_peer *from,
                                       const union weft_pkt_control *packet);

#endif
