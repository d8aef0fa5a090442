/*
 * rndv_net.h - long messages over a network.
 *
 *   sender                                     receiver
 *   chooses a stream
 *   ANNOUNCE, and the first bytes         -->  matched: takes these bytes
 *   in the same packet                         not matched: throws them away, and
 *                                              matches later
 *                                              registers the rest of its buffer
 *   PULL_PUT offset, length, key          <--
 *   puts, then PLACED; or the last put    -->  all is in its place
 *   names the receive (put_tell)
 *   over when the puts are
 *
 * So the request for the rest travels while the first bytes do. Data that do not lie in
 * one block on one side are asked for by PULL and come as DATA, as inside a node where a
 * peer's memory is out of reach (rndv_node.h). A sender that is told nothing else learns
 * the end from FETCHED. A peer that has thrown bytes away gets announcements without any
 * for a while.
 *
 * Where the network's hardware reads a peer's memory by itself (WEFT_LONG), a message
 * that is long and in one block goes the other way round:
 *
 *   registers its buffer
 *   ANNOUNCE with a key to it             -->  matched: gets all of it; where it goes
 *                                              into several blocks, asks by PULL
 *   over, deregisters its buffer          <--  FETCHED
 *
 * All that goes from the sender to the receiver takes the stream that was chosen, and
 * that the announcement names; so PLACED cannot overtake the puts. What goes back takes
 * the first, as do short messages: other streams would make them wait for their turn.
 *
 * Messages of at most zcopy_max bytes go at once, in one packet, and need no answer: the
 * peer has granted the room.
 */
#ifndef WEFT_TRANSFER_RNDV_NET_H
#define WEFT_TRANSFER_RNDV_NET_H

#include "transfer/protocol.h"

/* Sends a whole message in one packet. WEFT_PENDING: the transfer ends when the network
 * has it. */
WEFT_MUST_CHECK enum weft_rc weft_rndv_net_send(struct weft_transfer *send);

/* Registers the message, and puts the key into the announcement, if the receiver is to
 * get it by itself. */
void weft_rndv_net_register(struct weft_transfer *send,
                            struct weft_pkt_announce *announce);

/* Sends an announcement, `head`, with the first bytes of the message if that pays. */
WEFT_MUST_CHECK enum weft_rc weft_rndv_net_announce(struct weft_transfer *send,
                                                    const void *head, size_t head_len);

/* The receiver asks for bytes from `offset` on: notes whether it has thrown away what
 * went along. */
void weft_rndv_net_note_pull(const struct weft_transfer *send, uint64_t offset);

/* The receiver has all bytes. True: the network may still read some of them, and the send
 * ends when it does not. */
bool weft_rndv_net_ends_later(struct weft_transfer *send);

/* Begins a receive that has matched an announcement, which brought `along_len` bytes of
 * the message along. */
void weft_rndv_net_begin(struct weft_transfer *recv, uint64_t length, const void *along,
                         size_t along_len);

/* Begins a receive that has matched an announcement with a key: gets the message. */
void weft_rndv_net_get(struct weft_transfer *recv, uint64_t length,
                       const struct weft_key *key);

/* ---- for offers (offer_net.h) ---- */

/* Registers the buffer of a receive, for puts; false: not now. And back. */
bool weft_rndv_net_register_receive(struct weft_transfer *recv, struct weft_key *key);
void weft_rndv_net_deregister(struct weft_transfer *transfer);

/* Puts what fits into `room` bytes of memory that the peer has offered, and sends STORED
 * behind it; if that finds no room, it goes before any other ordered packet. False:
 * nothing was put. */
bool weft_rndv_net_store(struct weft_transfer *send, const struct weft_key *key,
                         uint64_t room, const struct weft_pkt_stored *stored);

/* ---- packets ---- */

/* Handle packets PULL_PUT and PLACED. Return NULL, or what is wrong with the packet. */
const char *weft_rndv_net_on_pull_put(struct weft_peer *from,
                                      const union weft_pkt_control *packet);
const char *weft_rndv_net_on_placed(struct weft_peer *from,
                                    const union weft_pkt_control *packet);

/* The receive of this name has all its bytes: the sender has put them, and the network
 * says so in the place of PLACED. */
void weft_rndv_net_on_told(uint64_t name);

/* Frees the operations that are kept for reuse. */
void weft_rndv_net_close(void);

#endif
