/* flights.c - datagrams on their way: see flights.h. */
#include "transport/dgram/flights.h"

#include "transport/dgram/emit.h"
#include "transport/dgram/estimate.h"
#include "transport/dgram/peer.h"

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
        weft_dgram_out_free(core, out, WEFT_OK);
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

/* What a datagram says of those on their way. */
struct shown {
    uint64_t ack;
    uint64_t sack[4]; /* bit i of word w: the number ack + 1 + 64 * w + i has arrived */
    uint64_t reach;   /* of numbers above ack + reach nothing is known */
};

static struct shown shown_by(uint64_t ack, const struct weft_dgram_header *header,
                             const struct weft_dgram_more *more)
{
    if (more == NULL) {
        return (struct shown){ack, {header->sack}, 64};
    }
    return (struct shown){
        ack, {header->sack, more->sack[0], more->sack[1], more->sack[2]}, 256};
}

static bool has_arrived(uint64_t number, const struct shown *shown)
{
    const uint64_t bit = number - shown->ack - 1;

    if (number < shown->ack) {
        return true;
    }
    return number > shown->ack && bit < shown->reach &&
           (shown->sack[bit / 64] >> bit % 64 & 1) != 0;
}

/* The number of the `nth` highest one that is shown to have arrived above a hole; 0:
 * there are not so many. */
static uint64_t nth_highest(const struct shown *shown, unsigned nth)
{
    for (unsigned word = 4; word-- > 0;) {
        uint64_t bits = shown->sack[word];

        while (bits != 0) {
            const unsigned top = 63 - (unsigned)__builtin_clzll(bits);

            if (--nth == 0) {
                return shown->ack + 1 + (uint64_t)64 * word + top;
            }
            bits ^= UINT64_C(1) << top;
        }
    }
    return 0;
}

static void end_flights(struct weft_dgram_core *core, struct weft_dgram_peer *peer,
                        const struct shown *shown, struct ended *ended)
{
    struct weft_dgram_busy *busy = peer->busy;
    struct weft_dgram_flight **at = &busy->oldest;
    struct weft_dgram_flight *before = NULL;

    while (*at != NULL && (*at)->number <= shown->ack + shown->reach) {
        struct weft_dgram_flight *flight = *at;

        if (has_arrived(flight->number, shown)) {
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

    /* What the peer says of itself is rounded up: it may be more than all. */
    if (header->held != WEFT_DGRAM_TIME_UNKNOWN && took >= there) {
        weft_dgram_sample(peer, took - there);
    }
}

/* Could the peer have said this? */
static bool is_possible(const struct weft_dgram_peer *peer, const struct shown *shown)
{
    const uint64_t highest = nth_highest(shown, 1);

    return shown->ack <= peer->next && (highest == 0 || highest < peer->next);
}

static void take_grant(struct weft_dgram_peer *peer, uint64_t ack, unsigned room)
{
    const uint64_t limit = ack + room;

    if (limit > 0 && limit - 1 > peer->granted) {
        peer->granted = limit - 1;
    }
}

/* What a header says of our packets besides. */
static void take_rest(struct weft_dgram_peer *peer, uint64_t ack,
                      const struct weft_dgram_header *header)
{
    const uint16_t untaken = peer->packets_out[WEFT_DGRAM_IN_ORDER] - peer->taken;
    const uint16_t taken = header->taken - peer->taken;

    if (taken <= untaken) {
        peer->taken = header->taken;
    }
    take_grant(peer, ack, header->room);
}

/* Nothing is on its way there, and the peer knows of nothing new: most datagrams of a
 * peer that sends, and gets nothing, are so. */
static bool is_nothing_new(const struct weft_dgram_peer *peer, uint64_t ack,
                           const struct weft_dgram_header *header,
                           const struct weft_dgram_more *more)
{
    return peer->busy->oldest == NULL && ack == peer->acked && header->sack == 0 &&
           more == NULL;
}

bool weft_dgram_flights_ack(struct weft_dgram_core *core, struct weft_dgram_peer *peer,
                            const struct weft_dgram_header *header,
                            const struct weft_dgram_more *more)
{
    const uint64_t ack = weft_dgram_number(peer->acked, header->ack);
    struct weft_dgram_busy *busy = peer->busy;
    const struct weft_dgram_flight *oldest = busy->oldest;
    struct ended ended = {0, false, false};
    struct shown shown;

    if (is_nothing_new(peer, ack, header, more)) {
        busy->has_hole = false;
        take_rest(peer, ack, header);
        return true;
    }
    if (ack >> 63 != 0 || ack < peer->acked) {
        return true; /* an old one, which a newer has overtaken */
    }
    shown = shown_by(ack, header, more);
    if (!is_possible(peer, &shown)) {
        return false;
    }
    peer->acked = ack;
    busy->has_hole = nth_highest(&shown, 1) != 0;
    take_rest(peer, ack, header);
    end_flights(core, peer, &shown, &ended);
    if (ended.is_any && !ended.is_repeated) {
        measure(core, peer, header, ended.sample_from);
    }
    if (busy->oldest != oldest) {
        busy->restart_at = core->now;
        busy->vain_time = 0;
        busy->is_narrow = false;
    }
    if (ended.is_any) {
        busy->doublings = 0;
        peer->used_at = core->now;
        free_packets(core, busy, WEFT_DGRAM_IN_ORDER);
        free_packets(core, busy, WEFT_DGRAM_AHEAD);
    }
    return true;
}

static void count_sending(struct weft_dgram_flight *flight)
{
    flight->times = (uint8_t)(flight->times + (flight->times < 255));
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
        count_sending(flights[i]);
    }
    return taken == count;
}

/* Has it to be lost, given what has arrived? Those below `hole` have several above them
 * that have. */
static bool is_lost(const struct weft_dgram_peer *peer,
                    const struct weft_dgram_flight *flight, const struct shown *shown,
                    uint64_t hole)
{
    const uint64_t spread = UINT64_C(250) * peer->srtt + 10000;

    if (flight->number > shown->ack + shown->reach) {
        return false;
    }
    if (flight->times == 1 && flight->number < hole) {
        return true;
    }
    return peer->busy->delivered_at > flight->sent_at + spread;
}

static void repeat_lost(struct weft_dgram_core *core, struct weft_dgram_peer *peer,
                        const struct shown *shown)
{
    const uint64_t hole = nth_highest(shown, WEFT_DGRAM_SACKS_LOST);
    struct weft_dgram_flight *lost[WEFT_DGRAM_TRAIN_MAX];
    unsigned count = 0;

    for (struct weft_dgram_flight *at = peer->busy->oldest; at != NULL; at = at->next) {
        if (is_lost(peer, at, shown, hole)) {
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

void weft_dgram_flights_repeat(struct weft_dgram_core *core, struct weft_dgram_peer *peer,
                               const struct weft_dgram_header *header,
                               const struct weft_dgram_more *more)
{
    const bool is_newest = header->ack == (uint32_t)peer->acked;

    if (peer->busy->oldest != NULL) {
        const struct shown shown = is_newest ? shown_by(peer->acked, header, more)
                                             : (struct shown){peer->acked, {0}, 64};

        repeat_lost(core, peer, &shown);
    }
}

bool weft_dgram_flights_timeout(struct weft_dgram_core *core,
                                struct weft_dgram_peer *peer)
{
    struct weft_dgram_flight *oldest = peer->busy->oldest;

    if (!repeat(core, peer, &oldest, 1)) {
        oldest->sent_at = core->now; /* it is tried again when the time is over again */
        return false;
    }
    core->counts.repeats_by_time++;
    return true;
}
