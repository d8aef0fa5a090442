/*
 * sums.h - CRC32C of long messages from user buffer to user buffer, where WEFT_CHECKSUM
 * is set in the whole job. Packets have checksums of their own (engine/seal.h).
 *
 * A long message is summed in blocks, so that a mismatch says where: blocks are an eighth
 * of the message, but whole pages.
 *
 * What is protected: every byte of a message, from the sender's buffer to the receiver's,
 * whoever copies it. The sender's processor sums the buffer that was sent, the receiver's
 * the one that was received, after the last byte has come.
 *
 * When the sender sums: before the announcement, which carries the sums. But a sender
 * that stays in MPI until its message has been taken, and shares a copy with the
 * receiver, owes them: first the two copy, then both sum at the same time, and SUMS
 * (late_sums.h) carries what the sender has got. A message that takes an offer is not
 * announced: its sums always come in SUMS. The receive ends when the bytes are there, and
 * the sums.
 *
 * The lock is held, but for weft_sums_make; nothing here allocates.
 */
#ifndef WEFT_TRANSFER_SUMS_H
#define WEFT_TRANSFER_SUMS_H

#include "transfer/transfer.h"

/* A send that is to be announced, or takes an offer, sums its message, or will owe the
 * sums. */
void weft_sums_begin(struct weft_transfer *send, bool is_blocking);

/* Sums the message of a send; without the lock for one that is at work. */
void weft_sums_make(struct weft_transfer *send);

/* Is it a send that owes its sums? */
static inline bool weft_sums_are_owed(const struct weft_transfer *transfer)
{
    return weft_has_checksum() && transfer->is_send && transfer->owes_sums;
}

/* All bytes have come: sums them where they lie. False: the sums as sent are missing. */
bool weft_sums_are_there(struct weft_transfer *recv);

/* Compares what was received, if all of it fitted, with what was sent; logs a mismatch,
 * which is WEFT_ERR_CHECKSUM. */
WEFT_MUST_CHECK enum weft_rc weft_sums_check(const struct weft_transfer *recv);

#endif
