/* test_counts.c - what messages over the fake transport count as. */
#include "p2p_fixture.h"

#include "p2p/counts.h"

enum { A = 1, B = 2 };

static struct weft_counts read_counts(void)
{
    struct weft_counts counts;

    weft_counts_read(&counts);
    return counts;
}

static void messages_are_counted_whoever_gets_them(void **state)
{
    const struct weft_counts before = read_counts();
    struct weft_counts now;
    char byte = 0;

    (void)state;
    end_request(start_send(A, 1, "a", 1, WEFT_SEND_STANDARD), WEFT_OK);
    end_request(start_send(B, 1, "b", 1, WEFT_SEND_STANDARD), WEFT_OK);
    end_request(start_send(B, 2, "c", 1, WEFT_SEND_STANDARD), WEFT_OK);
    end_request(start_send(0, 3, "d", 1, WEFT_SEND_STANDARD), WEFT_OK);
    now = read_counts();
    assert_int_equal(now.messages_sent - before.messages_sent, 4);
    assert_int_equal(now.messages_to_self - before.messages_to_self, 1);
    assert_int_equal(now.messages_received - before.messages_received, 1);
    end_recv(start_recv(0, 3, &byte, 1), 0, 3, 1);
}

static void chunks_of_a_long_message_are_no_messages(void **state)
{
    static uint8_t data[20000];
    const struct weft_counts before = read_counts();
    struct weft_pkt_announce announce;
    struct weft_request *send;

    (void)state;
    fake_reach(false);
    send = start_send(A, 1, data, sizeof(data), WEFT_SEND_STANDARD);
    announce = announce_in(fake_nth(WEFT_PKT_ANNOUNCE, 0));
    arrive_answer(A, WEFT_PKT_PULL,
                  (union weft_pkt_control){.pull = {.request = announce.request,
                                                    .receiver = 1,
                                                    .offset = 0,
                                                    .length = sizeof(data)}});
    weft_progress();
    assert_true(fake_count(WEFT_PKT_DATA) > 2);
    assert_int_equal(read_counts().messages_sent - before.messages_sent, 1);
    assert_int_equal(read_counts().requests - before.requests, 1);
    arrive_answer(A, WEFT_PKT_FETCHED,
                  (union weft_pkt_control){.fetched = {.request = announce.request}});
    weft_progress();
    end_request(send, WEFT_OK);
    assert_int_equal(read_counts().requests, before.requests);
}

static void a_watch_keeps_the_most_that_waited(void **state)
{
    struct weft_watch early;
    struct weft_watch late;
    char byte;

    (void)state;
    weft_counts_watch(&early);
    assert_int_equal(early.messages, 0);
    for (int i = 0; i < 3; i++) {
        arrive_eager(A, i, "x", 1);
    }
    weft_progress();
    assert_int_equal(read_counts().unexpected_messages, 3);
    assert_true(read_counts().unexpected_bytes >= 3);
    weft_counts_watch(&late); /* begins with what waits */
    for (int i = 0; i < 3; i++) {
        end_recv(start_recv(A, i, &byte, 1), A, i, 1);
    }
    assert_int_equal(read_counts().unexpected_messages, 0);
    assert_int_equal(early.messages, 3);
    assert_int_equal(late.messages, 3);
    weft_counts_unwatch(&early);
    for (int i = 0; i < 5; i++) {
        arrive_eager(B, i, "x", 1);
    }
    weft_progress();
    assert_int_equal(early.messages, 3);
    assert_int_equal(late.messages, 5);
    assert_true(late.bytes >= 5);
    weft_counts_unwatch(&late);
    assert_ptr_equal(weft_engine.up.arrived,
                     weft_engine_arrived); /* nobody looks: no cost */
}

static void what_was_counted_stays_when_the_engine_closes(void **state)
{
    struct weft_counts before;

    end_request(start_send(A, 1, "a", 1, WEFT_SEND_STANDARD), WEFT_OK);
    arrive_eager(A, 1, "x", 1);
    weft_progress();
    before = read_counts();
    fixture_close(state);
    assert_int_equal(read_counts().messages_sent, before.messages_sent);
    assert_int_equal(read_counts().unexpected_messages, 0);
    fixture_open(state);
    assert_int_equal(read_counts().messages_sent, before.messages_sent);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(messages_are_counted_whoever_gets_them,
                                        fixture_open, fixture_close),
        cmocka_unit_test_setup_teardown(chunks_of_a_long_message_are_no_messages,
                                        fixture_open, fixture_close),
        cmocka_unit_test_setup_teardown(a_watch_keeps_the_most_that_waited, fixture_open,
                                        fixture_close),
        cmocka_unit_test_setup_teardown(what_was_counted_stays_when_the_engine_closes,
                                        fixture_open, fixture_close),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
