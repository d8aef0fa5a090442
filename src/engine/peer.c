/*
 * peer.c - the processes that this one knows.
 */
#include "engine/engine.h"

#include "base/reserve.h"
#include "base/texts.h"
#include "engine/hot.h"

struct weft_engine weft_engine; /* here, at the bottom of the room */

struct weft_peer *weft_peer_make(uint64_t process)
{
    return weft_table_add(&weft_engine.peers, process, sizeof(struct weft_peer));
}

struct weft_peer_rare *weft_peer_rare(struct weft_peer *peer)
{
    if (peer->rare == NULL) {
        peer->rare = weft_reserve_take_zeroed(sizeof(*peer->rare));
    }
    if (peer->rare == NULL) {
        weft_wireup_abort(weft_engine.job, 1, WEFT_S_OOM_PEER);
    }
    return peer->rare;
}

struct weft_peer *weft_engine_meet(void *owner, uint64_t process)
{
    struct weft_peer *peer = weft_peer_get(process);

    (void)owner;
    if (peer == NULL) {
        weft_wireup_abort(weft_engine.job, 1, WEFT_S_OOM_PEER);
    }
    return peer;
}

static void disconnect(struct weft_path *path)
{
    if (path->packets->disconnect != NULL) {
        path->packets->disconnect(path);
    }
}

void weft_peers_disconnect(void)
{
    struct weft_peer *peer;
    uint32_t at = 0;

    weft_engine.promoted = NULL;
    while ((peer = weft_table_next(&weft_engine.peers, &at)) != NULL) {
        if (weft_peer_other(peer) != NULL) {
            disconnect(peer->rare->other);
            peer->rare->other = NULL;
        }
        peer->choice = WEFT_CHOICE_NONE;
        if (peer->path != NULL) {
            disconnect(peer->path);
            peer->path = NULL;
            peer->fast = NULL;
            peer->fast_below = 0;
        }
    }
}

void weft_peers_close(void)
{
    struct weft_peer *peer;
    uint32_t at = 0;

    while ((peer = weft_table_next(&weft_engine.peers, &at)) != NULL) {
        weft_reserve_give(peer->retries);
        if (peer->rare != NULL) {
            weft_reserve_give(peer->rare->why_lost);
            weft_reserve_give(peer->rare->no_connection);
            weft_reserve_give(peer->rare);
        }
    }
    weft_table_close(&weft_engine.peers);
}
