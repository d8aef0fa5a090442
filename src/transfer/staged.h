/*
 * staged.h - long messages that are not contiguous on one side or both.
 *
 *   sender                                  receiver
 *   ANNOUNCE length, no address        -->  matched, now or later
 *   packs a chunk into a stage         <--  STAGE chunk, STAGE chunk
 *   STAGED where it is                 -->  copies it to its place
 *   packs the next into the other      <--  STAGE chunk
 *   ...                                     and so on, until all bytes are counted
 *   FETCHED                            <--
 *
 * The sender packs one stage while the receiver empties the other; the memory is two
 * stages, however long the message. The receiver asks for chunks in order and for a
 * third only when it has the first, so a stage is never written while it is read. A
 * message that is contiguous at the sender, or was packed into one stage, needs no
 * STAGE: it is one chunk, all of it. Stages of the transport are read where they are;
 * what lies in the sender's own memory is fetched, through a stage of the receiver if it
 * is not to be contiguous there. The receiver opens the sender's share, if there is one,
 * without chunks, so that nobody stores into a buffer that is not contiguous.
 *
 * Chunks are packed and copied outside the lock, by threads that wait in MPI. When one
 * cannot be fetched, the rest is asked for as DATA (rndv_node.h), once the sender has
 * answered what it was asked before: so it has nothing to pack when it hears of the end.
 */
#ifndef WEFT_TRANSFER_STAGED_H
#define WEFT_TRANSFER_STAGED_H

#include "transfer/protocol.h"

/*
 * What is packed, and then unpacked, at once of a message that is longer than a stage:
 * two packets for each cost little beside it, and two of them stay in the cache.
 */
enum { WEFT_STAGED_CHUNK = 64 * 1024 };

/*
 * A receive, whose share is open and has no chunks, has met an announcement of a message
 * that is not contiguous on one side or both. `source` is where it can be fetched from,
 * or 0: it is to be packed into stages.
 */
void weft_staged_begin(struct weft_transfer *recv, uint64_t source, uint64_t length);

/* STAGE and STAGED have come. NULL, or what is wrong with the packet. */
const char *weft_staged_on_stage(struct weft_peer *from,
                                 const union weft_pkt_control *packet);
const char *weft_staged_on_staged(struct weft_peer *from,
                                  const union weft_pkt_control *packet);

#endif
