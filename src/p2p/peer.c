#include "p2p/peer.h"

#include <stdlib.h>

static void put(struct weft_peers *peers, struct weft_peer *peer)
{
    uint32_t i = peer->rank & peers->mask;

    while (peers->slots[i] != NULL) {
        i = (i + 1) & peers->mask;
    }
    peers->slots[i] = peer;
}

/* At most half of the slots are used, so that a search is short. */
static bool grow(struct weft_peers *peers)
{
    struct weft_peers old = *peers;
    uint32_t slots = old.mask == 0 ? 8 : 2 * (old.mask + 1);

    peers->slots = calloc(slots, sizeof(struct weft_peer *));
    if (peers->slots == NULL) {
        *peers = old;
        return false;
    }
    peers->mask = slots - 1;
    for (uint32_t i = 0; old.mask != 0 && i <= old.mask; i++) {
        if (old.slots[i] != NULL) {
            put(peers, old.slots[i]);
        }
    }
    free(old.slots);
    return true;
}

struct weft_peer *weft_peer_get(struct weft_peers *peers, uint32_t rank)
{
    struct weft_peer *peer = weft_peer_find(peers, rank);

    if (weft_likely(peer != NULL)) {
        return peer;
    }
    if (2 * (peers->count + 1) > peers->mask + 1 && !grow(peers)) {
        return NULL;
    }
    peer = calloc(1, sizeof(*peer));
    if (peer == NULL) {
        return NULL;
    }
    peer->rank = rank;
    put(peers, peer);
    peers->count++;
    return peer;
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

void weft_peers_close(struct weft_peers *peers)
{
    for (uint32_t i = 0; peers->mask != 0 && i <= peers->mask; i++) {
        struct weft_peer *peer = peers->slots[i];

        if (peer != NULL) {
            if (peer->ep != NULL) {
                peer->ep->ops->disconnect(peer->ep);
            }
            weft_peer_forget_queues(peer);
            free(peer);
        }
    }
    free(peers->slots);
    *peers = (struct weft_peers){.slots = NULL};
}
