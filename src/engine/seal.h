/*
 * seal.h - checksums of packets, where WEFT_CHECKSUM is set in the whole job.
 *
 * Every packet has a checksum in its header, which covers the header too. That of an
 * EAGER packet covers the message, which the receiver sums in the user's buffer; that of
 * other packets covers what precedes chunks of a message. Long messages are summed by
 * themselves (transfer/sums.h).
 *
 * No function needs the lock.
 */
#ifndef WEFT_ENGINE_SEAL_H
#define WEFT_ENGINE_SEAL_H

#include "engine/wire.h"

#include <stdbool.h>

/* The checksum of a packet whose covered bytes have this CRC32C, and whose header is
 * complete but for the checksum. */
uint32_t weft_seal_of(uint32_t crc, const struct weft_header *header);

/* Sets the checksum of a packet, which covers `len` bytes. */
void weft_seal_packet(struct weft_header *header, const void *bytes, size_t len);

/* Is the checksum of a packet right? */
bool weft_seal_is_intact(const struct weft_header *header, const void *bytes, size_t len);

/* Logs that the block at `at` of a message arrived with checksum `is` instead of `was`;
 * WEFT_ERR_CHECKSUM. */
enum weft_rc weft_seal_report(const struct weft_header *header, uint64_t length,
                              uint64_t at, uint64_t block, uint32_t is, uint32_t was);

#endif
