/*
 * datagrams.c - bytes that anybody can send to a port of datagrams, and headers of a peer
 * that has gone wrong, whose tags are right: they are dropped, taken, kept, or told as
 * nonsense.
 */
#include "fuzz.h"
#include "upcalls.h"

#include "base/crc32c.h"
#include "transport/dgram/look.h"
#include "transport/dgram/open.h"
#include "transport/dgram/receive.h"
#include "transport/dgram/send.h"
#include "transport/ofi/sodium.h"

enum { LARGEST = 600, DATAGRAM = 512, POOL = 200000, PLACE = WEFT_DGRAM_PLACE_MAX };

static const uint8_t secret[WEFT_DGRAM_SECRET_BYTES] = {1, 2, 3};
static const struct weft_dgram_end self = {1, 11};
static const struct weft_dgram_end other = {2, 22};
static uint8_t key[WEFT_DGRAM_KEY_BYTES];
static struct weft_dgram_core core;
static struct weft_upcalls up;
static uint64_t now;

static struct weft_peer *meet(void *owner, uint64_t process)
{
    (void)owner;
    demand(process == other.process, "a peer that has no key");
    return (struct weft_peer *)&above;
}

static bool may_take(void *owner, const struct weft_peer *from, const void *header,
                     unsigned flags)
{
    (void)owner;
    (void)from;
    (void)flags;
    return *(const uint8_t *)header % 2 == 0;
}

static void lost(void *owner, uint64_t process, bool has_left, const char *why)
{
    (void)owner;
    (void)process;
    (void)has_left;
    (void)why;
}

/* Reads all of it, for the sanitizer. */
static unsigned emit(void *owner, void *place, const struct weft_dgram_train *train)
{
    uint32_t sum = 0;

    (void)owner;
    (void)place;
    for (unsigned i = 0; i < 2 * train->datagrams; i++) {
        sum ^= weft_crc32c(train->pieces[i].iov_base, train->pieces[i].iov_len);
    }
    return sum % 16 == 0 ? 0 : train->datagrams;
}

static bool accept(void *owner, uint64_t process, const void *address, size_t length,
                   void *place)
{
    (void)owner;
    (void)process;
    demand(length <= WEFT_DGRAM_ADDRESS_MAX, "an address that is too long");
    memcpy(place, address, length < PLACE ? length : PLACE);
    return true;
}

static bool is_from(void *owner, const void *source, const void *place)
{
    (void)owner;
    (void)source;
    (void)place;
    return true;
}

static void nonsense(void *owner, uint64_t process, const char *why)
{
    (void)owner;
    (void)why;
    demand(process == other.process, "a stranger is believed");
}

static void set_up(void)
{
    const struct weft_dgram_config config = {
        .up = &up,
        .emit = emit,
        .accept = accept,
        .is_from = is_from,
        .nonsense = nonsense,
        .place_bytes = PLACE,
        .secret = secret,
        .self = self,
        .address = "",
        .has_crc = true,
        .datagram = DATAGRAM,
        .train = 8,
        .room = 32,
        .receive_pool = POOL,
        .send_pool = POOL,
        .lost_after = 1000000000,
    };

    demand(weft_sodium_open() == WEFT_OK, "no libsodium");
    up = (struct weft_upcalls){.meet = meet,
                               .arrived = arrived,
                               .may_take = may_take,
                               .control = control,
                               .lost = lost};
    offers = 0;
    now = 1000000000;
    weft_dgram_key(secret, &other, &self, key);
    demand(weft_dgram_open(&core, &config, now) == WEFT_OK, "a config");
}

static struct weft_dgram_peer *peer(void)
{
    return core.peers.count > 0 ? weft_table_find(&core.peers, other.process) : NULL;
}

/* A field that is drawn, or `near` and a little. */
static uint32_t draw(struct input *in, unsigned is_wild, uint64_t near)
{
    return (uint32_t)(is_wild != 0 ? input_number(in, 4)
                                   : near + input_number(in, 1) % 8);
}

/* Makes the header in `block` one of the peer's, with every field as drawn, or right. */
static void make_right(struct input *in, uint8_t *block, size_t bytes)
{
    const unsigned wild = (unsigned)input_number(in, 1);
    const struct weft_dgram_peer *from = peer();
    struct weft_dgram_hello hello = {.nonce = other.nonce, .datagram = DATAGRAM};
    struct weft_dgram_more more;
    struct weft_dgram_header header;
    const void *behind = NULL;
    size_t front = sizeof(header);
    uint64_t number;

    memcpy(&header, block, sizeof(header));
    header.process = other.process;
    header.version = weft_dgram_version();
    header.kind = (uint8_t)input_number(in, 1);
    number =
        from == NULL ? draw(in, wild & 1, 0) : from->expected + draw(in, wild & 1, 0);
    header.number = (uint32_t)number;
    header.ack = draw(in, wild & 2, from == NULL ? 0 : from->acked);
    header.packet = (uint16_t)draw(in, wild & 4, from == NULL ? 0 : from->packets_in[0]);
    if ((wild & 8) == 0) {
        header.sack = 0;
    }
    if ((wild & 16) == 0) {
        header.part = (uint8_t)input_number(in, 1) % 4;
        header.parts = (uint8_t)input_number(in, 1) % 5;
    }
    if ((header.kind & WEFT_DGRAM_HELLO) != 0 && bytes >= front + sizeof(hello)) {
        hello.length = (uint8_t)input_number(in, 1);
        memcpy(block + front, &hello, sizeof(hello));
        front += sizeof(hello);
        behind = &hello;
    } else {
        header.kind &= (uint8_t)~WEFT_DGRAM_HELLO;
    }
    if (behind == NULL && (header.kind & WEFT_DGRAM_MORE) != 0 &&
        bytes >= front + sizeof(more)) {
        memcpy(&more, block + front, sizeof(more));
        if ((wild & 8) == 0) {
            memset(&more, 0, sizeof(more));
            memcpy(block + front, &more, sizeof(more));
        }
        front += sizeof(more);
        behind = &more;
    } else if (behind == NULL) {
        header.kind &= (uint8_t)~WEFT_DGRAM_MORE;
    }
    header.crc = weft_crc32c(block + front, bytes - front) ^ ((wild & 64) != 0);
    weft_dgram_seal(&header, behind, number, bytes - front, key);
    memcpy(block, &header, sizeof(header));
}

static void send_some(struct input *in)
{
    static const uint8_t zeros[2000];
    const unsigned what = (unsigned)input_number(in, 1);

    if (peer() != NULL) {
        (void)weft_dgram_send(&core, peer(), zeros, zeros, input_number(in, 2) % 2000,
                              (what & 1) != 0 ? WEFT_SEND_CONTROL : 0, now);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {data, size};

    set_up();
    while (in.left > 0) {
        const unsigned how = (unsigned)input_number(&in, 1);
        const size_t bytes = (size_t)input_number(&in, 2) % LARGEST;
        uint8_t *block = input_block(&in, bytes);

        now += (uint64_t)how * 100000;
        if ((how & 3) != 0 && bytes >= sizeof(struct weft_dgram_header)) {
            make_right(&in, block, bytes);
        }
        weft_dgram_begin(&core, now, how & 8 ? 50000 : 0, 4);
        weft_dgram_receive(&core, block, bytes, NULL);
        (void)weft_dgram_end(&core, now, (how & 16) == 0);
        free(block);
        if ((how & 32) != 0) {
            send_some(&in);
        }
        demand(core.peers.count <= 1, "a stranger has taken memory");
        demand(core.outstanding <= core.budget, "too much is granted");
        demand(core.receive_pool.used <= POOL + 2 * 70000, "too much is kept");
    }
    weft_dgram_close(&core);
    return 0;
}
