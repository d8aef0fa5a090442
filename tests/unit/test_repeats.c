/*
 * test_repeats.c - control packets that arrive twice, as over a second path: the second
 * one changes nothing. One test for each kind; those of networks are in test_rndv_net.c.
 */
#include "p2p_fixture.h"

#include "datatype/construct.h"
#include "engine/seal.h"
#include "transfer/protocol.h"
#include "transfer/staged.h"

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

static void arrive_twice(enum weft_packet kind, union weft_pkt_control answer)
{
    arrive_answer(A, kind, answer);
    arrive_answer(A, kind, answer);
    weft_progress();
}

static uint64_t bytes_pushed(void)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < fake_count(WEFT_PKT_DATA); i++) {
        bytes += fake_nth(WEFT_PKT_DATA, i)->len - sizeof(struct weft_pkt_data);
    }
    return bytes;
}

static void end_announced(struct weft_request *send)
{
    arrive_answer(A, WEFT_PKT_FETCHED,
                  (union weft_pkt_control){.fetched = {.request = transfer_name(send)}});
    weft_progress();
    end_request(send, WEFT_OK);
}

static void a_second_pull_sends_nothing(void **state)
{
    struct weft_request *send = announce();
    const union weft_pkt_control pull = {
        .pull = {.request = transfer_name(send), .receiver = 90, .length = LONG}};

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
    union weft_pkt_control pull = {
        .pull = {.request = transfer_name(send), .receiver = 90, .length = 1000}};

    (void)state;
    arrive_twice(WEFT_PKT_PULL, pull);
    pull.pull.offset = 1000;
    pull.pull.length = LONG - 1000;
    arrive_twice(WEFT_PKT_PULL, pull);
    assert_int_equal(bytes_pushed(), LONG);
    end_announced(send);
}

static void a_second_fetched_finds_nothing(void **state)
{
    struct weft_request *send = announce();
    const uint64_t name = transfer_name(send);

    (void)state;
    arrive_twice(WEFT_PKT_FETCHED,
                 (union weft_pkt_control){.fetched = {.request = name}});
    end_request(send, WEFT_OK);
    send = announce();
    arrive_answer(A, WEFT_PKT_FETCHED,
                  (union weft_pkt_control){.fetched = {.request = name}});
    weft_progress();
    assert_false(weft_request_is_complete(send));
    end_announced(send);
}

static union weft_pkt_control offer_of(uint32_t number, uint32_t generation)
{
    return (union weft_pkt_control){
        .offer =
            {
                .request = 40 + number,
                .share = (uint64_t)generation << 32 | number,
                .length = LONG,
                .context = FIXTURE_CONTEXT,
                .tag = TAG,
            },
    };
}

static const struct weft_offer *offers_of_a(void)
{
    return weft_peer_find(weft_engine_process(A))->transfers->offers;
}

/* The order of offers is the order of receives: a second one keeps its place. */
static void a_second_offer_keeps_its_place(void **state)
{
    const struct weft_offer *first;

    (void)state;
    arrive_answer(A, WEFT_PKT_OFFER, offer_of(0, 1));
    arrive_answer(A, WEFT_PKT_OFFER, offer_of(1, 1));
    arrive_answer(A, WEFT_PKT_OFFER, offer_of(0, 1));
    weft_progress();
    first = offers_of_a();
    assert_non_null(first);
    assert_int_equal(first->request, 40);
    assert_int_equal(first->next->request, 41);
    assert_null(first->next->next);
}

/* A share has one offer, its last: a receive that is not known here would be passed over
 * for a younger one. */
static void a_second_offer_does_not_displace_a_later_one_of_its_share(void **state)
{
    (void)state;
    arrive_answer(A, WEFT_PKT_OFFER, offer_of(0, UINT32_MAX));
    arrive_answer(A, WEFT_PKT_OFFER, offer_of(0, 0)); /* the next generation */
    arrive_answer(A, WEFT_PKT_OFFER, offer_of(0, UINT32_MAX));
    weft_progress();
    assert_non_null(offers_of_a());
    assert_int_equal(offers_of_a()->share, 0);
    assert_null(offers_of_a()->next);
}

/* The share says that this offer was used, so the message is announced. */
static void a_second_offer_is_not_used_again(void **state)
{
    struct weft_copy_share *share = share_of(A, 0);
    const uint32_t generation =
        weft_share_offer(share, (uint64_t)(uintptr_t)buffer, LONG);
    struct weft_request *send;

    (void)state;
    set_peers_inside(false);
    arrive_answer(A, WEFT_PKT_OFFER, offer_of(0, generation));
    weft_progress();
    send = start_send(A, TAG, message, LONG, WEFT_SEND_STANDARD);
    weft_progress();
    end_request(send, WEFT_OK);
    assert_int_equal(fake_count(WEFT_PKT_ANNOUNCE), 0);

    arrive_answer(A, WEFT_PKT_OFFER, offer_of(0, generation));
    weft_progress();
    limit_shares(0);
    memset(buffer, 0, sizeof(buffer));
    send = start_send(A, TAG, message, LONG, WEFT_SEND_STANDARD);
    assert_int_equal(fake_count(WEFT_PKT_ANNOUNCE), 1);
    assert_int_equal(buffer[0] | buffer[LONG - 1], 0);
    end_announced(send);
}

/* ---- chunks through stages ---- */

static uint8_t spread[2 * WEFT_STAGED_CHUNK * 3];
static struct weft_datatype *every_second;

static int open_with_type(void **state)
{
    if (weft_type_vector(MPI_COMBINER_VECTOR, false, sizeof(spread) / 2, 1, 2,
                         weft_datatype_from_handle(MPI_BYTE), &every_second) != WEFT_OK ||
        weft_datatype_commit(every_second) != WEFT_OK) {
        return -1;
    }
    return fixture_open(state);
}

static int close_with_type(void **state)
{
    weft_datatype_free(every_second);
    return fixture_close(state);
}

static void a_second_stage_packs_nothing(void **state)
{
    struct weft_request *send =
        start_send_data(A, TAG, elements_at(spread, 1, every_second));
    union weft_pkt_control stage = {.stage = {.request = transfer_name(send),
                                              .receiver = 90,
                                              .length = WEFT_STAGED_CHUNK}};

    (void)state;
    arrive_twice(WEFT_PKT_STAGE, stage);
    assert_int_equal(fake_count(WEFT_PKT_STAGED), 1);
    stage.stage.offset = WEFT_STAGED_CHUNK;
    arrive_twice(WEFT_PKT_STAGE, stage);
    assert_int_equal(fake_count(WEFT_PKT_STAGED), 2);
    stage.stage.offset = 0; /* later than others */
    arrive_twice(WEFT_PKT_STAGE, stage);
    assert_int_equal(fake_count(WEFT_PKT_STAGED), 2);
    end_announced(send);
}

static void arrive_staged(size_t i, int times)
{
    const struct weft_pkt_stage stage = answer_in(fake_nth(WEFT_PKT_STAGE, i)).stage;

    memset(stage_of(A, i % 2), (int)i + 1, WEFT_STAGED_CHUNK);
    while (times-- > 0) {
        arrive_answer(
            A, WEFT_PKT_STAGED,
            (union weft_pkt_control){.staged = {.request = stage.receiver,
                                                .address = WEFT_IN_STAGE | i % 2,
                                                .offset = stage.offset,
                                                .length = stage.length}});
    }
    weft_progress();
}

static void a_second_staged_is_not_unpacked(void **state)
{
    struct weft_request *recv =
        start_recv_data(A, TAG, elements_at(spread, 1, every_second));

    (void)state;
    arrive_announced(A, TAG, NULL, sizeof(spread) / 2, 42);
    weft_progress();
    arrive_staged(0, 2);
    assert_int_equal(fake_count(WEFT_PKT_STAGE), 3); /* one more, not two */
    arrive_staged(1, 1);
    arrive_staged(0, 1); /* later than others: this stage has other bytes now */
    assert_false(weft_request_is_complete(recv));
    arrive_staged(2, 2);
    assert_int_equal(fake_count(WEFT_PKT_STAGE), 3);
    assert_int_equal(fake_count(WEFT_PKT_FETCHED), 1);
    end_recv(recv, A, TAG, sizeof(spread) / 2);
    for (size_t i = 0; i < sizeof(spread) / 2; i++) {
        assert_int_equal(spread[2 * i], i / WEFT_STAGED_CHUNK + 1);
    }
}

static void a_second_sums_is_ignored(void **state)
{
    struct weft_request *recv;
    union weft_pkt_control packet = {.sums = {.sums = {77}}};
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
    arrive_twice(WEFT_PKT_SUMS, packet);
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
#define TYPED_CASE(name)                                                                 \
    cmocka_unit_test_setup_teardown(name, open_with_type, close_with_type)
    const struct CMUnitTest tests[] = {
        CASE(a_second_pull_sends_nothing),
        CASE(a_second_pull_of_a_part_sends_nothing),
        CASE(a_second_fetched_finds_nothing),
        CASE(a_second_offer_keeps_its_place),
        CASE(a_second_offer_does_not_displace_a_later_one_of_its_share),
        CASE(a_second_offer_is_not_used_again),
        TYPED_CASE(a_second_stage_packs_nothing),
        TYPED_CASE(a_second_staged_is_not_unpacked),
        CASE(a_second_sums_is_ignored),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
