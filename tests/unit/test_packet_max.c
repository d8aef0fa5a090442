/*
 * test_packet_max.c - paths whose packets carry 512 bytes, the least that a transport may
 * have: every message goes, and no packet is longer. The fakes note one that is.
 */
#include "p2p_fixture.h"

#include "fake_network.h"

#include "datatype/construct.h"

#include <stdio.h>
#include <stdlib.h>

enum { A = 1, TAG = 5, PACKET = 512, LONG = 10 * 1000 };

static uint8_t message[LONG];
static uint8_t gathered[LONG];

static int open_node(void **state)
{
    const int rc = fixture_open(state);

    fake.packet_max = PACKET;
    fill_pattern(message, LONG, 1);
    memset(gathered, 0, sizeof(gathered));
    limit_shares(0); /* so that ends come from FETCHED */
    return rc;
}

static int open_net(void **state)
{
    fake_net_reset();
    fake_net.packet_max = PACKET;
    fake_net.zcopy_max = PACKET;
    fill_pattern(message, LONG, 1);
    memset(gathered, 0, sizeof(gathered));
    return fixture_open_over(state, &fake_net_ops);
}

static int close_net(void **state)
{
    const int rc = fixture_close(state);

    if (fake_net.fault != NULL) {
        fprintf(stderr, "fake network: %s\n", fake_net.fault);
        return -1;
    }
    return rc;
}

/* ---- inside a node ---- */

/* A asks for all of a message that was announced, and gets it in chunks. */
static void pull_and_end(struct weft_request *send, size_t length)
{
    const uint64_t name = announce_in(fake_nth(WEFT_PKT_ANNOUNCE, 0)).request;
    size_t got = 0;

    assert_false(weft_request_is_complete(send));
    arrive_answer(A, WEFT_PKT_PULL,
                  (union weft_pkt_control){
                      .pull = {.request = name, .receiver = 90, .length = length}});
    weft_progress();
    for (size_t i = 0; i < fake_count(WEFT_PKT_DATA); i++) {
        const struct fake_packet *packet = fake_nth(WEFT_PKT_DATA, i);
        const struct weft_pkt_data chunk = data_in(packet);
        const size_t n = packet->len - sizeof(chunk);

        memcpy(gathered + chunk.offset, packet->data + sizeof(chunk), n);
        got += n;
    }
    assert_int_equal(got, length);
    assert_int_equal(fake_count(WEFT_PKT_EAGER), 0);
    arrive_answer(A, WEFT_PKT_FETCHED,
                  (union weft_pkt_control){.fetched = {.request = name}});
    weft_progress();
    end_request(send, WEFT_OK);
}

static void what_fits_into_a_packet_goes_at_once(void **state)
{
    (void)state;
    end_request(start_send(A, TAG, message, PACKET, WEFT_SEND_STANDARD), WEFT_OK);
    end_request(start_send(A, TAG, message, PACKET, WEFT_SEND_STANDARD), WEFT_OK);
    assert_int_equal(fake_count(WEFT_PKT_EAGER), 2);
}

/* The first send makes the path, and a second one finds it. */
static void what_does_not_fit_is_announced(void **state)
{
    (void)state;
    for (int turn = 0; turn < 2; turn++) {
        fake_forget();
        pull_and_end(start_send(A, TAG, message, PACKET + 1, WEFT_SEND_STANDARD),
                     PACKET + 1);
        assert_memory_equal(gathered, message, PACKET + 1);
    }
}

static void long_messages_go_in_chunks_of_a_packet(void **state)
{
    (void)state;
    pull_and_end(start_send(A, TAG, message, LONG, WEFT_SEND_STANDARD), LONG);
    assert_memory_equal(gathered, message, LONG);
}

/* Where packets carry more than a short message, chunks of long ones do so, too. */
static void long_messages_fill_long_packets(void **state)
{
    (void)state;
    fake.packet_max = FAKE_LONGEST;
    pull_and_end(start_send(A, TAG, message, LONG, WEFT_SEND_STANDARD), LONG);
    assert_memory_equal(gathered, message, LONG);
    assert_int_equal(fake_count(WEFT_PKT_DATA), 1);
}

/* Every second byte of `spread`, as many as an ordinary packet carries. */
static struct weft_datatype *make_spread(uint8_t *spread, int count)
{
    struct weft_datatype *type;

    assert_int_equal(weft_type_vector(MPI_COMBINER_VECTOR, false, count, 1, 2,
                                      weft_datatype_from_handle(MPI_BYTE), &type),
                     WEFT_OK);
    assert_int_equal(weft_datatype_commit(type), WEFT_OK);
    for (int i = 0; i < count; i++) {
        spread[2 * i] = message[i];
    }
    return type;
}

static void data_in_many_blocks_go_in_chunks_of_a_packet(void **state)
{
    static uint8_t spread[2 * WEFT_EAGER_MAX];
    struct weft_datatype *type = make_spread(spread, WEFT_EAGER_MAX);

    (void)state;
    pull_and_end(start_send_data(A, TAG, elements_at(spread, 1, type)), WEFT_EAGER_MAX);
    assert_memory_equal(gathered, message, WEFT_EAGER_MAX);
    weft_datatype_free(type);
}

/* ---- over a network ---- */

static void poll_some(void)
{
    for (int i = 0; i < 20; i++) {
        weft_progress();
    }
}

static void arrive_net(enum weft_packet kind, union weft_pkt_control packet)
{
    struct weft_header header = fixture_header(kind, A, 0);

    header.length = weft_engine.kinds[kind].least;
    fake_net_arrive(A, &header, &packet, header.length);
    poll_some();
}

static uint64_t announced_name(void)
{
    struct weft_pkt_announce announce;

    assert_non_null(fake_net_nth(WEFT_PKT_ANNOUNCE, 0));
    memcpy(&announce, fake_net_nth(WEFT_PKT_ANNOUNCE, 0)->data, sizeof(announce));
    return announce.request;
}

static void bytes_along_and_announcement_fit_into_a_packet(void **state)
{
    struct weft_request *send = start_send(A, TAG, message, LONG, WEFT_SEND_STANDARD);
    const struct net_packet *announced = fake_net_nth(WEFT_PKT_ANNOUNCE, 0);
    const size_t along = PACKET - sizeof(struct weft_pkt_announce);

    (void)state;
    assert_non_null(announced);
    assert_true(announced->is_zcopy);
    assert_int_equal(announced->len, PACKET);
    fake_net_finish(WEFT_OK);
    arrive_net(WEFT_PKT_PULL_PUT,
               (union weft_pkt_control){
                   .pull_put = {.chunk = {.request = announced_name(),
                                          .receiver = 43,
                                          .offset = along,
                                          .length = LONG - along},
                                .address = (uint64_t)(uintptr_t)(gathered + along)}});
    fake_net_finish(WEFT_OK);
    poll_some();
    end_request(send, WEFT_OK);
    assert_memory_equal(gathered + along, message + along, LONG - along);
}

static void pull_over_net(void)
{
    struct weft_request *send = start_send(A, TAG, message, LONG, WEFT_SEND_STANDARD);
    size_t got = 0;

    arrive_net(
        WEFT_PKT_PULL,
        (union weft_pkt_control){
            .pull = {.request = announced_name(), .receiver = 43, .length = LONG}});
    fake_net_finish(WEFT_OK);
    poll_some();
    for (int i = 0; fake_net_nth(WEFT_PKT_DATA, i) != NULL; i++) {
        const struct net_packet *packet = fake_net_nth(WEFT_PKT_DATA, i);
        struct weft_pkt_data chunk;
        const size_t n = packet->len - sizeof(chunk);

        memcpy(&chunk, packet->data, sizeof(chunk));
        memcpy(gathered + chunk.offset, packet->data + sizeof(chunk), n);
        got += n;
    }
    assert_int_equal(got, LONG);
    assert_memory_equal(gathered, message, LONG);
    arrive_net(WEFT_PKT_FETCHED,
               (union weft_pkt_control){.fetched = {.request = announced_name()}});
    end_request(send, WEFT_OK);
}

static void chunks_that_are_not_copied_fit_into_a_packet(void **state)
{
    (void)state;
    pull_over_net();
    assert_true(fake_net_nth(WEFT_PKT_DATA, 0)->is_zcopy);
}

static void chunks_that_are_copied_fit_into_a_packet(void **state)
{
    (void)state;
    fake_net.zcopy_max = 0; /* the network has no such send */
    pull_over_net();
    assert_false(fake_net_nth(WEFT_PKT_DATA, 0)->is_zcopy);
}

int main(void)
{
#define NODE_CASE(name) cmocka_unit_test_setup_teardown(name, open_node, fixture_close)
#define NET_CASE(name)  cmocka_unit_test_setup_teardown(name, open_net, close_net)
    const struct CMUnitTest tests[] = {
        NODE_CASE(what_fits_into_a_packet_goes_at_once),
        NODE_CASE(what_does_not_fit_is_announced),
        NODE_CASE(long_messages_go_in_chunks_of_a_packet),
        NODE_CASE(long_messages_fill_long_packets),
        NODE_CASE(data_in_many_blocks_go_in_chunks_of_a_packet),
        NET_CASE(bytes_along_and_announcement_fit_into_a_packet),
        NET_CASE(chunks_that_are_not_copied_fit_into_a_packet),
        NET_CASE(chunks_that_are_copied_fit_into_a_packet),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
