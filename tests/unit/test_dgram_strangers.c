/*
 * test_dgram_strangers.c - datagrams of somebody who has no secret, 200,000 of each kind:
 * every one is dropped and counted as what it is, nothing is answered, and nothing is
 * kept.
 */
#include "unit.h"

#include "dgram_pair.h"

enum { A, B, C, NODES, EACH = 200000 };

static uint64_t state_of_draws;

static uint32_t draw(uint32_t below)
{
    state_of_draws ^= state_of_draws << 13;
    state_of_draws ^= state_of_draws >> 7;
    state_of_draws ^= state_of_draws << 17;
    return (uint32_t)(state_of_draws >> 32) % below;
}

static void fill(uint8_t *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        bytes[i] = (uint8_t)draw(256);
    }
}

/* A and B have spoken; one more packet of A's is on its way, which B lacks. */
static struct pair_datagram recorded;

static int open_some(void **state)
{
    (void)state;
    state_of_draws = 88172645463325252u;
    pair_open(NODES, 92);
    assert_int_equal(pair_send(A, B, 1, 100, 0), WEFT_OK);
    pair_run(2 * PAIR_MS);
    assert_int_equal(pair_send(A, B, 2, 100, 0), WEFT_OK);
    assert_int_equal(pair.count, 1);
    recorded = pair.wire[0];
    pair.count = 0;
    pair.node[B].count = 0;
    memset(&pair.node[B].core.counts, 0, sizeof(pair.node[B].core.counts));
    return 0;
}

static int close_all(void **state)
{
    (void)state;
    pair_close();
    return 0;
}

/* All were dropped, and so many were counted by these two words together. */
static void assert_dropped(uint64_t first, uint64_t second)
{
    const struct weft_dgram_counts *counts = &pair.node[B].core.counts;

    assert_int_equal(first + second, EACH);
    assert_int_equal(counts->malformed + counts->unknown + counts->forged +
                         counts->replayed + counts->corrupt,
                     EACH);
    assert_int_equal(counts->received, 0);
    assert_int_equal(counts->duplicates, 0);
    assert_int_equal(pair.count, 0); /* no answer */
    assert_int_equal(pair.node[B].count, 0);
    assert_int_equal(pair.node[B].nonsense, 0);
    assert_int_equal(pair.node[B].core.peers.count, 1);
    assert_int_equal(pair.node[B].core.receive_pool.used, 0);
    pair_give(&recorded); /* the right one is as welcome as before */
    assert_int_equal(pair.node[B].count, 1);
}

static void short_ones_are_malformed(void **state)
{
    (void)state;
    for (int i = 0; i < EACH; i++) {
        struct pair_datagram bad = {.from = A, .to = B, .length = draw(48)};

        fill(bad.bytes, bad.length);
        pair_give(&bad);
    }
    assert_dropped(pair.node[B].core.counts.malformed, 0);
}

static void random_ones_are_malformed_or_unknown(void **state)
{
    (void)state;
    for (int i = 0; i < EACH; i++) {
        struct pair_datagram bad = {.from = A, .to = B};

        bad.length = 48 + draw(PAIR_DATAGRAM - 48);
        fill(bad.bytes, bad.length);
        pair_give(&bad);
    }
    assert_true(pair.node[B].core.counts.malformed > EACH / 2);
    assert_true(pair.node[B].core.counts.unknown > 0);
    assert_dropped(pair.node[B].core.counts.malformed,
                   pair.node[B].core.counts.unknown + pair.node[B].core.counts.forged);
}

static void those_in_a_rank_s_name_are_forged(void **state)
{
    struct weft_dgram_header header;

    (void)state;
    for (int i = 0; i < EACH; i++) {
        struct pair_datagram bad = recorded;

        bad.length = 48 + draw(PAIR_DATAGRAM - 48);
        fill(bad.bytes, bad.length);
        memcpy(&header, bad.bytes, sizeof(header));
        header.process = A;
        header.version = weft_dgram_version();
        header.kind = (uint8_t)(WEFT_DGRAM_ACK + draw(WEFT_DGRAM_LEAVE));
        memcpy(bad.bytes, &header, sizeof(header));
        pair_give(&bad);
    }
    assert_dropped(pair.node[B].core.counts.forged, 0);
}

static void a_hello_without_the_secret_makes_no_peer(void **state)
{
    struct weft_dgram_header header;

    (void)state;
    for (int i = 0; i < EACH; i++) {
        struct pair_datagram bad = recorded;

        bad.length = sizeof(header) + sizeof(struct weft_dgram_hello) + draw(100);
        fill(bad.bytes, bad.length);
        memcpy(&header, bad.bytes, sizeof(header));
        header.version = weft_dgram_version();
        header.kind = WEFT_DGRAM_ORDERED | WEFT_DGRAM_HELLO;
        memcpy(bad.bytes, &header, sizeof(header));
        pair_give(&bad);
    }
    assert_dropped(pair.node[B].core.counts.forged, 0);
}

static void altered_headers_are_forged_or_malformed(void **state)
{
    struct weft_dgram_counts *counts = &pair.node[B].core.counts;

    (void)state;
    for (int i = 0; i < EACH; i++) {
        struct pair_datagram bad = recorded;

        bad.bytes[draw(48)] ^= (uint8_t)(1 + draw(255));
        pair_give(&bad);
    }
    assert_true(counts->forged > EACH / 2);
    assert_dropped(counts->forged, counts->malformed + counts->unknown);
}

static void altered_payloads_are_corrupt(void **state)
{
    (void)state;
    for (int i = 0; i < EACH; i++) {
        struct pair_datagram bad = recorded;

        bad.bytes[48 + draw((uint32_t)bad.length - 48)] ^= (uint8_t)(1 + draw(255));
        pair_give(&bad);
    }
    assert_dropped(pair.node[B].core.counts.corrupt, 0);
}

static void truncated_ones_are_forged_or_malformed(void **state)
{
    uint64_t within = 0;

    (void)state;
    for (int i = 0; i < EACH; i++) {
        struct pair_datagram bad = recorded;

        bad.length = draw((uint32_t)recorded.length);
        within += bad.length < 48;
        pair_give(&bad);
    }
    assert_int_equal(pair.node[B].core.counts.malformed, within);
    assert_dropped(pair.node[B].core.counts.malformed, pair.node[B].core.counts.forged);
}

static void a_replay_from_another_port_is_counted_as_such(void **state)
{
    (void)state;
    for (int i = 0; i < EACH; i++) {
        struct pair_datagram bad = recorded;

        bad.from = C + (int)draw(1000);
        pair_give(&bad);
    }
    assert_dropped(pair.node[B].core.counts.replayed, 0);
}

/* The job is started again: the same ranks, ports and numbers, another secret. */
static void a_recording_is_worthless_in_the_next_job(void **state)
{
    static const uint8_t other[WEFT_DGRAM_SECRET_BYTES] = "of the next job";
    struct pair_datagram hello;
    struct weft_dgram_config config;
    const uint64_t address = B;

    (void)state;
    weft_dgram_close(&pair.node[A].core);
    config = pair.node[A].core.config;
    config.address = &address; /* not looked at */
    assert_int_equal(weft_dgram_open(&pair.node[A].core, &config, pair.now), WEFT_OK);
    assert_int_equal(pair_send(A, B, 1, 100, 0), WEFT_OK);
    hello = pair.wire[0]; /* as the first datagram of the job before was */
    pair.count = 0;
    weft_dgram_close(&pair.node[B].core);
    config = pair.node[B].core.config;
    config.secret = other;
    config.address = &address;
    assert_int_equal(weft_dgram_open(&pair.node[B].core, &config, pair.now), WEFT_OK);
    for (int i = 0; i < EACH; i++) {
        pair_give(i % 2 == 0 ? &hello : &recorded);
    }
    assert_int_equal(pair.node[B].core.counts.forged, EACH / 2);
    assert_int_equal(pair.node[B].core.counts.unknown, EACH / 2);
    assert_int_equal(pair.node[B].core.peers.count, 0);
    assert_int_equal(pair.node[B].count, 0);
    assert_int_equal(pair.count, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_some, close_all)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(short_ones_are_malformed),
        TEST(random_ones_are_malformed_or_unknown),
        TEST(those_in_a_rank_s_name_are_forged),
        TEST(a_hello_without_the_secret_makes_no_peer),
        TEST(altered_headers_are_forged_or_malformed),
        TEST(altered_payloads_are_corrupt),
        TEST(truncated_ones_are_forged_or_malformed),
        TEST(a_replay_from_another_port_is_counted_as_such),
        TEST(a_recording_is_worthless_in_the_next_job),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
