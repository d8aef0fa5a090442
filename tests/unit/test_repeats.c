/*
 * test_repeats.c - control packets that arrive twice, as over a second path: the second
 * one changes nothing. One test for each kind.
 */
#include "p2p_fixture.h"

#include "transfer/protocol.h"

#include "engine/seal.h"

enum { A = 1, TAG = 5, LONG = 70000 };

static uint8_t message[LONG];
static uint8_t buffer[LONG];

/* A long send to A whose end comes from FETCHED. */
static struct weft_request *announce(void)
{
    limit_shares(0);
    fill_pattern(message, LONG, 1);
    return start_send(A, TAG, message, LONG, WEFT_SEND_STANDARD);
}

static void arrive_twice(enum weft_packet kind, struct weft_answer answer)
{
    arrive_answer(A, kind, answer);
    arrive_answer(A, kind, answer);
    weft_progress();
}

static uint64_t bytes_pushed(void)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < fake_count(WEFT_PKT_DATA); i++) {
        bytes += answer_in(fake_nth(WEFT_PKT_DATA, i)).length;
    }
    return bytes;
}

static void end_announced(struct weft_request *send)
{
    arrive_answer(A, WEFT_PKT_FETCHED,
                  (struct weft_answer){.request = transfer_name(send)});
    weft_progress();
    end_request(send, WEFT_OK);
}

static void a_second_pull_sends_nothing(void **state)
{
    struct weft_request *send = announce();
    const struct weft_answer pull = {
        .request = transfer_name(send), .other = 90, .length = LONG};

    (void)state;
    arrive_twice(WEFT_PKT_PULL, pull);
    assert_int_equal(bytes_pushed(), LONG);
    arrive_answer(A, WEFT_PKT_PULL, pull); /* also when all has gone out */
    weft_progress();
    assert_int_equal(bytes_pushed(), LONG);
    end_announced(send);
}

static void a_second_pull_of_a_part_sends_nothing(void **state)
{
    struct weft_request *send = announce();
    struct weft_answer pull = {
        .request = transfer_name(send), .other = 90, .length = 1000};

    (void)state;
    arrive_twice(WEFT_PKT_PULL, pull);
    pull.offset = 1000;
    pull.length = LONG - 1000;
    arrive_twice(WEFT_PKT_PULL, pull);
    assert_int_equal(bytes_pushed(), LONG);
    end_announced(send);
}

static void a_second_fetched_finds_nothing(void **state)
{
    struct weft_request *send = announce();
    const uint64_t name = transfer_name(send);

    (void)state;
    arrive_twice(WEFT_PKT_FETCHED, (struct weft_answer){.request = name});
    end_request(send, WEFT_OK);
    send = announce();
    arrive_answer(A, WEFT_PKT_FETCHED, (struct weft_answer){.request = name});
    weft_progress();
    assert_false(weft_request_is_complete(send));
    end_announced(send);
}

static struct weft_answer offer_of(uint32_t number)
{
    return (struct weft_answer){
        .request = 40 + number,
        .other = UINT64_C(1) << 32 | number,
        .offset = (uint64_t)FIXTURE_CONTEXT << 32 | TAG,
        .length = LONG,
    };
}

/* The order of offers is the order of receives: a second one keeps its place. */
static void a_second_offer_keeps_its_place(void **state)
{
    const struct weft_offer *first;

    (void)state;
    arrive_answer(A, WEFT_PKT_OFFER, offer_of(0));
    arrive_answer(A, WEFT_PKT_OFFER, offer_of(1));
    arrive_answer(A, WEFT_PKT_OFFER, offer_of(0));
    weft_progress();
    first = weft_peer_find(A)->transfers->offers;
    assert_non_null(first);
    assert_int_equal(first->request, 40);
    assert_int_equal(first->next->request, 41);
    assert_null(first->next->next);
}

static void a_second_sums_is_ignored(void **state)
{
    struct weft_request *recv;
    union {
        struct weft_sums sums;
        struct weft_answer answer;
    } packet = {.sums = {.unused = 0}};
    struct weft_transfer *r;

    (void)state;
    fake_reach(false);
    recv = start_recv(A, TAG, buffer, LONG);
    arrive_with_share(A, TAG, message, LONG, 42, 0);
    weft_progress();
    r = ((struct weft_p2p_request *)recv)->transfer;
    weft_p2p_set_checksum(true); /* as if the announcement had come without sums */
    r->awaits_sums = true;
    memset(r->sums, 0, sizeof(r->sums));
    packet.sums.request = transfer_name(recv);
    packet.sums.sums[0] = 77;
    arrive_twice(WEFT_PKT_SUMS, packet.answer);
    assert_false(r->awaits_sums);
    assert_int_equal(r->sums[0], 77);
    weft_p2p_set_checksum(false);
    assert_false(weft_request_is_complete(recv));
    arrive_data(A, transfer_name(recv), message, 0, 4000);
    for (uint64_t at = 4000; at < LONG; at += 4000) {
        arrive_data(A, transfer_name(recv), message, at,
                    LONG - at < 4000 ? LONG - at : 4000);
    }
    weft_progress();
    end_recv(recv, A, TAG, LONG);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, fixture_open, fixture_close)
    const struct CMUnitTest tests[] = {
        CASE(a_second_pull_sends_nothing),    CASE(a_second_pull_of_a_part_sends_nothing),
        CASE(a_second_fetched_finds_nothing), CASE(a_second_offer_keeps_its_place),
        CASE(a_second_sums_is_ignored),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
