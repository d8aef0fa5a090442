/* emit.c - headers and trains: see emit.h. */
#include "transport/dgram/emit.h"

#include "base/crc32c.h"
#include "transport/dgram/grant.h"

#include <assert.h>
#include <string.h>

/* A datagram as it goes to the port, but for what lies elsewhere. Behind the header is
 * what its flags say, or a short packet, or what a packet has before bytes of the caller.
 */
struct leaving {
    struct weft_dgram_header header;
    union {
        struct weft_dgram_hello hello;
        struct weft_dgram_more more;
        uint8_t front[WEFT_HEADER_BYTES + WEFT_HEAD_MAX];
    } behind;
};

bool weft_dgram_fits_hello(const struct weft_dgram_peer *peer,
                           const struct weft_dgram_out *out)
{
    return sizeof(struct weft_dgram_header) + sizeof(struct weft_dgram_hello) +
               out->length <=
           peer->datagram;
}

/* Which of 64 numbers above the expected one have come: the first 64 for word 0. Of word
 * 3 the last number shares its mark with the expected one, which is clear. */
static uint64_t sack_of(const struct weft_dgram_peer *peer, unsigned at)
{
    const struct weft_dgram_busy *busy = peer->busy;
    const uint64_t from = peer->expected + 1 + (uint64_t)64 * at;
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
    header->sack = sack_of(peer, 0);
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
    if (busy->was_full) {
        header->kind |= WEFT_DGRAM_FULL;
    }
}

/* These fields have been sent. */
static void has_told(struct weft_dgram_peer *peer)
{
    struct weft_dgram_busy *busy = peer->busy;

    busy->has_repeated = busy->was_full = false;
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

/* An ACK or PROBE shows all that has come, if the header cannot. */
static void fill_more(const struct weft_dgram_peer *peer, struct leaving *leaving)
{
    if (peer->is_heard && peer->busy->high > peer->expected + 65) {
        leaving->header.kind |= WEFT_DGRAM_MORE;
        for (unsigned at = 0; at < 3; at++) {
            leaving->behind.more.sack[at] = sack_of(peer, at + 1);
        }
    }
}

/* Completes a datagram, makes its two pieces, and returns its bytes. The first `here`
 * bytes of its part are behind the header already, the others at `data`. */
static uint32_t finish(const struct weft_dgram_core *core,
                       const struct weft_dgram_peer *peer, struct leaving *leaving,
                       uint64_t number, size_t here, const void *data, size_t length,
                       struct iovec pieces[2])
{
    const bool is_hello = !peer->is_heard;
    size_t front = sizeof(leaving->header) + here;
    bool has_more;

    assert(here == 0 || (!is_hello && !core->config.has_crc));

    leaving->header.number = (uint32_t)number;
    if (core->config.has_crc && length > 0) {
        leaving->header.kind |= WEFT_DGRAM_CRC;
        leaving->header.crc = weft_crc32c(data, length);
    }
    if (is_hello) {
        leaving->header.kind |= WEFT_DGRAM_HELLO;
        fill_hello(core, &leaving->behind.hello);
        front += sizeof(leaving->behind.hello);
    } else if ((leaving->header.kind & WEFT_DGRAM_MORE) != 0) {
        front += sizeof(leaving->behind.more);
    }
    has_more = front > sizeof(leaving->header) + here;
    weft_dgram_seal(&leaving->header, has_more ? &leaving->behind : NULL, number,
                    here + length, peer->key_out);
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
    const uint32_t length = left < part ? left : part;

    leaving->header.kind |= out->kind;
    leaving->header.packet = (uint16_t)out->packet;
    leaving->header.part = shot->part;
    leaving->header.parts = out->parts;
    if (out->op == NULL && length <= sizeof(leaving->behind) && peer->is_heard &&
        !core->config.has_crc) { /* in one piece: that is faster to send */
        memcpy(&leaving->behind, out->bytes + from, length);
        return finish(core, peer, leaving, shot->number, length, NULL, 0, pieces);
    }
    if (out->op == NULL) {
        return finish(core, peer, leaving, shot->number, 0, out->bytes + from, length,
                      pieces);
    }
    if (from > 0) {
        return finish(core, peer, leaving, shot->number, 0,
                      out->rest + (from - out->front), length, pieces);
    }
    memcpy(leaving->behind.front, out->bytes, out->front);
    return finish(core, peer, leaving, shot->number, out->front, out->rest,
                  length - out->front, pieces);
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
    /* One thread at a time has the lock, and its stack may have no room for these. */
    static struct leaving leaving[WEFT_DGRAM_TRAIN_MAX];
    static struct iovec pieces[2 * WEFT_DGRAM_TRAIN_MAX];
    static uint32_t bytes[WEFT_DGRAM_TRAIN_MAX];
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
    fill_more(peer, &leaving);
    bytes = finish(core, peer, &leaving, peer->next, 0, NULL, 0, pieces);
    if (emit_trains(core, peer, pieces, &bytes, 1) == 0) {
        return false;
    }
    core->counts.acks_sent++;
    has_told(peer);
    return true;
}
