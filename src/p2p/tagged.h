/*
 * tagged.h - messages that the network matches: the job's matcher where WEFT_TRANSPORT
 * says so, in place of match/ (transport/tagged.h).
 *
 * All messages between two processes go by it (WEFT_PLANE_P2P), those to ourselves and to
 * ranks of the same node too, so that a receive from any source has one place to look.
 * Those of other planes are packets, which match/ matches: the two never meet.
 *
 * An operation of the network has an object of its own, which may outlive its request: a
 * request whose peer has failed is complete, while the network has not returned the
 * operation yet.
 *
 * What cannot be posted yet waits: sends in their peer's backlog, receives and
 * acknowledgements in one queue each, in order. While something waits, the transport is
 * polled by the clock.
 *
 * A synchronous send posts a receive for its acknowledgement first; it is over when both
 * are. The receiver acknowledges when it has the message.
 *
 * All functions need the lock. Those below weft_tagged_open() are called only if
 * weft_p2p_is_tagged(), or for what was begun here.
 */
#ifndef WEFT_P2P_TAGGED_H
#define WEFT_P2P_TAGGED_H

#include "p2p/internal.h"

/* Asks the transports that are open whether one of them matches. WEFT_ERR_UNSUPPORTED:
 * one does, and a setting forbids it. */
WEFT_MUST_CHECK enum weft_rc weft_tagged_open(void);
/* When the transports are closed. */
void weft_tagged_close(void);

/* Does the network match messages of this plane? */
static inline bool weft_p2p_is_tagged(unsigned plane)
{
    return weft_unlikely(weft_p2p.network != NULL) && plane == WEFT_PLANE_P2P;
}

static inline bool weft_tagged_has(const struct weft_p2p_request *send)
{
    return weft_p2p_is_tagged(send->header.context & (WEFT_PLANES - 1));
}

/* ---- sends: of contiguous data ---- */

/* A message that is copied, or WEFT_AGAIN: it needs a request. */
WEFT_MUST_CHECK enum weft_rc weft_tagged_inject(struct weft_peer *peer,
                                                const struct weft_header *header,
                                                const void *buffer, size_t bytes);
/* The first takes what a send needs; WEFT_ERR_NOMEM: it cannot; WEFT_ERR_UNSUPPORTED: the
 * network has no messages of that length, which is said. The second begins it;
 * WEFT_AGAIN: it cannot yet. The third ends it, whatever the network does with it. */
WEFT_MUST_CHECK enum weft_rc weft_tagged_take_send(struct weft_p2p_request *send,
                                                   bool is_synchronous);
enum weft_rc weft_tagged_try_send(struct weft_p2p_request *send);
void weft_tagged_end_send(struct weft_p2p_request *send, enum weft_rc rc);

/* ---- receives ---- */

/* Posts a receive whose `posted` is filled in but for its state. */
WEFT_MUST_CHECK enum weft_rc weft_tagged_recv(struct weft_p2p_request *recv);
/* Asks for it back; true: no message will match it. Else its end will tell. */
bool weft_tagged_cancel(struct weft_p2p_request *recv);
/* The receive depends on the failed rank `dead`: it ends with its message, if that was
 * matched, or with an error. */
void weft_tagged_give_up(struct weft_p2p_request *recv, int dead);

/* ---- probes ---- */

/* Is there a message? Then *header describes it, *length is its length, and if `claim` is
 * not NULL, it is taken. */
bool weft_tagged_peek(const struct weft_comm *comm, int source, int tag,
                      struct weft_header *header, uint64_t *length,
                      struct weft_tagged **claim);
/* Is there one? */
bool weft_tagged_is_waiting(const struct weft_comm *comm, int source, int tag);
/* Receives it by a request that was filled in; the claim is gone then. */
WEFT_MUST_CHECK enum weft_rc weft_tagged_recv_claimed(struct weft_p2p_request *recv,
                                                      struct weft_tagged *claim);
/* Drops all messages of a context that nobody has received. */
void weft_tagged_drop(uint32_t context);

/* Somebody begins, or ends, to look for messages by each poll (`look`, probe.c). */
void weft_tagged_watch(void);
void weft_tagged_unwatch(void);
void weft_tagged_on_look(void (*look)(void));

#endif
