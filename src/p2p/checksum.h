/*
 * checksum.h - crc32c of messages from user buffer to user buffer, where WEFT_CHECKSUM is
 * set in the whole job.
 *
 * Every packet has a checksum in its header, which covers the header too: of an EAGER
 * packet, of the message, which the receiver sums where the user reads it; of others, of
 * what precedes pieces of a message. An announced message is summed in blocks, and the
 * sums follow the announcement, so that a mismatch says where: blocks are a sixteenth of
 * the message, but whole pages. The lock is held; nothing here allocates.
 */
#ifndef WEFT_P2P_CHECKSUM_H
#define WEFT_P2P_CHECKSUM_H

#include "p2p/p2p.h"

/* Sums the message of a send request that is to be announced. */
void weft_checksum_set(struct weft_p2p_request *send);

/* The checksum of a packet: `len` bytes that it covers, and the header, which is complete
 * but for the checksum. */
void weft_checksum_seal(struct weft_header *header, const void *bytes, size_t len);

/* Is it what the sender has sealed? */
bool weft_checksum_is_intact(const struct weft_header *header, const void *bytes,
                             size_t len);

/* Compares what was received, all of it, with what was sent; logs a mismatch. */
WEFT_MUST_CHECK enum weft_rc weft_checksum_check(const struct weft_p2p_request *recv,
                                                 const struct weft_header *header,
                                                 uint64_t length);

#endif
