/* open.c - the beginning and the end of a core: see open.h. */
#include "transport/dgram/open.h"

#include "transport/dgram/peer.h"
#include "transport/dgram/send.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum weft_rc weft_dgram_open(struct weft_dgram_core *core,
                             const struct weft_dgram_config *config, uint64_t now)
{
    if (config->datagram < WEFT_DGRAM_LEAST || config->train == 0 ||
        config->address_length > WEFT_DGRAM_ADDRESS_MAX || config->room < 2 ||
        config->place_bytes % 4 != 0 || config->place_bytes > WEFT_DGRAM_PLACE_MAX) {
        return WEFT_ERR_ARGUMENT;
    }
    memset(core, 0, sizeof(*core));
    core->config = *config;
    if (core->config.train > WEFT_DGRAM_TRAIN_MAX) {
        core->config.train = WEFT_DGRAM_TRAIN_MAX;
    }
    memcpy(core->address, config->address, config->address_length);
    core->now = now;
    core->budget = config->room - (config->room + 3) / 4;
    core->send_pool.limit = config->send_pool;
    core->receive_pool.limit = config->receive_pool;
    weft_table_open(&core->peers);
    return WEFT_OK;
}

void weft_dgram_close(struct weft_dgram_core *core)
{
    struct weft_dgram_peer *peer;
    uint32_t at = 0;

    while ((peer = weft_table_next(&core->peers, &at)) != NULL) {
        weft_dgram_peer_empty(core, peer, WEFT_ERR_PROC_FAILED);
        free(peer->busy);
    }
    weft_dgram_tell_over(core);
    assert(core->send_pool.used == 0 && core->receive_pool.used == 0);
    while (core->free_busy != NULL) {
        struct weft_dgram_busy *busy = core->free_busy;

        core->free_busy = (struct weft_dgram_busy *)(void *)busy->next_due;
        free(busy);
    }
    while (core->free_flights != NULL) {
        struct weft_dgram_flight *flight = core->free_flights;

        core->free_flights = flight->next;
        free(flight);
    }
    free(core->spare);
    free(core->timers);
    weft_table_close(&core->peers);
}

struct weft_dgram_peer *weft_dgram_find(const struct weft_dgram_core *core,
                                        uint64_t process)
{
    struct weft_dgram_peer *peer = weft_table_find(&core->peers, process);

    return peer != NULL && weft_dgram_is_met(peer) ? peer : NULL;
}

struct weft_dgram_peer *weft_dgram_connect(struct weft_dgram_core *core,
                                           const struct weft_dgram_end *end,
                                           uint32_t datagram, const void *place,
                                           struct weft_peer *above)
{
    struct weft_dgram_peer *peer = weft_dgram_find(core, end->process);

    if (peer == NULL) {
        assert(datagram >= WEFT_DGRAM_LEAST);
        peer = weft_dgram_peer_make(core, end, datagram);
        if (peer != NULL) {
            memcpy(peer->place, place, core->config.place_bytes);
            peer->path.peer = above;
        }
    }
    return peer;
}

bool weft_dgram_leave(struct weft_dgram_core *core, uint64_t now)
{
    struct weft_dgram_peer *peer;
    bool is_all = true;
    uint32_t at = 0;

    while ((peer = weft_table_next(&core->peers, &at)) != NULL) {
        /* One that has left waits for nothing, and will not answer. */
        if (peer->is_heard && !peer->is_lost && !peer->is_closed && !peer->is_leaving &&
            !peer->has_left) {
            peer->is_leaving = weft_dgram_send_leave(core, peer, now) == WEFT_OK;
            is_all = is_all && peer->is_leaving;
        }
    }
    return is_all;
}

static bool is_peer_settled(const struct weft_dgram_peer *peer)
{
    const struct weft_dgram_busy *busy = peer->busy;

    return busy == NULL || peer->is_lost ||
           (busy->oldest == NULL && busy->waiting == 0 && busy->ack_at == 0);
}

bool weft_dgram_is_settled(const struct weft_dgram_core *core)
{
    const struct weft_dgram_peer *peer;
    uint32_t at = 0;

    while ((peer = weft_table_next(&core->peers, &at)) != NULL) {
        if (!is_peer_settled(peer)) {
            return false;
        }
    }
    return true;
}

/* Who has left, too, needs at the most that its own LEAVE is acknowledged, and may be
 * gone: then nothing is ever answered. */
static bool may_leave_peer(const struct weft_dgram_peer *peer, uint64_t lingered)
{
    return is_peer_settled(peer) ||
           (peer->has_left && (peer->busy->timeouts >= WEFT_DGRAM_REPEATS_LEFT ||
                               lingered >= WEFT_DGRAM_LINGER));
}

bool weft_dgram_may_go(const struct weft_dgram_core *core, uint64_t lingered,
                       bool is_sure)
{
    const struct weft_dgram_peer *peer;
    uint32_t at = 0;

    if (lingered >= (is_sure ? WEFT_DGRAM_LINGER_MOST : WEFT_DGRAM_LINGER)) {
        return true;
    }
    while ((peer = weft_table_next(&core->peers, &at)) != NULL) {
        if (!may_leave_peer(peer, lingered)) {
            return false;
        }
    }
    return true;
}
