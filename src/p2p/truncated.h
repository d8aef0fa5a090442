/*
 * truncated.h - details for the error text of a message that is longer than its buffer.
 *
 * The last such message is remembered until its error is described. All calls need the
 * library's lock.
 */
#ifndef WEFT_P2P_TRUNCATED_H
#define WEFT_P2P_TRUNCATED_H

#include "core/comm.h"
#include "engine/wire.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A message of `length` bytes has met a receive with room for `capacity`; or, in a
 * collective, a shorter message has met one that expects so much. */
WEFT_COLD void weft_truncated_note(const struct weft_header *header, uint64_t length,
                                   uint64_t capacity);

/* Writes sender, tag and both sizes of the last one on this communicator and forgets it;
 * false if there is none. */
bool weft_truncated_describe(const struct weft_comm *comm, char *text, size_t size);

#endif
