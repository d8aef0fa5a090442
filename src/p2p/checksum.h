/*
 * checksum.h - crc32c of messages from user buffer to user buffer, where WEFT_CHECKSUM is
 * set in the whole job.
 *
 * A message in one packet has its sum in the packet's header. One that is announced is
 * summed in blocks, and the sums follow the announcement, so that a mismatch says where:
 * blocks are a sixteenth of the message, but whole pages. The lock is held; nothing here
 * allocates.
 */
#ifndef WEFT_P2P_CHECKSUM_H
#define WEFT_P2P_CHECKSUM_H

#include "p2p/p2p.h"

/* Sums the message of a send request that has its header and its data. */
void weft_checksum_set(struct weft_p2p_request *send);

/* Compares what was received, all of it, with what was sent; logs a mismatch. */
WEFT_MUST_CHECK enum weft_rc weft_checksum_check(const struct weft_p2p_request *recv,
                                                 const struct weft_header *header,
                                                 uint64_t length);

#endif
