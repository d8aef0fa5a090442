/* flights.c - datagrams on their way: see flights.h. */
#include "transport/dgram/flights.h"

#include "transport/dgram/emit.h"
#include "transport/dgram/estimate.h"
#include "transport/dgram/pool.h"

#include <assert.h>
#include <stdlib.h>

struct weft_dgram_flight *weft_dgram_flight_take(struct weft_dgram_core *core)
{
    struct weft_dgram_flight *flight = core->free_flights;

    if (flight != NULL) {
        core->free_flights = flight->next;
        return flight;
    }
    return malloc(sizeof(*flight));
}

void weft_dgram_flight_give(struct weft_dgram_core *core,
                            struct weft_dgram_flight *flight)
{
    flight->next = core->free_flights;
    core->free_flights = flight;
}

void weft_dgram_flight_add(struct weft_dgram_busy *busy, struct weft_dgram_flight *flight)
{
    assert(busy->newest == NULL || busy->newest->number < flight->number);
    flight->next = NULL;
    if (busy->newest != NULL) {
        busy->newest->next = flight;
    } else {
        busy->oldest = flight;
    }
    busy->newest = flight;
}

/* Frees packets that have arrived, the oldest first. */
static void free_packets(struct weft_dgram_core *core, struct weft_dgram_busy *busy,
                         enum weft_dgram_class class)
{
    struct weft_dgram_queue *queue = &busy->out[class];

    while (queue->first != NULL && queue->first->parts_done == queue->first->parts) {
        struct weft_dgram_out *out = queue->first;

        queue->first = out->next;
        if (queue->first == NULL) {
            queue->last = NULL;
        }
        if (class == WEFT_DGRAM_IN_ORDER) {
            busy->queued -= out->length;
        } else {
            busy->control--;
        }
        weft_dgram_pool_give(&core->send_pool, out, sizeof(*out) + out->length);
    }
}

/* What one acknowledgement has ended. */
struct ended {
    uint64_t sample_from; /* when the newest one was sent */
    bool is_any;
    bool is_repeated; /* one of them was sent more than once */
};

static void end_flight(struct weft_dgram_core *core, struct weft_dgram_peer *peer,
                       struct weft_dgram_flight *flight, struct ended *ended)
{
    struct weft_dgram_busy *busy = peer->busy;
    const uint64_t age = core->now - flight->sent_at;

    ended->is_any = true;
    ended->sample_from = flight->sent_at;
    ended->is_repeated = ended->is_repeated || flight->times > 1;
    /* A repeat that is younger than half a round trip cannot be what has arrived. */
    if ((flight->times == 1 || age >= UINT64_C(500) * peer->srtt) &&
        flight->sent_at > busy->delivered_at) {
        busy->delivered_at = flight->sent_at;
    }
    if (flight->is_beyond) {
        busy->beyond--;
    }
    flight->out->parts_done++;
    weft_dgram_flight_give(core, flight);
}

static bool has_arrived(uint64_t number, uint64_t ack, uint64_t sack)
{
    if (number < ack) {
        return true;
    }
    return number > ack && number - ack <= 64 && (sack >> (number - ack - 1) & 1) != 0;
}

static void end_flights(struct weft_dgram_core *core, struct weft_dgram_peer *peer,
                        uint64_t ack, uint64_t sack, struct ended *ended)
{
    struct weft_dgram_busy *busy = peer->busy;
    struct weft_dgram_flight **at = &busy->oldest;
    struct weft_dgram_flight *before = NULL;

    while (*at != NULL && (*at)->number <= ack + 64) {
        struct weft_dgram_flight *flight = *at;

        if (has_arrived(flight->number, ack, sack)) {
            *at = flight->next;
            if (busy->newest == flight) {
                busy->newest = before;
            }
            end_flight(core, peer, flight, ended);
        } else {
            before = flight;
            at = &flight->next;
        }
    }
}

static void measure(struct weft_dgram_core *core, struct weft_dgram_peer *peer,
                    const struct weft_dgram_header *header, uint64_t sent_at)
{
    const uint64_t took = (core->now - sent_at) / 1000;
    const uint64_t there =
        weft_dgram_microseconds(header->held) + weft_dgram_microseconds(header->away);

    if (header->held != WEFT_DGRAM_TIME_UNKNOWN) {
        weft_dgram_sample(peer, took > there ? took - there : 1);
    }
}

/* Could the peer have said this? */
static bool is_possible(const struct weft_dgram_peer *peer, uint64_t ack, uint64_t sack)
{
    if (ack > peer->next) {
        return false;
    }
    return sack == 0 || ack + 1 + (63 - (unsigned)__builtin_clzll(sack)) < peer->next;
}

static void take_grant(struct weft_dgram_peer *peer, uint64_t ack, unsigned room)
{
    const uint64_t limit = ack + room;

    if (limit > 0 && limit - 1 > peer->granted) {
        peer->granted = limit - 1;
    }
}

bool weft_dgram_flights_ack(struct weft_dgram_core *core, struct weft_dgram_peer *peer,
                            const struct weft_dgram_header *header)
{
    const uint64_t ack = weft_dgram_number(peer->acked, header->ack);
    const uint32_t sent = peer->packets_out[WEFT_DGRAM_IN_ORDER];
    const uint32_t taken =
        peer->taken + (uint16_t)(header->taken - (uint16_t)peer->taken);
    struct weft_dgram_busy *busy = peer->busy;
    const struct weft_dgram_flight *oldest = busy->oldest;
    struct ended ended = {0, false, false};

    if (ack >> 63 != 0 || ack < peer->acked) {
        return true; /* an old one, which a newer has overtaken */
    }
    if (!is_possible(peer, ack, header->sack)) {
        return false;
    }
    if ((int32_t)(sent - taken) >= 0) {
        peer->taken = taken;
    }
    peer->acked = ack;
    take_grant(peer, ack, header->room);
    end_flights(core, peer, ack, header->sack, &ended);
    if (ended.is_any && !ended.is_repeated) {
        measure(core, peer, header, ended.sample_from);
    }
    if (busy->oldest != oldest) {
        busy->restart_at = core->now;
    }
    if (ended.is_any) {
        busy->doublings = 0;
        peer->used_at = core->now;
        free_packets(core, busy, WEFT_DGRAM_IN_ORDER);
        free_packets(core, busy, WEFT_DGRAM_AHEAD);
    }
    return true;
}

/* Repeats these datagrams; false: the port has not taken all. */
static bool repeat(struct weft_dgram_core *core, struct weft_dgram_peer *peer,
                   struct weft_dgram_flight **flights, unsigned count)
{
    struct weft_dgram_shot shots[WEFT_DGRAM_TRAIN_MAX];
    unsigned taken;

    for (unsigned i = 0; i < count; i++) {
        shots[i] = (struct weft_dgram_shot){flights[i]->number, flights[i]->out,
                                            flights[i]->part};
    }
    taken = weft_dgram_emit(core, peer, shots, count);
    for (unsigned i = 0; i < taken; i++) {
        flights[i]->sent_at = core->now;
        flights[i]->times = (uint8_t)(flights[i]->times + (flights[i]->times < 255));
    }
    return taken == count;
}

/* Has it to be lost, given what has arrived? Nothing is known of those that are too far
 * from `ack` for the header to show them. */
static bool is_lost(const struct weft_dgram_peer *peer,
                    const struct weft_dgram_flight *flight, uint64_t ack, uint64_t sack)
{
    const uint64_t spread = UINT64_C(250) * peer->srtt + 10000;
    const uint64_t above = flight->number - ack;

    if (above > 64) {
        return false;
    }
    if (flight->times == 1 && above < 64 &&
        __builtin_popcountll(sack >> above) >= WEFT_DGRAM_SACKS_LOST) {
        return true;
    }
    return peer->busy->delivered_at > flight->sent_at + spread;
}

void weft_dgram_flights_repeat(struct weft_dgram_core *core, struct weft_dgram_peer *peer,
                               const struct weft_dgram_header *header)
{
    const uint64_t ack = peer->acked;
    const uint64_t sack = header->ack == (uint32_t)ack ? header->sack : 0;
    struct weft_dgram_flight *lost[WEFT_DGRAM_TRAIN_MAX];
    struct weft_dgram_flight *at = peer->busy->oldest;
    unsigned count = 0;

    for (; at != NULL; at = at->next) {
        if (is_lost(peer, at, ack, sack)) {
            lost[count++] = at;
        } else if (at->times == 1) {
            break; /* those behind were sent later, and have no more above them */
        }
        if (count == WEFT_DGRAM_TRAIN_MAX) {
            break; /* the next acknowledgement shows the others */
        }
    }
    if (count > 0) {
        core->counts.repeats_by_ack += count;
        (void)repeat(core, peer, lost, count); /* or the timer tries again */
    }
}

void weft_dgram_flights_timeout(struct weft_dgram_core *core,
                                struct weft_dgram_peer *peer)
{
    struct weft_dgram_flight *oldest = peer->busy->oldest;

    core->counts.repeats_by_time++;
    if (!repeat(core, peer, &oldest, 1)) {
        oldest->sent_at = core->now; /* as if it was lost */
    }
}
