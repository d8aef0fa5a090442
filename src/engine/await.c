/*
 * await.c - those for whose steps this process waits.
 *
 * A schedule advances on small messages, for which nobody who computes is woken: most
 * come long before somebody waits for what follows from them. A process that waits inside
 * MPI for longer tells those for whom its schedules wait (wait.c). One that computes and
 * is told passes it on at once, because it may wait for others who compute
 * (progress_thread.c). So all of a chain make progress for as long as its end is waited
 * for.
 *
 * A process is told once, and again only after weft_engine_await_end(). Processes of
 * other nodes are not told: their network threads sleep on descriptors, for any packet.
 */
#include "engine/engine.h"

#include "engine/held.h"
#include "engine/hot.h"

void weft_engine_await(uint64_t process)
{
    struct weft_peer *peer = weft_peer_find(process);
    struct weft_node_area *area;

    weft_assert_locked();
    if (peer == NULL || (peer->rare != NULL && peer->rare->awaited != NULL) ||
        process == weft_engine.me) {
        return;
    }
    area = weft_node_find(&weft_engine.node, process);
    if (area != NULL) {
        weft_peer_rare(peer)->awaited = area;
        peer->rare->next_awaited = weft_engine.awaited;
        weft_engine.awaited = peer;
        weft_node_await(area);
    }
}

void weft_engine_await_steps(void)
{
    weft_assert_locked();
    if ((weft_engine.reasons & 1u << WEFT_REASON_STEPS) != 0 &&
        weft_engine.await != NULL) {
        weft_engine.await();
    }
}

void weft_engine_await_end(void)
{
    struct weft_peer *peer;

    weft_assert_locked();
    while (weft_unlikely((peer = weft_engine.awaited) != NULL)) {
        weft_engine.awaited = peer->rare->next_awaited;
        weft_node_await_end(peer->rare->awaited);
        peer->rare->awaited = NULL;
    }
}
