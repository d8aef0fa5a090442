/*
 * test_dispatch.c - order and room, which the engine decides when a packet is offered: a
 * packet that comes again, one that comes before its turn, and a full store.
 *
 * Packets are offered by hand, and by a network with two paths that bring them in any
 * order.
 */
#include "p2p_fixture.h"

#include "fake_network.h"

#include "engine/lock.h"
#include "engine/wait.h"

#include <stdio.h>

enum { A = 1, B = 2, TAG = 5 };

static int open_net(void **state)
{
    fake_net_reset();
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

static struct weft_peer *peer_of(uint32_t rank)
{
    return weft_peer_get(weft_engine_process(rank));
}

/* ---- packets offered by hand ---- */

/* An eager message whose tag is its number. */
static struct weft_header numbered(uint32_t from, uint32_t number)
{
    struct weft_header header =
        fixture_header(WEFT_PKT_EAGER, from, (int)(number & 0xff));

    header.sequence = number;
    return header;
}

static enum weft_taken offer(uint32_t from, uint32_t number, unsigned flags)
{
    const struct weft_header header = numbered(from, number);
    enum weft_taken taken;

    weft_lock();
    taken = weft_engine.up.arrived(&weft_engine, peer_of(from), &header, "", 0, flags);
    weft_unlock();
    return taken;
}

static bool may_take(uint32_t from, uint32_t number, unsigned flags)
{
    const struct weft_header header = numbered(from, number);

    return weft_engine.up.may_take(&weft_engine, peer_of(from), &header, flags);
}

static bool is_to_poll_again(void)
{
    return (weft_engine.reasons & 1u << WEFT_REASON_AGAIN) != 0;
}

static void the_next_packet_is_taken_and_moves_the_number_by_one(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 5; i++) {
        assert_true(may_take(A, i, 0));
        assert_int_equal(offer(A, i, 0), WEFT_TAKEN);
        assert_int_equal(peer_of(A)->in_sequence, i + 1);
        assert_int_equal(weft_p2p.match.waiting_count, i + 1);
    }
    assert_int_equal(peer_of(B)->in_sequence, 0); /* each peer has its own */
    assert_int_equal(offer(B, 0, 0), WEFT_TAKEN);
    assert_false(is_to_poll_again());
}

static void a_packet_that_comes_again_is_dropped_and_counted(void **state)
{
    (void)state;
    assert_int_equal(offer(A, 0, 0), WEFT_TAKEN);
    assert_int_equal(offer(A, 1, 0), WEFT_TAKEN);
    for (uint32_t i = 0; i < 2; i++) {
        assert_false(may_take(A, i, 0));
        assert_int_equal(offer(A, i, 0), WEFT_TAKEN);
        assert_int_equal(weft_engine.repeats, i + 1);
    }
    assert_int_equal(weft_p2p.match.waiting_count, 2);
    assert_int_equal(peer_of(A)->in_sequence, 2);
}

static void an_early_packet_is_kept_and_its_peer_marked(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) { /* however often it is offered */
        assert_false(may_take(A, 2, 0));
        assert_int_equal(offer(A, 2, 0), WEFT_KEEP);
        assert_true(peer_of(A)->is_early);
        assert_int_equal(weft_engine.early_peers, 1);
    }
    assert_int_equal(weft_p2p.match.waiting_count, 0);
    assert_int_equal(peer_of(A)->in_sequence, 0);
    assert_false(is_to_poll_again()); /* nothing has changed for it */

    assert_int_equal(offer(B, 0, 0), WEFT_TAKEN); /* not what it waits for */
    assert_false(is_to_poll_again());
    assert_int_equal(offer(A, 0, 0), WEFT_TAKEN);
    assert_true(is_to_poll_again());
    assert_int_equal(offer(A, 2, 0), WEFT_KEEP); /* still early */
    assert_int_equal(offer(A, 1, 0), WEFT_TAKEN);
    assert_int_equal(offer(A, 2, 0), WEFT_TAKEN);
    assert_false(peer_of(A)->is_early);
    assert_int_equal(weft_engine.early_peers, 0);
    assert_int_equal(weft_engine.order.is_any, 0); /* the common case again */
    assert_int_equal(weft_engine.repeats, 0);
    weft_progress();
    assert_false(is_to_poll_again());
}

static void numbers_wrap(void **state)
{
    (void)state;
    peer_of(A)->in_sequence = UINT32_MAX;
    assert_int_equal(offer(A, 0, 0), WEFT_KEEP);
    assert_int_equal(offer(A, UINT32_MAX, 0), WEFT_TAKEN);
    assert_int_equal(offer(A, 0, 0), WEFT_TAKEN);
    assert_int_equal(offer(A, UINT32_MAX, 0), WEFT_TAKEN); /* again */
    assert_int_equal(weft_engine.repeats, 1);
    assert_int_equal(weft_p2p.match.waiting_count, 2);
    weft_progress();
}

static void offer_far(void *number)
{
    (void)offer(A, *(uint32_t *)number, 0);
}

static void a_number_that_no_packet_under_way_can_have_ends_the_job(void **state)
{
    uint32_t numbers[] = {1000, 1001 + (1 << 20), 1002 + (1 << 20), UINT32_MAX / 2};

    (void)state;
    peer_of(A)->in_sequence = 1000;
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        const char *said = rejection_in(offer_far, &numbers[i]);

        if (i < 2) {
            assert_null(said);
        } else {
            assert_non_null(said);
            assert_non_null(strstr(said, "its sequence number is not the next one"));
        }
    }
    assert_int_equal(offer(A, 1001, 0), WEFT_TAKEN); /* so that the mark is taken back */
    weft_progress();
}

static void hand_over_as_control(void *header)
{
    weft_lock();
    weft_engine.up.control(&weft_engine, peer_of(A), header, "", 0);
    weft_unlock();
}

static void an_ordered_packet_that_comes_as_a_control_packet_ends_the_job(void **state)
{
    struct weft_header header = numbered(A, 0);
    const char *said = rejection_in(hand_over_as_control, &header);

    (void)state;
    assert_non_null(said);
    assert_non_null(strstr(said, "it came before packets that were sent earlier"));
}

/* ---- with a full store ---- */

static void a_full_store_keeps_what_nobody_waits_for(void **state)
{
    struct weft_request *request;
    const uint32_t next = 0;
    char byte;

    (void)state;
    fill_store();
    assert_int_equal(offer(A, next, 0), WEFT_KEEP);
    assert_int_equal(offer(B, next, 0), WEFT_KEEP);
    assert_false(peer_of(A)->is_early); /* it is its turn */

    request = start_recv(B, 0, &byte, 1);
    assert_false(may_take(A, next, 0));
    assert_int_equal(offer(A, next, 0), WEFT_KEEP);
    assert_true(may_take(B, next, 0));
    assert_int_equal(offer(B, next, 0), WEFT_TAKEN);
    end_recv(request, B, 0, 0);
    assert_int_equal(peer_of(A)->in_sequence, 0);
    assert_int_equal(peer_of(B)->in_sequence, 1);
}

static void
in_a_shared_queue_an_unwanted_packet_does_not_hold_up_a_wanted_one(void **state)
{
    struct weft_request *request;
    char byte;

    (void)state;
    fill_store();
    assert_int_equal(offer(A, 0, WEFT_SHARED_QUEUE),
                     WEFT_KEEP); /* nobody is waited for */
    assert_false(may_take(A, 0, WEFT_SHARED_QUEUE));

    request = start_recv(B, 0, &byte, 1); /* whose message is behind A's */
    assert_int_equal(offer(A, 0, 0), WEFT_KEEP);
    assert_true(may_take(A, 0, WEFT_SHARED_QUEUE));
    assert_int_equal(offer(A, 0, WEFT_SHARED_QUEUE), WEFT_TAKEN);
    assert_int_equal(offer(B, 0, WEFT_SHARED_QUEUE), WEFT_TAKEN);
    end_recv(request, B, 0, 0);
    assert_int_equal(offer(A, 1, WEFT_SHARED_QUEUE), WEFT_KEEP);
}

/* An early packet stays early, whoever waits for it. */
static void a_full_store_does_not_change_the_order(void **state)
{
    struct weft_request *request;
    char byte;

    (void)state;
    fill_store();
    request = start_recv(A, WEFT_ANY_TAG, &byte, 1);
    assert_int_equal(offer(A, 1, 0), WEFT_KEEP);
    assert_true(peer_of(A)->is_early);
    assert_int_equal(offer(A, 0, 0), WEFT_TAKEN);
    assert_true(is_to_poll_again());
    end_recv(request, A, 0, 0);
    assert_int_equal(offer(A, 1, 0), WEFT_KEEP); /* its turn, but nobody waits */
    assert_false(peer_of(A)->is_early);
    request = start_recv(A, 1, &byte, 1);
    assert_int_equal(offer(A, 1, 0), WEFT_TAKEN);
    end_recv(request, A, 1, 0);
    weft_progress();
}

static void messages_to_ourselves_are_taken_by_a_full_store(void **state)
{
    char byte = 'x';

    (void)state;
    fill_store();
    for (int i = 0; i < 3; i++) {
        struct weft_request *recv = start_recv(0, i, &byte, 1);
        struct weft_request *send = start_send(0, i, "y", 1, WEFT_SEND_STANDARD);

        weft_progress();
        end_request(send, WEFT_OK);
        end_recv(recv, 0, i, 1);
        assert_int_equal(byte, 'y');
    }
    assert_int_equal(peer_of(0)->in_sequence, peer_of(0)->next_sequence);
}

/* ---- two paths ---- */

static void arrive_by(int path, int tag)
{
    const struct weft_header header = fixture_header(WEFT_PKT_EAGER, A, tag);

    fake_net_arrive_by(A, path, &header, NULL, 0);
}

/* One call: the path that was polled first is polled again when the gap has closed. */
static void when_the_gap_closes_transports_are_polled_again(void **state)
{
    int polls;

    (void)state;
    fake_net.is_held[1] = true;
    arrive_by(1, 0);
    arrive_by(0, 1);
    weft_progress();
    assert_int_equal(weft_p2p.match.waiting_count, 0);
    assert_true(peer_of(A)->is_early);
    fake_net.is_held[1] = false;
    polls = fake_net.polls;
    weft_progress(); /* polls the early one on path 0 first */
    assert_int_equal(fake_net.polls, polls + 2);
    assert_int_equal(weft_p2p.match.waiting_count, 2);
    assert_false(peer_of(A)->is_early);
    assert_false(is_to_poll_again());
}

/* Each path brings its packets in order, and the two are far apart. */
static void packets_of_two_paths_come_in_the_order_sent(void **state)
{
    enum { EACH = 20 };
    struct weft_request *requests[2 * EACH];
    char byte;

    (void)state;
    for (int i = 0; i < 2 * EACH; i++) { /* matched in the order sent */
        requests[i] = start_recv(A, WEFT_ANY_TAG, &byte, 1);
    }
    fake_net.is_held[0] = true;
    for (int i = 0; i < 2 * EACH; i++) {
        arrive_by(i * 7 / 3 % 2, i);
    }
    weft_progress();
    fake_net.is_held[0] = false;
    for (int i = 0; i < 4 * EACH; i++) {
        weft_progress();
    }
    for (int i = 0; i < 2 * EACH; i++) {
        end_recv(requests[i], A, i, 0);
    }
    assert_int_equal(weft_engine.repeats, 0);
    assert_int_equal(weft_engine.early_peers, 0);
}

static void control_packets_pass_what_was_kept(void **state)
{
    struct weft_header header = fixture_header(WEFT_PKT_FETCHED, A, 0);
    struct weft_pkt_fetched fetched = {.request = 0};
    struct weft_pkt_announce announce;
    struct weft_request *send;

    (void)state;
    send = start_send(A, TAG, "x", 1, WEFT_SEND_SYNCHRONOUS);
    assert_non_null(fake_net_nth(WEFT_PKT_ANNOUNCE, 0));
    memcpy(&announce, fake_net_nth(WEFT_PKT_ANNOUNCE, 0)->data, sizeof(announce));
    fetched.request = announce.request;
    assert_false(weft_request_is_complete(send));
    fake_net.is_held[1] = true;
    arrive_by(1, 0);
    arrive_by(0, 1); /* early */
    header.length = sizeof(fetched);
    fake_net_arrive_by(A, 0, &header, &fetched, sizeof(fetched));
    weft_progress();
    assert_int_equal(weft_p2p.match.waiting_count, 0);
    assert_false(weft_request_is_complete(send)); /* the network reads its bytes */
    fake_net_finish(WEFT_OK); /* those that went with the announcement */
    weft_progress();
    end_request(send, WEFT_OK);
    fake_net.is_held[1] = false;
    weft_progress();
    assert_int_equal(weft_p2p.match.waiting_count, 2);
}

/* While a packet that was kept may have its turn, who leaves MPI polls. */
static void who_leaves_polls_first_if_a_gap_has_closed(void **state)
{
    struct weft_header header = numbered(A, 0);

    (void)state;
    arrive_by(0, 0); /* gets the number 0, as one that comes by hand below */
    arrive_by(0, 1);
    fake_net.is_held[0] = true;
    assert_int_equal(offer(A, 1, 0), WEFT_KEEP);
    weft_lock();
    assert_int_equal(weft_engine.up.arrived(&weft_engine, peer_of(A), &header, "", 0, 0),
                     WEFT_TAKEN);
    assert_true(is_to_poll_again());
    assert_false(weft_engine_may_sleep());
    fake_net.is_held[0] = false;
    weft_engine_leave();
    weft_unlock();
    assert_true(weft_engine_may_sleep());
    assert_int_equal(weft_engine.repeats, 1); /* the one that came by hand */
    assert_int_equal(weft_p2p.match.waiting_count, 2);
}

int main(void)
{
#define CASE(name)     cmocka_unit_test_setup_teardown(name, fixture_open, fixture_close)
#define NET_CASE(name) cmocka_unit_test_setup_teardown(name, open_net, close_net)
    const struct CMUnitTest tests[] = {
        CASE(the_next_packet_is_taken_and_moves_the_number_by_one),
        CASE(a_packet_that_comes_again_is_dropped_and_counted),
        CASE(an_early_packet_is_kept_and_its_peer_marked),
        CASE(numbers_wrap),
        CASE(a_number_that_no_packet_under_way_can_have_ends_the_job),
        CASE(an_ordered_packet_that_comes_as_a_control_packet_ends_the_job),
        CASE(a_full_store_keeps_what_nobody_waits_for),
        CASE(in_a_shared_queue_an_unwanted_packet_does_not_hold_up_a_wanted_one),
        CASE(a_full_store_does_not_change_the_order),
        CASE(messages_to_ourselves_are_taken_by_a_full_store),
        NET_CASE(when_the_gap_closes_transports_are_polled_again),
        NET_CASE(packets_of_two_paths_come_in_the_order_sent),
        NET_CASE(control_packets_pass_what_was_kept),
        NET_CASE(who_leaves_polls_first_if_a_gap_has_closed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
