/*
 * flush.h - when what was put is in the peer's memory.
 *
 * By delivery: the provider completes a put when it is there, so what is under way counts
 * the puts that are not complete. By read: a byte is read from where was put last. The
 * read was posted after all puts to this peer, and is answered after them; what is under
 * way counts such reads, which begin when somebody wants to know. Where packets wait for
 * puts, that memory is still registered then, for no packet has told its owner that the
 * put is done; who calls flush() names other memory.
 */
#ifndef WEFT_OFI_RDM_FLUSH_H
#define WEFT_OFI_RDM_FLUSH_H

#include "transport/ofi/rdm/rdm.h"

/* A put of `len` bytes to the peer, at `where`, has begun. */
void weft_rdm_note_put(struct weft_transport *tp, struct weft_rdm_peer *peer,
                       const struct weft_key *where, size_t len);

/* Is all that was put there? */
static inline bool weft_rdm_is_flushed(const struct weft_rdm_peer *peer)
{
    return peer->under_way == 0 && !peer->is_unread;
}

/* Before a packet: sees to it that it will be known; true: it is all there. */
bool weft_rdm_try_flush(struct weft_transport *tp, struct weft_rdm_peer *peer);

/* The flush() of the table of memory. */
enum weft_rc weft_rdm_flush(struct weft_path *path, const struct weft_key *where,
                            struct weft_op *op);

/* Does the completion of a slot tell of puts? Then the step follows. */
bool weft_rdm_is_of_flush(const struct weft_transport *tp,
                          const struct weft_ofi_slot *slot);
void weft_rdm_flush_step(struct weft_rdm_peer *peer);

#endif
