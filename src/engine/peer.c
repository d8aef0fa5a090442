/*
 * peer.c - the processes that this one knows.
 */
#include "engine/engine.h"

#include "engine/hot.h"

#include <stdlib.h>

struct weft_engine weft_engine; /* here, at the bottom of the room */

struct weft_peer *weft_peer_make(uint32_t rank)
{
    return weft_ranks_add(&weft_engine.peers, rank, sizeof(struct weft_peer));
}

void weft_peer_forget_control(struct weft_peer *peer)
{
    while (peer->control != NULL) {
        struct weft_control *next = peer->control->next;

        free(peer->control);
        peer->control = next;
    }
}

void weft_peers_disconnect(void)
{
    struct weft_peer *peer;
    uint32_t at = 0;

    while ((peer = weft_ranks_next(&weft_engine.peers, &at)) != NULL) {
        if (peer->ep != NULL) {
            peer->ep->ops->disconnect(peer->ep);
            peer->ep = NULL;
            peer->fast = NULL;
        }
    }
}

void weft_peers_close(void)
{
    struct weft_peer *peer;
    uint32_t at = 0;

    while ((peer = weft_ranks_next(&weft_engine.peers, &at)) != NULL) {
        weft_peer_forget_control(peer);
        free(peer->why_lost);
    }
    weft_ranks_close(&weft_engine.peers);
}
