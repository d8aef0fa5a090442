/*
 * receive.h - a datagram comes in: whatever bytes these are, from whomever.
 */
#ifndef WEFT_DGRAM_RECEIVE_H
#define WEFT_DGRAM_RECEIVE_H

#include "transport/dgram/core.h"

/* Takes a datagram, between weft_dgram_begin() and weft_dgram_end(). `source` is what
 * `is_from` of the config understands. The bytes need no alignment, and are the caller's
 * again when this returns. */
void weft_dgram_receive(struct weft_dgram_core *core, const void *bytes, size_t length,
                        const void *source);

#endif
