/*
 * test_failed.c - a peer dies, over the fake transport: whatever waits for it is
 * completed with an error, and nothing else is.
 */
#include "p2p_fixture.h"

#include "copy_share.h"
#include "engine/lock.h"

enum { A = 1, B = 2, TAG = 5, LONG = 100 * 1000, SHARE = 2 };

static uint8_t message[LONG];
static uint8_t buffer[LONG];

static int open_with_message(void **state)
{
    fill_pattern(message, sizeof(message), 1);
    memset(buffer, 0, sizeof(buffer));
    return fixture_open(state);
}

/* The launcher says so. */
static void lose(uint32_t rank)
{
    weft_segment_lose(&fixture_job.segment, rank, "killed by a test");
}

static void lose_and_notice(uint32_t rank)
{
    lose(rank);
    weft_progress();
}

static void end_failed(struct weft_request *request, int source)
{
    assert_int_equal(request->source, source);
    end_request(request, WEFT_ERR_PROC_FAILED);
}

/* Nothing is left that waits for A, or was taken for it. */
static void assert_forgotten(void)
{
    assert_null(weft_engine.retrying);
    assert_null(weft_transfers.list);
    assert_null(weft_engine.work[WEFT_WORK_SHORT].first);
    assert_int_equal(weft_transfers.incoming, 0);
    assert_int_equal(weft_engine.count[WEFT_REASON_STEPS], 0);
    assert_int_equal(shares_used(), 0);
    assert_int_equal(weft_engine.count[WEFT_REASON_REQUESTS], 0);
}

/* ---- receives ---- */

static void a_receive_that_names_the_dead_fails(void **state)
{
    struct weft_request *from_a = start_recv(A, TAG, buffer, 8);
    struct weft_request *from_b = start_recv(B, TAG, buffer, 8);
    int dead;

    (void)state;
    lose_and_notice(A);
    end_failed(from_a, A);
    assert_false(weft_request_is_complete(from_b));
    arrive_eager(B, TAG, message, 8);
    weft_progress();
    end_recv(from_b, B, TAG, 8);
    weft_lock();
    dead = weft_p2p_failed_from(&fixture_comm, 0);
    assert_int_equal(weft_p2p_failed_from(&fixture_comm, A + 1), MPI_UNDEFINED);
    assert_string_equal(weft_engine_why_failed(weft_engine_process(A)),
                        "killed by a test");
    weft_unlock();
    assert_int_equal(dead, A);
    assert_forgotten();
}

/* Nobody here has a slice of it: the list alone says so. */
static void a_rank_of_another_node_fails_when_it_is_listed(void **state)
{
    struct weft_request *from_a;

    (void)state;
    weft_segment_map(&fixture_job.segment)[A].node = 1;
    from_a = start_recv(A, TAG, buffer, 8);
    weft_segment_fail(&fixture_job.segment, A);
    weft_progress();
    end_failed(from_a, A);
    assert_string_equal(weft_engine_why_failed(weft_engine_process(A)),
                        "it has ended on another node");
    assert_forgotten();
}

/* All learn of it then, so that a collective need not end the job. */
static void the_launchers_word_replaces_a_lost_connection(void **state)
{
    (void)state;
    weft_lock();
    weft_engine_lost(NULL, weft_engine_process(A), false, "lost the connection");
    assert_true(weft_p2p_is_lost(weft_engine_process(A)));
    weft_unlock();
    weft_progress();
    lose_and_notice(A);
    weft_lock();
    assert_false(weft_p2p_is_lost(weft_engine_process(A)));
    assert_null(weft_p2p_why_lost(&fixture_comm));
    assert_string_equal(weft_engine_why_failed(weft_engine_process(A)),
                        "killed by a test");
    weft_unlock();
}

/* The first poll finds nothing; the second is made while the loss of A is noticed. */
static void lose_b_while_noticing(void)
{
    static int polls;

    if (++polls == 2) {
        fake.polling = NULL;
        weft_engine_lost(NULL, weft_engine_process(B), false, "lost the connection");
    }
}

static void two_lost_connections_fail_two_peers(void **state)
{
    struct weft_request *from_a = start_recv(A, TAG, buffer, 8);
    struct weft_request *from_b = start_recv(B, TAG, buffer, 8);

    (void)state;
    weft_lock();
    weft_engine_lost(NULL, weft_engine_process(A), false, "lost the connection");
    weft_unlock();
    fake.polling = lose_b_while_noticing;
    weft_progress();
    assert_null(fake.polling);
    assert_int_equal(weft_engine.failed_count, 2);
    end_failed(from_a, A);
    weft_progress();
    end_failed(from_b, B);
    assert_true(weft_p2p_is_lost(weft_engine_process(A)));
    assert_true(weft_p2p_is_lost(weft_engine_process(B)));
    assert_int_equal(weft_engine.failed_count, 2);
    assert_forgotten();
}

/* A rank that is about to come is marked before it is counted. It ends the barrier: if we
 * did so, its count would be left for the next one. */
static void a_lost_connection_does_not_release_the_barrier(void **state)
{
    const struct weft_segment *segment = &fixture_job.segment;
    struct weft_segment_header *h = segment->header;
    const uint32_t before = h->generation;
    uint32_t when_lost;

    (void)state;
    for (uint32_t i = 0; i < segment->local_size; i++) {
        weft_segment_slice(segment, i)->arrived = before + 1;
    }
    h->arrived = segment->local_size - 1;
    weft_lock();
    weft_engine.is_in_barrier = true;
    weft_engine.barrier_generation = before;
    weft_engine_lost(NULL, weft_engine_process(A), false, "lost the connection");
    weft_engine_poll();
    when_lost = h->generation;
    lose(B);
    weft_engine_poll();
    weft_engine.is_in_barrier = false;
    weft_unlock();
    assert_int_equal(when_lost, before);
    assert_int_equal(h->generation, before + 1);
    h->arrived = 0;
}

static void receives_from_any_fail_where_the_dead_is_a_member(void **state)
{
    struct weft_comm evens = fixture_comm; /* ranks 0, 2, 4, 6 of the job */
    struct weft_request *of_all = start_recv(MPI_ANY_SOURCE, TAG, buffer, 8);
    struct weft_request *of_evens;

    (void)state;
    evens.context = 2 * FIXTURE_CONTEXT;
    evens.map = (struct weft_map){.first = weft_engine_process(0), .stride = 2};
    evens.size = evens.peers = FIXTURE_RANKS / 2;
    assert_int_equal(
        weft_irecv(&evens, WEFT_PLANE_P2P, MPI_ANY_SOURCE, TAG, buffer, 8, &of_evens),
        WEFT_OK);
    lose_and_notice(A);
    end_failed(of_all, A);
    assert_false(weft_request_is_complete(of_evens));
    end_failed(start_recv(MPI_ANY_SOURCE, TAG, buffer, 8), A);
    lose_and_notice(B);
    end_failed(of_evens, 1);
    assert_forgotten();
}

static void receives_of_collectives_fail_whomever_they_name(void **state)
{
    struct weft_request *request;

    (void)state;
    assert_int_equal(
        weft_irecv(&fixture_comm, WEFT_PLANE_COLL, B, TAG, buffer, 8, &request), WEFT_OK);
    lose_and_notice(A);
    end_failed(request, A);
    assert_forgotten();
}

static void what_was_sent_before_is_received(void **state)
{
    struct weft_request *request = start_recv(A, TAG, buffer, 8);

    (void)state;
    arrive_eager(A, TAG, message, 8);
    arrive_eager(A, TAG + 1, message, 16);
    lose_and_notice(A);
    end_recv(request, A, TAG, 8);
    end_recv(start_recv(A, TAG + 1, buffer, 16), A, TAG + 1, 16);
    end_failed(start_recv(A, TAG + 1, buffer, 16), A);
    assert_forgotten();
}

static void an_announcement_of_the_dead_cannot_be_received(void **state)
{
    (void)state;
    arrive_announced(A, TAG, message, LONG, 77);
    lose_and_notice(A);
    end_failed(start_recv(A, TAG, buffer, LONG), A);
    assert_int_equal(fake.move_count, 0);
    assert_int_equal(fake.sent_count, 0);
    assert_forgotten();
}

static void a_blocking_receive_fails_when_it_would_sleep(void **state)
{
    struct weft_received received;

    (void)state;
    lose(B); /* and is noticed by who waits */
    assert_int_equal(
        weft_recv(&fixture_comm, WEFT_PLANE_P2P, B, TAG, buffer, 8, &received),
        WEFT_ERR_PROC_FAILED);
    assert_int_equal(received.source, B);
    assert_forgotten();
}

static void lose_a_while_arming(void)
{
    fake.arming = NULL;
    lose(A);
}

static void a_death_between_arming_and_sleeping_is_seen(void **state)
{
    struct weft_received received;

    (void)state;
    fake.arming = lose_a_while_arming; /* and no `sleeping`: a sleep is a fault */
    assert_int_equal(
        weft_recv(&fixture_comm, WEFT_PLANE_P2P, A, TAG, buffer, 8, &received),
        WEFT_ERR_PROC_FAILED);
    assert_null(fake.arming);
    assert_forgotten();
}

/* ---- sends ---- */

static void sends_that_wait_for_room_fail(void **state)
{
    struct weft_request *to_a;
    struct weft_request *to_b;

    (void)state;
    fake.refuse_ordered = FAKE_ENDLESS;
    to_a = start_send(A, TAG, message, 8, WEFT_SEND_STANDARD);
    to_b = start_send(B, TAG, message, 8, WEFT_SEND_STANDARD);
    lose_and_notice(A);
    end_request(to_a, WEFT_ERR_PROC_FAILED);
    assert_false(weft_request_is_complete(to_b));
    fake.refuse_ordered = 0;
    weft_progress();
    end_request(to_b, WEFT_OK);
    assert_forgotten();
}

static void announced_sends_fail_with_a_share_and_without(void **state)
{
    struct weft_request *with;
    struct weft_request *without;

    (void)state;
    with = start_send(A, TAG, message, LONG, WEFT_SEND_STANDARD);
    limit_shares(1); /* which is taken */
    without = start_send(A, TAG, message, LONG, WEFT_SEND_STANDARD);
    lose_and_notice(A);
    end_request(with, WEFT_ERR_PROC_FAILED);
    end_request(without, WEFT_ERR_PROC_FAILED);
    assert_forgotten();
}

static void sends_to_the_dead_fail_at_once(void **state)
{
    (void)state;
    end_request(start_send(A, TAG, message, 8, WEFT_SEND_STANDARD), WEFT_OK);
    lose_and_notice(A);
    fake_forget();
    end_request(start_send(A, TAG, message, 8, WEFT_SEND_STANDARD), WEFT_ERR_PROC_FAILED);
    end_request(start_send(A, TAG, message, LONG, WEFT_SEND_STANDARD),
                WEFT_ERR_PROC_FAILED);
    assert_int_equal(weft_send(&fixture_comm, A, TAG, message, 8,
                               WEFT_PLANE_P2P | WEFT_SEND_SYNCHRONOUS),
                     WEFT_ERR_PROC_FAILED);
    assert_int_equal(
        weft_send(&fixture_comm, A, TAG, message, 8, WEFT_PLANE_P2P | WEFT_SEND_STANDARD),
        WEFT_ERR_PROC_FAILED);
    assert_int_equal(fake.sent_count, 0);
    assert_forgotten();
}

/* ---- transfers ---- */

static void what_was_to_come_in_chunks_fails(void **state)
{
    struct weft_request *request = start_recv(A, TAG, buffer, LONG);

    (void)state;
    fake_reach(false);
    arrive_announced(A, TAG, message, LONG, 77);
    weft_progress();
    assert_int_equal(fake_count(WEFT_PKT_PULL), 1);
    lose_and_notice(A);
    end_failed(request, A);
    assert_int_equal(fake_count(WEFT_PKT_FETCHED), 0);
    assert_forgotten();
}

static void what_was_to_go_in_chunks_fails(void **state)
{
    struct weft_request *request;
    struct weft_pkt_announce announce;

    (void)state;
    fake_reach(false);
    request = start_send(A, TAG, message, LONG, WEFT_SEND_STANDARD);
    announce = announce_in(fake_nth(WEFT_PKT_ANNOUNCE, 0));
    fake.refuse_ordered = FAKE_ENDLESS;
    arrive_answer(
        A, WEFT_PKT_PULL,
        (union weft_pkt_control){
            .pull = {.request = announce.request, .receiver = 7, .length = LONG}});
    weft_progress();
    assert_non_null(weft_engine.retrying);
    lose_and_notice(A);
    end_request(request, WEFT_ERR_PROC_FAILED);
    assert_forgotten();
}

static void an_answer_to_the_dead_is_not_sent(void **state)
{
    struct weft_request *request = start_recv(A, TAG, buffer, LONG);

    (void)state;
    fake_reach(false);
    fake.refuse_control = FAKE_ENDLESS;
    arrive_announced(A, TAG, message, LONG, 77);
    weft_progress();
    assert_non_null(weft_engine.retrying);
    fake.refuse_control = 0;
    lose(A);
    weft_lock();
    weft_engine_notice_failed();
    weft_unlock();
    weft_progress();
    end_failed(request, A);
    assert_int_equal(fake_count(WEFT_PKT_PULL), 0);
    assert_forgotten();
}

/* Another thread of ours polls while we copy, and sees that the sender is gone. */
static void lose_a_while_copying(uint64_t address, uint64_t length)
{
    (void)address;
    (void)length;
    fake.getting = NULL;
    fake.gets = 0;
    lose(A);
    weft_lock();
    weft_engine_poll();
    assert_true(weft_p2p.has_unfailed);
    weft_unlock();
}

static void a_copy_under_way_is_ended_when_it_comes_back(void **state)
{
    struct weft_request *request = start_recv(A, TAG, buffer, LONG);

    (void)state;
    fake.getting = lose_a_while_copying;
    arrive_with_share(A, TAG, message, LONG, 77, SHARE);
    weft_progress();
    end_failed(request, A);
    assert_false(weft_p2p.has_unfailed);
    assert_forgotten();
}

static void lose_a_while_storing(uint64_t address, uint64_t length)
{
    fake.putting = NULL;
    fake.puts = 0;
    lose_a_while_copying(address, length);
}

/* Else it would go on in chunks, to nobody. */
static void a_store_under_way_is_ended_when_it_comes_back(void **state)
{
    struct weft_request *request = start_send(A, TAG, message, LONG, WEFT_SEND_STANDARD);
    const struct weft_pkt_announce announce = announce_in(fake_nth(WEFT_PKT_ANNOUNCE, 0));
    const struct weft_share_terms terms = {
        .source = announce.address,
        .target = (uint64_t)(uintptr_t)buffer,
        .length = LONG,
        .chunk = LONG / 2,
    };

    (void)state;
    weft_share_open(share_of(0, (uint32_t)announce.share),
                    (uint32_t)(announce.share >> 32), &terms);
    fake.putting = lose_a_while_storing;
    weft_progress();
    assert_null(fake.putting);
    end_request(request, WEFT_ERR_PROC_FAILED);
    weft_progress();
    assert_int_equal(fake_count(WEFT_PKT_DATA), 0);
    assert_forgotten();
}

/* All was copied, and only the look at it comes after the death. */
static void a_transfer_that_is_over_is_over(void **state)
{
    struct weft_request *request = start_send(A, TAG, message, LONG, WEFT_SEND_STANDARD);
    const struct weft_pkt_announce announce = announce_in(fake_nth(WEFT_PKT_ANNOUNCE, 0));
    struct weft_copy_share *share = share_of(0, (uint32_t)announce.share);
    const uint32_t generation = (uint32_t)(announce.share >> 32);
    const struct weft_share_terms terms = {
        .source = announce.address,
        .target = (uint64_t)(uintptr_t)buffer,
        .length = LONG,
        .chunk = 0,
    };

    (void)state;
    weft_share_open(share, generation, &terms);
    assert_true(weft_share_count(share, LONG));
    lose_and_notice(A);
    end_request(request, WEFT_OK);
    assert_forgotten();
}

/* ---- offers ---- */

static struct weft_request *offer_on(enum weft_plane plane)
{
    struct weft_request *request;

    end_request(start_send(A, 1, message, 8, WEFT_SEND_STANDARD), WEFT_OK);
    weft_lock(); /* so that no progress thread is started */
    weft_engine.has_progress = true;
    assert_int_equal(
        weft_irecv_locked(&fixture_comm, plane, A, TAG, buffer, LONG, &request), WEFT_OK);
    weft_engine.has_progress = false;
    weft_unlock();
    assert_int_equal(fake_count(WEFT_PKT_OFFER), 1);
    return request;
}

static struct weft_request *offer(void)
{
    return offer_on(WEFT_PLANE_P2P);
}

static struct weft_copy_share *offered_share(uint32_t *generation)
{
    const struct weft_pkt_offer answer = answer_in(fake_nth(WEFT_PKT_OFFER, 0)).offer;

    *generation = (uint32_t)(answer.share >> 32);
    return share_of(0, (uint32_t)answer.share);
}

static void an_offered_receive_fails(void **state)
{
    struct weft_request *request = offer();

    (void)state;
    lose_and_notice(A);
    end_failed(request, A);
    assert_forgotten();
}

static void an_offer_that_was_claimed_and_not_opened_fails(void **state)
{
    struct weft_request *request = offer();
    uint32_t generation;
    struct weft_copy_share *share = offered_share(&generation);

    (void)state;
    assert_true(weft_share_claim(share, generation));
    lose_and_notice(A);
    end_failed(request, A);
    assert_forgotten();
}

static void an_offer_of_which_half_was_stored_fails(void **state)
{
    struct weft_request *request = offer();
    uint32_t generation;
    struct weft_copy_share *share = offered_share(&generation);
    const struct weft_share_terms terms = {
        .source = (uint64_t)(uintptr_t)message,
        .target = (uint64_t)(uintptr_t)buffer,
        .length = LONG,
        .note = LONG,
        .chunk = LONG / 2,
    };
    uint64_t offset;
    uint64_t length;

    (void)state;
    assert_true(weft_share_claim(share, generation));
    weft_share_open(share, generation, &terms);
    assert_true(
        weft_share_claim_chunk(share, generation, WEFT_SHARE_SENDER, &offset, &length));
    fake.gets = 0; /* the other half is out of reach */
    lose_and_notice(A);
    weft_progress();
    end_failed(request, A);
    assert_forgotten();
}

/* The receive belongs to a collective in which another member has died. The sender stores
 * all, and both are through. */
static void an_offer_that_the_living_claimed_ends_with_its_message(void **state)
{
    struct weft_request *request = offer_on(WEFT_PLANE_COLL);
    uint32_t generation;
    struct weft_copy_share *share = offered_share(&generation);
    const struct weft_share_terms terms = {
        .source = (uint64_t)(uintptr_t)message,
        .target = (uint64_t)(uintptr_t)buffer,
        .length = LONG,
        .note = LONG,
        .chunk = LONG,
    };
    uint64_t offset;
    uint64_t length;

    (void)state;
    assert_true(weft_share_claim(share, generation));
    lose_and_notice(B);
    assert_false(weft_request_is_complete(request));
    weft_share_open(share, generation, &terms);
    assert_true(
        weft_share_claim_chunk(share, generation, WEFT_SHARE_SENDER, &offset, &length));
    assert_int_equal(length, LONG);
    assert_true(weft_share_count(share, length));
    weft_progress();
    end_request(request, WEFT_OK);
    assert_forgotten();
}

/* Its buffer is the program's again, so that no sender may claim it. */
static void an_offer_that_nobody_claimed_is_taken_back(void **state)
{
    struct weft_request *request = offer_on(WEFT_PLANE_COLL);
    uint32_t generation;
    struct weft_copy_share *share = offered_share(&generation);

    (void)state;
    lose_and_notice(B);
    end_failed(request, B);
    assert_false(weft_share_claim(share, generation));
    assert_forgotten();
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, open_with_message, fixture_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_receive_that_names_the_dead_fails),
        CASE(a_rank_of_another_node_fails_when_it_is_listed),
        CASE(the_launchers_word_replaces_a_lost_connection),
        CASE(two_lost_connections_fail_two_peers),
        CASE(a_lost_connection_does_not_release_the_barrier),
        CASE(receives_from_any_fail_where_the_dead_is_a_member),
        CASE(receives_of_collectives_fail_whomever_they_name),
        CASE(what_was_sent_before_is_received),
        CASE(an_announcement_of_the_dead_cannot_be_received),
        CASE(a_blocking_receive_fails_when_it_would_sleep),
        CASE(a_death_between_arming_and_sleeping_is_seen),
        CASE(sends_that_wait_for_room_fail),
        CASE(announced_sends_fail_with_a_share_and_without),
        CASE(sends_to_the_dead_fail_at_once),
        CASE(what_was_to_come_in_chunks_fails),
        CASE(what_was_to_go_in_chunks_fails),
        CASE(an_answer_to_the_dead_is_not_sent),
        CASE(a_copy_under_way_is_ended_when_it_comes_back),
        CASE(a_store_under_way_is_ended_when_it_comes_back),
        CASE(a_transfer_that_is_over_is_over),
        CASE(an_offered_receive_fails),
        CASE(an_offer_that_was_claimed_and_not_opened_fails),
        CASE(an_offer_of_which_half_was_stored_fails),
        CASE(an_offer_that_the_living_claimed_ends_with_its_message),
        CASE(an_offer_that_nobody_claimed_is_taken_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
