/* send.h - packets out, against the credits that the peer has granted. */
#ifndef WEFT_OFI_RDM_SEND_H
#define WEFT_OFI_RDM_SEND_H

#include "transport/ofi/rdm/rdm.h"

/* The transport's send() and send_zcopy(). */
enum weft_rc weft_rdm_send(struct weft_path *path, const void *header, const void *data,
                           size_t len, unsigned flags);
enum weft_rc weft_rdm_send_zcopy(struct weft_path *path, const void *header,
                                 const void *head, size_t head_len, const void *data,
                                 size_t len, struct weft_op *op);

/* May anything be sent to the peer? WEFT_AGAIN: not yet; it is asked for a pass. */
enum weft_rc weft_rdm_may_send(struct weft_transport *tp, struct weft_rdm_peer *peer);

/* Tells a peer that this process has ended its last use of MPI. False: not now. */
bool weft_rdm_send_leave(struct weft_transport *tp, struct weft_rdm_peer *peer);

/* Returns credits by a frame of its own, now or when there is room. */
void weft_rdm_return_credits(struct weft_transport *tp, struct weft_rdm_peer *peer);
/* Tries again for all peers whose credits could not be returned. */
void weft_rdm_return_all_credits(struct weft_transport *tp);

#endif
