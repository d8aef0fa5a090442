/*
 * post.h - frames out. Small ones are injected where the provider can; others are copied
 * into a slot, which is free again when the provider says so.
 */
#ifndef WEFT_OFI_RDM_POST_H
#define WEFT_OFI_RDM_POST_H

#include "transport/ofi/rdm/rdm.h"

/* Sends a frame and `len` bytes behind it; both are copied. The peer has an address. */
enum weft_rc weft_rdm_post(struct weft_transport *tp, struct weft_rdm_peer *peer,
                           const struct weft_rdm_frame *frame, const void *data,
                           size_t len);
/* What a post to libfabric that returned `code` means: WEFT_OK, WEFT_AGAIN, or the peer
 * is lost. */
enum weft_rc weft_rdm_outcome(struct weft_transport *tp, struct weft_rdm_peer *peer,
                              ssize_t code);
/* A slot for an operation on the user's memory, which is registered for `access`. NULL:
 * not now. If there is no hope, the peer is lost. */
struct weft_ofi_slot *weft_rdm_borrow(struct weft_transport *tp,
                                      struct weft_rdm_peer *peer, const void *data,
                                      size_t len, uint64_t access, struct weft_op *op);

#endif
