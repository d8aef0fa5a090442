/* receive.c - a datagram comes in: see receive.h. */
#include "transport/dgram/receive.h"

#include "base/crc32c.h"
#include "transport/dgram/assemble.h"
#include "transport/dgram/estimate.h"
#include "transport/dgram/flights.h"
#include "transport/dgram/grant.h"
#include "transport/dgram/peer.h"

#include <assert.h>
#include <string.h>

/* A datagram, taken apart. */
struct coming {
    struct weft_dgram_header header;
    struct weft_dgram_hello hello; /* if it has that flag */
    struct weft_dgram_more more; /* if it has that flag; else zero, or it has a number */
    bool is_hello;
    bool has_more;
    unsigned kind;
    uint64_t number; /* the whole one */
    const uint8_t *data;
    size_t length;
    const void *source;
};

/* Copies what lies between header and payload; false: it is too short. */
static bool take_behind(struct coming *coming, void *into, size_t bytes)
{
    if (coming->length < bytes) {
        return false;
    }
    memcpy(into, coming->data, bytes);
    coming->data += bytes;
    coming->length -= bytes;
    return true;
}

/* Copies header, hello and more; false: this is no datagram of ours. */
static bool take_apart(struct coming *coming, const void *bytes, size_t length)
{
    if (length < sizeof(coming->header)) {
        return false;
    }
    memcpy(&coming->header, bytes, sizeof(coming->header));
    coming->data = (const uint8_t *)bytes + sizeof(coming->header);
    coming->length = length - sizeof(coming->header);
    coming->is_hello = (coming->header.kind & WEFT_DGRAM_HELLO) != 0;
    coming->has_more = (coming->header.kind & WEFT_DGRAM_MORE) != 0;
    coming->kind = coming->header.kind & WEFT_DGRAM_KIND;
    if (coming->is_hello && !take_behind(coming, &coming->hello, sizeof(coming->hello))) {
        return false;
    }
    if (!coming->has_more && !weft_dgram_is_numbered(coming->kind)) {
        memset(&coming->more, 0, sizeof(coming->more));
    }
    if (coming->has_more && !take_behind(coming, &coming->more, sizeof(coming->more))) {
        return false;
    }
    return coming->header.version == weft_dgram_version() &&
           coming->kind >= WEFT_DGRAM_ACK && coming->kind <= WEFT_DGRAM_LEAVE &&
           !(coming->has_more &&
             (coming->is_hello || weft_dgram_is_numbered(coming->kind)));
}

static bool is_sealed(const struct coming *coming, const uint8_t *key)
{
    const void *behind = coming->is_hello   ? (const void *)&coming->hello
                         : coming->has_more ? (const void *)&coming->more
                                            : NULL;

    return weft_dgram_is_sealed(&coming->header, behind, coming->number, coming->length,
                                key);
}

/* The end that a HELLO speaks of, if its tag is right under the key of that end. */
static bool is_introduced(const struct weft_dgram_core *core, struct coming *coming,
                          struct weft_dgram_end *end)
{
    uint8_t key[WEFT_DGRAM_KEY_BYTES];

    *end = (struct weft_dgram_end){coming->header.process, coming->hello.nonce};
    coming->number = coming->header.number; /* its port has just been opened */
    weft_dgram_key(core->config.secret, end, &core->config.self, key);
    return is_sealed(coming, key) && coming->hello.length <= WEFT_DGRAM_ADDRESS_MAX &&
           coming->hello.datagram >= WEFT_DGRAM_LEAST &&
           end->process != core->config.self.process;
}

/* A peer from its HELLO; NULL: it cannot be made. */
static struct weft_dgram_peer *meet(struct weft_dgram_core *core, struct coming *coming)
{
    const struct weft_dgram_config *config = &core->config;
    uint32_t place[WEFT_DGRAM_PLACE_MAX / 4] = {0};
    struct weft_dgram_peer *peer;
    struct weft_dgram_end end;

    if (!is_introduced(core, coming, &end)) {
        core->counts.forged++;
        return NULL;
    }
    if (!config->accept(config->owner, end.process, coming->hello.address,
                        coming->hello.length, place)) {
        core->counts.unknown++;
        return NULL;
    }
    peer = weft_dgram_peer_make(core, &end, coming->hello.datagram);
    if (peer != NULL) {
        memcpy(peer->place, place, config->place_bytes);
        peer->path.peer = config->up->meet(config->up->owner, end.process);
    }
    return peer;
}

/* The peer's process has a new port, and this is its first word. False: an old one's, or
 * not now. */
static bool meet_again(struct weft_dgram_core *core, struct weft_dgram_peer *peer,
                       struct coming *coming)
{
    const struct weft_dgram_config *config = &core->config;
    uint32_t place[WEFT_DGRAM_PLACE_MAX / 4] = {0};
    struct weft_dgram_end end;

    if (coming->hello.nonce < peer->nonce || !is_introduced(core, coming, &end)) {
        core->counts.forged++;
        return false;
    }
    if ((peer->busy != NULL && !peer->has_left) ||
        (peer->busy != NULL && (peer->busy->is_due || peer->busy->is_kept)) ||
        !config->accept(config->owner, end.process, coming->hello.address,
                        coming->hello.length, place)) {
        core->counts.unknown++;
        return false;
    }
    weft_dgram_peer_empty(core, peer, WEFT_OK); /* as copies: nobody knows */
    weft_dgram_peer_rest(core, peer);
    weft_dgram_grant_end(core, peer);
    weft_dgram_peer_renew(core, peer, &end, coming->hello.datagram);
    memcpy(peer->place, place, config->place_bytes);
    return true;
}

/* The whole number of a datagram of a peer: of ACKs it is near the one that is expected,
 * too. */
static uint64_t number_of(const struct weft_dgram_peer *peer,
                          const struct weft_dgram_header *header)
{
    return weft_dgram_number(peer->expected, header->number);
}

/* Whose is it? NULL: nobody's that we know, or not from there; it was counted. */
static struct weft_dgram_peer *find_sender(struct weft_dgram_core *core,
                                           struct coming *coming)
{
    const struct weft_dgram_config *config = &core->config;
    struct weft_dgram_peer *peer = weft_table_find(&core->peers, coming->header.process);

    if (peer == NULL || !weft_dgram_is_met(peer)) {
        if (!coming->is_hello) {
            core->counts.unknown++;
            return NULL;
        }
        peer = meet(core, coming);
    } else if (coming->is_hello && coming->hello.nonce != peer->nonce) {
        if (!meet_again(core, peer, coming)) {
            return NULL;
        }
    } else {
        coming->number = number_of(peer, &coming->header);
        if (!is_sealed(coming, peer->key_in)) {
            core->counts.forged++;
            return NULL;
        }
    }
    if (peer != NULL && !config->is_from(config->owner, coming->source, peer->place)) {
        core->counts.replayed++;
        return NULL;
    }
    return peer;
}

static bool is_intact(const struct coming *coming)
{
    return (coming->header.kind & WEFT_DGRAM_CRC) == 0 ||
           weft_crc32c(coming->data, coming->length) == coming->header.crc;
}

static void say_nonsense(struct weft_dgram_core *core, const struct weft_dgram_peer *peer,
                         const char *why)
{
    core->config.nonsense(core->config.owner, peer->path.process, why);
}

/* The peer lives, and may not have been running until now. */
static void hear(struct weft_dgram_core *core, struct weft_dgram_peer *peer,
                 const struct coming *coming)
{
    struct weft_dgram_busy *busy = peer->busy;
    const uint64_t away = weft_dgram_microseconds(coming->header.away);
    const uint64_t passed = core->now - peer->heard_at;

    peer->heard_at = core->now;
    peer->is_heard = true;
    peer->backlog = coming->header.backlog;
    busy->timeouts = 0;
    busy->unanswered = 0;
    busy->is_silent = false;
    busy->is_full = (coming->header.kind & WEFT_DGRAM_FULL) != 0;
    if (away != 0 && 2000 * away > weft_dgram_timeout(core, peer)) {
        busy->restart_at = core->now;
        busy->doublings = 0;
    }
    if (busy->is_full) {
        busy->vain_time = 0; /* it comes through */
    }
    if (passed != 0 || away != 0) {
        weft_dgram_was_away(&peer->away, away, passed);
    }
    if ((coming->header.kind & WEFT_DGRAM_REPEATED) != 0) {
        core->counts.spurious++;
    }
}

static bool is_marked(const struct weft_dgram_busy *busy, uint64_t number)
{
    return (busy->marks[number / 64 % (WEFT_DGRAM_MARKS / 64)] >> number % 64 & 1) != 0;
}

static void mark(struct weft_dgram_peer *peer, const struct coming *coming)
{
    struct weft_dgram_busy *busy = peer->busy;
    const uint64_t number = coming->number;

    if (number >= busy->high) {
        busy->high = number + 1;
        peer->has_left = coming->kind == WEFT_DGRAM_LEAVE;
    }
    busy->marks[number / 64 % (WEFT_DGRAM_MARKS / 64)] |= UINT64_C(1) << number % 64;
    while (is_marked(busy, peer->expected)) {
        busy->marks[peer->expected / 64 % (WEFT_DGRAM_MARKS / 64)] &=
            ~(UINT64_C(1) << peer->expected % 64);
        peer->expected++;
    }
}

/* Was it here before? Then the peer is told. */
static bool is_duplicate(struct weft_dgram_core *core, struct weft_dgram_busy *busy,
                         const struct weft_dgram_peer *peer, uint64_t number)
{
    if (number >> 63 == 0 && number >= peer->expected && !is_marked(busy, number)) {
        return false;
    }
    core->counts.duplicates++;
    busy->has_repeated = true;
    busy->must_ack = true;
    return true;
}

/* A datagram with a number: its part is added, unless it was here or has no room. */
static void take_numbered(struct weft_dgram_core *core, struct weft_dgram_peer *peer,
                          const struct coming *coming)
{
    struct weft_dgram_busy *busy = peer->busy;
    const struct weft_dgram_header *header = &coming->header;

    if (coming->number >> 63 == 0 &&
        coming->number >= peer->expected + WEFT_DGRAM_MARKS) {
        core->counts.beyond++;
        return;
    }
    if (is_duplicate(core, busy, peer, coming->number)) {
        return;
    }
    switch (weft_dgram_part_check(core, peer, header, coming->data, coming->length)) {
    case WEFT_DGRAM_PART_NONSENSE:
        say_nonsense(core, peer, "a part of a packet that cannot be");
        return;
    case WEFT_DGRAM_PART_NO_ROOM:
        core->counts.no_room++;
        busy->was_full = true;
        busy->must_ack = true; /* that it has not come, but that we are here */
        return;
    case WEFT_DGRAM_PART_TAKEN:
        break;
    }
    core->counts.received++;
    busy->new_at = core->now;
    busy->unacked++;
    busy->must_ack = busy->must_ack || coming->is_hello ||
                     coming->kind == WEFT_DGRAM_LEAVE || coming->number != peer->expected;
    mark(peer, coming);
    weft_dgram_part_add(core, peer, header, coming->data, coming->length);
}

void weft_dgram_receive(struct weft_dgram_core *core, const void *bytes, size_t length,
                        const void *source)
{
    struct coming coming; /* take_apart() fills in what is used, of each datagram */
    const struct weft_dgram_more *more;
    struct weft_dgram_peer *peer;

    coming.source = source;
    if (!take_apart(&coming, bytes, length)) {
        core->counts.malformed++;
        return;
    }
    peer = find_sender(core, &coming);
    if (peer == NULL || peer->is_lost || weft_dgram_peer_wake(core, peer) == NULL) {
        return;
    }
    if (!is_intact(&coming)) {
        core->counts.corrupt++;
        weft_dgram_peer_rest(core, peer);
        return;
    }
    weft_dgram_peer_due(core, peer);
    hear(core, peer, &coming);
    more = weft_dgram_is_numbered(coming.kind) ? NULL : &coming.more;
    if (!weft_dgram_flights_ack(core, peer, &coming.header, more)) {
        say_nonsense(core, peer, "an acknowledgement of what was not sent");
        return;
    }
    if (weft_dgram_is_numbered(coming.kind)) {
        take_numbered(core, peer, &coming);
    } else if (coming.kind == WEFT_DGRAM_PROBE) {
        peer->busy->must_ack = true;
    }
    weft_dgram_grant_heard(core, peer);
    weft_dgram_flights_repeat(core, peer, &coming.header, more);
}
