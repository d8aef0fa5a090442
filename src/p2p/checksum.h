/*
 * checksum.h - crc32c of messages from user buffer to user buffer, where WEFT_CHECKSUM is
 * set in the whole job.
 *
 * Every packet has a checksum in its header, which covers the header too: of an EAGER
 * packet, of the message, which the receiver sums where the user reads it; of others, of
 * what precedes pieces of a message. An announced message is summed in blocks, so that a
 * mismatch says where: blocks are an eighth of the message, but whole pages.
 *
 * What is protected: every byte of a message, from the sender's buffer to the receiver's,
 * whoever copies it. The sender's processor sums the buffer that was sent, the receiver's
 * the one that was received, after the last byte has come.
 *
 * When the sender sums: before the announcement, which carries the sums. But a sender
 * that stays in MPI until its message has been taken, and shares a share with the
 * receiver, owes them: first the two copy, then both sum at the same time, and SUMS
 * carries what the sender has got. A message that takes an offer is not announced: its
 * sums always come in SUMS. The receive ends when the bytes are there, and the sums.
 *
 * The lock is held, but for weft_checksum_set; nothing here allocates.
 */
#ifndef WEFT_P2P_CHECKSUM_H
#define WEFT_P2P_CHECKSUM_H

#include "p2p/internal.h"

/* A send request that is to be announced, or takes an offer, sums its message, or will
 * owe the sums. */
void weft_checksum_begin(struct weft_p2p_request *send, bool is_blocking);

/* Sums the message of a send request; without the lock for one that is at work. */
void weft_checksum_set(struct weft_p2p_request *send);

/* Sends SUMS to this receive, and owes them no longer. */
void weft_checksum_give(struct weft_p2p_request *send, uint64_t receive);

/* SUMS has come. NULL, or what is wrong with it. */
const char *weft_checksum_on_sums(struct weft_peer *from,
                                  const struct weft_answer *answer);

/* All bytes have come: sums them where they lie. False: the sums as sent are missing. */
bool weft_checksum_is_ready(struct weft_p2p_request *recv);

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
