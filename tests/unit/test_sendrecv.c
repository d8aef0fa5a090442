/*
 * test_sendrecv.c - one request for a send and a receive, against the fake transport:
 * when it is complete, with what, and what is left of it.
 */
#include "p2p_fixture.h"

#include "sched/sendrecv.h"

#include <stdlib.h>
#include <unistd.h>

enum { A = 1, B = 2, LIMIT_SECONDS = 580 };

static const struct weft_wait_reason why = {"MPI_Wait", "fixture", A, 1, 0};

/* The copy is the request's; whether it is freed is for the sanitizer to say. */
static struct weft_request *start_both(int dest, size_t bytes, int source, void *buffer,
                                       size_t room)
{
    uint8_t *copy = malloc(bytes);
    const struct weft_side send = {dest, 1, {.buffer = copy, .bytes = bytes}};
    const struct weft_side recv = {source, 1, {.buffer = buffer, .bytes = room}};
    struct weft_request *request;

    assert_non_null(copy);
    fill_pattern(copy, bytes, 1);
    assert_int_equal(weft_isendrecv(&fixture_comm, &send, &recv, copy, &request),
                     WEFT_OK);
    return request;
}

static void it_is_complete_when_the_receive_is(void **state)
{
    struct weft_request *request;
    char buffer[4] = "";

    (void)state;
    request = start_both(A, 3, B, buffer, sizeof(buffer));
    assert_int_equal(fake.sent_count, 1);
    assert_pattern(fake.sent[0]->data, 3, 1);
    weft_progress();
    assert_false(weft_request_is_complete(request));
    arrive_eager(B, 1, "abc", 4);
    weft_progress();
    end_recv(request, B, 1, 4);
    assert_string_equal(buffer, "abc");
    assert_int_equal(weft_engine.count[WEFT_REASON_REQUESTS], 0);
    assert_int_equal(weft_engine.count[WEFT_REASON_STEPS], 0);
    assert_int_equal(fixture_comm.references, 1);
}

static void it_is_complete_when_the_send_is(void **state)
{
    struct weft_request *request;
    char buffer[4] = "";

    (void)state;
    fake.refuse_ordered = FAKE_ENDLESS;
    request = start_both(A, 3, B, buffer, sizeof(buffer));
    arrive_eager(B, 1, "abc", 4);
    weft_progress();
    assert_string_equal(buffer, "abc");
    assert_false(weft_request_is_complete(request));
    fake.refuse_ordered = 0;
    weft_progress();
    end_recv(request, B, 1, 4);
    assert_pattern(fake.sent[0]->data, 3, 1);
    assert_int_equal(weft_engine.count[WEFT_REASON_STEPS], 0);
    assert_int_equal(fixture_comm.references, 1);
}

static void it_is_complete_at_once_when_both_are(void **state)
{
    struct weft_request *request;
    char buffer[4] = "";

    (void)state;
    arrive_eager(B, 1, "abc", 4);
    weft_progress();
    request = start_both(A, 3, WEFT_ANY_SOURCE, buffer, sizeof(buffer));
    end_recv(request, B, 1, 4);
    assert_int_equal(weft_engine.count[WEFT_REASON_REQUESTS], 0);
}

static void a_message_that_was_cut_off_is_its_error(void **state)
{
    struct weft_request *request;
    char buffer[2] = "";

    (void)state;
    request = start_both(A, 3, B, buffer, sizeof(buffer));
    arrive_eager(B, 1, "abc", 4);
    weft_progress();
    assert_int_equal(request->source, B);
    assert_int_equal(request->bytes, 2);
    end_request(request, WEFT_ERR_TRUNCATE);
}

static void a_send_that_fails_later_is_its_error(void **state)
{
    struct weft_request *request;
    char buffer[4] = "";

    (void)state;
    fake.refuse_ordered = FAKE_ENDLESS;
    request = start_both(A, 3, B, buffer, sizeof(buffer));
    arrive_eager(B, 1, "abc", 4);
    weft_progress();
    fake.refuse_ordered = 0;
    fake.send_error = WEFT_ERR_SYSTEM;
    weft_progress();
    fake.send_error = WEFT_OK;
    end_request(request, WEFT_ERR_SYSTEM);
}

static void one_that_the_user_has_freed_ends_by_itself(void **state)
{
    struct weft_request *request;
    char buffer[4] = "";
    MPI_Request handle;

    (void)state;
    request = start_both(A, 3, B, buffer, sizeof(buffer));
    handle = request->handle;
    weft_request_detach(request);
    arrive_eager(B, 1, "abc", 4);
    weft_progress();
    assert_string_equal(buffer, "abc");
    assert_null(weft_request_from_handle(handle));
    assert_int_equal(weft_engine.count[WEFT_REASON_REQUESTS], 0);
    assert_int_equal(fixture_comm.references, 1);
}

static void one_that_cannot_be_made_takes_its_receive_back(void **state)
{
    const struct weft_side send = {A, 1, {.buffer = "abc", .bytes = 3}};
    struct weft_request *request;
    char first[4] = "";
    char second[4] = "";
    const struct weft_side recv = {B, 1, {.buffer = first, .bytes = sizeof(first)}};

    (void)state;
    fake.send_error = WEFT_ERR_SYSTEM;
    assert_int_equal(weft_isendrecv(&fixture_comm, &send, &recv, NULL, &request),
                     WEFT_ERR_SYSTEM);
    fake.send_error = WEFT_OK;
    arrive_eager(B, 1, "abc", 4);
    weft_progress();
    assert_string_equal(first, "");
    end_recv(start_recv(B, 1, second, sizeof(second)), B, 1, 4);
    assert_int_equal(weft_engine.count[WEFT_REASON_REQUESTS], 0);
    assert_int_equal(weft_engine.count[WEFT_REASON_STEPS], 0);
    assert_int_equal(fixture_comm.references, 1);
}

static void nobody_on_one_side_is_over_at_once(void **state)
{
    struct weft_request *request;
    char buffer[4] = "";

    (void)state;
    request = start_both(A, 3, MPI_PROC_NULL, buffer, sizeof(buffer));
    assert_int_equal(fake.sent_count, 1);
    end_recv(request, MPI_PROC_NULL, MPI_ANY_TAG, 0);
    request = start_both(MPI_PROC_NULL, 3, B, buffer, sizeof(buffer));
    assert_int_equal(fake.sent_count, 1);
    assert_false(weft_request_is_complete(request));
    arrive_eager(B, 1, "abc", 4);
    weft_progress();
    end_recv(request, B, 1, 4);
    end_recv(start_both(MPI_PROC_NULL, 3, MPI_PROC_NULL, buffer, 4), MPI_PROC_NULL,
             MPI_ANY_TAG, 0);
    assert_int_equal(weft_engine.count[WEFT_REASON_REQUESTS], 0);
}

static void make_room(void)
{
    fake.refuse_ordered = 0;
}

/* There is room for the send after the last look at arrivals: it is tried once more. */
static void it_is_not_slept_over_when_the_last_look_completes_it(void **state)
{
    struct weft_request *request;
    char buffer[4] = "";

    (void)state;
    fake.refuse_ordered = FAKE_ENDLESS;
    request = start_both(A, 3, B, buffer, sizeof(buffer));
    arrive_eager(B, 1, "abc", 4);
    fake.arming = make_room; /* and no `sleeping`: a sleep without end is a fault */
    weft_wait(request, &why);
    end_recv(request, B, 1, 4);
}

/* Requests are used again for others; nothing may be left over in them. */
static void a_receive_can_use_its_memory_again(void **state)
{
    static uint8_t data[20000];
    static uint8_t buffer[20000];
    char word[4];

    (void)state;
    fill_pattern(data, sizeof(data), 2);
    for (int i = 0; i < 20; i++) {
        struct weft_request *request = start_both(A, 3, B, word, sizeof(word));
        struct weft_request *recv;

        arrive_eager(B, 1, "abc", 4);
        weft_progress();
        end_recv(request, B, 1, 4);
        arrive_announced(A, 7, data, sizeof(data), 77);
        weft_progress();
        recv = start_recv(A, 7, buffer, sizeof(buffer));
        weft_progress();
        end_recv(recv, A, 7, sizeof(data));
        assert_pattern(buffer, sizeof(buffer), 2);
        assert_int_equal(shares_used(), 0);
    }
}

static int open_sendrecv(void **state)
{
    weft_sendrecv_open();
    return fixture_open(state);
}

static int close_sendrecv(void **state)
{
    weft_sendrecv_close();
    return fixture_close(state);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, open_sendrecv, close_sendrecv)
    const struct CMUnitTest tests[] = {
        CASE(it_is_complete_when_the_receive_is),
        CASE(it_is_complete_when_the_send_is),
        CASE(it_is_complete_at_once_when_both_are),
        CASE(a_message_that_was_cut_off_is_its_error),
        CASE(a_send_that_fails_later_is_its_error),
        CASE(one_that_the_user_has_freed_ends_by_itself),
        CASE(one_that_cannot_be_made_takes_its_receive_back),
        CASE(nobody_on_one_side_is_over_at_once),
        CASE(it_is_not_slept_over_when_the_last_look_completes_it),
        CASE(a_receive_can_use_its_memory_again),
    };

    alarm(LIMIT_SECONDS);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
