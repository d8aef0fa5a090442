/* pump.c - from the queues to the port: see pump.h. */
#include "transport/dgram/pump.h"

#include "transport/dgram/emit.h"
#include "transport/dgram/flights.h"

#include <assert.h>

/* Where the next datagrams come from, and what they need. */
struct cursor {
    struct weft_dgram_out *out[WEFT_DGRAM_CLASSES];
    uint8_t part[WEFT_DGRAM_CLASSES];
    uint64_t number;
    uint32_t beyond;
};

static struct cursor cursor_of(const struct weft_dgram_peer *peer)
{
    const struct weft_dgram_busy *busy = peer->busy;
    struct cursor cursor = {.number = peer->next, .beyond = busy->beyond};

    for (int class = 0; class < WEFT_DGRAM_CLASSES; class ++) {
        cursor.out[class] = busy->out[class].unsent;
        cursor.part[class] =
            cursor.out[class] != NULL ? cursor.out[class]->parts_sent : 0;
    }
    return cursor;
}

/* May the next datagram be one of this class? */
static bool may_send(const struct weft_dgram_peer *peer, const struct cursor *cursor,
                     enum weft_dgram_class class)
{
    const struct weft_dgram_out *out = cursor->out[class];

    if (out == NULL || cursor->number - peer->acked >= WEFT_DGRAM_MARKS - 1) {
        return false;
    }
    if (!peer->is_heard) {
        return cursor->number == 0 && out->parts == 1 && weft_dgram_fits_hello(peer, out);
    }
    if (cursor->number < peer->granted) {
        return true;
    }
    return cursor->beyond == 0 &&
           (class == WEFT_DGRAM_AHEAD || cursor->number == peer->granted);
}

/* Takes the next part of this class into `shot`. */
static void advance(struct cursor *cursor, enum weft_dgram_class class, uint64_t granted,
                    struct weft_dgram_shot *shot)
{
    struct weft_dgram_out *out = cursor->out[class];

    *shot = (struct weft_dgram_shot){cursor->number, out, cursor->part[class]};
    cursor->beyond += cursor->number >= granted;
    cursor->number++;
    if (++cursor->part[class] == out->parts) {
        cursor->out[class] = out->next;
        cursor->part[class] = 0;
    }
}

/*
 * Is the next packet to begin with a train of its own, or to wait for a grant of all of
 * it? A packet that comes in one train is copied less often at the other end. It waits
 * only while so much is on its way that the peer is about to grant more.
 */
static bool waits_for_train(const struct weft_dgram_core *core,
                            const struct weft_dgram_peer *peer,
                            const struct cursor *cursor, unsigned count)
{
    const struct weft_dgram_out *out = cursor->out[WEFT_DGRAM_IN_ORDER];
    const unsigned train = core->config.train;

    if (out == NULL || cursor->part[WEFT_DGRAM_IN_ORDER] != 0 || out->parts == 1 ||
        out->parts > train) {
        return false;
    }
    return out->parts > train - count ||
           (cursor->number + out->parts > peer->granted &&
            cursor->number - peer->acked >= (uint64_t)2 * train);
}

static unsigned collect(const struct weft_dgram_core *core,
                        const struct weft_dgram_peer *peer, struct weft_dgram_shot *shots)
{
    struct cursor cursor = cursor_of(peer);
    unsigned count = 0;

    while (count < core->config.train) {
        if (may_send(peer, &cursor, WEFT_DGRAM_AHEAD)) {
            advance(&cursor, WEFT_DGRAM_AHEAD, peer->granted, &shots[count++]);
        } else if (may_send(peer, &cursor, WEFT_DGRAM_IN_ORDER) &&
                   !waits_for_train(core, peer, &cursor, count)) {
            advance(&cursor, WEFT_DGRAM_IN_ORDER, peer->granted, &shots[count++]);
        } else {
            break;
        }
    }
    return count;
}

/* The port has taken this one. */
static void commit(struct weft_dgram_core *core, struct weft_dgram_peer *peer,
                   const struct weft_dgram_shot *shot, struct weft_dgram_flight *flight)
{
    struct weft_dgram_busy *busy = peer->busy;
    struct weft_dgram_queue *queue = &busy->out[weft_dgram_class_of(shot->out->kind)];
    struct weft_dgram_out *out = queue->unsent;

    assert(shot->out == out && shot->part == out->parts_sent);
    assert(shot->number == peer->next);
    *flight = (struct weft_dgram_flight){.out = out,
                                         .number = shot->number,
                                         .sent_at = core->now,
                                         .part = shot->part,
                                         .times = 1,
                                         .is_beyond = shot->number >= peer->granted};
    if (busy->oldest == NULL) {
        busy->doublings = 0; /* those of probes */
    }
    weft_dgram_flight_add(busy, flight);
    busy->beyond += flight->is_beyond;
    busy->waiting--;
    peer->next++;
    if (++out->parts_sent == out->parts) {
        queue->unsent = out->next;
    }
}

/* Records for so many datagrams, before they are sent; returns how many there are. */
static unsigned prepare(struct weft_dgram_core *core, struct weft_dgram_flight **flights,
                        unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        flights[i] = weft_dgram_flight_take(core);
        if (flights[i] == NULL) {
            return i;
        }
    }
    return count;
}

/* A train; false: there will be no other now. */
static bool pump_once(struct weft_dgram_core *core, struct weft_dgram_peer *peer)
{
    /* One thread at a time has the lock, and its stack may have no room for these. */
    static struct weft_dgram_shot shots[WEFT_DGRAM_TRAIN_MAX];
    static struct weft_dgram_flight *flights[WEFT_DGRAM_TRAIN_MAX];
    struct weft_dgram_busy *busy = peer->busy;
    const unsigned wanted = collect(core, peer, shots);
    const unsigned count = prepare(core, flights, wanted);
    unsigned taken = 0;

    busy->is_refused = false;
    if (count > 0) {
        busy->waiting -= count; /* the backlog that headers show */
        taken = weft_dgram_emit(core, peer, shots, count);
        busy->waiting += count;
        busy->is_refused = taken < count;
    }
    for (unsigned i = 0; i < count; i++) {
        if (i < taken) {
            commit(core, peer, &shots[i], flights[i]);
        } else {
            weft_dgram_flight_give(core, flights[i]);
        }
    }
    busy->is_refused = busy->is_refused || count < wanted;
    return taken > 0 && taken == wanted;
}

bool weft_dgram_probe(struct weft_dgram_core *core, struct weft_dgram_peer *peer)
{
    peer->busy->probed_at = core->now;
    return weft_dgram_emit_ack(core, peer, WEFT_DGRAM_PROBE);
}

void weft_dgram_pump(struct weft_dgram_core *core, struct weft_dgram_peer *peer)
{
    struct weft_dgram_busy *busy = peer->busy;

    if (busy->waiting == 0 || (busy->doublings > 0 && busy->oldest != NULL) ||
        peer->is_lost) {
        return;
    }
    while (pump_once(core, peer)) {
    }
    if (busy->waiting > 0 && busy->oldest == NULL && !busy->is_refused &&
        busy->probed_at == 0) {
        if (peer->is_heard) {
            busy->probed_at = core->now; /* a grant is to come by itself */
        } else {
            (void)weft_dgram_probe(core, peer); /* the timer tries again */
        }
    }
}
