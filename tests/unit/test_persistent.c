/*
 * test_persistent.c - requests that are started again and again, against the fake
 * transport: no room, refused, cancelled, freed while they are active.
 */
#include "p2p_fixture.h"

#include "engine/lock.h"

enum { A = 1, TAG = 5, LONG = 10000 };

static struct weft_request *make_send(const void *data, size_t bytes,
                                      enum weft_send_mode mode)
{
    const struct weft_data what = {.buffer = data, .bytes = bytes};
    struct weft_request *request;

    assert_int_equal(weft_send_init(&fixture_comm, A, TAG, &what,
                                    WEFT_PLANE_P2P | (unsigned)mode, &request),
                     WEFT_OK);
    assert_true(request->is_inactive && weft_request_is_complete(request));
    return request;
}

static struct weft_request *make_recv(void *buffer, size_t bytes)
{
    const struct weft_data what = {.buffer = buffer, .bytes = bytes};
    struct weft_request *request;

    assert_int_equal(weft_recv_init(&fixture_comm, A, TAG, &what, &request), WEFT_OK);
    assert_true(request->is_inactive && weft_request_is_complete(request));
    return request;
}

static enum weft_rc start_again(struct weft_request *request)
{
    enum weft_rc rc;

    weft_lock();
    rc = weft_request_start(request);
    weft_unlock();
    return rc;
}

static void end_turn(struct weft_request *request, enum weft_rc rc)
{
    assert_true(weft_request_is_complete(request));
    assert_int_equal(request->rc, rc);
    weft_request_end(request);
    assert_true(request->is_inactive);
}

static void a_small_send_is_over_when_it_is_started(void **state)
{
    char text[] = "abc";
    struct weft_request *send = make_send(text, 3, WEFT_SEND_STANDARD);
    const MPI_Request handle = send->handle;

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        text[0] = (char)('a' + i);
        assert_int_equal(start_again(send), WEFT_OK);
        end_turn(send, WEFT_OK);
        assert_int_equal(fake.sent[i]->header.tag, TAG);
        assert_memory_equal(fake.sent[i]->data, text, 3);
    }
    assert_ptr_equal(send->handle, handle);
    assert_int_equal(weft_engine.count[WEFT_REASON_REQUESTS], 0);
    weft_request_detach(send);
    assert_null(weft_request_from_handle(handle));
}

static void a_send_without_room_waits_and_may_be_started_again(void **state)
{
    struct weft_request *send = make_send("x", 1, WEFT_SEND_STANDARD);

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        fake.refuse_ordered = FAKE_ENDLESS;
        assert_int_equal(start_again(send), WEFT_OK);
        assert_false(weft_request_is_complete(send));
        assert_int_equal(weft_engine.count[WEFT_REASON_REQUESTS], 1);
        assert_int_equal(weft_engine.count[WEFT_REASON_RETRY], 1); /* its peer */
        fake.refuse_ordered = 0;
        weft_progress();
        end_turn(send, WEFT_OK);
        assert_int_equal(fake.sent_count, i + 1);
    }
    assert_int_equal(weft_engine.count[WEFT_REASON_REQUESTS], 0);
    weft_request_detach(send);
}

static void a_start_that_fails_leaves_it_inactive(void **state)
{
    struct weft_request *send = make_send("x", 1, WEFT_SEND_STANDARD);

    (void)state;
    fake.send_error = WEFT_ERR_UNREACHABLE;
    assert_int_equal(start_again(send), WEFT_ERR_UNREACHABLE);
    assert_true(send->is_inactive && weft_request_is_complete(send));
    fake.send_error = WEFT_OK;
    assert_int_equal(start_again(send), WEFT_OK);
    end_turn(send, WEFT_OK);
    weft_request_detach(send);
}

static void a_synchronous_send_waits_for_its_receiver_each_time(void **state)
{
    struct weft_request *send = make_send("x", 1, WEFT_SEND_SYNCHRONOUS);

    (void)state;
    limit_shares(0);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(start_again(send), WEFT_OK);
        assert_false(weft_request_is_complete(send));
        arrive_answer(
            A, WEFT_PKT_FETCHED,
            (union weft_pkt_control){
                .fetched = {.request =
                                announce_in(fake_nth(WEFT_PKT_ANNOUNCE, i)).request}});
        weft_progress();
        end_turn(send, WEFT_OK);
    }
    weft_request_detach(send);
}

static void a_receive_takes_one_message_for_each_start(void **state)
{
    char got[2] = "";
    struct weft_request *recv = make_recv(got, 1);

    (void)state;
    arrive_eager(A, TAG, "a", 1); /* before it is started: it waits */
    arrive_eager(A, TAG, "b", 1);
    weft_progress();
    assert_true(recv->is_inactive);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(start_again(recv), WEFT_OK);
        assert_int_equal(weft_request_is_complete(recv), i < 2);
        if (i == 2) {
            arrive_eager(A, TAG, "c", 1);
            weft_progress();
        }
        end_turn(recv, WEFT_OK);
        assert_int_equal(got[0], 'a' + i);
        assert_int_equal(recv->source, A);
        assert_int_equal(recv->tag, TAG);
        assert_int_equal(recv->bytes, 1);
    }
    weft_request_detach(recv);
}

static void one_that_is_freed_while_it_is_active_goes_on_to_its_end(void **state)
{
    char got[4] = "";
    struct weft_request *recv = make_recv(got, 3);
    const MPI_Request handle = recv->handle;

    (void)state;
    assert_int_equal(start_again(recv), WEFT_OK);
    weft_request_detach(recv);
    assert_non_null(weft_request_from_handle(handle));
    arrive_eager(A, TAG, "abc", 3);
    weft_progress();
    assert_string_equal(got, "abc");
    assert_null(weft_request_from_handle(handle));
}

static void a_cancelled_receive_can_be_started_again(void **state)
{
    static uint8_t got[LONG];
    struct weft_request *recv = make_recv(got, sizeof(got));

    (void)state;
    assert_false(weft_p2p_cancel(recv)); /* it is not active */
    for (int i = 0; i < 2; i++) {
        assert_int_equal(start_again(recv), WEFT_OK);
        assert_true(weft_p2p_cancel(recv));
        recv->is_cancelled = true;
        weft_request_complete(recv, WEFT_OK);
        end_turn(recv, WEFT_OK);
        assert_int_equal(start_again(recv), WEFT_OK);
        assert_false(recv->is_cancelled);
        arrive_eager(A, TAG, "abc", 3);
        weft_progress();
        end_turn(recv, WEFT_OK);
        assert_memory_equal(got, "abc", 3);
    }
    weft_request_detach(recv);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, fixture_open, fixture_close)
    const struct CMUnitTest tests[] = {
        CASE(a_small_send_is_over_when_it_is_started),
        CASE(a_send_without_room_waits_and_may_be_started_again),
        CASE(a_start_that_fails_leaves_it_inactive),
        CASE(a_synchronous_send_waits_for_its_receiver_each_time),
        CASE(a_receive_takes_one_message_for_each_start),
        CASE(one_that_is_freed_while_it_is_active_goes_on_to_its_end),
        CASE(a_cancelled_receive_can_be_started_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
