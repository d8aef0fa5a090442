/*
 * ask.c - peers that are waited for are asked whether they are there.
 *
 * A process that only waits for a peer sends it nothing. A network without connections
 * does not notice then that no way leads there any more: the peer may have given us up,
 * and what it sent before. So those for whom receives or transfers wait get a packet now
 * and then that says nothing. The network repeats it as any other, and tells that the
 * peer is lost if no acknowledgement comes.
 *
 * A process may wait for a thousand peers, as all others may: so a call asks few, and the
 * next one goes on. The peers may move in their table meanwhile: then one is asked once
 * more, or in the next round.
 *
 * Peers of a node share memory, or have a launcher that sees them end. Networks with
 * connections notice by themselves: they have no delivery().
 */
#include "engine/engine.h"

#include "engine/held.h"
#include "engine/hot.h"

/* Is nothing on its way there that is to be answered anyway? Who has left does not answer
 * until it opens MPI again. */
static bool is_quiet(const struct weft_peer *peer)
{
    const struct weft_path *path = peer->path;

    return path->packets->delivery != NULL && !path->packets->has_left(path) &&
           path->packets->delivery(path) == WEFT_ARRIVED;
}

/* Somebody who was never sent to has to be reached first, if that is another node's. */
static bool has_way(struct weft_peer *peer)
{
    uint32_t local;

    return peer->path != NULL ||
           (!weft_node_has(&weft_engine.node, peer->process, &local) &&
            weft_engine_reach(peer) == WEFT_OK);
}

void weft_engine_ask(void *owner)
{
    struct weft_engine *e = owner;
    struct weft_peer *peer = NULL;
    int asked = 0;

    weft_assert_locked();
    if (++e->seconds % WEFT_ASK_EACH != 0 && e->asked_to == 0) {
        return;
    }
    while (asked < WEFT_ASK_MOST &&
           (peer = weft_table_next(&e->peers, &e->asked_to)) != NULL) {
        if (peer->wanted > 0 && !peer->is_self && !peer->is_failed && has_way(peer) &&
            is_quiet(peer)) {
            (void)weft_engine_try_control(peer, WEFT_PKT_ASK, NULL,
                                          0); /* or the next time */
            asked++;
        }
    }
    if (peer == NULL) {
        e->asked_to = 0;
    }
}
