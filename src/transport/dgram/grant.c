/* grant.c - a budget for all peers: see grant.h. */
#include "transport/dgram/grant.h"

#include <assert.h>

static void leave_holders(struct weft_dgram_core *core, struct weft_dgram_peer *peer)
{
    if (peer->older != NULL) {
        peer->older->newer = peer->newer;
    } else {
        core->oldest_holder = peer->newer;
    }
    if (peer->newer != NULL) {
        peer->newer->older = peer->older;
    } else {
        core->newest_holder = peer->older;
    }
    peer->older = peer->newer = NULL;
    core->holders--;
}

static void join_holders(struct weft_dgram_core *core, struct weft_dgram_peer *peer)
{
    peer->older = core->newest_holder;
    peer->newer = NULL;
    if (core->newest_holder != NULL) {
        core->newest_holder->newer = peer;
    } else {
        core->oldest_holder = peer;
    }
    core->newest_holder = peer;
    core->holders++;
}

/* Counts what the peer may send now. */
static void count(struct weft_dgram_core *core, struct weft_dgram_peer *peer)
{
    const uint64_t may = peer->told > peer->expected ? peer->told - peer->expected : 0;

    assert(may <= WEFT_DGRAM_WINDOW && core->outstanding >= peer->counted);
    if (peer->counted > 0 && may == 0) {
        leave_holders(core, peer);
    } else if (peer->counted == 0 && may > 0) {
        join_holders(core, peer);
    }
    core->outstanding += (uint32_t)may - peer->counted;
    peer->counted = (uint16_t)may;
}

void weft_dgram_grant_heard(struct weft_dgram_core *core, struct weft_dgram_peer *peer)
{
    count(core, peer);
    if (peer->counted > 0 && core->newest_holder != peer) {
        leave_holders(core, peer);
        join_holders(core, peer);
    }
}

/* Takes grants back from peers that were not heard for long, until `wanted` are free. */
static void take_back(struct weft_dgram_core *core,
                      const struct weft_dgram_peer *for_whom, uint32_t wanted)
{
    struct weft_dgram_peer *peer = core->oldest_holder;

    while (peer != NULL && peer != for_whom &&
           core->outstanding + wanted > core->budget &&
           core->now - peer->heard_at > WEFT_DGRAM_LEASE) {
        struct weft_dgram_peer *newer = peer->newer;

        peer->told = peer->expected;
        count(core, peer);
        peer = newer;
    }
}

static uint32_t share_of(const struct weft_dgram_core *core,
                         const struct weft_dgram_peer *peer)
{
    const uint32_t others = core->holders + core->waiters - (peer->counted > 0 ? 1 : 0) -
                            (peer->is_waiting ? 1 : 0);
    uint32_t share = core->budget / (others + 1);

    if (peer->backlog == 0 && share > WEFT_DGRAM_QUIET_SHARE) {
        share = WEFT_DGRAM_QUIET_SHARE;
    }
    return share < 1 ? 1 : share > WEFT_DGRAM_WINDOW ? WEFT_DGRAM_WINDOW : share;
}

static void wait_for_budget(struct weft_dgram_core *core, struct weft_dgram_peer *peer)
{
    if (peer->is_waiting) {
        return;
    }
    peer->is_waiting = true;
    peer->next_waiter = NULL;
    if (core->last_waiter != NULL) {
        core->last_waiter->next_waiter = peer;
    } else {
        core->first_waiter = peer;
    }
    core->last_waiter = peer;
    core->waiters++;
}

/* What the peer should be able to send. */
static uint32_t wanted_by(const struct weft_dgram_core *core,
                          const struct weft_dgram_peer *peer)
{
    const struct weft_dgram_busy *busy = peer->busy;
    const uint32_t share = share_of(core, peer);

    if (busy->held <= (busy->is_kept ? WEFT_DGRAM_HELD_MAX : WEFT_DGRAM_QUEUE_MAX) &&
        core->receive_pool.used <= core->receive_pool.limit / 2) {
        return share;
    }
    return busy->missing < share ? busy->missing : share;
}

void weft_dgram_grant(struct weft_dgram_core *core, struct weft_dgram_peer *peer)
{
    const uint32_t wanted = wanted_by(core, peer);
    uint64_t least = peer->expected;

    if (wanted > peer->counted) {
        uint32_t more = wanted - peer->counted;

        take_back(core, peer, more);
        if (core->outstanding + more > core->budget) {
            more =
                core->outstanding < core->budget ? core->budget - core->outstanding : 0;
        }
        if (more == 0 && (peer->backlog > 0 || peer->busy->missing > 0)) {
            wait_for_budget(core, peer);
        }
        if (more > 0) {
            peer->told = peer->expected + peer->counted + more;
        }
    }
    if (wanted == 0 && peer->busy->held > 0 && least > 0) {
        least--; /* not even one more that is ordered */
    }
    if (peer->told < least) {
        peer->told = least;
    }
    count(core, peer);
}

bool weft_dgram_grant_is_news(const struct weft_dgram_core *core,
                              const struct weft_dgram_peer *peer)
{
    const uint64_t news =
        peer->told > peer->busy->told_sent ? peer->told - peer->busy->told_sent : 0;

    return peer->backlog > 0 && news > 0 && 4 * news >= share_of(core, peer);
}

static void stop_waiting(struct weft_dgram_core *core)
{
    struct weft_dgram_peer *peer = core->first_waiter;

    core->first_waiter = peer->next_waiter;
    if (core->first_waiter == NULL) {
        core->last_waiter = NULL;
    }
    peer->is_waiting = false;
    peer->next_waiter = NULL;
    core->waiters--;
}

struct weft_dgram_peer *weft_dgram_grant_next(struct weft_dgram_core *core)
{
    struct weft_dgram_peer *peer = core->first_waiter;

    if (peer == NULL) {
        return NULL;
    }
    take_back(core, NULL, 1);
    if (core->outstanding >= core->budget) {
        return NULL;
    }
    stop_waiting(core);
    return peer;
}

void weft_dgram_grant_end(struct weft_dgram_core *core, struct weft_dgram_peer *peer)
{
    struct weft_dgram_peer *before = NULL;

    peer->told = peer->expected;
    count(core, peer);
    if (!peer->is_waiting) {
        return;
    }
    for (struct weft_dgram_peer *at = core->first_waiter; at != peer;
         at = at->next_waiter) {
        before = at;
    }
    if (before == NULL) {
        stop_waiting(core);
        return;
    }
    before->next_waiter = peer->next_waiter;
    if (core->last_waiter == peer) {
        core->last_waiter = before;
    }
    peer->is_waiting = false;
    peer->next_waiter = NULL;
    core->waiters--;
}

uint8_t weft_dgram_room(const struct weft_dgram_peer *peer)
{
    const uint64_t limit = peer->told + 1;

    return limit > peer->expected ? (uint8_t)(limit - peer->expected) : 0;
}
