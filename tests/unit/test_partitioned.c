/*
 * test_partitioned.c - partitioned messages against the fake transport: when the greeting
 * and the units go, what happens when there is no room, and what a freed request leaves.
 */
#include "p2p_fixture.h"

#include "sched/partitioned.h"
#include "sched/parts.h"
#include "engine/lock.h"

enum { A = 1, TAG = 5, PARTS = 4, LOWEST = INT32_MIN };

/* As the sender states it. */
struct greeting {
    struct weft_parts parts;
    int32_t first_tag;
    uint32_t zero;
};

static int data[PARTS];

static struct weft_request *make(bool is_send)
{
    const struct weft_data what = {.buffer = data, .bytes = sizeof(data)};
    struct weft_request *request;

    assert_int_equal(
        is_send ? weft_psend_init(&fixture_comm, A, TAG, &what, PARTS, 4, &request)
                : weft_precv_init(&fixture_comm, A, TAG, &what, PARTS, 4, &request),
        WEFT_OK);
    assert_true(request->is_inactive);
    return request;
}

static void start(struct weft_request *request)
{
    weft_lock();
    assert_int_equal(weft_request_start(request), WEFT_OK);
    weft_unlock();
}

static void ready(struct weft_request *request, uint32_t partition)
{
    weft_lock();
    assert_false(weft_partition_is_ready(request, partition));
    weft_partition_ready(request, partition);
    weft_unlock();
}

static void let_go(struct weft_request *request)
{
    weft_lock();
    weft_request_detach(request);
    weft_unlock();
}

static void end_turn(struct weft_request *request)
{
    assert_true(weft_request_is_complete(request));
    assert_int_equal(request->rc, WEFT_OK);
    weft_request_end(request);
}

static void arrive(int tag, const void *bytes, size_t len)
{
    struct weft_header header = fixture_header(WEFT_PKT_EAGER, A, tag);

    header.context = FIXTURE_CONTEXT | WEFT_PLANE_PARTITIONED;
    fake_arrive(A, header, bytes, len, 0);
}

static void arrive_greeting(uint32_t partitions, uint64_t bytes, int first_tag)
{
    const struct greeting greeting = {
        .parts = weft_parts_cut(partitions, bytes),
        .first_tag = first_tag,
    };

    arrive(TAG, &greeting, sizeof(greeting));
}

static void the_sender_greets_once_and_sends_what_is_ready(void **state)
{
    struct weft_request *send = make(true);
    struct greeting said;

    (void)state;
    assert_int_equal(fake.sent_count, 1);
    assert_int_equal(fake.sent[0]->header.tag, TAG);
    assert_int_equal(fake.sent[0]->header.context,
                     FIXTURE_CONTEXT | WEFT_PLANE_PARTITIONED);
    assert_int_equal(fake.sent[0]->len, sizeof(said));
    memcpy(&said, fake.sent[0]->data, sizeof(said));
    assert_int_equal(said.parts.units, PARTS);
    assert_int_equal(said.parts.total, sizeof(data));
    for (int turn = 0; turn < 2; turn++) {
        fake_forget();
        start(send);
        assert_int_equal(fake.sent_count, 0);
        for (uint32_t i = 0; i < PARTS; i++) {
            const uint32_t part = (i + 2) % PARTS;

            assert_false(weft_request_is_complete(send));
            data[part] = (int)part + turn;
            ready(send, part);
            assert_int_equal(fake.sent_count, i + 1);
            assert_int_equal(fake.sent[i]->header.tag, said.first_tag + (int)part);
            assert_memory_equal(fake.sent[i]->data, &data[part], 4);
        }
        end_turn(send);
    }
    let_go(send);
}

static void every_pair_has_tags_of_its_own(void **state)
{
    struct weft_request *first = make(true);
    struct weft_request *second = make(true);
    struct greeting said[2];

    (void)state;
    memcpy(&said[0], fake.sent[0]->data, sizeof(said[0]));
    memcpy(&said[1], fake.sent[1]->data, sizeof(said[1]));
    assert_int_equal(said[0].first_tag, LOWEST);
    assert_int_equal(said[1].first_tag, LOWEST + PARTS);
    let_go(first);
    let_go(second);
}

static void a_send_without_room_is_over_when_all_has_gone(void **state)
{
    struct weft_request *send = make(true);

    (void)state;
    start(send);
    fake.refuse_ordered = FAKE_ENDLESS;
    for (uint32_t i = 0; i < PARTS; i++) {
        ready(send, i);
    }
    weft_progress();
    assert_false(weft_request_is_complete(send));
    fake.refuse_ordered = 0;
    weft_progress();
    end_turn(send);
    assert_int_equal(fake.sent_count, 1 + PARTS);
    let_go(send);
    assert_int_equal(weft_engine.count[WEFT_REASON_REQUESTS], 0);
}

static void a_greeting_without_room_outlives_its_request(void **state)
{
    struct weft_request *send;

    (void)state;
    fake.refuse_ordered = FAKE_ENDLESS;
    send = make(true);
    let_go(send);
    assert_int_equal(fake.sent_count, 0);
    fake.refuse_ordered = 0;
    weft_progress();
    assert_int_equal(fake.sent_count, 1);
    assert_int_equal(fake.sent[0]->header.tag, TAG);
    assert_int_equal(weft_engine.count[WEFT_REASON_REQUESTS], 0);
}

static void a_receive_that_was_started_goes_on_when_it_is_greeted(void **state)
{
    static const int sent[PARTS] = {11, 12, 13, 14};
    struct weft_request *recv = make(false);

    (void)state;
    memset(data, 0, sizeof(data));
    start(recv);
    assert_false(weft_partition_has_arrived(recv, 0));
    arrive_greeting(2, 8, -1000); /* two units for our four partitions */
    arrive(-999, &sent[2], 8);
    weft_progress();
    assert_false(weft_partition_has_arrived(recv, 0));
    assert_false(weft_partition_has_arrived(recv, 1));
    assert_true(weft_partition_has_arrived(recv, 2));
    assert_true(weft_partition_has_arrived(recv, 3));
    arrive(-1000, &sent[0], 8);
    weft_progress();
    end_turn(recv);
    assert_memory_equal(data, sent, sizeof(sent));
    assert_int_equal(recv->bytes, sizeof(sent));
    assert_int_equal(recv->source, A);
    assert_int_equal(recv->tag, TAG);
    let_go(recv);
}

static void units_of_the_next_start_wait_behind_those_of_this(void **state)
{
    struct weft_request *recv = make(false);

    (void)state;
    arrive_greeting(1, sizeof(data), -77);
    for (int turn = 1; turn <= 3; turn++) {
        const int sent[PARTS] = {turn, turn, turn, turn};

        arrive(-77, sent, sizeof(sent));
    }
    weft_progress();
    for (int turn = 1; turn <= 3; turn++) {
        assert_true(recv->is_inactive);
        start(recv);
        end_turn(recv);
        assert_int_equal(data[PARTS - 1], turn);
    }
    let_go(recv);
}

static void a_freed_receive_still_takes_its_greeting(void **state)
{
    struct weft_request *first = make(false);
    struct weft_request *second = make(false);
    const int sent[PARTS] = {1, 2, 3, 4};

    (void)state;
    let_go(first);
    arrive_greeting(1, 4, -500);
    arrive_greeting(1, sizeof(data), -600);
    arrive(-600, sent, sizeof(sent));
    weft_progress();
    start(second);
    end_turn(second);
    assert_memory_equal(data, sent, sizeof(sent));
    let_go(second);
}

static void what_nobody_frees_is_freed_at_the_end(void **state)
{
    (void)state;
    assert_non_null(make(false));
    assert_non_null(make(true));
}

static int close_partitioned(void **state)
{
    const int rc = fixture_close(state);

    weft_partitioned_close();
    return rc;
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, fixture_open, close_partitioned)
    const struct CMUnitTest tests[] = {
        CASE(the_sender_greets_once_and_sends_what_is_ready),
        CASE(every_pair_has_tags_of_its_own),
        CASE(a_send_without_room_is_over_when_all_has_gone),
        CASE(a_greeting_without_room_outlives_its_request),
        CASE(a_receive_that_was_started_goes_on_when_it_is_greeted),
        CASE(units_of_the_next_start_wait_behind_those_of_this),
        CASE(a_freed_receive_still_takes_its_greeting),
        CASE(what_nobody_frees_is_freed_at_the_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
