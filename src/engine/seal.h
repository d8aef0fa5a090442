/*
 * seal.h - checksums of packets, where WEFT_CHECKSUM is set in the whole job.
 *
 * Every packet has a checksum in its header, which covers the header too: of an EAGER
 * packet, of the message, which the receiver sums where the user reads it; of others, of
 * what precedes pieces of a message. Long messages are summed by themselves
 * (transfer/sums.h).
 *
 * Stands on base/ and the wire's structs; needs no lock.
 */
#ifndef WEFT_ENGINE_SEAL_H
#define WEFT_ENGINE_SEAL_H

#include "engine/wire.h"

#include <stdbool.h>

/* The checksum of a packet whose covered bytes have this CRC32C, and whose header is
 * complete but for the checksum. */
uint32_t weft_seal_of(uint32_t crc, const struct weft_header *header);

/* Sets it, for `len` bytes that it covers. */
void weft_seal_packet(struct weft_header *header, const void *bytes, size_t len);

/* Is it what the sender has sealed? */
bool weft_seal_is_intact(const struct weft_header *header, const void *bytes, size_t len);

/* Logs that the block at `at` of a message arrived with checksum `is` instead of `was`;
 * WEFT_ERR_CHECKSUM. */
enum weft_rc weft_seal_report(const struct weft_header *header, uint64_t length,
                              uint64_t at, uint64_t block, uint32_t is, uint32_t was);

#endif
