/* dgram_pair.c - cores and a wire: see dgram_pair.h. */
#include "unit.h"

#include "dgram_pair.h"
#include "transport/ofi/sodium.h"

#include <stdio.h>

struct pair pair;

static const uint8_t secret[WEFT_DGRAM_SECRET_BYTES] = "the secret of a test's job";
static uint8_t zeros[WEFT_DGRAM_PACKET_MAX];

static struct weft_peer *meet(void *owner, uint64_t process)
{
    (void)owner;
    return (struct weft_peer *)&pair.node[process];
}

static void note(struct pair_node *node, const struct weft_peer *from, bool is_control,
                 const void *header, size_t len)
{
    struct pair_packet *packet = &node->taken[node->count];

    assert_true(node->count < PAIR_TAKEN);
    packet->from = ((const struct pair_node *)(const void *)from)->index;
    packet->is_control = is_control;
    packet->length = len;
    memcpy(&packet->name, header, sizeof(packet->name));
    node->count++;
}

static enum weft_taken arrived(void *owner, struct weft_peer *from, const void *header,
                               const void *data, size_t len, unsigned flags)
{
    struct pair_node *node = owner;

    (void)data;
    assert_int_equal(flags, 0);
    node->offered++;
    if (node->keeps) {
        return WEFT_KEEP;
    }
    note(node, from, false, header, len);
    return WEFT_TAKEN;
}

static bool may_take(void *owner, const struct weft_peer *from, const void *header,
                     unsigned flags)
{
    (void)from;
    (void)header;
    (void)flags;
    return !((struct pair_node *)owner)->keeps;
}

static void control(void *owner, struct weft_peer *from, const void *header,
                    const void *data, size_t len)
{
    (void)data;
    note(owner, from, true, header, len);
}

static void lost(void *owner, uint64_t process, bool has_left, const char *why)
{
    struct pair_node *node = owner;

    (void)process;
    assert_non_null(why);
    node->lost++;
    node->lost_had_left = has_left;
    snprintf(node->why_lost, sizeof(node->why_lost), "%s", why);
}

static void silent(void *owner, struct weft_peer *peer)
{
    assert_non_null(peer);
    ((struct pair_node *)owner)->silent++;
}

static void put_on_wire(int from, int to, const struct iovec pieces[2])
{
    struct pair_datagram *datagram = &pair.wire[pair.count++];

    assert_true(pair.count <= PAIR_WIRE);
    datagram->from = from;
    datagram->to = to;
    datagram->train = pair.trains;
    datagram->length = pieces[0].iov_len + pieces[1].iov_len;
    assert_true(datagram->length <= PAIR_DATAGRAM);
    memcpy(datagram->bytes, pieces[0].iov_base, pieces[0].iov_len);
    if (pieces[1].iov_len > 0) {
        memcpy(datagram->bytes + pieces[0].iov_len, pieces[1].iov_base,
               pieces[1].iov_len);
    }
}

static unsigned emit(void *owner, void *place, const struct weft_dgram_train *train)
{
    struct pair_node *node = owner;
    uint64_t to;
    unsigned taken = 0;

    memcpy(&to, place, sizeof(to));
    pair.trains++;
    while (taken < train->datagrams && node->takes > 0) {
        put_on_wire(node->index, (int)to, train->pieces + (size_t)2 * taken);
        node->takes--;
        taken++;
    }
    return taken;
}

static bool accept(void *owner, uint64_t process, const void *address, size_t length,
                   void *place)
{
    (void)owner;
    assert_int_equal(length, sizeof(uint64_t));
    memcpy(place, address, length);
    return memcmp(place, &process, sizeof(process)) == 0;
}

static bool is_from(void *owner, const void *source, const void *place)
{
    uint64_t from;

    (void)owner;
    memcpy(&from, place, sizeof(from));
    return *(const int *)source == (int)from;
}

static void nonsense(void *owner, uint64_t process, const char *why)
{
    (void)process;
    assert_non_null(why);
    ((struct pair_node *)owner)->nonsense++;
}

void pair_open(int nodes, uint32_t room)
{
    assert_int_equal(weft_sodium_open(), WEFT_OK);
    memset(&pair, 0, sizeof(pair));
    pair.now = 1000 * PAIR_MS;
    for (int i = 0; i < nodes; i++) {
        struct pair_node *node = &pair.node[i];
        const uint64_t address = (uint64_t)i;
        const struct weft_dgram_config config = {
            .owner = node,
            .up = &node->up,
            .emit = emit,
            .accept = accept,
            .place_bytes = sizeof(address),
            .is_from = is_from,
            .nonsense = nonsense,
            .secret = secret,
            .self = {(uint64_t)i, 77 + (uint64_t)i},
            .address = &address,
            .address_length = sizeof(address),
            .has_crc = true,
            .datagram = PAIR_DATAGRAM,
            .train = 16,
            .room = room,
            .receive_pool = 1 << 20,
            .send_pool = 1 << 20,
            .lost_after = 5000 * PAIR_MS,
        };

        node->index = i;
        node->takes = 1000000;
        node->up = (struct weft_upcalls){
            .owner = node,
            .meet = meet,
            .arrived = arrived,
            .may_take = may_take,
            .control = control,
            .lost = lost,
            .silent = silent,
        };
        assert_int_equal(weft_dgram_open(&node->core, &config, pair.now), WEFT_OK);
    }
}

void pair_close(void)
{
    for (int i = 0; i < PAIR_NODES; i++) {
        if (pair.node[i].core.config.owner != NULL) {
            weft_dgram_close(&pair.node[i].core);
        }
    }
}

struct weft_dgram_peer *pair_peer(int from, int to)
{
    const struct weft_dgram_end end = {(uint64_t)to, 77 + (uint64_t)to};
    const uint64_t place = (uint64_t)to;
    struct weft_dgram_peer *peer = weft_dgram_connect(
        &pair.node[from].core, &end, PAIR_DATAGRAM, &place, meet(NULL, (uint64_t)to));

    assert_non_null(peer);
    return peer;
}

enum weft_rc pair_send(int from, int to, uint32_t name, size_t length, unsigned flags)
{
    uint8_t header[WEFT_HEADER_BYTES] = {0};

    memcpy(header, &name, sizeof(name));
    return weft_dgram_send(&pair.node[from].core, pair_peer(from, to), header, zeros,
                           length, flags, pair.now);
}

void pair_look(int node)
{
    weft_dgram_begin(&pair.node[node].core, pair.now, 0, 1000);
    (void)weft_dgram_end(&pair.node[node].core, pair.now, true);
}

void pair_give(const struct pair_datagram *datagram)
{
    struct weft_dgram_core *core = &pair.node[datagram->to].core;
    const struct pair_datagram copy = *datagram;

    weft_dgram_begin(core, pair.now, 0, 1000);
    weft_dgram_receive(core, copy.bytes, copy.length, &copy.from);
    (void)weft_dgram_end(core, pair.now, true);
}

void pair_drop(unsigned at)
{
    assert_true(at < pair.count);
    pair.count--;
    memmove(&pair.wire[at], &pair.wire[at + 1], (pair.count - at) * sizeof(pair.wire[0]));
}

void pair_move(void)
{
    while (pair.count > 0) {
        const struct pair_datagram first = pair.wire[0];

        pair_drop(0);
        if (pair.passes == 0 || first.length <= pair.passes) {
            pair_give(&first);
        }
    }
}

void pair_run(uint64_t time)
{
    const uint64_t end = pair.now + time;

    for (;;) {
        uint64_t next = UINT64_MAX;

        pair_move();
        for (int i = 0; i < PAIR_NODES; i++) {
            const uint64_t at = weft_dgram_deadline(&pair.node[i].core);

            next = at != 0 && at < next ? at : next;
        }
        if (next > end) {
            pair.now = end;
            return;
        }
        pair.now = next > pair.now ? next : pair.now;
        for (int i = 0; i < PAIR_NODES; i++) {
            if (pair.node[i].core.config.owner != NULL) {
                pair_look(i);
            }
        }
    }
}

struct weft_dgram_header pair_header(const struct pair_datagram *datagram)
{
    struct weft_dgram_header header;

    memcpy(&header, datagram->bytes, sizeof(header));
    return header;
}
