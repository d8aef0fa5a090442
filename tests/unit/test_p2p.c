/*
 * test_p2p.c - messages against the fake transport: what is sent in which order, what is
 * kept, what is granted, how a call waits. Long messages are in test_rendezvous.c.
 */
#include "p2p_fixture.h"

#include "base/log.h"

#include <unistd.h>

enum { A = 1, B = 2, LIMIT_SECONDS = 580 };

static int tag_of(size_t i)
{
    assert_true(i < fake.sent_count);
    return fake.sent[i]->header.tag;
}

/* ---- out ---- */

static void a_small_send_is_over_when_it_returns(void **state)
{
    struct weft_request *request;

    (void)state;
    request = start_send(A, 5, "abc", 3, WEFT_SEND_STANDARD);
    assert_ptr_equal(request, &weft_request_sent);
    end_request(request, WEFT_OK);
    assert_int_equal(weft_send(&fixture_comm, A, 6, "d", 1,
                               WEFT_PLANE_COLL | (unsigned)WEFT_SEND_STANDARD),
                     WEFT_OK);
    assert_int_equal(fake.sent_count, 2);
    assert_int_equal(fake.sent[0]->peer, A);
    assert_int_equal(fake.sent[0]->header.kind, WEFT_PKT_EAGER);
    assert_int_equal(fake.sent[0]->header.context, FIXTURE_CONTEXT);
    assert_int_equal(fake.sent[0]->header.source, 0);
    assert_int_equal(fake.sent[0]->header.tag, 5);
    assert_int_equal(fake.sent[0]->len, 3);
    assert_memory_equal(fake.sent[0]->data, "abc", 3);
    assert_int_equal(fake.sent[1]->header.context, FIXTURE_CONTEXT | WEFT_PLANE_COLL);
}

/* Of the 700 bytes that a peer once took, 80 were for long messages. */
static void a_peer_of_small_messages_has_no_state_for_long_ones(void **state)
{
    const struct weft_peer *peer;

    (void)state;
    end_request(start_send(A, 5, "abc", 3, WEFT_SEND_STANDARD), WEFT_OK);
    arrive_eager(B, 5, "d", 1);
    weft_progress();
    peer = weft_peer_find(weft_engine_process(A));
    assert_non_null(peer);
    assert_null(peer->transfers);
    peer = weft_peer_find(weft_engine_process(B));
    assert_non_null(peer);
    assert_null(peer->transfers);
}

static void a_short_send_stays_behind_an_older_queued_one(void **state)
{
    struct weft_request *older;
    struct weft_request *newer;

    (void)state;
    end_request(start_send(A, 1, "0", 1, WEFT_SEND_STANDARD), WEFT_OK);
    fake.refuse_ordered = FAKE_ENDLESS;
    older = start_send(A, 7, "a", 1, WEFT_SEND_STANDARD);
    assert_false(weft_request_is_complete(older));
    fake.refuse_ordered = 0; /* there is room again, but nobody has polled */
    newer = start_send(A, 8, "b", 1, WEFT_SEND_STANDARD);
    assert_false(weft_request_is_complete(newer));
    assert_int_equal(fake.sent_count, 1);

    /* Another peer's messages do not wait for this one's. */
    end_request(start_send(B, 9, "c", 1, WEFT_SEND_STANDARD), WEFT_OK);
    assert_int_equal(tag_of(1), 9);

    assert_int_equal(weft_send(&fixture_comm, A, 10, "d", 1,
                               WEFT_PLANE_P2P | (unsigned)WEFT_SEND_STANDARD),
                     WEFT_OK);
    end_request(older, WEFT_OK);
    end_request(newer, WEFT_OK);
    assert_int_equal(fake.sent_count, 5);
    assert_int_equal(tag_of(2), 7);
    assert_int_equal(tag_of(3), 8);
    assert_int_equal(tag_of(4), 10);
}

static void let_two_more_out(void)
{
    static int turn;

    /* Two packets find room, the next one does not. */
    fake.refuse_ordered = turn++ % 3 == 2 ? 1 : 0;
}

static void the_backlog_drains_in_order_when_the_queue_has_room(void **state)
{
    enum { SENDS = 60 };
    static uint8_t data[SENDS][8192];
    struct weft_request *request[SENDS];
    int announced = 0;

    (void)state;
    limit_shares(0); /* so that the receiver tells when it has fetched */
    fake.refuse_ordered = FAKE_ENDLESS;
    for (int i = 0; i < SENDS; i++) {
        /* Short, longest of the short ones, and long. */
        const size_t bytes = i % 3 == 0 ? 1 : i % 3 == 1 ? WEFT_EAGER_MAX : 8192;

        fill_pattern(data[i], bytes, (unsigned)i);
        request[i] = start_send(A, i, data[i], bytes, WEFT_SEND_STANDARD);
        assert_false(weft_request_is_complete(request[i]));
    }
    weft_progress();
    assert_int_equal(fake.sent_count, 0);

    fake.refuse_ordered = 0;
    for (int i = 0; i < 200 && fake.sent_count < SENDS; i++) {
        let_two_more_out();
        weft_progress();
    }
    fake.refuse_ordered = 0;
    assert_int_equal(fake.sent_count, SENDS);
    for (int i = 0; i < SENDS; i++) {
        const struct fake_packet *packet = fake.sent[i];

        assert_int_equal(packet->header.tag, i);
        assert_int_equal(packet->header.sequence, i);
        if (i % 3 == 2) {
            assert_int_equal(announce_in(packet).length, 8192);
            assert_false(weft_request_is_complete(request[i]));
            arrive_answer(A, WEFT_PKT_FETCHED,
                          (union weft_pkt_control){
                              .fetched = {.request = announce_in(packet).request}});
            announced++;
        } else {
            assert_int_equal(packet->len, i % 3 == 0 ? 1 : WEFT_EAGER_MAX);
            assert_memory_equal(packet->data, data[i], packet->len);
        }
    }
    weft_progress();
    for (int i = 0; i < SENDS; i++) {
        end_request(request[i], WEFT_OK);
    }
    assert_int_equal(announced, SENDS / 3);
}

static void make_room_soon(void)
{
    if (fake.polls == 50) {
        fake.refuse_ordered = 0;
    }
}

static void a_blocking_send_waits_until_the_queue_has_room(void **state)
{
    (void)state;
    fake.refuse_ordered = FAKE_ENDLESS;
    fake.polling = make_room_soon;
    assert_int_equal(weft_send(&fixture_comm, A, 3, "abc", 3,
                               WEFT_PLANE_P2P | (unsigned)WEFT_SEND_STANDARD),
                     WEFT_OK);
    assert_int_equal(fake.polls, 50);
    assert_int_equal(fake.sent_count, 1);
    assert_memory_equal(fake.sent[0]->data, "abc", 3);
}

static void make_room_late(void)
{
    if (fake.sleeps == 3) {
        fake.refuse_ordered = 0;
    }
}

static void a_blocking_send_that_sleeps_looks_for_room_from_time_to_time(void **state)
{
    (void)state;
    fake.refuse_ordered = FAKE_ENDLESS;
    fake.polling = make_room_late; /* and no `sleeping`: a sleep without end is a fault */
    assert_int_equal(weft_send(&fixture_comm, A, 3, "abc", 3,
                               WEFT_PLANE_P2P | (unsigned)WEFT_SEND_STANDARD),
                     WEFT_OK);
    assert_int_equal(fake.sent_count, 1);
    assert_true(fake.sleeps >= 3);
}

static void a_send_that_the_transport_cannot_do_fails(void **state)
{
    static uint8_t large[8192];
    struct weft_request *queued;
    struct weft_request *announced;
    struct weft_request *refused;

    (void)state;
    fake.refuse_ordered = FAKE_ENDLESS;
    queued = start_send(A, 1, "a", 1, WEFT_SEND_STANDARD);
    announced = start_send(A, 2, large, sizeof(large), WEFT_SEND_STANDARD);
    fake.refuse_ordered = 0;
    fake.send_error = WEFT_ERR_SYSTEM;
    weft_progress();
    end_request(queued, WEFT_ERR_SYSTEM);
    end_request(announced, WEFT_ERR_SYSTEM);
    refused = start_send(A, 3, large, sizeof(large), WEFT_SEND_STANDARD);
    end_request(refused, WEFT_ERR_SYSTEM);
    assert_int_equal(weft_send(&fixture_comm, A, 4, "a", 1,
                               WEFT_PLANE_P2P | (unsigned)WEFT_SEND_STANDARD),
                     WEFT_ERR_SYSTEM);
    assert_int_equal(weft_send(&fixture_comm, A, 5, large, sizeof(large),
                               WEFT_PLANE_P2P | (unsigned)WEFT_SEND_STANDARD),
                     WEFT_ERR_SYSTEM);

    fake.send_error = WEFT_OK;
    end_request(start_send(A, 6, "b", 1, WEFT_SEND_STANDARD), WEFT_OK);
    assert_int_equal(fake.sent_count, 1);
    assert_int_equal(tag_of(0), 6);
}

static void a_rank_that_nothing_leads_to_is_reported(void **state)
{
    (void)state;
    fixture_comm.size = FAKE_PEERS + 1;
    assert_int_equal(weft_send(&fixture_comm, FAKE_PEERS, 0, "a", 1,
                               WEFT_PLANE_P2P | (unsigned)WEFT_SEND_STANDARD),
                     WEFT_ERR_UNREACHABLE);
}

/* Answers to announcements that cannot be fetched: each sends one PULL. */
static struct weft_request *start_pull(uint32_t from, uint64_t request, uint8_t *buffer)
{
    static uint8_t message[8192];

    arrive_announced(from, (int)request, message, sizeof(message), request);
    return start_recv((int)from, (int)request, buffer, sizeof(message));
}

static void an_answer_that_found_the_queue_full_goes_out_before_newer_ones(void **state)
{
    enum { PULLS = 20 };
    static uint8_t message[8192];
    static uint8_t buffer[PULLS][8192];
    struct weft_request *request[PULLS];

    (void)state;
    fake_reach(false);
    fake.refuse_control = FAKE_ENDLESS;
    for (int i = 0; i < PULLS; i++) {
        if (i == PULLS / 2) {
            fake.refuse_control = 0; /* room again, but the older ones come first */
        }
        request[i] = start_pull(A, (uint64_t)i + 100, buffer[i]);
        if (i < PULLS / 2) {
            weft_progress();
        }
    }
    weft_progress();
    weft_progress();
    assert_int_equal(fake_count(WEFT_PKT_PULL), PULLS);
    assert_int_equal(fake.sent_count, PULLS);
    for (int i = 0; i < PULLS; i++) {
        const struct weft_pkt_pull pull = answer_in(fake.sent[i]).pull;

        assert_int_equal(pull.request, i + 100);
        arrive_data(A, pull.receiver, message, 0, 4000);
        arrive_data(A, pull.receiver, message, 4000, 4000);
        arrive_data(A, pull.receiver, message, 8000, 192);
    }
    weft_progress();
    weft_progress();
    for (int i = 0; i < PULLS; i++) {
        end_recv(request[i], A, i + 100, 8192);
    }
    assert_int_equal(fake_count(WEFT_PKT_FETCHED), PULLS);
}

static void a_full_queue_for_messages_does_not_hold_answers_up(void **state)
{
    static uint8_t buffer[8192];
    struct weft_request *queued;
    struct weft_request *pulled;

    (void)state;
    fake_reach(false);
    fake.refuse_ordered = FAKE_ENDLESS;
    queued = start_send(A, 1, "a", 1, WEFT_SEND_STANDARD);
    pulled = start_pull(A, 55, buffer);
    weft_progress();
    assert_int_equal(fake.sent_count, 1);
    assert_int_equal(answer_in(fake_nth(WEFT_PKT_PULL, 0)).pull.request, 55);
    assert_false(weft_request_is_complete(queued));
    assert_false(weft_request_is_complete(pulled));
}

/* ---- in ---- */

static void an_arrival_before_the_receive_is_kept_and_matched_later(void **state)
{
    char first[4] = "";
    char second[4] = "";
    char other[4] = "";

    (void)state;
    arrive_eager(A, 5, "one", 4);
    arrive_eager(A, 6, "odd", 4);
    arrive_eager(A, 5, "two", 4);
    weft_progress();
    assert_int_equal(weft_p2p.match.waiting_count, 3);
    end_recv(start_recv(A, 5, first, sizeof(first)), A, 5, 4);
    end_recv(start_recv(WEFT_ANY_SOURCE, WEFT_ANY_TAG, other, sizeof(other)), A, 6, 4);
    end_recv(start_recv(A, 5, second, sizeof(second)), A, 5, 4);
    assert_string_equal(first, "one");
    assert_string_equal(other, "odd");
    assert_string_equal(second, "two");
    assert_int_equal(weft_p2p.match.waiting_count, 0);
}

static void an_arrival_after_the_receive_goes_straight_to_it(void **state)
{
    char buffer[2][4] = {"", ""};
    struct weft_request *named;
    struct weft_request *open;

    (void)state;
    named = start_recv(B, 5, buffer[0], 4);
    open = start_recv(WEFT_ANY_SOURCE, WEFT_ANY_TAG, buffer[1], 4);
    weft_progress();
    assert_false(weft_request_is_complete(named));
    arrive_eager(A, 5, "one", 4);
    arrive_eager(B, 5, "two", 4);
    weft_progress();
    end_recv(named, B, 5, 4);
    end_recv(open, A, 5, 4);
    assert_string_equal(buffer[0], "two");
    assert_string_equal(buffer[1], "one");
    assert_int_equal(weft_p2p.match.waiting_count, 0);
}

static void planes_and_communicators_are_kept_apart(void **state)
{
    struct weft_header header = fixture_header(WEFT_PKT_EAGER, A, 5);
    struct weft_request *request;
    char buffer[2] = "";

    (void)state;
    header.context = FIXTURE_CONTEXT | WEFT_PLANE_COLL;
    fake_arrive(A, header, "x", 2, 0);
    header.context = FIXTURE_CONTEXT + WEFT_PLANES;
    fake_arrive(A, header, "y", 2, 0);
    weft_progress();
    request = start_recv(A, 5, buffer, sizeof(buffer));
    assert_false(weft_request_is_complete(request));
    arrive_eager(A, 5, "z", 2);
    weft_progress();
    end_recv(request, A, 5, 2);
    assert_string_equal(buffer, "z");
}

static void a_short_message_longer_than_its_receive_is_cut_off(void **state)
{
    struct weft_request *request;
    char buffer[4] = "...";

    (void)state;
    request = start_recv(A, 5, buffer, 2);
    arrive_eager(A, 5, "abcdef", 6);
    arrive_eager(A, 5, "ghijkl", 6);
    weft_progress();
    assert_int_equal(request->bytes, 2);
    end_request(request, WEFT_ERR_TRUNCATE);
    assert_string_equal(buffer, "ab.");
    request = start_recv(A, 5, buffer, 2);
    assert_int_equal(request->bytes, 2);
    end_request(request, WEFT_ERR_TRUNCATE);
    assert_string_equal(buffer, "gh.");
}

static void an_empty_message_needs_no_buffer(void **state)
{
    struct weft_request *request;

    (void)state;
    end_request(start_send(0, 1, NULL, 0, WEFT_SEND_STANDARD), WEFT_OK); /* ourselves */
    end_recv(start_recv(0, 1, NULL, 0), 0, 1, 0);
    request = start_recv(A, 2, NULL, 0);
    arrive_eager(A, 2, NULL, 0);
    arrive_eager(A, 2, NULL, 0);
    weft_progress();
    end_recv(request, A, 2, 0);
    end_recv(start_recv(A, 2, NULL, 0), A, 2, 0);
    end_request(start_send(A, 3, NULL, 0, WEFT_SEND_STANDARD), WEFT_OK);
    assert_int_equal(fake.sent[0]->len, 0);
}

static void a_message_to_ourselves_does_not_leave_the_process(void **state)
{
    struct weft_request *request;
    char buffer[4] = "";

    (void)state;
    request = start_recv(0, 1, buffer, 4);
    end_request(start_send(0, 1, "one", 4, WEFT_SEND_STANDARD), WEFT_OK);
    end_recv(request, 0, 1, 4);
    assert_string_equal(buffer, "one");
    end_request(start_send(0, 1, "two", 4, WEFT_SEND_STANDARD), WEFT_OK);
    end_recv(start_recv(WEFT_ANY_SOURCE, 1, buffer, 4), 0, 1, 4);
    assert_string_equal(buffer, "two");
    assert_int_equal(fake.sent_count, 0);
    assert_int_equal(fake.paths, 0);
}

/* ---- the grant rule ---- */

#define ANYONE UINT32_MAX /* a queue that many senders share */

static bool is_granted(uint32_t from)
{
    return weft_engine.hooks.wants(
        from == ANYONE ? NULL : weft_peer_get(weft_engine_process(from)));
}

static void a_full_store_takes_only_what_a_receive_may_be_waiting_for(void **state)
{
    struct weft_request *request;
    char buffer[8];

    (void)state;
    assert_false(weft_engine.order.is_full);
    fill_store();
    assert_false(is_granted(A));
    assert_false(is_granted(B));
    assert_false(is_granted(ANYONE));

    request = start_recv(B, 1, buffer, sizeof(buffer)); /* naming another */
    assert_false(is_granted(A));
    assert_true(is_granted(B));
    assert_true(is_granted(ANYONE)); /* a queue of many: B may be among them */
    arrive_eager(B, 1, "b", 2);
    weft_progress();
    end_recv(request, B, 1, 2);
    assert_false(is_granted(B));
    assert_false(is_granted(ANYONE));

    request = start_recv(A, WEFT_ANY_TAG, buffer, sizeof(buffer));
    assert_true(is_granted(A));
    assert_false(is_granted(B));
    assert_true(is_granted(ANYONE));
    arrive_eager(A, 9, "a", 2);
    weft_progress();
    end_recv(request, A, 9, 2);
    assert_false(is_granted(A));
}

/* The progress thread alone stops where a receive that is left lets much in. */
static void much_is_let_in_only_while_the_program_is_in_mpi(void **state)
{
    struct weft_request *request;
    char buffer[8];

    (void)state;
    fill_store();
    request = start_recv(A, 1, buffer, sizeof(buffer));
    weft_engine.is_progress_thread_inside = true;
    assert_true(is_granted(A));
    weft_p2p.unexpected.beyond += 32 * 1024 * 1024;
    assert_false(is_granted(A));
    assert_false(is_granted(ANYONE));
    weft_engine.waiting_threads++;
    assert_true(is_granted(A));
    weft_engine.waiting_threads--;
    weft_engine.is_progress_thread_inside = false; /* MPI_Test, say */
    assert_true(is_granted(A));
    weft_p2p.unexpected.beyond -= 32 * 1024 * 1024;
    arrive_eager(A, 1, "a", 2);
    weft_progress();
    end_recv(request, A, 1, 2);
}

static void a_receive_from_anyone_grants_to_all(void **state)
{
    struct weft_header header = fixture_header(WEFT_PKT_EAGER, B, 1);

    (void)state;
    fill_store();
    fixture_comm.context += WEFT_PLANES; /* where none of those waits */
    header.context = fixture_comm.context;
    for (int tag = 1; tag >= WEFT_ANY_TAG; tag -= 1 - WEFT_ANY_TAG) {
        struct weft_request *request = start_recv(WEFT_ANY_SOURCE, tag, NULL, 0);

        assert_true(is_granted(A));
        assert_true(is_granted(B));
        assert_true(is_granted(ANYONE));
        fake_arrive(B, header, NULL, 0, 0);
        weft_progress();
        end_recv(request, B, 1, 0);
        assert_false(is_granted(A));
        assert_false(is_granted(ANYONE));
    }
}

/* A sends a million of tag 1, then tag 2; B receives tag 2 first (docs/design.md, 7). */
static void a_receive_gets_through_to_its_message_behind_others(void **state)
{
    enum { OTHERS = 3000 };
    static uint8_t large[WEFT_EAGER_MAX];
    struct weft_request *request;
    char last[4] = "";
    uint64_t beyond;

    (void)state;
    fill_store();
    for (int i = 0; i < OTHERS; i++) {
        fill_pattern(large, sizeof(large), (unsigned)i);
        arrive_eager(A, 1, large, sizeof(large));
    }
    arrive_eager(A, 2, "end", 4);
    arrive_eager(A, 3, "fin", 4);
    for (int i = 0; i < 10; i++) {
        weft_progress();
    }
    assert_int_equal(fake_pending(), OTHERS + 2); /* they wait with their sender */

    request = start_recv(A, 2, last, sizeof(last));
    for (int i = 0; i < OTHERS && !weft_request_is_complete(request); i++) {
        weft_progress();
    }
    end_recv(request, A, 2, 4);
    assert_string_equal(last, "end");
    beyond = weft_p2p.unexpected.beyond;
    assert_true(beyond >= (uint64_t)OTHERS * WEFT_EAGER_MAX);
    weft_progress();
    assert_int_equal(fake_pending(), 1);

    for (int i = 0; i < OTHERS; i++) {
        end_recv(start_recv(A, 1, large, sizeof(large)), A, 1, sizeof(large));
        assert_pattern(large, sizeof(large), (unsigned)i);
    }
    assert_int_equal(weft_p2p.unexpected.beyond, 0);
}

static void what_was_held_back_comes_in_when_there_is_room_again(void **state)
{
    static uint8_t large[WEFT_EAGER_MAX];
    char buffer[4] = "";
    int freed = 0;

    (void)state;
    fill_store();
    arrive_eager(A, 1, "one", 4);
    weft_progress();
    assert_int_equal(fake_pending(), 1);
    while (weft_engine.order.is_full) {
        struct weft_request *request = start_recv(7, 777, large, sizeof(large));

        end_recv(request, 7, 777, sizeof(large));
        freed++;
    }
    assert_in_range(freed, 1, 600); /* one of three buffers of 2 MiB, but for survivors */
    weft_progress();
    assert_int_equal(fake_pending(), 0);
    end_recv(start_recv(A, 1, buffer, sizeof(buffer)), A, 1, 4);
    assert_string_equal(buffer, "one");
}

static void a_full_store_makes_messages_to_ourselves_wait_where_they_are(void **state)
{
    struct weft_request *request;
    struct weft_request *received;
    char buffer[4] = "";

    (void)state;
    fill_store();
    request = start_send(0, 1, "one", 4, WEFT_SEND_STANDARD);
    assert_false(weft_request_is_complete(request)); /* announced */
    received = start_recv(0, 1, buffer, sizeof(buffer));
    weft_progress();
    end_recv(received, 0, 1, 4);
    end_request(request, WEFT_OK);
    assert_string_equal(buffer, "one");
}

/* ---- waiting ---- */

static void arrive_while_asleep(void)
{
    struct weft_doing doing;

    assert_true(weft_doing_read(&fixture_job.slice->doing, &doing));
    assert_int_not_equal(doing.what, WEFT_DOING_NOTHING);
    assert_string_equal(doing.call, "MPI_Recv");
    assert_string_equal(doing.comm, "fixture");
    assert_int_equal(doing.awaits.peer, A);
    assert_int_equal(doing.awaits.tag, 5);
    assert_int_equal(doing.awaits.bytes, 4);
    if (fake.sleeps == 2) { /* the first time it was woken for nothing */
        arrive_eager(A, 5, "one", 4);
    }
}

static void a_receive_that_waits_long_sleeps_and_says_what_for(void **state)
{
    struct weft_received received;
    struct weft_doing doing;
    char buffer[4] = "";

    (void)state;
    fake.sleeping = arrive_while_asleep;
    assert_int_equal(
        weft_recv(&fixture_comm, WEFT_PLANE_P2P, A, 5, buffer, sizeof(buffer), &received),
        WEFT_OK);
    assert_int_equal(fake.sleeps, 2);
    assert_true(weft_doing_read(&fixture_job.slice->doing, &doing));
    assert_int_equal(doing.what, WEFT_DOING_NOTHING);
    assert_false(fake_is_armed());
    assert_string_equal(buffer, "one");
    assert_int_equal(received.source, A);
    assert_int_equal(received.tag, 5);
    assert_int_equal(received.bytes, 4);
}

static void requests_of_blocking_calls_are_used_again(void **state)
{
    const struct weft_p2p_request *spare;
    struct weft_received received;
    char buffer[4];

    (void)state;
    assert_null(weft_p2p.spare);
    for (int i = 0; i < 1000; i++) {
        arrive_eager(A, i, "one", 4);
        assert_int_equal(
            weft_recv(&fixture_comm, WEFT_PLANE_P2P, A, i, buffer, 4, &received),
            WEFT_OK);
        if (i == 0) {
            spare = weft_p2p.spare;
        }
        assert_non_null(weft_p2p.spare);
        assert_ptr_equal(weft_p2p.spare, spare);
        assert_null(weft_p2p.spare->next);
    }
    fake.polling = make_room_soon; /* and for sends: nothing of a receive is left in it */
    fake.refuse_ordered = FAKE_ENDLESS;
    fake.polls = 0;
    assert_int_equal(weft_send(&fixture_comm, A, 3, "abc", 3,
                               WEFT_PLANE_P2P | (unsigned)WEFT_SEND_STANDARD),
                     WEFT_OK);
    assert_ptr_equal(weft_p2p.spare, spare);
}

static void nothing_is_left_of_a_request_that_is_used_again(void **state)
{
    struct weft_request *first;
    struct weft_request *again;
    char buffer[4];

    (void)state;
    first = start_recv(A, 5, buffer, sizeof(buffer));
    arrive_eager(A, 5, "one", 4);
    weft_progress();
    end_recv(first, A, 5, 4);
    assert_int_equal(weft_irecv_nothing(&fixture_comm, &again), WEFT_OK);
    assert_ptr_equal(again, first);
    end_recv(again, MPI_PROC_NULL, MPI_ANY_TAG, 0);
}

static void a_request_given_back_is_not_found_by_any_handle(void **state)
{
    struct weft_request *request;
    MPI_Request before;
    MPI_Request next;
    char buffer[4];

    (void)state;
    request = start_recv(A, 5, buffer, sizeof(buffer));
    before = request->handle;
    assert_ptr_equal(weft_request_from_handle(before), request);
    arrive_eager(A, 5, "one", 4);
    weft_progress();
    end_recv(request, A, 5, 4);
    next = (MPI_Request)weft_handle_fromint(WEFT_KIND_REQUEST,
                                            weft_handle_toint((uintptr_t)before));
    assert_null(weft_request_from_handle(before));
    assert_null(weft_request_from_handle(next)); /* which nobody has been given yet */

    assert_ptr_equal(start_recv(A, 6, buffer, sizeof(buffer)), request);
    assert_ptr_equal(request->handle, next);
    assert_ptr_equal(weft_request_from_handle(next), request);
    assert_null(weft_request_from_handle(before));
}

/* ---- checksums ---- */

static void a_message_with_a_checksum_that_fits_is_accepted(void **state)
{
    static uint8_t data[WEFT_EAGER_MAX];
    static uint8_t buffer[WEFT_EAGER_MAX];
    const size_t sizes[] = {0, 1, 7, 8, 9, 100, WEFT_EAGER_MAX};

    (void)state;
    weft_p2p_set_checksum(true);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct weft_header header;
        struct weft_request *request;

        fill_pattern(data, sizes[i], (unsigned)i);
        end_request(start_send(A, 1, data, sizes[i], WEFT_SEND_STANDARD), WEFT_OK);
        header = fake.sent[i]->header; /* what we send we also accept */
        assert_int_equal(header.sequence, fake_number(A));
        request = start_recv(0, 1, buffer, sizeof(buffer));
        fake_arrive(A, header, data, sizes[i], 0);
        weft_progress();
        end_recv(request, 0, 1, sizes[i]);
    }
}

/* So many lines, each naming ranks, tag, sequence and offset. */
static void assert_reported(const char *said, int lines)
{
    for (; lines > 0; lines--) {
        const char *end = strchr(said, '\n');
        char line[512];

        assert_non_null(end);
        assert_true((size_t)(end - said) < sizeof(line));
        memcpy(line, said, (size_t)(end - said));
        line[end - said] = '\0';
        assert_non_null(strstr(line, "weft: rank 0 on here: "));
        assert_non_null(strstr(line, "a message of 6 bytes from rank 1 of"));
        assert_non_null(strstr(line, "with tag 1, sequence 0,"));
        assert_non_null(strstr(line, "the block at offset 0, up to 6,"));
        said = end + 1;
    }
    assert_string_equal(said, "");
}

static void a_message_that_changed_on_its_way_is_reported(void **state)
{
    struct weft_header header = fixture_header(WEFT_PKT_EAGER, A, 1);
    struct weft_request *request;
    char buffer[8];

    (void)state;
    weft_p2p_set_checksum(true);
    weft_log_identity(0, "here");
    end_request(start_send(A, 1, "right", 6, WEFT_SEND_STANDARD), WEFT_OK);
    header.check = fake.sent[0]->header.check;
    request = start_recv(A, 1, buffer, sizeof(buffer));
    start_listening();
    fake_arrive(A, header, "wrong", 6, 0);
    weft_progress();
    end_request(request, WEFT_ERR_CHECKSUM);
    request = start_recv(A, 1, buffer, 3);
    fake_arrive(A, header, "wrong", 6, 0);
    weft_progress();
    end_request(request, WEFT_ERR_TRUNCATE); /* nothing to compare */
    assert_reported(stop_listening(), 1);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, fixture_open, fixture_close)
    const struct CMUnitTest tests[] = {
        CASE(a_small_send_is_over_when_it_returns),
        CASE(a_peer_of_small_messages_has_no_state_for_long_ones),
        CASE(a_short_send_stays_behind_an_older_queued_one),
        CASE(the_backlog_drains_in_order_when_the_queue_has_room),
        CASE(a_blocking_send_waits_until_the_queue_has_room),
        CASE(a_blocking_send_that_sleeps_looks_for_room_from_time_to_time),
        CASE(a_send_that_the_transport_cannot_do_fails),
        CASE(a_rank_that_nothing_leads_to_is_reported),
        CASE(an_answer_that_found_the_queue_full_goes_out_before_newer_ones),
        CASE(a_full_queue_for_messages_does_not_hold_answers_up),

        CASE(an_arrival_before_the_receive_is_kept_and_matched_later),
        CASE(an_arrival_after_the_receive_goes_straight_to_it),
        CASE(planes_and_communicators_are_kept_apart),
        CASE(a_short_message_longer_than_its_receive_is_cut_off),
        CASE(an_empty_message_needs_no_buffer),
        CASE(a_message_to_ourselves_does_not_leave_the_process),

        CASE(a_full_store_takes_only_what_a_receive_may_be_waiting_for),
        CASE(much_is_let_in_only_while_the_program_is_in_mpi),
        CASE(a_receive_from_anyone_grants_to_all),
        CASE(a_receive_gets_through_to_its_message_behind_others),
        CASE(what_was_held_back_comes_in_when_there_is_room_again),
        CASE(a_full_store_makes_messages_to_ourselves_wait_where_they_are),

        CASE(a_receive_that_waits_long_sleeps_and_says_what_for),
        CASE(requests_of_blocking_calls_are_used_again),
        CASE(nothing_is_left_of_a_request_that_is_used_again),
        CASE(a_request_given_back_is_not_found_by_any_handle),

        CASE(a_message_with_a_checksum_that_fits_is_accepted),
        CASE(a_message_that_changed_on_its_way_is_reported),
    };

    alarm(LIMIT_SECONDS);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
