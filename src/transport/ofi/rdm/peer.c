#include "transport/ofi/rdm/peer.h"

#include <stdio.h>

struct weft_rdm_peer *weft_rdm_peer_get(struct weft_transport *tp, uint64_t process,
                                        struct weft_peer *above)
{
    struct weft_rdm_peer *peer = weft_table_find(&tp->peers, process);

    if (peer != NULL) {
        return peer;
    }
    peer = weft_ofi_index_grow(&tp->index)
               ? weft_table_add(&tp->peers, process, sizeof(*peer))
               : NULL;
    if (peer != NULL) {
        peer->index = weft_ofi_index_add(&tp->index, peer);
        peer->above = above != NULL ? above : tp->up->meet(tp->up->owner, process);
        peer->base = (struct weft_path){
            .packets = tp->packets,
            .memory = tp->memory,
            .transport = tp,
            .peer = peer->above,
            .process = process,
            .packet_max = tp->packet_max,
            .zcopy_max = tp->zcopy_max,
            .prefers_get = tp->prefers_get,
        };
    }
    return peer;
}

void weft_rdm_name_peer(const struct weft_rdm_peer *peer, char *text, size_t room)
{
    snprintf(text, room, "rank %u%s%s", weft_process_rank(peer->process),
             peer->host[0] != '\0' ? " on " : "", peer->host);
}

void weft_rdm_peers_close(struct weft_transport *tp)
{
    for (uint32_t i = 0; i < tp->index.count; i++) {
        struct weft_rdm_peer *peer = tp->index.at[i];

        weft_kept_empty(&peer->ordered);
        weft_kept_empty(&peer->control);
    }
    weft_ofi_index_close(&tp->index);
    weft_table_close(&tp->peers);
}
