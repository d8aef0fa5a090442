/* timers.c - a heap of peers: see timers.h. */
#include "transport/dgram/timers.h"

#include <assert.h>
#include <stdlib.h>

static uint64_t time_of(const struct weft_dgram_core *core, uint32_t at)
{
    return core->timers[at]->busy->timer_at;
}

static void put(struct weft_dgram_core *core, uint32_t at, struct weft_dgram_peer *peer)
{
    core->timers[at] = peer;
    peer->busy->timer = at + 1;
}

static void move_up(struct weft_dgram_core *core, uint32_t at)
{
    struct weft_dgram_peer *peer = core->timers[at];

    while (at > 0 && time_of(core, (at - 1) / 2) > peer->busy->timer_at) {
        put(core, at, core->timers[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    put(core, at, peer);
}

static void move_down(struct weft_dgram_core *core, uint32_t at)
{
    struct weft_dgram_peer *peer = core->timers[at];

    while (2 * at + 1 < core->timer_count) {
        uint32_t child = 2 * at + 1;

        if (child + 1 < core->timer_count &&
            time_of(core, child + 1) < time_of(core, child)) {
            child++;
        }
        if (time_of(core, child) >= peer->busy->timer_at) {
            break;
        }
        put(core, at, core->timers[child]);
        at = child;
    }
    put(core, at, peer);
}

bool weft_dgram_timers_grow(struct weft_dgram_core *core)
{
    struct weft_dgram_peer **larger;
    uint32_t room;

    if (core->busy_count < core->timer_room) {
        return true;
    }
    room = core->timer_room == 0 ? 8 : 2 * core->timer_room;
    larger = realloc(core->timers, room * sizeof(struct weft_dgram_peer *));
    if (larger == NULL) {
        return false;
    }
    core->timers = larger;
    core->timer_room = room;
    return true;
}

static void remove_at(struct weft_dgram_core *core, uint32_t at)
{
    struct weft_dgram_peer *last = core->timers[--core->timer_count];

    core->timers[at]->busy->timer = 0;
    if (at < core->timer_count) {
        put(core, at, last);
        move_up(core, at);
        move_down(core, last->busy->timer - 1);
    }
}

void weft_dgram_timer_set(struct weft_dgram_core *core, struct weft_dgram_peer *peer,
                          uint64_t at)
{
    struct weft_dgram_busy *busy = peer->busy;

    if (at == WEFT_DGRAM_NEVER) {
        if (busy->timer != 0) {
            remove_at(core, busy->timer - 1);
        }
        return;
    }
    if (busy->timer == 0) {
        assert(core->timer_count < core->timer_room);
        busy->timer_at = at;
        core->timers[core->timer_count++] = peer;
        move_up(core, core->timer_count - 1);
    } else if (at != busy->timer_at) {
        busy->timer_at = at;
        move_up(core, busy->timer - 1);
        move_down(core, busy->timer - 1);
    }
}
