/* send.c - packets are copied, cut and queued: see send.h. */
#include "transport/dgram/send.h"

#include "transport/dgram/peer.h"
#include "transport/dgram/pool.h"
#include "transport/dgram/pump.h"

#include <assert.h>
#include <string.h>

/* A grant that was not used for long may have been taken back. */
static void forget_grants(struct weft_dgram_core *core, struct weft_dgram_peer *peer)
{
    if (peer->busy->oldest == NULL &&
        core->now - peer->used_at > WEFT_DGRAM_LEASE_SENDER &&
        peer->granted > peer->next) {
        peer->granted = peer->next;
    }
}

/* Is there room for one more packet of so many bytes? A peer may always have one. */
static bool has_room(const struct weft_dgram_core *core,
                     const struct weft_dgram_busy *busy, enum weft_dgram_class class,
                     size_t bytes)
{
    if (busy->out[class].first == NULL) {
        return true;
    }
    if (class == WEFT_DGRAM_AHEAD) {
        return busy->control < WEFT_DGRAM_CONTROL_MAX;
    }
    return busy->queued + bytes <= WEFT_DGRAM_QUEUE_MAX &&
           weft_dgram_pool_has(&core->send_pool, bytes + sizeof(struct weft_dgram_out));
}

static struct weft_dgram_out *make_packet(struct weft_dgram_core *core,
                                          struct weft_dgram_peer *peer, unsigned kind,
                                          size_t bytes)
{
    const uint32_t part = weft_dgram_part_bytes(peer);
    struct weft_dgram_out *out =
        weft_dgram_pool_take(&core->send_pool, sizeof(*out) + bytes);

    if (out != NULL) {
        *out = (struct weft_dgram_out){
            .packet = peer->packets_out[weft_dgram_class_of(kind)]++,
            .length = (uint32_t)bytes,
            .kind = (uint8_t)kind,
            .parts = (uint8_t)(bytes == 0 ? 1 : (bytes + part - 1) / part),
        };
    }
    return out;
}

static void add(struct weft_dgram_busy *busy, struct weft_dgram_out *out)
{
    const enum weft_dgram_class class = weft_dgram_class_of(out->kind);
    struct weft_dgram_queue *queue = &busy->out[class];

    if (queue->last != NULL) {
        queue->last->next = out;
    } else {
        queue->first = out;
    }
    queue->last = out;
    if (queue->unsent == NULL) {
        queue->unsent = out;
    }
    busy->waiting += out->parts;
    if (class == WEFT_DGRAM_IN_ORDER) {
        busy->queued += out->length;
    } else {
        busy->control++;
    }
}

enum weft_rc weft_dgram_send(struct weft_dgram_core *core, struct weft_dgram_peer *peer,
                             const void *header, const void *data, size_t len,
                             unsigned flags, uint64_t now)
{
    const unsigned kind =
        (flags & WEFT_SEND_CONTROL) != 0 ? WEFT_DGRAM_CONTROL : WEFT_DGRAM_ORDERED;
    const size_t bytes = WEFT_HEADER_BYTES + len;
    struct weft_dgram_busy *busy;
    struct weft_dgram_out *out;

    if (peer->is_lost || peer->is_closed) {
        return WEFT_ERR_PROC_FAILED;
    }
    if (len > WEFT_DGRAM_PACKET_MAX - WEFT_HEADER_BYTES) {
        return WEFT_ERR_ARGUMENT;
    }
    core->now = now > core->now ? now : core->now;
    busy = weft_dgram_peer_wake(core, peer);
    if (busy == NULL || !has_room(core, busy, weft_dgram_class_of(kind), bytes)) {
        return WEFT_AGAIN;
    }
    out = make_packet(core, peer, kind, bytes);
    if (out == NULL) {
        weft_dgram_peer_rest(core, peer);
        return WEFT_AGAIN;
    }
    memcpy(out->bytes, header, WEFT_HEADER_BYTES);
    if (len > 0) {
        memcpy(out->bytes + WEFT_HEADER_BYTES, data, len);
    }
    if (kind == WEFT_DGRAM_ORDERED) {
        core->counts.packets_out++;
        core->counts.bytes_out += bytes;
    }
    peer->is_leaving = false;
    forget_grants(core, peer);
    add(busy, out);
    weft_dgram_pump(core, peer);
    weft_dgram_peer_rest(core, peer);
    return WEFT_OK;
}

enum weft_rc weft_dgram_send_leave(struct weft_dgram_core *core,
                                   struct weft_dgram_peer *peer, uint64_t now)
{
    struct weft_dgram_busy *busy;
    struct weft_dgram_out *out;

    core->now = now > core->now ? now : core->now;
    busy = peer->is_lost || peer->is_closed ? NULL : weft_dgram_peer_wake(core, peer);
    if (busy == NULL) {
        return WEFT_AGAIN;
    }
    out = make_packet(core, peer, WEFT_DGRAM_LEAVE, 0);
    if (out != NULL) {
        forget_grants(core, peer);
        add(busy, out);
        weft_dgram_pump(core, peer);
    }
    weft_dgram_peer_rest(core, peer);
    return out != NULL ? WEFT_OK : WEFT_AGAIN;
}

bool weft_dgram_may_be_queued(const struct weft_dgram_peer *peer,
                              bool (*is_it)(const void *header, const void *argument),
                              const void *argument)
{
    const uint32_t untaken = peer->packets_out[WEFT_DGRAM_IN_ORDER] - peer->taken;
    const struct weft_dgram_out *out =
        peer->busy != NULL ? peer->busy->out[WEFT_DGRAM_IN_ORDER].first : NULL;
    uint32_t here = 0;

    if (untaken == 0) {
        return false;
    }
    for (; out != NULL; out = out->next) {
        if (is_it(out->bytes, argument)) {
            return true;
        }
        here++;
    }
    return here < untaken; /* others have arrived, and may be kept there */
}

enum weft_delivery weft_dgram_delivery(const struct weft_dgram_peer *peer)
{
    const struct weft_dgram_busy *busy = peer->busy;

    if (busy == NULL || (busy->out[WEFT_DGRAM_IN_ORDER].first == NULL &&
                         busy->out[WEFT_DGRAM_AHEAD].first == NULL)) {
        return WEFT_ARRIVED;
    }
    return busy->is_silent ? WEFT_UNANSWERED : WEFT_ON_THE_WAY;
}

/* All that is left: what lies behind a packet that has not arrived may have arrived and
 * be acknowledged, but is not delivered, and now never will be. */
static void hand_back_class(const struct weft_dgram_busy *busy,
                            enum weft_dgram_class class, weft_take_back *take,
                            void *argument)
{
    const unsigned flags = class == WEFT_DGRAM_AHEAD ? WEFT_SEND_CONTROL : 0;

    for (const struct weft_dgram_out *out = busy->out[class].first; out != NULL;
         out = out->next) {
        if (out->kind != WEFT_DGRAM_LEAVE) {
            take(argument, out->bytes, out->bytes + WEFT_HEADER_BYTES,
                 out->length - WEFT_HEADER_BYTES, flags);
        }
    }
}

void weft_dgram_hand_back(struct weft_dgram_core *core, struct weft_dgram_peer *peer,
                          weft_take_back *take, void *argument)
{
    peer->is_closed = true;
    if (peer->busy == NULL) {
        return;
    }
    hand_back_class(peer->busy, WEFT_DGRAM_AHEAD, take, argument);
    hand_back_class(peer->busy, WEFT_DGRAM_IN_ORDER, take, argument);
    weft_dgram_peer_empty_out(core, peer);
    if (!peer->is_lost) { /* else who loses it goes on with it */
        weft_dgram_peer_rest(core, peer);
    }
}
