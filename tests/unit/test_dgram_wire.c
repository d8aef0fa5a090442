/*
 * test_dgram_wire.c - datagrams whose bytes are fixed: version 1 of docs/dgram.md, on
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
    {"HELLO with the first packet", 161, 0xcd15258c,
     "cd836d5a5311e193000000000000000000000000000000000000000000000000"
     "fa7448540000000001330001010000ff4d000000000000000002080000000000"
     "0000000000000000000000000000000000000000000000000000000000000000"
     "0000000000000000000000000000000000000000000000000000000000000000"},
    {"the answer to it", 48, 0xb3f0eb24,
     "7ed2a8885721c1ef010000000000000000000000000000000000000001000000"
     "00000000000001000101000011000000"},
    {"CONTROL", 79, 0xe8e8b8a6,
     "791bb4f94e21531a000000000000000000000000000000000100000000000000"
     "19294b700000000001240001010000ff"},
    {"ORDERED, part 0 of 2", 512, 0xc397ef56,
     "d068d26be11d8f59000000000000000000000000000000000200000000000000"
     "318a417a0100000001230002010000ff"},
    {"ORDERED, part 1 of 2", 112, 0x10838f29,
     "5ea8b53d258075ef000000000000000000000000000000000300000000000000"
     "67ebc8030100000001230102010000ff"},
    {"LEAVE", 48, 0x3691c04c,
     "be3b4b62d7cea336000000000000000000000000000000000400000000000000"
     "000000000100000001050001010000ff"},
    {"an answer that shows a hole", 48, 0xe221be2d,
     "b7c6f654e6643593010000000000000003000000000000000000000001000000"
     "00000000000002000101000011000000"},
};

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
    memcpy(pair.wire, kept, sizeof(kept));
    pair.count = count;
}

static void hexadecimal(const uint8_t *bytes, size_t length, char *text)
{
    for (size_t i = 0; i < length; i++) {
        (void)snprintf(text + 2 * i, 3, "%02x", bytes[i]);
    }
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
        const bool is_hello = (pair_header(datagram).kind & WEFT_DGRAM_HELLO) != 0;
        char front[2 * 128 + 1] = "";

        hexadecimal(datagram->bytes, is_hello ? 128 : 48, front);
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
    static const uint8_t key[WEFT_DGRAM_KEY_BYTES] = {0xb7, 0xbd, 0xc4, 0x3b, 0x2c, 0xc5,
                                                      0xd9, 0xe5, 0xfe, 0xf2, 0xb8, 0xd8,
                                                      0xcc, 0x1e, 0x84, 0xad};
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
