/*
 * rndv_node.h - long messages inside a node. The two halves of a transfer are two small
 * state machines, which meet in a copy share (node/copy_share.h).
 *
 *   sender                                     receiver
 *   ANNOUNCE length, address, transfer,   -->  matched, now or later
 *            share                             can the sender's memory be reached?
 *                                         yes: opens the share, claims chunk after chunk
 *   sees it open: claims chunks too,           and fetches each
 *   if it is inside MPI, and stores them
 *                                          no: claims all and asks for the bytes
 *   PULL offset, length                   <--
 *   DATA chunk, DATA chunk, ...           -->  copies each to its place
 *   sees all counted                           sees all counted
 *
 * A sender without a share to give learns the end from FETCHED. Chunks are moved outside
 * the lock, by threads that wait in MPI. A chunk that cannot be moved is asked for, or
 * sent, as DATA: each transfer falls back by itself.
 */
#ifndef WEFT_TRANSFER_RNDV_NODE_H
#define WEFT_TRANSFER_RNDV_NODE_H

#include "transfer/protocol.h"

/* Sets this protocol for the transfer. */
void weft_rndv_node_use(struct weft_transfer *transfer);

/* Takes a share for the announcement of a send, if sender and receiver could both copy.
 * Returns what the announcement says of it. */
uint64_t weft_rndv_node_take_share(struct weft_transfer *send);

/* Opens the sender's share for a receive, or one that only we see. `chunk` is what is
 * claimed at once, in bytes; 0: nobody claims any. */
void weft_rndv_node_open_share(struct weft_transfer *recv,
                               const struct weft_pkt_announce *announce, uint64_t chunk);

/* With the lock. A short message of this process to itself is copied when it is matched,
 * as programs expect of other libraries: mpi4py's tests free the buffers of both sides
 * after one MPI_Test. What ends the transfer comes later, and touches no buffer. */
void weft_rndv_node_copy_now(const struct weft_transfer *recv, uint64_t length);

/* Asks for everything that the sender has not begun to store. */
void weft_rndv_node_pull_all(struct weft_transfer *recv);

#endif
