#include "p2p/peer.h"

#include <stdlib.h>

struct weft_peer *weft_peer_get(struct weft_ranks *peers, uint32_t rank)
{
    struct weft_peer *peer = weft_ranks_find(peers, rank);

    return weft_likely(peer != NULL) ? peer : weft_ranks_add(peers, rank, sizeof(*peer));
}

void weft_peer_forget_queues(struct weft_peer *peer)
{
    while (peer->control != NULL) {
        struct weft_control *next = peer->control->next;

        free(peer->control);
        peer->control = next;
    }
    while (peer->pushes != NULL) {
        struct weft_push *next = peer->pushes->next;

        free(peer->pushes);
        peer->pushes = next;
    }
    while (peer->offers != NULL) {
        struct weft_offer *next = peer->offers->next;

        free(peer->offers);
        peer->offers = next;
    }
}

void weft_peers_close(struct weft_ranks *peers)
{
    struct weft_peer *peer;
    uint32_t at = 0;

    while ((peer = weft_ranks_next(peers, &at)) != NULL) {
        if (peer->ep != NULL) {
            peer->ep->ops->disconnect(peer->ep);
        }
        weft_peer_forget_queues(peer);
        free(peer->why_lost);
    }
    weft_ranks_close(peers);
}
