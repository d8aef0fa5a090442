/*
 * test_rndv_net.c - long messages over a fake network: in one packet, put, got, in
 * chunks, and what becomes of them when their peer is lost in the middle.
 */
#include "p2p_fixture.h"

#include "fake_network.h"

#include "datatype/construct.h"

#include <stdio.h>
#include <stdlib.h>

enum { A = 1, TAG = 5, LONG = 100 * 1000, MIDDLE = 10 * 1000 };

static uint8_t message[LONG];
static uint8_t buffer[LONG];

static int open_net(void **state)
{
    fake_net_reset();
    fill_pattern(message, LONG, 1);
    memset(buffer, 0, sizeof(buffer));
    return fixture_open_over(state, &fake_net_ops);
}

static int open_fetched(void **state)
{
    const int rc = open_net(state);

    fake_net.prefers_get = true;
    return rc;
}

/* Peers' memory is out of reach, whatever they prefer. */
static int open_remote(void **state)
{
    const int rc = open_fetched(state);

    fake_net.has_no_memory = true;
    return rc;
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

static void poll_some(void)
{
    for (int i = 0; i < 20; i++) {
        weft_progress();
    }
}

static void finish(enum weft_rc rc)
{
    fake_net_finish(rc);
    poll_some();
}

static void answer(enum weft_packet kind, union weft_pkt_control packet)
{
    struct weft_header header = fixture_header(kind, A, 0);

    header.length = weft_engine.kinds[kind].least;
    fake_net_arrive(A, &header, &packet, header.length);
    poll_some();
}

/* A announces the message, with its first bytes. */
static void announce(uint64_t address, uint64_t key, unsigned flags, size_t along)
{
    struct weft_header header = fixture_header(WEFT_PKT_ANNOUNCE, A, TAG);
    const struct weft_pkt_announce about = {
        .length = LONG, .address = address, .request = 42, .share = key};
    uint8_t *packet = malloc(sizeof(about) + along);

    header.length = sizeof(about);
    header.flags = (uint8_t)flags;
    header.path = 1;
    memcpy(packet, &about, sizeof(about));
    memcpy(packet + sizeof(about), message, along);
    fake_net_arrive(A, &header, packet, sizeof(about) + along);
    free(packet);
    poll_some();
}

static union weft_pkt_control net_answer(enum weft_packet kind)
{
    const struct net_packet *packet = fake_net_nth(kind, 0);
    union weft_pkt_control out;

    assert_non_null(packet);
    assert_int_equal(packet->len, weft_engine.kinds[kind].least);
    memcpy(&out, packet->data, packet->len);
    return out;
}

static struct weft_pkt_announce net_announce(int n)
{
    const struct net_packet *packet = fake_net_nth(WEFT_PKT_ANNOUNCE, n);
    struct weft_pkt_announce out;

    assert_non_null(packet);
    memcpy(&out, packet->data, sizeof(out));
    return out;
}

/* ---- sends ---- */

static void a_message_that_fits_goes_in_one_packet_and_ends_with_it(void **state)
{
    struct weft_request *send = start_send(A, TAG, message, MIDDLE, WEFT_SEND_STANDARD);
    const struct net_packet *packet = fake_net_nth(WEFT_PKT_EAGER, 0);

    (void)state;
    assert_non_null(packet);
    assert_true(packet->is_zcopy);
    assert_int_equal(packet->len, MIDDLE);
    assert_false(weft_request_is_complete(send));
    finish(WEFT_OK);
    assert_memory_equal(packet->data, message, MIDDLE);
    end_request(send, WEFT_OK);
}

static void a_packet_without_room_goes_later_and_once(void **state)
{
    struct weft_request *send;

    (void)state;
    fake_net.refuse_zcopy = 2;
    send = start_send(A, TAG, message, MIDDLE, WEFT_SEND_STANDARD);
    poll_some();
    assert_int_equal(fake_net_count(WEFT_PKT_EAGER), 1);
    finish(WEFT_OK);
    end_request(send, WEFT_OK);
}

static void the_rest_of_an_announced_message_is_put_and_placed(void **state)
{
    struct weft_request *send = start_send(A, TAG, message, LONG, WEFT_SEND_STANDARD);
    const struct net_packet *announced = fake_net_nth(WEFT_PKT_ANNOUNCE, 0);
    const struct weft_pkt_announce about = net_announce(0);
    const size_t along = announced->len - announced->head_len;

    (void)state;
    assert_int_equal(about.length, LONG);
    assert_true(along > 0);
    assert_int_equal(announced->path, 1); /* and what follows takes the same */
    finish(WEFT_OK);
    assert_memory_equal(announced->data + announced->head_len, message, along);
    assert_false(weft_request_is_complete(send));
    fake_net.refuse_rma = 1;
    answer(WEFT_PKT_PULL_PUT,
           (union weft_pkt_control){
               .pull_put = {.chunk = {.request = about.request,
                                      .receiver = 43,
                                      .offset = along,
                                      .length = LONG - along},
                            .address = (uint64_t)(uintptr_t)(buffer + along),
                            .key = 7}});
    assert_int_equal(fake_net.puts, 1);
    assert_int_equal(net_answer(WEFT_PKT_PLACED).placed.request, 43);
    assert_int_equal(net_answer(WEFT_PKT_PLACED).placed.length, LONG - along);
    assert_int_equal(fake_net_nth(WEFT_PKT_PLACED, 0)->path, 1);
    assert_false(weft_request_is_complete(send));
    finish(WEFT_OK);
    assert_memory_equal(buffer + along, message + along, LONG - along);
    end_request(send, WEFT_OK);
}

/* In the place of PLACED. */
static void the_last_put_tells_the_receiver(void **state)
{
    struct weft_request *send;
    size_t along;

    (void)state;
    fake_net.has_told = true;
    send = start_send(A, TAG, message, LONG, WEFT_SEND_STANDARD);
    along = fake_net_nth(WEFT_PKT_ANNOUNCE, 0)->len -
            fake_net_nth(WEFT_PKT_ANNOUNCE, 0)->head_len;
    finish(WEFT_OK);
    fake_net.refuse_rma = 1;
    answer(WEFT_PKT_PULL_PUT,
           (union weft_pkt_control){
               .pull_put = {.chunk = {.request = net_announce(0).request,
                                      .receiver = 43,
                                      .offset = along,
                                      .length = LONG - along},
                            .address = (uint64_t)(uintptr_t)(buffer + along),
                            .key = 7}});
    assert_int_equal(fake_net.puts, 1);
    assert_int_equal(fake_net.told, 1);
    assert_int_equal(fake_net.word, 43);
    assert_false(weft_request_is_complete(send));
    finish(WEFT_OK);
    assert_int_equal(fake_net_count(WEFT_PKT_PLACED), 0);
    assert_memory_equal(buffer + along, message + along, LONG - along);
    end_request(send, WEFT_OK);
}

static void a_second_request_to_put_is_ignored(void **state)
{
    struct weft_request *send = start_send(A, TAG, message, LONG, WEFT_SEND_STANDARD);
    const union weft_pkt_control pull = {
        .pull_put = {
            .chunk = {.request = net_announce(0).request, .receiver = 43, .length = LONG},
            .address = (uint64_t)(uintptr_t)buffer,
            .key = 7}};

    (void)state;
    finish(WEFT_OK);
    answer(WEFT_PKT_PULL_PUT, pull);
    answer(WEFT_PKT_PULL_PUT, pull);
    assert_int_equal(fake_net.puts, 1);
    finish(WEFT_OK);
    end_request(send, WEFT_OK);
    answer(WEFT_PKT_PULL_PUT, pull); /* nor when it is over */
    assert_int_equal(fake_net.puts, 1);
}

static void a_peer_that_threw_bytes_away_gets_announcements_without_any(void **state)
{
    struct weft_request *send = start_send(A, TAG, message, LONG, WEFT_SEND_STANDARD);

    (void)state;
    finish(WEFT_OK);
    answer(WEFT_PKT_PULL_PUT,
           (union weft_pkt_control){
               .pull_put = {.chunk = {.request = net_announce(0).request,
                                      .receiver = 43,
                                      .length = LONG},
                            .address = (uint64_t)(uintptr_t)buffer,
                            .key = 7}});
    finish(WEFT_OK);
    end_request(send, WEFT_OK);
    send = start_send(A, TAG, message, LONG, WEFT_SEND_STANDARD);
    assert_false(fake_net_nth(WEFT_PKT_ANNOUNCE, 1)->is_zcopy);
    answer(WEFT_PKT_FETCHED,
           (union weft_pkt_control){.fetched = {.request = net_announce(1).request}});
    end_request(send, WEFT_OK);
}

static void data_in_many_blocks_go_in_chunks(void **state)
{
    static uint8_t spread[2 * LONG];
    static uint8_t gathered[LONG];
    struct weft_datatype *every_second;
    struct weft_request *send;
    size_t got = 0;

    (void)state;
    assert_int_equal(weft_type_vector(MPI_COMBINER_VECTOR, false, LONG, 1, 2,
                                      weft_datatype_from_handle(MPI_BYTE), &every_second),
                     WEFT_OK);
    assert_int_equal(weft_datatype_commit(every_second), WEFT_OK);
    for (size_t i = 0; i < LONG; i++) {
        spread[2 * i] = message[i];
    }
    /* More than a stage, so that it is not packed whole. */
    send = start_send_data(A, TAG, elements_at(spread, 2, every_second));
    weft_datatype_free(every_second);
    assert_int_equal(net_announce(0).address, 0);
    answer(WEFT_PKT_PULL,
           (union weft_pkt_control){.pull = {.request = net_announce(0).request,
                                             .receiver = 43,
                                             .length = LONG}});
    finish(WEFT_OK);
    for (int i = 0; fake_net_nth(WEFT_PKT_DATA, i) != NULL; i++) {
        const struct net_packet *packet = fake_net_nth(WEFT_PKT_DATA, i);
        struct weft_pkt_data chunk;
        const size_t n = packet->len - sizeof(chunk);

        memcpy(&chunk, packet->data, sizeof(chunk));
        assert_int_equal(chunk.request, 43);
        memcpy(gathered + chunk.offset, packet->data + sizeof(chunk), n);
        got += n;
    }
    assert_int_equal(got, LONG);
    assert_memory_equal(gathered, message, LONG);
    answer(WEFT_PKT_FETCHED,
           (union weft_pkt_control){.fetched = {.request = net_announce(0).request}});
    end_request(send, WEFT_OK);
}

static void registered_memory_is_announced_and_free_after_fetched(void **state)
{
    struct weft_request *send = start_send(A, TAG, message, LONG, WEFT_SEND_STANDARD);
    const struct net_packet *announced = fake_net_nth(WEFT_PKT_ANNOUNCE, 0);

    (void)state;
    assert_true((announced->header.flags & WEFT_PKT_REGISTERED) != 0);
    assert_false(announced->is_zcopy); /* nothing goes along */
    assert_int_equal(net_announce(0).share, 77);
    assert_int_equal(fake_net.registered, 1);
    answer(WEFT_PKT_FETCHED,
           (union weft_pkt_control){.fetched = {.request = net_announce(0).request}});
    assert_int_equal(fake_net.registered, 0);
    end_request(send, WEFT_OK);
}

/* The network may have to repeat bytes of which it has not heard that they arrived. */
static void a_fetched_send_waits_until_the_network_does_not_read_it(void **state)
{
    struct weft_request *send = start_send(A, TAG, message, LONG, WEFT_SEND_STANDARD);
    const struct net_packet *announced = fake_net_nth(WEFT_PKT_ANNOUNCE, 0);
    const size_t along = announced->len - announced->head_len;

    (void)state;
    assert_true(along > 0);
    answer(WEFT_PKT_PULL,
           (union weft_pkt_control){.pull = {.request = net_announce(0).request,
                                             .receiver = 43,
                                             .offset = along,
                                             .length = LONG - along}});
    assert_true(fake_net_count(WEFT_PKT_DATA) > 0);
    answer(WEFT_PKT_FETCHED,
           (union weft_pkt_control){.fetched = {.request = net_announce(0).request}});
    assert_false(weft_request_is_complete(send));
    finish(WEFT_OK);
    end_request(send, WEFT_OK);
}

/* ---- receives ---- */

static void bytes_along_are_taken_and_the_rest_is_put(void **state)
{
    struct weft_request *recv = start_recv(A, TAG, buffer, LONG);
    struct weft_pkt_pull_put pull;

    (void)state;
    announce((uint64_t)(uintptr_t)message, WEFT_NO_SHARE, 0, MIDDLE);
    pull = net_answer(WEFT_PKT_PULL_PUT).pull_put;
    assert_int_equal(pull.chunk.request, 42);
    assert_int_equal(pull.chunk.offset, MIDDLE);
    assert_int_equal(pull.chunk.length, LONG - MIDDLE);
    assert_int_equal(pull.key, 77);
    assert_memory_equal(buffer, message, MIDDLE);
    assert_int_equal(fake_net.registered, 1);
    memcpy((void *)(uintptr_t)pull.address, message + MIDDLE, LONG - MIDDLE);
    answer(WEFT_PKT_PLACED,
           (union weft_pkt_control){
               .placed = {.request = pull.chunk.receiver, .length = LONG - MIDDLE}});
    assert_memory_equal(buffer, message, LONG);
    assert_int_equal(fake_net.registered, 0);
    assert_int_equal(fake_net_count(WEFT_PKT_FETCHED), 0); /* its sender knows */
    end_recv(recv, A, TAG, LONG);
}

static void what_a_put_tells_ends_its_receive_once(void **state)
{
    struct weft_request *recv = start_recv(A, TAG, buffer, LONG);
    struct weft_pkt_pull_put pull;

    (void)state;
    announce((uint64_t)(uintptr_t)message, WEFT_NO_SHARE, 0, MIDDLE);
    pull = net_answer(WEFT_PKT_PULL_PUT).pull_put;
    memcpy((void *)(uintptr_t)pull.address, message + MIDDLE, LONG - MIDDLE);
    fake_net_tell(pull.chunk.receiver + (1ull << 40)); /* of nobody */
    assert_int_equal(fake_net.registered, 1);
    fake_net_tell(pull.chunk.receiver);
    fake_net_tell(pull.chunk.receiver);
    assert_int_equal(fake_net.registered, 0);
    assert_memory_equal(buffer, message, LONG);
    assert_int_equal(fake_net_count(WEFT_PKT_FETCHED), 0);
    poll_some();
    end_recv(recv, A, TAG, LONG);
    recv = start_recv(A, TAG, buffer, LONG); /* nothing was announced for it */
    fake_net_tell(transfer_name(recv));
    poll_some();
    assert_false(weft_request_is_complete(recv));
    announce((uint64_t)(uintptr_t)message, WEFT_NO_SHARE, 0, 0);
    fake_net_tell(transfer_name(recv));
    poll_some();
    end_recv(recv, A, TAG, LONG);
}

static void a_second_placed_is_ignored(void **state)
{
    struct weft_request *recv = start_recv(A, TAG, buffer, LONG);
    struct weft_header header = fixture_header(WEFT_PKT_PLACED, A, 0);
    union weft_pkt_control placed = {.placed = {.length = LONG}};

    (void)state;
    announce((uint64_t)(uintptr_t)message, WEFT_NO_SHARE, 0, 0);
    placed.placed.request = net_answer(WEFT_PKT_PULL_PUT).pull_put.chunk.receiver;
    header.length = sizeof(placed.placed);
    fake_net_arrive(A, &header, &placed, header.length); /* both in one poll, */
    answer(WEFT_PKT_PLACED, placed);
    end_recv(recv, A, TAG, LONG);
    recv = start_recv(A, TAG, buffer, LONG);
    announce((uint64_t)(uintptr_t)message, WEFT_NO_SHARE, 0, 0);
    answer(WEFT_PKT_PLACED, placed); /* and when it is over */
    assert_false(weft_request_is_complete(recv));
    assert_int_equal(fake_net.registered, 1);
    placed.placed.request = transfer_name(recv);
    answer(WEFT_PKT_PLACED, placed);
    end_recv(recv, A, TAG, LONG);
}

/* A's message comes in packets, because it cannot be put. */
static void receive_by_packets(void)
{
    struct weft_request *recv = start_recv(A, TAG, buffer, LONG);
    struct weft_pkt_pull pull;

    announce((uint64_t)(uintptr_t)message, WEFT_NO_SHARE, 0, 0);
    pull = net_answer(WEFT_PKT_PULL).pull;
    assert_int_equal(pull.length, LONG);
    for (uint64_t at = 0; at < LONG; at += 4000) {
        struct weft_header header = fixture_header(WEFT_PKT_DATA, A, 0);
        uint8_t packet[sizeof(struct weft_pkt_data) + 4000];
        const struct weft_pkt_data chunk = {.request = pull.receiver, .offset = at};

        memcpy(packet, &chunk, sizeof(chunk));
        memcpy(packet + sizeof(chunk), message + at, 4000);
        header.length = sizeof(packet);
        fake_net_arrive(A, &header, packet, sizeof(packet));
    }
    poll_some();
    assert_memory_equal(buffer, message, LONG);
    assert_int_equal(net_answer(WEFT_PKT_FETCHED).fetched.request, 42);
    end_recv(recv, A, TAG, LONG);
}

static void memory_that_cannot_be_registered_is_filled_by_packets(void **state)
{
    (void)state;
    fake_net.refuse_mr = true;
    receive_by_packets();
}

static void registered_memory_is_got(void **state)
{
    struct weft_request *recv = start_recv(A, TAG, buffer, LONG);

    (void)state;
    fake_net.refuse_rma = 1;
    announce((uint64_t)(uintptr_t)message, 77, WEFT_PKT_REGISTERED, 0);
    assert_int_equal(fake_net.gets, 1);
    assert_false(weft_request_is_complete(recv));
    finish(WEFT_OK);
    assert_memory_equal(buffer, message, LONG);
    assert_int_equal(net_answer(WEFT_PKT_FETCHED).fetched.request, 42);
    end_recv(recv, A, TAG, LONG);
}

/* ---- a path without a table of memory ---- */

static void without_memory_a_message_comes_in_packets(void **state)
{
    (void)state;
    receive_by_packets();
}

enum { CHUNK = 4000, FIRST_PIECE = 100 };

/* Offers a chunk of the message in two pieces, the second of which lies at `rest`. */
static enum weft_taken offer_pieces(struct weft_peer *peer, uint64_t request, uint64_t at,
                                    const uint8_t *rest)
{
    struct weft_header header = fixture_header(WEFT_PKT_DATA, A, 0);
    const struct weft_pkt_data chunk = {.request = request, .offset = at};
    uint8_t first[sizeof(chunk) + FIRST_PIECE];
    const struct iovec pieces[] = {{first, sizeof(first)},
                                   {(void *)(uintptr_t)rest, CHUNK - FIRST_PIECE}};

    memcpy(first, &chunk, sizeof(chunk));
    memcpy(first + sizeof(chunk), message + at, FIRST_PIECE);
    header.length = sizeof(chunk) + CHUNK;
    header.sequence = peer->in_sequence;
    return weft_engine_arrived_in_pieces(NULL, peer, &header, pieces, 2, header.length);
}

static void a_chunk_may_come_in_pieces(void **state)
{
    struct weft_request *recv = start_recv(A, TAG, buffer, LONG);
    struct weft_peer *peer = weft_peer_get(weft_engine_process(A));
    uint64_t request;
    uint32_t before;

    (void)state;
    announce((uint64_t)(uintptr_t)message, WEFT_NO_SHARE, 0, 0);
    request = net_answer(WEFT_PKT_PULL).pull.receiver;
    for (uint64_t at = 0; at < LONG; at += CHUNK) {
        assert_int_equal(offer_pieces(peer, request, at, message + at + FIRST_PIECE),
                         WEFT_TAKEN);
    }
    before = peer->in_sequence;
    assert_int_equal(offer_pieces(peer, request, 0, message + FIRST_PIECE),
                     WEFT_KEEP); /* nothing is left: arrived() is to reject it */
    assert_int_equal(peer->in_sequence, before);
    poll_some();
    assert_memory_equal(buffer, message, LONG);
    end_recv(recv, A, TAG, LONG);
}

static void without_memory_a_message_goes_in_packets(void **state)
{
    struct weft_request *send = start_send(A, TAG, message, LONG, WEFT_SEND_STANDARD);
    const struct net_packet *announced = fake_net_nth(WEFT_PKT_ANNOUNCE, 0);
    const size_t along = announced->len - announced->head_len;
    uint64_t at = along;

    (void)state;
    assert_true((announced->header.flags & WEFT_PKT_REGISTERED) == 0);
    finish(WEFT_OK);
    answer(WEFT_PKT_PULL,
           (union weft_pkt_control){.pull = {.request = net_announce(0).request,
                                             .receiver = 43,
                                             .offset = along,
                                             .length = LONG - along}});
    finish(WEFT_OK);
    for (int i = 0; i < fake_net_count(WEFT_PKT_DATA); i++) {
        const struct net_packet *data = fake_net_nth(WEFT_PKT_DATA, i);

        assert_memory_equal(data->data + data->head_len, message + at,
                            data->len - data->head_len);
        at += data->len - data->head_len;
    }
    assert_int_equal(at, LONG);
    answer(WEFT_PKT_FETCHED,
           (union weft_pkt_control){.fetched = {.request = net_announce(0).request}});
    end_request(send, WEFT_OK);
}

static void without_memory_a_peer_that_asks_for_puts_is_refused(void **state)
{
    struct weft_request *send = start_send(A, TAG, message, LONG, WEFT_SEND_STANDARD);
    const struct weft_pkt_pull_put pull = {
        .chunk = {.request = net_announce(0).request, .receiver = 43, .length = LONG},
        .key = 7};
    struct weft_header header = fixture_header(WEFT_PKT_PULL_PUT, A, 0);
    const char *words;

    (void)state;
    finish(WEFT_OK);
    header.length = sizeof(pull);
    words = rejection_of(A, &header, &pull, sizeof(pull));
    assert_non_null(words);
    assert_non_null(strstr(words, "another protocol"));
    answer(WEFT_PKT_FETCHED,
           (union weft_pkt_control){.fetched = {.request = pull.chunk.request}});
    end_request(send, WEFT_OK);
}

/* ---- a peer that is lost ---- */

static void a_send_ends_when_its_peer_is_lost_during_a_put(void **state)
{
    struct weft_request *send = start_send(A, TAG, message, LONG, WEFT_SEND_STANDARD);

    (void)state;
    finish(WEFT_OK);
    answer(WEFT_PKT_PULL_PUT,
           (union weft_pkt_control){
               .pull_put = {.chunk = {.request = net_announce(0).request,
                                      .receiver = 43,
                                      .length = LONG},
                            .address = (uint64_t)(uintptr_t)buffer,
                            .key = 7}});
    assert_int_equal(fake_net.pending, 1);
    fake_net_lose(A);
    poll_some();
    end_request(send, WEFT_ERR_PROC_FAILED);
    finish(WEFT_ERR_PROC_FAILED); /* finds nothing any more */
}

static void a_send_whose_operation_fails_first_ends_with_the_loss(void **state)
{
    struct weft_request *send = start_send(A, TAG, message, MIDDLE, WEFT_SEND_STANDARD);

    (void)state;
    finish(WEFT_ERR_PROC_FAILED);
    assert_false(weft_request_is_complete(send)); /* until the network says the rest */
    fake_net_lose(A);
    poll_some();
    end_request(send, WEFT_ERR_PROC_FAILED);
}

static void a_registered_send_is_deregistered_when_its_peer_is_lost(void **state)
{
    struct weft_request *send = start_send(A, TAG, message, LONG, WEFT_SEND_STANDARD);

    (void)state;
    assert_int_equal(fake_net.registered, 1);
    fake_net_lose(A);
    poll_some();
    assert_int_equal(fake_net.registered, 0);
    end_request(send, WEFT_ERR_PROC_FAILED);
}

static void a_receive_ends_when_its_peer_is_lost_before_placed(void **state)
{
    struct weft_request *recv = start_recv(A, TAG, buffer, LONG);

    (void)state;
    announce((uint64_t)(uintptr_t)message, WEFT_NO_SHARE, 0, MIDDLE);
    assert_int_equal(fake_net.registered, 1);
    fake_net_lose(A);
    poll_some();
    assert_int_equal(fake_net.registered, 0);
    end_request(recv, WEFT_ERR_PROC_FAILED);
    assert_int_equal(weft_transfers.incoming, 0);
    assert_null(weft_transfers.list);
}

static void a_receive_ends_when_its_peer_is_lost_during_a_get(void **state)
{
    struct weft_request *recv = start_recv(A, TAG, buffer, LONG);

    (void)state;
    announce((uint64_t)(uintptr_t)message, 77, WEFT_PKT_REGISTERED, 0);
    fake_net_lose(A);
    poll_some();
    end_request(recv, WEFT_ERR_PROC_FAILED);
    finish(WEFT_ERR_PROC_FAILED);
}

int main(void)
{
#define CASE(name)         cmocka_unit_test_setup_teardown(name, open_net, close_net)
#define REMOTE_CASE(name)  cmocka_unit_test_setup_teardown(name, open_remote, close_net)
#define FETCHED_CASE(name) cmocka_unit_test_setup_teardown(name, open_fetched, close_net)
    const struct CMUnitTest tests[] = {
        CASE(a_message_that_fits_goes_in_one_packet_and_ends_with_it),
        CASE(a_packet_without_room_goes_later_and_once),
        CASE(the_rest_of_an_announced_message_is_put_and_placed),
        CASE(the_last_put_tells_the_receiver),
        CASE(a_second_request_to_put_is_ignored),
        CASE(a_peer_that_threw_bytes_away_gets_announcements_without_any),
        CASE(data_in_many_blocks_go_in_chunks),
        CASE(a_fetched_send_waits_until_the_network_does_not_read_it),
        FETCHED_CASE(registered_memory_is_announced_and_free_after_fetched),

        CASE(bytes_along_are_taken_and_the_rest_is_put),
        CASE(what_a_put_tells_ends_its_receive_once),
        CASE(a_second_placed_is_ignored),
        CASE(memory_that_cannot_be_registered_is_filled_by_packets),
        CASE(registered_memory_is_got),

        REMOTE_CASE(without_memory_a_message_comes_in_packets),
        REMOTE_CASE(a_chunk_may_come_in_pieces),
        REMOTE_CASE(without_memory_a_message_goes_in_packets),
        REMOTE_CASE(without_memory_a_peer_that_asks_for_puts_is_refused),

        CASE(a_send_ends_when_its_peer_is_lost_during_a_put),
        CASE(a_send_whose_operation_fails_first_ends_with_the_loss),
        FETCHED_CASE(a_registered_send_is_deregistered_when_its_peer_is_lost),
        CASE(a_receive_ends_when_its_peer_is_lost_before_placed),
        CASE(a_receive_ends_when_its_peer_is_lost_during_a_get),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
