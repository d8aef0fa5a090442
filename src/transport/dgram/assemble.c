/* assemble.c - parts and packets: see assemble.h. */
#include "transport/dgram/assemble.h"

#include "transport/dgram/peer.h"
#include "transport/dgram/pool.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static struct weft_dgram_in *find(const struct weft_dgram_arrivals *arrivals,
                                  uint16_t packet)
{
    struct weft_dgram_in *in = arrivals->last;

    if (in == NULL || weft_dgram_packet_after(packet, in->packet) > 0) {
        return NULL;
    }
    if (in->packet == packet) {
        return in; /* mostly */
    }
    for (in = arrivals->first;
         in != NULL && weft_dgram_packet_after(packet, in->packet) > 0; in = in->next) {
    }
    return in != NULL && in->packet == packet ? in : NULL;
}

static void insert(struct weft_dgram_arrivals *arrivals, struct weft_dgram_in *in)
{
    struct weft_dgram_in **at = &arrivals->first;

    if (arrivals->last != NULL &&
        weft_dgram_packet_after(in->packet, arrivals->last->packet) > 0) {
        at = &arrivals->last->next;
    }
    while (*at != NULL && weft_dgram_packet_after(in->packet, (*at)->packet) > 0) {
        at = &(*at)->next;
    }
    in->next = *at;
    *at = in;
    if (in->next == NULL) {
        arrivals->last = in;
    }
}

/* Bytes of a block for the packet of which this is a part of so many bytes. */
static size_t room_for(const struct weft_dgram_peer *peer, unsigned parts, size_t length)
{
    return sizeof(struct weft_dgram_in) +
           (parts == 1 ? length : (size_t)parts * weft_dgram_part_bytes(peer));
}

static bool has_sense(const struct weft_dgram_peer *peer,
                      const struct weft_dgram_header *header, size_t length)
{
    const size_t part = weft_dgram_part_bytes(peer);

    if ((header->kind & WEFT_DGRAM_KIND) == WEFT_DGRAM_LEAVE) {
        return header->parts == 1 && header->part == 0 && length == 0;
    }
    if (header->parts == 0 || header->part >= header->parts || length > part ||
        length == 0) {
        return false;
    }
    if (header->part + 1 < header->parts && length != part) {
        return false;
    }
    if (header->part == 0 && length < WEFT_HEADER_BYTES) {
        return false;
    }
    return (size_t)(header->parts - 1) * part < WEFT_DGRAM_PACKET_MAX &&
           header->part * part + length <= WEFT_DGRAM_PACKET_MAX;
}

/* The engine reads a header as a struct. In a train of short datagrams it may lie at any
 * address: then it is copied. */
static const uint8_t *align(const uint8_t *bytes, uint8_t copy[WEFT_HEADER_BYTES])
{
    return (uintptr_t)bytes % WEFT_HEADER_ALIGN == 0
               ? bytes
               : memcpy(copy, bytes, WEFT_HEADER_BYTES);
}

/* The first part of a packet, and the pool is full: only for a packet that is next and
 * would be taken. */
static bool is_wanted(const struct weft_dgram_core *core,
                      const struct weft_dgram_peer *peer,
                      const struct weft_dgram_header *header, const void *data,
                      uint16_t packet)
{
    const struct weft_upcalls *up = core->config.up;
    const unsigned kind = header->kind & WEFT_DGRAM_KIND;
    _Alignas(WEFT_HEADER_ALIGN) uint8_t copy[WEFT_HEADER_BYTES];

    if (packet != peer->packets_in[weft_dgram_class_of(kind)]) {
        return false;
    }
    return kind != WEFT_DGRAM_ORDERED ||
           (header->part == 0 &&
            up->may_take(up->owner, peer->path.peer, align(data, copy), 0));
}

static struct weft_dgram_in *make(struct weft_dgram_core *core,
                                  struct weft_dgram_peer *peer,
                                  const struct weft_dgram_header *header, uint16_t packet,
                                  size_t length)
{
    const size_t room = room_for(peer, header->parts, length);
    struct weft_dgram_in *in = weft_dgram_pool_take(&core->receive_pool, room);

    if (in != NULL) {
        memset(in, 0, sizeof(*in));
        in->packet = packet;
        in->room = (uint32_t)room;
        in->parts = header->parts;
    }
    return in;
}

static bool has_spare(struct weft_dgram_core *core)
{
    if (core->spare == NULL) {
        core->spare = malloc(sizeof(struct weft_dgram_in) + core->config.datagram);
    }
    return core->spare != NULL;
}

enum weft_dgram_part weft_dgram_part_check(struct weft_dgram_core *core,
                                           struct weft_dgram_peer *peer,
                                           const struct weft_dgram_header *header,
                                           const void *data, size_t length)
{
    const enum weft_dgram_class class =
        weft_dgram_class_of(header->kind & WEFT_DGRAM_KIND);
    struct weft_dgram_busy *busy = peer->busy;
    const uint16_t packet = header->packet;
    struct weft_dgram_in *in = find(&busy->in[class], packet);

    if (!has_sense(peer, header, length) ||
        weft_dgram_packet_after(packet, peer->packets_in[class]) < 0) {
        return WEFT_DGRAM_PART_NONSENSE;
    }
    if (in != NULL) {
        const bool has_it = (in->marks[header->part / 64] >> header->part % 64 & 1) != 0;

        return has_it || in->parts != header->parts ? WEFT_DGRAM_PART_NONSENSE
                                                    : WEFT_DGRAM_PART_TAKEN;
    }
    if (!weft_dgram_pool_has(&core->receive_pool,
                             room_for(peer, header->parts, length)) &&
        !is_wanted(core, peer, header, data, packet)) {
        return WEFT_DGRAM_PART_NO_ROOM;
    }
    if (header->parts == 1 && packet == peer->packets_in[class]) {
        return has_spare(core) ? WEFT_DGRAM_PART_TAKEN : WEFT_DGRAM_PART_NO_ROOM;
    }
    in = make(core, peer, header, packet, length);
    if (in == NULL) {
        return WEFT_DGRAM_PART_NO_ROOM;
    }
    insert(&busy->in[class], in);
    busy->held += in->room;
    busy->missing += in->parts;
    return WEFT_DGRAM_PART_TAKEN;
}

/* ---- parts that stay in the port's memory ---- */

void weft_dgram_batch_begin(struct weft_dgram_core *core)
{
    core->in_batch = true;
}

/* Copies the parts of core->in_port into its block. The port may then reuse its memory.
 */
static void copy_from_port(struct weft_dgram_core *core)
{
    const uint8_t *parts[WEFT_DGRAM_PARTS_MAX];
    struct weft_dgram_in *in = core->in_port;
    const uint32_t part = weft_dgram_part_bytes(core->in_port_peer);

    memcpy(parts, in->bytes, in->parts * sizeof(parts[0]));
    for (unsigned i = 0; i < in->parts; i++) {
        if ((in->marks[i / 64] >> i % 64 & 1) != 0) {
            memcpy(in->bytes + i * part, parts[i],
                   i + 1U < in->parts ? part : in->length - i * part);
        }
    }
    in->is_in_port = false;
    core->in_port = NULL;
}

void weft_dgram_batch_end(struct weft_dgram_core *core)
{
    if (core->in_port != NULL) {
        copy_from_port(core);
    }
    core->in_batch = false;
}

/* May the parts of this packet, of which none has come yet, stay in the port's memory? */
static bool may_stay_in_port(const struct weft_dgram_core *core,
                             const struct weft_dgram_peer *peer,
                             enum weft_dgram_class class, const struct weft_dgram_in *in)
{
    return core->in_batch && class == WEFT_DGRAM_IN_ORDER && in->parts_come == 0 &&
           in->packet == peer->packets_in[class] && !peer->busy->is_kept &&
           core->config.up->arrived_in_pieces != NULL;
}

/* Offers core->in_port, all of whose parts have come, in pieces; false: it was not taken.
 */
static bool offer_from_port(struct weft_dgram_core *core, struct weft_dgram_peer *peer)
{
    const struct weft_upcalls *up = core->config.up;
    const struct weft_dgram_in *in = core->in_port;
    const uint32_t part = weft_dgram_part_bytes(peer);
    struct iovec pieces[WEFT_DGRAM_PARTS_MAX];
    _Alignas(8) uint8_t header[WEFT_HEADER_BYTES];

    if (core->handled >= core->most) {
        return false;
    }
    for (unsigned i = 0; i < in->parts; i++) {
        uint8_t *at;

        memcpy(&at, in->bytes + i * sizeof(at), sizeof(at));
        pieces[i] = (struct iovec){at, part};
    }
    memcpy(header, pieces[0].iov_base, sizeof(header));
    pieces[0].iov_base = (uint8_t *)pieces[0].iov_base + sizeof(header);
    pieces[0].iov_len = part - sizeof(header);
    pieces[in->parts - 1].iov_len = in->length - (in->parts - 1U) * part;
    if (up->arrived_in_pieces(up->owner, peer->path.peer, header, pieces, in->parts,
                              in->length - sizeof(header)) == WEFT_KEEP) {
        return false;
    }
    core->handled++;
    core->counts.packets_in++;
    core->counts.bytes_in += in->length;
    peer->packets_in[WEFT_DGRAM_IN_ORDER]++;
    return true;
}

/* ---- packets ---- */

/* Hands a packet up; false: it is not taken. Nothing is handed up of a LEAVE, which has
 * its turn among the control packets. */
static bool offer(struct weft_dgram_core *core, struct weft_dgram_peer *peer,
                  enum weft_dgram_class class, const uint8_t *bytes, size_t length)
{
    const struct weft_upcalls *up = core->config.up;
    _Alignas(WEFT_HEADER_ALIGN) uint8_t copy[WEFT_HEADER_BYTES];
    const uint8_t *header;
    const uint8_t *data;
    size_t len;

    if (length == 0) {
        peer->packets_in[class]++;
        return true;
    }
    data = bytes + WEFT_HEADER_BYTES;
    len = length - WEFT_HEADER_BYTES;
    if (core->handled >= core->most) {
        return false; /* a later look offers it */
    }
    core->handled++;
    header = align(bytes, copy);
    if (class == WEFT_DGRAM_AHEAD) {
        peer->packets_in[class]++;
        up->control(up->owner, peer->path.peer, header, data, len);
        return true;
    }
    if (up->arrived(up->owner, peer->path.peer, header, data, len, 0) == WEFT_KEEP) {
        return false;
    }
    peer->packets_in[class]++;
    core->counts.packets_in++;
    core->counts.bytes_in += length;
    return true;
}

static void keep(struct weft_dgram_core *core, struct weft_dgram_peer *peer)
{
    struct weft_dgram_busy *busy = peer->busy;

    if (!busy->is_kept) {
        busy->is_kept = true;
        busy->next_kept = core->kept;
        core->kept = peer;
    }
}

bool weft_dgram_is_next(const struct weft_dgram_peer *peer, enum weft_dgram_class class)
{
    const struct weft_dgram_in *in = peer->busy->in[class].first;

    return in != NULL && in->packet == peer->packets_in[class] &&
           in->parts_come == in->parts;
}

static bool offer_next(struct weft_dgram_core *core, struct weft_dgram_peer *peer,
                       enum weft_dgram_class class, struct weft_dgram_in *in)
{
    if (in->is_in_port) {
        if (offer_from_port(core, peer)) {
            core->in_port = NULL;
            return true;
        }
        copy_from_port(core);
    }
    return offer(core, peer, class, in->bytes, in->length);
}

/* Offers what is complete, in order; false: one was not taken. */
static bool deliver(struct weft_dgram_core *core, struct weft_dgram_peer *peer,
                    enum weft_dgram_class class)
{
    struct weft_dgram_busy *busy = peer->busy;

    while (weft_dgram_is_next(peer, class)) {
        struct weft_dgram_in *in = busy->in[class].first;

        if (!offer_next(core, peer, class, in)) {
            return false;
        }
        busy->in[class].first = in->next;
        if (in->next == NULL) {
            busy->in[class].last = NULL;
        }
        busy->held -= in->room;
        weft_dgram_pool_give(&core->receive_pool, in, in->room);
    }
    return true;
}

/* A whole packet whose turn it is; if it is not taken it stays in the spare block, and
 * the answer is false. */
static bool offer_at_once(struct weft_dgram_core *core, struct weft_dgram_peer *peer,
                          enum weft_dgram_class class, uint16_t packet, const void *data,
                          size_t length)
{
    struct weft_dgram_busy *busy = peer->busy;
    const size_t room = room_for(peer, 1, length);
    struct weft_dgram_in *in;

    if (offer(core, peer, class, data, length)) {
        return true;
    }
    in = weft_dgram_pool_take(&core->receive_pool, room);
    if (in == NULL) {
        in = core->spare;
        core->spare = NULL;
        core->receive_pool.used += room;
    }
    memset(in, 0, sizeof(*in));
    in->packet = packet;
    in->length = (uint32_t)length;
    in->room = (uint32_t)room;
    in->parts = in->parts_come = 1;
    in->marks[0] = 1;
    memcpy(in->bytes, data, length);
    busy->held += in->room;
    insert(&busy->in[class], in);
    return false;
}

/* Copies a part into the block of its packet, or notes its address in the port's memory.
 */
static void place(struct weft_dgram_core *core, struct weft_dgram_peer *peer,
                  enum weft_dgram_class class, struct weft_dgram_in *in,
                  const struct weft_dgram_header *header, const void *data, size_t length)
{
    const uint32_t from = header->part * weft_dgram_part_bytes(peer);

    if (may_stay_in_port(core, peer, class, in)) {
        if (core->in_port != NULL) {
            copy_from_port(core);
        }
        in->is_in_port = true;
        core->in_port = in;
        core->in_port_peer = peer;
    }
    if (in->is_in_port) {
        memcpy(in->bytes + header->part * sizeof(data), &data, sizeof(data));
    } else {
        memcpy(in->bytes + from, data, length);
    }
    in->marks[header->part / 64] |= UINT64_C(1) << header->part % 64;
    in->parts_come++;
    peer->busy->missing--;
    if (header->part + 1 == header->parts) {
        in->length = from + (uint32_t)length;
    }
}

void weft_dgram_part_add(struct weft_dgram_core *core, struct weft_dgram_peer *peer,
                         const struct weft_dgram_header *header, const void *data,
                         size_t length)
{
    const enum weft_dgram_class class =
        weft_dgram_class_of(header->kind & WEFT_DGRAM_KIND);
    const uint16_t packet = header->packet;
    struct weft_dgram_in *in = find(&peer->busy->in[class], packet);

    if (in == NULL) {
        assert(header->parts == 1 && peer->busy->is_due);
        if (!offer_at_once(core, peer, class, packet, data, length)) {
            keep(core, peer);
            return;
        }
    } else {
        place(core, peer, class, in, header, data, length);
    }
    if (class == WEFT_DGRAM_IN_ORDER && peer->busy->is_kept) {
        return; /* the end of the look offers them */
    }
    if (!deliver(core, peer, class)) {
        keep(core, peer);
    }
}

void weft_dgram_offer_kept(struct weft_dgram_core *core)
{
    struct weft_dgram_peer *peer = core->kept;
    struct weft_dgram_peer *not_now = NULL;

    core->kept = NULL;
    while (peer != NULL) {
        struct weft_dgram_peer *next = peer->busy->next_kept;
        const uint16_t before = peer->packets_in[WEFT_DGRAM_IN_ORDER];

        if (core->handled < core->most && deliver(core, peer, WEFT_DGRAM_AHEAD) &&
            deliver(core, peer, WEFT_DGRAM_IN_ORDER)) {
            peer->busy->is_kept = false;
            peer->busy->next_kept = NULL;
            weft_dgram_peer_due(core, peer); /* it may rest */
        } else {
            peer->busy->next_kept = not_now;
            not_now = peer;
        }
        if (peer->packets_in[WEFT_DGRAM_IN_ORDER] != before) {
            peer->busy->unacked++; /* the peer has to hear of it */
            weft_dgram_peer_due(core, peer);
        }
        peer = next;
    }
    core->kept = not_now;
}
