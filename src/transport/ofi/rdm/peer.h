/* peer.h - peers: made when they are first named, freed when the transport is closed. */
#ifndef WEFT_OFI_RDM_PEER_H
#define WEFT_OFI_RDM_PEER_H

#include "transport/ofi/rdm/rdm.h"

/* The peer of a process, made if it is new; NULL: no memory. `above`: what upcalls call
 * it, if that is known. */
struct weft_rdm_peer *weft_rdm_peer_get(struct weft_transport *tp, uint64_t process,
                                        struct weft_peer *above);

/* The peer of an index; NULL: there is none. */
static inline struct weft_rdm_peer *weft_rdm_peer_at(const struct weft_transport *tp,
                                                     uint32_t index)
{
    return weft_likely(index < tp->index.count) ? tp->index.at[index] : NULL;
}

/* "rank 3 on node7", as far as it is known. */
enum { WEFT_RDM_NAME_BYTES = 96 };
void weft_rdm_name_peer(const struct weft_rdm_peer *peer, char *text, size_t room);

/* Frees what all peers keep, and the peers. */
void weft_rdm_peers_close(struct weft_transport *tp);

#endif
