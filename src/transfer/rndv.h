/*
 * rndv.h - rendezvous: a long message is announced (RTS), and its receiver, on matching,
 * decides how its bytes come.
 *
 *   the peer is reached by a network                              rndv_net.h
 *   the memory of both can be reached, in one block or in long
 *   ones that are listed                                          rndv_node.h, both copy
 *   its data are packed, or to be packed, or ours are to be
 *   unpacked                                                      staged.h
 *   else                                                          rndv_node.h, in packets
 *
 * Needs the lock.
 */
#ifndef WEFT_TRANSFER_RNDV_H
#define WEFT_TRANSFER_RNDV_H

#include "transfer/transfer.h"

/* Announces the message of a send, whose header is set. WEFT_AGAIN: no room. */
WEFT_MUST_CHECK enum weft_rc weft_rndv_announce(struct weft_transfer *send);

/* NULL, or what is wrong with the announcement of a peer; `len` bytes at `data` came
 * behind the header. */
const char *weft_rndv_find_fault(const struct weft_peer *peer,
                                 const struct weft_header *header, const void *data,
                                 size_t len);

/* How many bytes of an announced message fit into `room`. */
uint64_t weft_rndv_length(const void *data, uint64_t room);

/* Begins a receive that has matched an announcement without a fault. */
void weft_rndv_begin(struct weft_transfer *recv, const struct weft_header *header,
                     const void *data, size_t len);

/* Packets that answer. Each returns NULL, or in a few words what is wrong with the
 * packet, and has then done nothing. An answer to a transfer that is over is ignored. */
const char *weft_rndv_on_pull(struct weft_peer *from,
                              const union weft_pkt_control *packet);
const char *weft_rndv_on_fetched(struct weft_peer *from,
                                 const union weft_pkt_control *packet);
const char *weft_rndv_on_data(struct weft_peer *from, const void *data, size_t len);

/* The same, of `len` bytes in pieces, the first of which has the packet's own fields;
 * false: nothing was done, because something is wrong with it or unusual. */
bool weft_rndv_on_pieces(struct weft_peer *from, const struct iovec *pieces, size_t count,
                         size_t len);

#endif
