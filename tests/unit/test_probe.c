/*
 * test_probe.c - probes against the fake transport: what they find, what they leave, what
 * they take, how they wait, and what a full store grants them.
 */
#include "p2p_fixture.h"

#include "datatype/construct.h"
#include "p2p/probe.h"

#include <unistd.h>

enum { A = 1, B = 2, LIMIT_SECONDS = 580 };

/* ---- what we do ---- */

static bool find(int source, int tag, struct weft_received *received)
{
    bool is_found;

    assert_int_equal(weft_iprobe(&fixture_comm, source, tag, &is_found, NULL, received),
                     WEFT_OK);
    return is_found;
}

static struct weft_message *take(int source, int tag)
{
    struct weft_message *message = NULL;
    struct weft_received received;
    bool is_found;

    assert_int_equal(
        weft_iprobe(&fixture_comm, source, tag, &is_found, &message, &received), WEFT_OK);
    assert_true(is_found == (message != NULL));
    return message;
}

static struct weft_request *receive(struct weft_message *message, void *buffer,
                                    size_t bytes)
{
    const struct weft_data data = {.buffer = buffer, .bytes = bytes};
    struct weft_request *request;

    assert_non_null(message);
    assert_int_equal(weft_imrecv(message, &data, &request), WEFT_OK);
    return request;
}

static void assert_received(const struct weft_received *r, int source, int tag,
                            uint64_t bytes)
{
    assert_int_equal(r->source, source);
    assert_int_equal(r->tag, tag);
    assert_int_equal(r->bytes, bytes);
}

/* ---- looking ---- */

static void a_probe_tells_what_waits_and_leaves_it(void **state)
{
    struct weft_received received;
    char buffer[4] = "";

    (void)state;
    assert_false(find(A, 1, &received));
    arrive_eager(A, 1, "abc", 4);
    weft_progress();
    assert_false(find(A, 2, &received));
    assert_false(find(B, 1, &received));
    for (int i = 0; i < 2; i++) {
        assert_true(find(A, 1, &received));
        assert_received(&received, A, 1, 4);
        assert_int_equal(weft_probe(&fixture_comm, A, 1, NULL, &received), WEFT_OK);
        assert_received(&received, A, 1, 4);
    }
    end_recv(start_recv(A, 1, buffer, sizeof(buffer)), A, 1, 4);
    assert_string_equal(buffer, "abc");
    assert_false(find(A, 1, &received));
}

static void a_probe_with_wildcards_finds_the_oldest(void **state)
{
    struct weft_received received;

    (void)state;
    arrive_eager(A, 1, "1", 1);
    arrive_eager(B, 2, "22", 2);
    arrive_eager(A, 3, "333", 3);
    weft_progress();
    assert_true(find(WEFT_ANY_SOURCE, WEFT_ANY_TAG, &received));
    assert_received(&received, A, 1, 1);
    assert_true(find(B, WEFT_ANY_TAG, &received));
    assert_received(&received, B, 2, 2);
    assert_true(find(WEFT_ANY_SOURCE, 3, &received));
    assert_received(&received, A, 3, 3);
}

static void a_probe_polls_for_what_has_come(void **state)
{
    struct weft_received received;

    (void)state;
    arrive_eager(A, 1, "abc", 4);
    assert_true(find(WEFT_ANY_SOURCE, WEFT_ANY_TAG, &received));
    assert_received(&received, A, 1, 4);
    assert_null(weft_p2p.probes);
}

static void a_probe_looks_at_messages_of_its_communicator_alone(void **state)
{
    struct weft_header header = fixture_header(WEFT_PKT_EAGER, A, 1);
    struct weft_received received;

    (void)state;
    header.context = FIXTURE_CONTEXT | WEFT_PLANE_COLL;
    fake_arrive(A, header, "a", 1, 0);
    header.context = FIXTURE_CONTEXT + WEFT_PLANES;
    fake_arrive(A, header, "b", 1, 0);
    assert_false(find(WEFT_ANY_SOURCE, WEFT_ANY_TAG, &received));
}

static void an_announced_message_is_told_with_its_whole_length(void **state)
{
    static uint8_t data[10000];
    struct weft_received received;

    (void)state;
    arrive_announced(A, 1, data, UINT64_C(5) << 32, 77);
    assert_true(find(A, 1, &received));
    assert_received(&received, A, 1, UINT64_C(5) << 32);
    assert_int_equal(fake.sent_count, 0); /* nobody has asked for it */
}

static void a_posted_receive_comes_before_a_probe(void **state)
{
    struct weft_received received;
    struct weft_request *request;
    char buffer[4] = "";

    (void)state;
    request = start_recv(A, 1, buffer, sizeof(buffer));
    arrive_eager(A, 1, "abc", 4);
    assert_false(find(A, 1, &received));
    end_recv(request, A, 1, 4);
}

/* ---- waiting ---- */

static void arrive_at_last(void)
{
    if (fake.polls == 500) {
        arrive_eager(B, 9, "no", 3); /* not the one */
        arrive_eager(A, 5, "yes", 4);
    }
}

static void a_probe_waits_for_its_message(void **state)
{
    struct weft_received received;
    struct weft_message *message;
    char buffer[4] = "";

    (void)state;
    fake.polling = arrive_at_last;
    fake.sleeping = arrive_at_last; /* perhaps it slept meanwhile, for nothing */
    assert_int_equal(weft_probe(&fixture_comm, A, WEFT_ANY_TAG, NULL, &received),
                     WEFT_OK);
    assert_received(&received, A, 5, 4);
    fake.polls = 0;
    assert_non_null(take(A, 5));
    assert_int_equal(weft_probe(&fixture_comm, WEFT_ANY_SOURCE, 5, &message, &received),
                     WEFT_OK);
    assert_received(&received, A, 5, 4);
    end_recv(receive(message, buffer, sizeof(buffer)), A, 5, 4);
    assert_string_equal(buffer, "yes");
    assert_null(weft_p2p.probes);
}

static const char *expected_call;

static void arrive_while_asleep(void)
{
    struct weft_doing doing;

    assert_true(weft_doing_read(&fixture_job.slice->doing, &doing));
    assert_int_not_equal(doing.what, WEFT_DOING_NOTHING);
    assert_string_equal(doing.call, expected_call);
    assert_int_equal(doing.awaits.peer, A);
    assert_int_equal(doing.awaits.tag, 5);
    if (fake.sleeps == 2) { /* the first time it was woken for nothing */
        arrive_eager(A, 5, "one", 4);
    }
}

static void a_probe_that_waits_long_sleeps_and_says_what_for(void **state)
{
    struct weft_received received;
    struct weft_message *message;

    (void)state;
    fake.sleeping = arrive_while_asleep;
    expected_call = "MPI_Probe";
    assert_int_equal(weft_probe(&fixture_comm, A, 5, NULL, &received), WEFT_OK);
    assert_received(&received, A, 5, 4);
    assert_int_equal(fake.sleeps, 2);
    assert_false(fake_is_armed());

    assert_non_null(take(A, 5));
    fake.sleeps = 0;
    expected_call = "MPI_Mprobe";
    assert_int_equal(weft_probe(&fixture_comm, A, 5, &message, &received), WEFT_OK);
    assert_received(&received, A, 5, 4);
    assert_int_equal(fake.sleeps, 2);
}

/* ---- taking ---- */

static void a_message_that_was_taken_is_found_by_nobody_else(void **state)
{
    struct weft_received received;
    struct weft_request *request;
    struct weft_message *message;
    char first[4] = "";
    char second[4] = "";

    (void)state;
    arrive_eager(A, 1, "one", 4);
    message = take(WEFT_ANY_SOURCE, WEFT_ANY_TAG);
    assert_non_null(message);
    assert_false(find(A, 1, &received));
    assert_null(take(A, 1));
    request = start_recv(A, 1, second, sizeof(second));
    assert_false(weft_request_is_complete(request));
    arrive_eager(A, 1, "two", 4);
    weft_progress();
    end_recv(request, A, 1, 4);
    end_recv(receive(message, first, sizeof(first)), A, 1, 4);
    assert_string_equal(first, "one");
    assert_string_equal(second, "two");
}

static void a_message_has_a_handle_until_it_is_received(void **state)
{
    struct weft_message *message;
    MPI_Message handle;

    (void)state;
    arrive_eager(A, 1, NULL, 0);
    message = take(A, 1);
    handle = message->handle;
    assert_ptr_equal(weft_message_from_handle(handle), message);
    assert_int_equal(fixture_comm.references, 2);
    end_recv(receive(message, NULL, 0), A, 1, 0);
    assert_null(weft_message_from_handle(handle));
    assert_int_equal(fixture_comm.references, 1);
}

static void messages_that_were_taken_survive_what_comes_later(void **state)
{
    enum { MANY = 3000 };
    static struct weft_message *messages[MANY];
    static uint8_t bytes[WEFT_EAGER_MAX];

    (void)state;
    for (int i = 0; i < MANY; i++) { /* more than the store has room for */
        fill_pattern(bytes, sizeof(bytes), (unsigned)i);
        arrive_eager(A, 1, bytes, sizeof(bytes));
        messages[i] = take(A, 1);
    }
    assert_false(weft_engine.order.is_full);
    for (int i = MANY - 1; i >= 0; i--) {
        end_recv(receive(messages[i], bytes, sizeof(bytes)), A, 1, sizeof(bytes));
        assert_pattern(bytes, sizeof(bytes), (unsigned)i);
    }
}

static void a_taken_message_longer_than_its_buffer_is_cut_off(void **state)
{
    struct weft_request *request;
    char buffer[4] = "xxx";

    (void)state;
    arrive_eager(A, 1, "abcdef", 7);
    request = receive(take(A, 1), buffer, 2);
    assert_int_equal(request->bytes, 2);
    assert_memory_equal(buffer, "abx", 4);
    end_request(request, WEFT_ERR_TRUNCATE);
}

static void an_announced_message_is_fetched_when_it_is_received(void **state)
{
    static uint8_t data[20000];
    static uint8_t buffer[20000];
    struct weft_request *request;
    struct weft_message *message;

    (void)state;
    fill_pattern(data, sizeof(data), 3);
    arrive_announced(A, 1, data, sizeof(data), 77);
    message = take(A, 1);
    weft_progress();
    assert_int_equal(fake.move_count, 0);
    request = receive(message, buffer, sizeof(buffer));
    assert_false(weft_request_is_complete(request));
    weft_progress();
    assert_int_equal(fake_count(WEFT_PKT_FETCHED), 1);
    assert_int_equal(answer_in(fake_nth(WEFT_PKT_FETCHED, 0)).fetched.request, 77);
    end_recv(request, A, 1, sizeof(data));
    assert_pattern(buffer, sizeof(buffer), 3);
}

static void a_taken_message_goes_where_its_type_says(void **state)
{
    struct weft_datatype *every_second;
    struct weft_request *request;
    struct weft_data data;
    char buffer[7] = "......";

    (void)state;
    assert_int_equal(weft_type_vector(MPI_COMBINER_VECTOR, false, 3, 1, 2,
                                      weft_datatype_from_handle(MPI_BYTE), &every_second),
                     WEFT_OK);
    assert_int_equal(weft_datatype_commit(every_second), WEFT_OK);
    arrive_eager(A, 1, "abc", 3);
    data = elements_at(buffer, 1, every_second);
    assert_int_equal(weft_imrecv(take(A, 1), &data, &request), WEFT_OK);
    weft_datatype_free(every_second);
    end_recv(request, A, 1, 3);
    assert_string_equal(buffer, "a.b.c.");
}

static void messages_that_are_never_received_go_at_the_end(void **state)
{
    static uint8_t data[20000];

    (void)state;
    arrive_eager(A, 1, "abc", 4);
    arrive_announced(A, 2, data, sizeof(data), 77);
    arrive_eager(A, 3, NULL, 0);
    assert_non_null(take(A, 1));
    assert_non_null(take(A, 2));
    assert_non_null(take(A, 3));
    fixture_comm.references -= 3; /* which nobody will ask for */
}

/* ---- the grant rule ---- */

static void fill_with_others(int count)
{
    static const uint8_t large[WEFT_EAGER_MAX];

    fill_store();
    for (int i = 0; i < count; i++) {
        arrive_eager(A, 1, large, sizeof(large));
    }
    arrive_eager(A, 2, "end", 4);
    arrive_eager(A, 3, "fin", 4);
    weft_progress();
    assert_int_equal(fake_pending(), count + 2); /* they wait with their sender */
}

static void a_probe_gets_through_to_a_message_behind_others(void **state)
{
    struct weft_received received;

    (void)state;
    fill_with_others(3000);
    assert_int_equal(weft_probe(&fixture_comm, A, 2, NULL, &received), WEFT_OK);
    assert_received(&received, A, 2, 4);
    assert_int_equal(fake_pending(), 1); /* and no further */
    weft_progress();
    assert_int_equal(fake_pending(), 1);
}

static void a_repeated_look_gets_there_too(void **state)
{
    struct weft_message *message = NULL;
    char last[4] = "";

    (void)state;
    fill_with_others(3000);
    for (int i = 0; i < 3000 && message == NULL; i++) {
        message = take(WEFT_ANY_SOURCE, 2);
    }
    end_recv(receive(message, last, sizeof(last)), A, 2, 4);
    assert_string_equal(last, "end");
    assert_int_equal(fake_pending(), 1);
}

static void a_look_at_one_peer_grants_nothing_to_others(void **state)
{
    struct weft_received received;

    (void)state;
    fill_with_others(100);
    arrive_eager(B, 2, "b", 2);
    assert_true(find(B, 2, &received));
    assert_received(&received, B, 2, 2);
    assert_int_equal(fake_pending(), 102);
    assert_false(find(B, 2 + 1, &received));
    assert_int_equal(fake_pending(), 102);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, fixture_open, fixture_close)
    const struct CMUnitTest tests[] = {
        CASE(a_probe_tells_what_waits_and_leaves_it),
        CASE(a_probe_with_wildcards_finds_the_oldest),
        CASE(a_probe_polls_for_what_has_come),
        CASE(a_probe_looks_at_messages_of_its_communicator_alone),
        CASE(an_announced_message_is_told_with_its_whole_length),
        CASE(a_posted_receive_comes_before_a_probe),

        CASE(a_probe_waits_for_its_message),
        CASE(a_probe_that_waits_long_sleeps_and_says_what_for),

        CASE(a_message_that_was_taken_is_found_by_nobody_else),
        CASE(a_message_has_a_handle_until_it_is_received),
        CASE(messages_that_were_taken_survive_what_comes_later),
        CASE(a_taken_message_longer_than_its_buffer_is_cut_off),
        CASE(an_announced_message_is_fetched_when_it_is_received),
        CASE(a_taken_message_goes_where_its_type_says),
        CASE(messages_that_are_never_received_go_at_the_end),

        CASE(a_probe_gets_through_to_a_message_behind_others),
        CASE(a_repeated_look_gets_there_too),
        CASE(a_look_at_one_peer_grants_nothing_to_others),
    };

    alarm(LIMIT_SECONDS);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
