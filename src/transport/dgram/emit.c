/* emit.c - headers and trains: see emit.h. */
#include "transport/dgram/emit.h"

#include "base/crc32c.h"
#include "transport/dgram/grant.h"

#include <assert.h>
#include <string.h>

/* A datagram as it goes to the port. */
struct leaving {
    struct weft_dgram_header header;
    struct weft_dgram_hello hello; /* only where the header has the flag */
};

bool weft_dgram_fits_hello(const struct weft_dgram_peer *peer,
                           const struct weft_dgram_out *out)
{
    return sizeof(struct leaving) + out->length <= peer->datagram;
}

/* Which of the 64 numbers above the expected one have come. */
static uint64_t sack_of(const struct weft_dgram_peer *peer)
{
    const struct weft_dgram_busy *busy = peer->busy;
    const uint64_t from = peer->expected + 1;
    const unsigned word = (unsigned)(from / 64 % (WEFT_DGRAM_MARKS / 64));
    const unsigned bit = (unsigned)(from % 64);
    uint64_t sack;

    if (busy->high <= from) {
        return 0;
    }
    sack = busy->marks[word] >> bit;
    if (bit > 0) {
        sack |= busy->marks[(word + 1) % (WEFT_DGRAM_MARKS / 64)] << (64 - bit);
    }
    return sack;
}

/* What all datagrams to this peer say now. */
static void fill(const struct weft_dgram_core *core, const struct weft_dgram_peer *peer,
                 struct weft_dgram_header *header)
{
    const struct weft_dgram_busy *busy = peer->busy;

    memset(header, 0, sizeof(*header));
    header->process = core->config.self.process;
    header->version = weft_dgram_version();
    header->sack = sack_of(peer);
    header->ack = (uint32_t)peer->expected;
    header->taken = (uint16_t)peer->packets_in[WEFT_DGRAM_IN_ORDER];
    header->room = weft_dgram_room(peer);
    header->backlog = busy->waiting < 255 ? (uint8_t)busy->waiting : 255;
    header->away = core->away_shown;
    header->held = busy->new_at != 0 ? weft_dgram_time((core->now - busy->new_at) / 1000)
                                     : WEFT_DGRAM_TIME_UNKNOWN;
    if (busy->has_repeated) {
        header->kind = WEFT_DGRAM_REPEATED;
    }
}

/* These fields have been sent. */
static void has_told(struct weft_dgram_peer *peer)
{
    struct weft_dgram_busy *busy = peer->busy;

    busy->has_repeated = false;
    busy->must_ack = false;
    busy->unacked = 0;
    busy->ack_at = 0;
    busy->told_sent = peer->told;
}

static void fill_hello(const struct weft_dgram_core *core, struct weft_dgram_hello *hello)
{
    memset(hello, 0, sizeof(*hello));
    hello->nonce = core->config.self.nonce;
    hello->datagram = core->config.datagram;
    hello->length = core->config.address_length;
    memcpy(hello->address, core->address, hello->length);
}

/* Completes a datagram, makes its two pieces, and returns its bytes. */
static uint32_t finish(const struct weft_dgram_core *core,
                       const struct weft_dgram_peer *peer, struct leaving *leaving,
                       uint64_t number, const void *data, size_t length,
                       struct iovec pieces[2])
{
    const bool is_hello = !peer->is_heard;
    size_t front = sizeof(leaving->header);

    leaving->header.number = (uint32_t)number;
    if (core->config.has_crc && length > 0) {
        leaving->header.kind |= WEFT_DGRAM_CRC;
        leaving->header.crc = weft_crc32c(data, length);
    }
    if (is_hello) {
        leaving->header.kind |= WEFT_DGRAM_HELLO;
        fill_hello(core, &leaving->hello);
        front += sizeof(leaving->hello);
    }
    weft_dgram_seal(&leaving->header, is_hello ? &leaving->hello : NULL, number, length,
                    peer->key_out);
    pieces[0] = (struct iovec){leaving, front};
    pieces[1] = (struct iovec){(void *)(uintptr_t)data, length};
    return (uint32_t)(front + length);
}

static uint32_t finish_shot(const struct weft_dgram_core *core,
                            const struct weft_dgram_peer *peer, struct leaving *leaving,
                            const struct weft_dgram_shot *shot, struct iovec pieces[2])
{
    const struct weft_dgram_out *out = shot->out;
    const uint32_t part = weft_dgram_part_bytes(peer);
    const uint32_t from = shot->part * part;
    const uint32_t left = out->length - from;

    leaving->header.kind |= out->kind;
    leaving->header.packet = (uint16_t)out->packet;
    leaving->header.part = shot->part;
    leaving->header.parts = out->parts;
    return finish(core, peer, leaving, shot->number, out->bytes + from,
                  left < part ? left : part, pieces);
}

/* Sends one after the other; `bytes` has the lengths. Returns how many were taken. */
static unsigned emit_trains(struct weft_dgram_core *core, struct weft_dgram_peer *peer,
                            const struct iovec *pieces, const uint32_t *bytes,
                            unsigned count)
{
    unsigned at = 0;

    while (at < count) {
        struct weft_dgram_train train = {pieces + (size_t)2 * at, 1, bytes[at]};
        unsigned taken;

        while (at + train.datagrams < count && train.datagrams < core->config.train &&
               bytes[at + train.datagrams - 1] == train.bytes &&
               bytes[at + train.datagrams] <= train.bytes) {
            train.datagrams++;
        }
        taken = core->config.emit(core->config.owner, peer->place, &train);
        at += taken;
        if (taken < train.datagrams) {
            break;
        }
    }
    return at;
}

unsigned weft_dgram_emit(struct weft_dgram_core *core, struct weft_dgram_peer *peer,
                         const struct weft_dgram_shot *shots, unsigned count)
{
    struct leaving leaving[WEFT_DGRAM_TRAIN_MAX];
    struct iovec pieces[2 * WEFT_DGRAM_TRAIN_MAX];
    uint32_t bytes[WEFT_DGRAM_TRAIN_MAX];
    struct weft_dgram_header common;
    unsigned taken;

    assert(count > 0 && count <= WEFT_DGRAM_TRAIN_MAX);
    fill(core, peer, &common);
    for (unsigned i = 0; i < count; i++) {
        leaving[i].header = common;
        bytes[i] =
            finish_shot(core, peer, &leaving[i], &shots[i], &pieces[(size_t)2 * i]);
    }
    taken = emit_trains(core, peer, pieces, bytes, count);
    core->counts.sent += taken;
    if (taken > 0) {
        has_told(peer);
    }
    return taken;
}

bool weft_dgram_emit_ack(struct weft_dgram_core *core, struct weft_dgram_peer *peer,
                         unsigned kind)
{
    struct leaving leaving;
    struct iovec pieces[2];
    uint32_t bytes;

    fill(core, peer, &leaving.header);
    leaving.header.kind |= (uint8_t)kind;
    bytes = finish(core, peer, &leaving, peer->next, NULL, 0, pieces);
    if (emit_trains(core, peer, pieces, &bytes, 1) == 0) {
        return false;
    }
    core->counts.acks_sent++;
    has_told(peer);
    return true;
}
