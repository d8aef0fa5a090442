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

/* What is to be sent: three blocks, one behind the other. */
struct parcel {
    const void *header;
    const void *head;
    size_t head_len;
    const void *data;
    size_t len;
    struct weft_op *op; /* the data are not copied; or NULL */
};

static size_t bytes_of(const struct parcel *parcel)
{
    return WEFT_HEADER_BYTES + parcel->head_len + parcel->len;
}

/* Those that are copied. */
static size_t front_of(const struct parcel *parcel)
{
    return bytes_of(parcel) - (parcel->op != NULL ? parcel->len : 0);
}

/* Is there room for one more packet? A peer may always have one. */
static bool has_room(const struct weft_dgram_core *core,
                     const struct weft_dgram_busy *busy, enum weft_dgram_class class,
                     const struct parcel *parcel)
{
    if (busy->out[class].first == NULL) {
        return true;
    }
    if (class == WEFT_DGRAM_AHEAD) {
        return busy->control < WEFT_DGRAM_CONTROL_MAX;
    }
    return busy->queued + bytes_of(parcel) <= WEFT_DGRAM_QUEUE_MAX &&
           weft_dgram_pool_has(&core->send_pool,
                               front_of(parcel) + sizeof(struct weft_dgram_out));
}

static unsigned parts_of(const struct weft_dgram_peer *peer, size_t bytes)
{
    const uint32_t part = weft_dgram_part_bytes(peer);

    return (unsigned)(bytes == 0 ? 1 : (bytes + part - 1) / part);
}

static struct weft_dgram_out *make_packet(struct weft_dgram_core *core,
                                          struct weft_dgram_peer *peer, unsigned kind,
                                          size_t bytes, size_t front)
{
    struct weft_dgram_out *out =
        weft_dgram_pool_take(&core->send_pool, sizeof(*out) + front);

    if (out != NULL) {
        *out = (struct weft_dgram_out){
            .packet = peer->packets_out[weft_dgram_class_of(kind)]++,
            .length = (uint32_t)bytes,
            .kind = (uint8_t)kind,
            .parts = (uint8_t)parts_of(peer, bytes),
            .front = (uint32_t)front,
        };
    }
    return out;
}

static void fill(struct weft_dgram_out *out, const struct parcel *parcel)
{
    uint8_t *at = out->bytes;

    memcpy(at, parcel->header, WEFT_HEADER_BYTES);
    at += WEFT_HEADER_BYTES;
    if (parcel->head_len > 0) {
        memcpy(at, parcel->head, parcel->head_len);
        at += parcel->head_len;
    }
    if (parcel->op != NULL) {
        out->rest = parcel->data;
        out->op = parcel->op;
    } else if (parcel->len > 0) {
        memcpy(at, parcel->data, parcel->len);
    }
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

static enum weft_rc take(struct weft_dgram_core *core, struct weft_dgram_peer *peer,
                         unsigned kind, const struct parcel *parcel, uint64_t now)
{
    const size_t bytes = bytes_of(parcel);
    struct weft_dgram_busy *busy;
    struct weft_dgram_out *out;

    if (peer->is_lost || peer->is_closed) {
        return WEFT_ERR_PROC_FAILED;
    }
    if (bytes > WEFT_DGRAM_PACKET_MAX) {
        return WEFT_ERR_ARGUMENT;
    }
    core->now = now > core->now ? now : core->now;
    busy = weft_dgram_peer_wake(core, peer);
    if (busy == NULL || !has_room(core, busy, weft_dgram_class_of(kind), parcel)) {
        return WEFT_AGAIN;
    }
    out = make_packet(core, peer, kind, bytes, front_of(parcel));
    if (out == NULL) {
        weft_dgram_peer_rest(core, peer);
        return WEFT_AGAIN;
    }
    fill(out, parcel);
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

enum weft_rc weft_dgram_send(struct weft_dgram_core *core, struct weft_dgram_peer *peer,
                             const void *header, const void *data, size_t len,
                             unsigned flags, uint64_t now)
{
    const struct parcel parcel = {.header = header, .data = data, .len = len};

    return take(core, peer,
                (flags & WEFT_SEND_CONTROL) != 0 ? WEFT_DGRAM_CONTROL
                                                 : WEFT_DGRAM_ORDERED,
                &parcel, now);
}

enum weft_rc weft_dgram_send_zcopy(struct weft_dgram_core *core,
                                   struct weft_dgram_peer *peer, const void *header,
                                   const void *head, size_t head_len, const void *data,
                                   size_t len, struct weft_op *op, uint64_t now)
{
    struct parcel parcel = {header, head, head_len, data, len, op};
    enum weft_rc rc;

    assert(head_len <= WEFT_HEAD_MAX);
    if (core->config.has_crc || parts_of(peer, bytes_of(&parcel)) < WEFT_DGRAM_ACK_EACH) {
        parcel.op = NULL;
    }
    rc = take(core, peer, WEFT_DGRAM_ORDERED, &parcel, now);
    if (rc == WEFT_OK && parcel.op == NULL) {
        op->next = core->over;
        core->over = op;
    }
    return rc == WEFT_OK ? WEFT_PENDING : rc;
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
    out = make_packet(core, peer, WEFT_DGRAM_LEAVE, 0, 0);
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
    const uint16_t untaken = peer->packets_out[WEFT_DGRAM_IN_ORDER] - peer->taken;
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
    return busy->is_narrow   ? WEFT_NARROW
           : busy->is_silent ? WEFT_UNANSWERED
                             : WEFT_ON_THE_WAY;
}

/* What a packet has behind its header, in one piece: there, or copied to `joined`. */
static const uint8_t *join(const struct weft_dgram_out *out, uint8_t *joined)
{
    const size_t head = out->front - WEFT_HEADER_BYTES;

    if (out->op == NULL) {
        return out->bytes + WEFT_HEADER_BYTES;
    }
    memcpy(joined, out->bytes + WEFT_HEADER_BYTES, head);
    memcpy(joined + head, out->rest, out->length - out->front);
    return joined;
}

/* All that is left: what lies behind a packet that has not arrived may have arrived and
 * be acknowledged, but is not delivered, and now never will be. */
static void hand_back_class(const struct weft_dgram_busy *busy,
                            enum weft_dgram_class class, weft_take_back *take_back,
                            void *argument)
{
    /* One thread at a time has the lock, and its stack may have no room for it. */
    static uint8_t joined[WEFT_DGRAM_PACKET_MAX];

    for (const struct weft_dgram_out *out = busy->out[class].first; out != NULL;
         out = out->next) {
        const unsigned flags = class == WEFT_DGRAM_AHEAD ? WEFT_SEND_CONTROL
                               : out->op != NULL         ? WEFT_SEND_HAS_OP
                                                         : 0;

        if (out->kind != WEFT_DGRAM_LEAVE) {
            take_back(argument, out->bytes, join(out, joined),
                      out->length - WEFT_HEADER_BYTES, flags);
        }
    }
}

void weft_dgram_hand_back(struct weft_dgram_core *core, struct weft_dgram_peer *peer,
                          weft_take_back *take_back, void *argument, enum weft_rc rc)
{
    peer->is_closed = true;
    if (peer->busy == NULL) {
        return;
    }
    hand_back_class(peer->busy, WEFT_DGRAM_AHEAD, take_back, argument);
    hand_back_class(peer->busy, WEFT_DGRAM_IN_ORDER, take_back, argument);
    weft_dgram_peer_empty_out(core, peer, rc);
    if (!peer->is_lost) { /* else who loses it goes on with it */
        weft_dgram_peer_rest(core, peer);
    }
}
