#include "p2p/peer.h"

#include <stdlib.h>

void weft_p2p_peer_forget(struct weft_peer *peer)
{
    struct weft_p2p_peer *known = peer->p2p;

    if (known == NULL) {
        return;
    }
    while (known->offers != NULL) {
        struct weft_offer *next = known->offers->next;

        free(known->offers);
        known->offers = next;
    }
}

void weft_p2p_peer_close(struct weft_peer *peer)
{
    weft_p2p_peer_forget(peer);
    free(peer->p2p);
    peer->p2p = NULL;
}
