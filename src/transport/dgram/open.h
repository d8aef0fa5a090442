/*
 * open.h - the beginning and the end of a core.
 */
#ifndef WEFT_DGRAM_OPEN_H
#define WEFT_DGRAM_OPEN_H

#include "transport/dgram/core.h"

/* Fills in a core, which is the caller's. What the config points to, but the address, has
 * to live as long. WEFT_ERR_ARGUMENT: sizes that make no sense. */
WEFT_MUST_CHECK enum weft_rc weft_dgram_open(struct weft_dgram_core *core,
                                             const struct weft_dgram_config *config,
                                             uint64_t now);

/* Frees all peers and packets. */
void weft_dgram_close(struct weft_dgram_core *core);

/*
 * The peer of a process, which is met now if it was not, from what it has published:
 * `end` with its nonce, its longest datagram, and `place`, of `place_bytes`. It sends
 * nothing. NULL: no memory.
 */
struct weft_dgram_peer *weft_dgram_connect(struct weft_dgram_core *core,
                                           const struct weft_dgram_end *end,
                                           uint32_t datagram, const void *place,
                                           struct weft_peer *above);

/* The peer of a process, or NULL: it was not met, neither connected nor heard. */
struct weft_dgram_peer *weft_dgram_find(const struct weft_dgram_core *core,
                                        uint64_t process);

/* Tells all peers that were heard that this process has ended its use of MPI. False: not
 * all could be told; call again. */
WEFT_MUST_CHECK bool weft_dgram_leave(struct weft_dgram_core *core, uint64_t now);

/* Is nothing on its way, and nothing to be acknowledged? */
bool weft_dgram_is_settled(const struct weft_dgram_core *core);

/* May a process that has left, and has lingered for so many nanoseconds, be gone?
 * `is_sure`: all its peers live. */
bool weft_dgram_may_go(const struct weft_dgram_core *core, uint64_t lingered,
                       bool is_sure);

#endif
