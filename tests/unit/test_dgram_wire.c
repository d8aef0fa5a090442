/*
 * test_dgram_wire.c - datagrams whose bytes are fixed: version 2 of docs/dgram.md, on
 * little endian machines. Where one of these changes, the version has to change, too.
 */
#include "unit.h"

#include "base/crc32c.h"
#include "dgram_pair.h"
#include "transport/ofi/sodium.h"

#include <stdio.h>

enum { A, B };

/* A datagram: its first bytes, its length, and the sum of all. */
struct golden {
    const char *what;
    size_t length;
    uint32_t sum;
    const char *front;
};

static const struct golden set[] = {
    {"HELLO with the first packet", 161, 0xce044b62,
     "6aebf6e9874c51ae000000000000000000000000000000000000000000000000"
     "fa7448540000000002330001010000ff4d000000000000000002080000000000"
     "0000000000000000000000000000000000000000000000000000000000000000"
     "0000000000000000000000000000000000000000000000000000000000000000"},
    {"the answer to it", 48, 0x43f9f2d3,
     "bb7c578fa6f2a4ae010000000000000000000000000000000000000001000000"
     "00000000000001000201000011000000"},
    {"CONTROL", 79, 0x0225753f,
     "6ccdfd3d55ece49d000000000000000000000000000000000100000000000000"
     "19294b700000000002240001010000ff"},
    {"ORDERED, part 0 of 2", 512, 0xd3218a43,
     "dc0d262745384c0b000000000000000000000000000000000200000000000000"
     "318a417a0100000002230002010000ff"},
    {"ORDERED, part 1 of 2", 112, 0xe9db68f1,
     "9b546a48f5b9fbc1000000000000000000000000000000000300000000000000"
     "67ebc8030100000002230102010000ff"},
    {"LEAVE", 48, 0xb0f8a811,
     "3db41a40894ee41d000000000000000000000000000000000400000000000000"
     "000000000100000002050001010000ff"},
    {"an answer that shows a hole", 48, 0xe6f0ed2f,
     "8dc8d6aa329ad414010000000000000003000000000000000000000001000000"
     "00000000000002000201000011000000"},
    {"an answer that shows what is far above a hole", 72, 0xf71be643,
     "12d827cd1621d9da010000000000000000000000000000000000000001000000"
     "000000000000010002810000110000000000000008000000000000000000000000000000"
     "00000000"},
};

/* B gets one datagram 100 numbers above a hole: its answer, which is the last one on the
 * wire then. */
static struct pair_datagram answer_far_above(void)
{
    struct weft_dgram_peer *peer = pair_peer(A, B);

    pair_move();
    peer->granted = peer->next + 200;
    assert_int_equal(pair_send(A, B, 9, 110 * PAIR_PART - 28, 0), WEFT_OK);
    pair_give(&pair.wire[100]);
    return pair.wire[pair.count - 1];
}

/* Sends one of each kind; they stay on the wire. */
static void send_all(void)
{
    static struct pair_datagram kept[16];
    unsigned count = 0;

    assert_int_equal(pair_send(A, B, 0x01020304, 5, 0), WEFT_OK);
    kept[count++] = pair.wire[0];
    pair_give(&pair.wire[0]);
    pair_drop(0);
    kept[count++] = pair.wire[0]; /* the answer */
    pair_move();
    assert_int_equal(pair_send(A, B, 7, 3, WEFT_SEND_CONTROL), WEFT_OK);
    assert_int_equal(pair_send(A, B, 8, 500, 0), WEFT_OK);
    assert_true(weft_dgram_leave(&pair.node[A].core, pair.now));
    for (unsigned i = 0; i < pair.count; i++) {
        kept[count++] = pair.wire[i];
    }
    pair_drop(0); /* a hole, which the next answer shows */
    pair_give(&pair.wire[0]);
    pair_give(&pair.wire[1]);
    kept[count++] = pair.wire[pair.count - 1];
    pair_close();
    pair_open(2, 400);
    assert_int_equal(pair_send(A, B, 1, 5, 0), WEFT_OK);
    kept[count++] = answer_far_above();
    memcpy(pair.wire, kept, sizeof(kept));
    pair.count = count;
}

static void hexadecimal(const uint8_t *bytes, size_t length, char *text)
{
    for (size_t i = 0; i < length; i++) {
        (void)snprintf(text + 2 * i, 3, "%02x", bytes[i]);
    }
}

/* Bytes before the payload. */
static size_t front_bytes(const struct pair_datagram *datagram)
{
    const unsigned kind = pair_header(datagram).kind;

    return (kind & WEFT_DGRAM_HELLO) != 0 ? 128 : (kind & WEFT_DGRAM_MORE) != 0 ? 72 : 48;
}

static void datagrams_have_the_bytes_that_they_always_had(void **state)
{
    (void)state;
    if (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__) {
        skip();
    }
    pair_open(2, 92);
    send_all();
    for (unsigned i = 0; i < pair.count; i++) {
        const struct pair_datagram *datagram = &pair.wire[i];
        char front[2 * 128 + 1] = "";

        hexadecimal(datagram->bytes, front_bytes(datagram), front);
        if (i >= sizeof(set) / sizeof(set[0]) || strcmp(set[i].front, front) != 0) {
            print_message("    {\"\", %zu, 0x%08x,\n     \"%s\"},\n", datagram->length,
                          weft_crc32c(datagram->bytes, datagram->length), front);
        }
    }
    assert_int_equal(pair.count, sizeof(set) / sizeof(set[0]));
    for (unsigned i = 0; i < pair.count; i++) {
        const struct pair_datagram *datagram = &pair.wire[i];
        char front[2 * 128 + 1] = "";

        hexadecimal(datagram->bytes, strlen(set[i].front) / 2, front);
        assert_string_equal(front, set[i].front);
        assert_int_equal(datagram->length, set[i].length);
        assert_int_equal(weft_crc32c(datagram->bytes, datagram->length), set[i].sum);
    }
    pair_close();
}

static void a_key_is_what_it_always_was(void **state)
{
    static const uint8_t key[WEFT_DGRAM_KEY_BYTES] = {0xdb, 0x20, 0xdd, 0x6b, 0x12, 0xb6,
                                                      0x1c, 0x2c, 0x5a, 0x02, 0xa6, 0xdc,
                                                      0x90, 0xa2, 0xaf, 0xd7};
    const uint8_t secret[WEFT_DGRAM_SECRET_BYTES] = {1, 2, 3};
    const struct weft_dgram_end from = {0x100000002, 3};
    const struct weft_dgram_end to = {0x100000005, 6};
    uint8_t made[WEFT_DGRAM_KEY_BYTES];

    (void)state;
    if (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__) {
        skip();
    }
    assert_int_equal(weft_sodium_open(), WEFT_OK);
    weft_dgram_key(secret, &from, &to, made);
    assert_memory_equal(made, key, sizeof(key));
    weft_dgram_key(secret, &to, &from, made);
    assert_memory_not_equal(made, key, sizeof(key));
}

static void a_tag_covers_what_the_header_does_not_hold(void **state)
{
    const uint8_t key[WEFT_DGRAM_KEY_BYTES] = {1};
    const uint8_t other[WEFT_DGRAM_KEY_BYTES] = {2};
    struct weft_dgram_hello hello = {.nonce = 1};
    struct weft_dgram_header header = {.number = 5, .kind = WEFT_DGRAM_HELLO};

    (void)state;
    assert_int_equal(weft_sodium_open(), WEFT_OK);
    weft_dgram_seal(&header, &hello, 5, 100, key);
    assert_true(weft_dgram_is_sealed(&header, &hello, 5, 100, key));
    assert_false(weft_dgram_is_sealed(&header, &hello, 5, 99, key));
    assert_false(weft_dgram_is_sealed(&header, &hello, UINT64_C(0x100000005), 100, key));
    assert_false(weft_dgram_is_sealed(&header, NULL, 5, 100, key));
    assert_false(weft_dgram_is_sealed(&header, &hello, 5, 100, other));
    hello.address[63] = 1;
    assert_false(weft_dgram_is_sealed(&header, &hello, 5, 100, key));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(datagrams_have_the_bytes_that_they_always_had),
        cmocka_unit_test(a_key_is_what_it_always_was),
        cmocka_unit_test(a_tag_covers_what_the_header_does_not_hold),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
