/* test_dgram.c - reliable datagrams, one at a time. */
#include "unit.h"

#include "dgram_pair.h"
#include "transport/dgram/assemble.h"
#include "transport/dgram/estimate.h"
#include "transport/dgram/peer.h"
#include "transport/dgram/timers.h"

#include <stdlib.h>

enum { A, B, C };

static int open_two(void **state)
{
    (void)state;
    pair_open(3, 92);
    return 0;
}

static int close_all(void **state)
{
    (void)state;
    pair_close();
    return 0;
}

static unsigned kind_at(unsigned at)
{
    return pair_header(&pair.wire[at]).kind & WEFT_DGRAM_KIND;
}

/* First contact is over, both ways, and nothing is under way. */
static void acquaint(int from, int to)
{
    assert_int_equal(pair_send(from, to, 1, 0, 0), WEFT_OK);
    pair_run(2 * PAIR_MS);
    pair.node[to].count = 0;
    pair.node[to].offered = 0;
    memset(&pair.node[from].core.counts, 0, sizeof(pair.node[from].core.counts));
    memset(&pair.node[to].core.counts, 0, sizeof(pair.node[to].core.counts));
    assert_int_equal(pair.count, 0);
}

static void times_fit_a_byte(void **state)
{
    (void)state;
    for (uint64_t t = 0; t < 100000; t++) {
        const uint64_t back = weft_dgram_microseconds(weft_dgram_time(t));

        assert_true(back >= t && back <= t + t / 7);
    }
    assert_int_equal(weft_dgram_time(UINT64_MAX), WEFT_DGRAM_TIME_UNKNOWN - 1);
}

static void a_number_is_the_nearest_one(void **state)
{
    (void)state;
    assert_true(weft_dgram_number(5, 7) == 7);
    assert_true(weft_dgram_number(UINT64_C(0x1FFFFFFFE), 3) == UINT64_C(0x200000003));
    assert_true(weft_dgram_number(UINT64_C(0x200000003), 0xFFFFFFFE) ==
                UINT64_C(0x1FFFFFFFE));
    assert_true(weft_dgram_number(0, 0xFFFFFFFF) >> 63 == 1);
}

static void the_first_packet_needs_one_datagram(void **state)
{
    (void)state;
    assert_int_equal(pair_send(A, B, 5, 100, 0), WEFT_OK);
    assert_int_equal(pair.count, 1);
    assert_int_equal(pair_header(&pair.wire[0]).kind,
                     WEFT_DGRAM_ORDERED | WEFT_DGRAM_HELLO | WEFT_DGRAM_CRC);
    assert_int_equal(pair.wire[0].length, 48 + 80 + 28 + 100);
    pair_move();
    assert_int_equal(pair.node[B].count, 1);
    assert_int_equal(pair.node[B].taken[0].name, 5);
    assert_int_equal(pair.node[B].taken[0].length, 100);
    assert_int_equal(pair.node[B].taken[0].from, A);
    assert_true(weft_dgram_is_settled(&pair.node[A].core));
    assert_true(pair_peer(A, B)->granted > 1);
}

static void only_one_datagram_comes_unasked(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 5; i++) {
        assert_int_equal(pair_send(A, B, i, 10, 0), WEFT_OK);
    }
    assert_int_equal(pair.count, 1);
    pair_move();
    assert_int_equal(pair.node[B].count, 5);
    for (uint32_t i = 0; i < 5; i++) {
        assert_int_equal(pair.node[B].taken[i].name, i);
    }
}

static void a_long_first_packet_asks_first(void **state)
{
    (void)state;
    assert_int_equal(pair_send(A, B, 5, 60000, 0), WEFT_OK);
    assert_int_equal(pair.count, 1);
    assert_int_equal(kind_at(0), WEFT_DGRAM_PROBE);
    assert_int_equal(pair_header(&pair.wire[0]).backlog,
                     (60028 + PAIR_PART - 1) / PAIR_PART);
    pair_move();
    assert_int_equal(pair.node[B].count, 1);
    assert_int_equal(pair.node[B].taken[0].length, 60000);
}

static void a_lost_first_question_is_asked_again(void **state)
{
    (void)state;
    assert_int_equal(pair_send(A, B, 5, 60000, 0), WEFT_OK);
    pair_drop(0);
    pair_run(20 * PAIR_MS);
    assert_int_equal(pair.node[B].count, 1);
}

static void two_first_contacts_may_cross(void **state)
{
    (void)state;
    assert_int_equal(pair_send(A, B, 1, 10, 0), WEFT_OK);
    assert_int_equal(pair_send(B, A, 2, 10, 0), WEFT_OK);
    assert_int_equal(pair.count, 2);
    pair_move();
    assert_int_equal(pair.node[A].count, 1);
    assert_int_equal(pair.node[B].count, 1);
}

static void parts_of_a_packet_leave_in_trains(void **state)
{
    (void)state;
    acquaint(A, B);
    assert_int_equal(pair_send(A, B, 9, 10 * PAIR_PART - 28, 0), WEFT_OK);
    assert_int_equal(pair.count, 10);
    for (unsigned i = 0; i < 10; i++) {
        assert_int_equal(pair.wire[i].train, pair.wire[0].train);
        assert_int_equal(pair.wire[i].length, PAIR_DATAGRAM);
        assert_int_equal(pair_header(&pair.wire[i]).part, i);
    }
    pair_move();
    assert_int_equal(pair.node[B].count, 1);
}

static void what_one_look_grants_leaves_in_one_train(void **state)
{
    struct weft_dgram_core *core = &pair.node[A].core;
    unsigned answers = 0;
    unsigned sent;

    (void)state;
    pair_close();
    pair_open(2, 16); /* grants of 12 */
    acquaint(A, B);
    assert_int_equal(pair_send(A, B, 9, 40 * PAIR_PART - 28, 0), WEFT_OK);
    sent = pair.count;
    for (unsigned i = 0; i < sent; i++) {
        pair_give(&pair.wire[i]);
    }
    weft_dgram_begin(core, pair.now, 0, 64);
    for (unsigned i = sent; i < pair.count; i++) {
        answers++;
        weft_dgram_receive(core, pair.wire[i].bytes, pair.wire[i].length,
                           &pair.wire[i].from);
    }
    assert_true(answers > 1);
    sent += answers;
    assert_int_equal(pair.count, sent);
    (void)weft_dgram_end(core, pair.now, true);
    assert_true(pair.count > sent + 1);
    for (unsigned i = sent; i < pair.count; i++) {
        assert_int_equal(pair.wire[i].train, pair.wire[sent].train);
    }
    pair_move();
    assert_int_equal(pair.node[B].count, 1);
}

static void parts_may_come_in_any_order_and_twice(void **state)
{
    (void)state;
    acquaint(A, B);
    assert_int_equal(pair_send(A, B, 9, 7 * PAIR_PART, 0), WEFT_OK);
    assert_int_equal(pair_send(A, B, 10, 0, 0), WEFT_OK);
    for (unsigned i = 9; i-- > 0;) {
        pair_give(&pair.wire[i]);
        pair_give(&pair.wire[i]);
    }
    assert_int_equal(pair.node[B].count, 2);
    assert_int_equal(pair.node[B].taken[0].length, 7 * PAIR_PART);
    assert_int_equal(pair.node[B].taken[1].name, 10);
    assert_int_equal(pair.node[B].core.counts.duplicates, 9);
    pair_move();
    assert_int_equal(pair.node[B].count, 2);
}

static void a_hole_with_three_above_is_repeated_alone(void **state)
{
    (void)state;
    acquaint(A, B);
    for (uint32_t i = 0; i < 6; i++) {
        assert_int_equal(pair_send(A, B, i, 10, 0), WEFT_OK);
    }
    assert_int_equal(pair.count, 6);
    pair_drop(1);
    pair_move();
    assert_int_equal(pair.node[B].count, 6);
    assert_int_equal(pair.node[A].core.counts.repeats_by_ack, 1);
    assert_int_equal(pair.node[A].core.counts.repeats_by_time, 0);
    assert_int_equal(pair.node[B].core.counts.duplicates, 0);
}

static void a_hole_with_two_above_waits(void **state)
{
    (void)state;
    acquaint(A, B);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(pair_send(A, B, i, 10, 0), WEFT_OK);
    }
    pair_drop(0);
    pair_move();
    assert_int_equal(pair.node[B].count, 0);
    assert_int_equal(pair.node[A].core.counts.repeats_by_ack, 0);
}

static void a_time_out_repeats_the_oldest_and_doubles(void **state)
{
    uint64_t before;
    uint64_t waited = 0;

    (void)state;
    acquaint(A, B);
    for (uint32_t i = 0; i < 5; i++) {
        assert_int_equal(pair_send(A, B, i, 10, 0), WEFT_OK);
    }
    pair.count = 0; /* all are lost */
    for (int i = 0; i < 12; i++) {
        before = pair.now;
        pair.now = weft_dgram_deadline(&pair.node[A].core);
        pair_look(A);
        assert_int_equal(pair.count, 1);
        assert_int_equal(pair_header(&pair.wire[0]).packet, 1);
        pair_drop(0);
        assert_true(pair.now - before >= waited || pair.now - before >= 1000 * PAIR_MS);
        assert_true(pair.now - before <= 1126 * PAIR_MS);
        waited = pair.now - before;
    }
    assert_true(waited >= 1000 * PAIR_MS);
    assert_int_equal(pair.node[A].core.counts.repeats_by_time, 12);
}

static void one_answer_shows_all_that_was_lost(void **state)
{
    (void)state;
    acquaint(A, B);
    for (uint32_t i = 0; i < 10; i++) {
        assert_int_equal(pair_send(A, B, i, 10, 0), WEFT_OK);
    }
    pair.count = 0;
    pair.now = weft_dgram_deadline(&pair.node[A].core);
    pair_look(A);
    pair.now += PAIR_MS / 2;
    pair_run(PAIR_MS / 2); /* the oldest, its acknowledgement, and the other nine */
    assert_int_equal(pair.node[B].count, 10);
    assert_int_equal(pair.node[A].core.counts.repeats_by_ack, 9);
}

static void others_do_not_put_off_the_timer_of_the_oldest(void **state)
{
    uint64_t due;

    (void)state;
    acquaint(A, B);
    assert_int_equal(pair_send(A, B, 1, 10, 0), WEFT_OK);
    assert_int_equal(pair_send(A, B, 2, 10, 0), WEFT_OK);
    due = weft_dgram_repeat_due(&pair.node[A].core, pair_peer(A, B));
    pair_drop(0);
    pair.now += PAIR_MS / 2;
    pair_move(); /* the second, and its acknowledgement */
    assert_int_equal(pair_peer(A, B)->busy->oldest->number, 1);
    assert_null(pair_peer(A, B)->busy->oldest->next);
    assert_in_range(weft_dgram_repeat_due(&pair.node[A].core, pair_peer(A, B)), pair.now,
                    due + 2 * PAIR_MS); /* later by what was measured, no more */
    assert_true(pair_peer(A, B)->busy->restart_at < pair.now);
}

/* Opens two nodes anew, and lets A put a whole window on the wire: nothing else is there.
 * Returns how many datagrams that is. */
static unsigned fill_window(void)
{
    const struct weft_dgram_peer *peer;
    unsigned at = 0;

    pair_close();
    pair_open(2, 400);
    acquaint(A, B);
    peer = pair_peer(A, B);
    for (uint32_t i = 0; i < 8; i++) {
        assert_int_equal(pair_send(A, B, i, 60000, 0), WEFT_OK);
    }
    while (peer->next - peer->acked < WEFT_DGRAM_WINDOW) {
        pair.now += 1000;
        for (at = 0; at < pair.count && pair.wire[at].from == A; at++) {
        }
        at = at < pair.count ? at : 0; /* an acknowledgement, or the oldest */
        pair_give(&pair.wire[at]);
        pair_drop(at);
    }
    return pair.count;
}

static void an_ack_shows_the_whole_window(void **state)
{
    const struct weft_dgram_core *core = &pair.node[A].core;
    unsigned sent;

    (void)state;
    sent = fill_window();
    assert_true(sent > 200);
    pair_drop(150);
    pair_drop(100);
    pair_drop(1);
    pair.now += PAIR_MS / 50;
    for (unsigned i = 0; i < sent - 3; i++) {
        pair_give(&pair.wire[0]);
        pair_drop(0);
    }
    while (pair.wire[0].from == B) { /* of these only the last */
        if (pair.count == 1 || pair.wire[1].from == A) {
            assert_int_equal(pair.wire[0].length, 48 + 24);
            assert_true((pair_header(&pair.wire[0]).kind & WEFT_DGRAM_MORE) != 0);
            pair_give(&pair.wire[0]);
        }
        pair_drop(0);
    }
    assert_int_equal(core->counts.repeats_by_ack, 3);
    pair_run(10 * PAIR_MS);
    assert_int_equal(pair.node[B].count, 8);
    assert_int_equal(core->counts.repeats_by_ack, 3);
    assert_int_equal(core->counts.repeats_by_time, 0);
    assert_int_equal(pair.node[B].core.counts.duplicates, 0);
}

static void a_lost_repeat_of_the_oldest_is_found_soon(void **state)
{
    const struct weft_dgram_core *core = &pair.node[A].core;
    uint64_t before;

    (void)state;
    acquaint(A, B);
    for (uint32_t i = 0; i < 6; i++) {
        assert_int_equal(pair_send(A, B, i, 10, 0), WEFT_OK);
    }
    pair_drop(0);
    while (core->counts.repeats_by_ack == 0) {
        pair_give(&pair.wire[0]);
        pair_drop(0);
    }
    for (unsigned i = 0; i < pair.count;) { /* the repeat is lost, acknowledgements not */
        if (pair.wire[i].from == A && pair_header(&pair.wire[i]).packet == 1) {
            pair_drop(i);
        } else {
            i++;
        }
    }
    pair_move();
    for (unsigned i = 0; i < WEFT_DGRAM_REPEATS_SHORT; i++) {
        before = pair.now;
        pair.now = weft_dgram_deadline(core);
        assert_true(pair.now < before + PAIR_MS / 2);
        pair_look(A);
        assert_int_equal(pair.count, 1);
        pair_drop(0);
        assert_int_equal(core->counts.repeats_by_time, i + 1);
        assert_int_equal(pair_peer(A, B)->busy->doublings, 0);
    }
    assert_true(weft_dgram_deadline(core) >= pair.now + PAIR_MS);
    pair_run(3 * PAIR_MS);
    assert_int_equal(pair.node[B].count, 6);
}

static void a_lost_part_does_not_stop_grants(void **state)
{
    const struct weft_dgram_peer *peer;
    unsigned at = 0;
    uint32_t lost;

    (void)state;
    (void)fill_window();
    peer = pair_peer(B, A);
    while (pair_header(&pair.wire[at]).part !=
           64) { /* a window reaches the third packet */
        at++;
    }
    lost = pair_header(&pair.wire[at]).number;
    for (unsigned i = 0; i < pair.count && i < 1000; i++) {
        const uint32_t number = pair_header(&pair.wire[i]).number;

        if (pair.wire[i].from == B || (number != lost && number != lost + 20)) {
            pair_give(&pair.wire[i]);
        }
    }
    assert_int_equal(peer->expected, lost);
    assert_true(peer->busy->held > WEFT_DGRAM_HELD_MAX);
    pair_give(&pair.wire[at]);
    assert_int_equal(peer->expected, lost + 20);
    assert_int_equal(peer->told - peer->expected, WEFT_DGRAM_WINDOW);
}

static void what_a_repeat_uncovers_is_not_measured(void **state)
{
    (void)state;
    acquaint(A, B);
    assert_int_equal(pair_send(A, B, 1, 60000, 0), WEFT_OK);
    pair_give(&pair.wire[0]);
    while (pair.count > 0 && pair.wire[pair.count - 1].from == A) {
        pair.now += WEFT_DGRAM_ACK_DELAY;
        pair_look(B); /* its acknowledgement grants more than 64 */
    }
    pair_give(&pair.wire[pair.count - 1]);
    assert_true(pair.count > 67);
    pair_drop(1);
    pair_run(500 * PAIR_MS);
    assert_int_equal(pair.node[B].count, 1);
    assert_true(pair_peer(A, B)->srtt < 1000);
}

static void timers_wait_until_all_was_read(void **state)
{
    (void)state;
    acquaint(A, B);
    assert_int_equal(pair_send(A, B, 1, 10, 0), WEFT_OK);
    pair.count = 0;
    pair.now += 500 * PAIR_MS;
    weft_dgram_begin(&pair.node[A].core, pair.now, 0, 10);
    (void)weft_dgram_end(&pair.node[A].core, pair.now, false);
    assert_int_equal(pair.count, 0);
    pair_look(A);
    assert_int_equal(pair.count, 1);
}

/* The acknowledgement has come, but lies behind another datagram. */
static void a_late_look_wants_all_that_is_there(void **state)
{
    struct weft_dgram_core *core = &pair.node[A].core;
    struct pair_datagram ack;

    (void)state;
    acquaint(A, B);
    assert_int_equal(pair_send(A, B, 1, 10, 0), WEFT_OK);
    pair_give(&pair.wire[0]);
    pair.count = 0;
    pair.now += PAIR_MS;
    pair_look(B); /* the acknowledgement that was put off */
    assert_int_equal(pair.count, 1);
    ack = pair.wire[0];
    pair.count = 0;
    weft_dgram_begin(core, pair.now, 0, 10);
    assert_false(weft_dgram_is_late(core));
    (void)weft_dgram_end(core, pair.now, true);
    pair.now += 500 * PAIR_MS;
    weft_dgram_begin(core, pair.now, 0, 10);
    assert_true(weft_dgram_is_late(core));
    weft_dgram_receive(core, ack.bytes, ack.length, &ack.from);
    (void)weft_dgram_end(core, pair.now, true);
    assert_int_equal(pair.count, 0);
    assert_int_equal(core->counts.repeats_by_time, 0);
}

static void a_peer_that_was_away_gets_more_time(void **state)
{
    uint64_t timeout;

    (void)state;
    acquaint(A, B);
    timeout = weft_dgram_timeout(&pair.node[A].core, pair_peer(A, B));
    assert_true(timeout < 10 * PAIR_MS);
    assert_int_equal(pair_send(A, B, 1, 10, 0), WEFT_OK);
    pair_drop(0);
    /* B has not run for 100 ms, and says so with what it sends then. */
    pair.now += 100 * PAIR_MS;
    weft_dgram_begin(&pair.node[B].core, pair.now, 100000, 10);
    (void)weft_dgram_end(&pair.node[B].core, pair.now, true);
    assert_int_equal(pair_send(B, A, 2, 10, 0), WEFT_OK);
    pair_move();
    pair_look(A);
    assert_int_equal(pair.node[A].core.counts.repeats_by_time, 0);
    assert_true(weft_dgram_deadline(&pair.node[A].core) <=
                pair.now + PAIR_MS); /* an ack */
    assert_true(weft_dgram_repeat_due(&pair.node[A].core, pair_peer(A, B)) >=
                pair.now + 200 * PAIR_MS);
}

static void a_repeat_that_was_not_needed_is_counted(void **state)
{
    (void)state;
    acquaint(A, B);
    assert_int_equal(pair_send(A, B, 1, 10, 0), WEFT_OK);
    pair_give(&pair.wire[0]);
    pair_give(&pair.wire[0]);
    assert_int_equal(pair.node[B].count, 1);
    pair_move();
    assert_int_equal(pair.node[B].count, 1);
    assert_true(pair.node[A].core.counts.spurious > 0);
}

static void an_ack_rides_on_an_answer(void **state)
{
    (void)state;
    acquaint(A, B);
    assert_int_equal(pair_send(A, B, 1, 10, 0), WEFT_OK);
    pair_move();
    assert_int_equal(pair.count, 0); /* B waits a little */
    assert_int_equal(pair_send(B, A, 2, 10, 0), WEFT_OK);
    pair_move();
    assert_true(pair_peer(A, B)->busy == NULL || pair_peer(A, B)->busy->oldest == NULL);
    pair_run(PAIR_MS);
    assert_int_equal(pair.node[B].core.counts.acks_sent, 0);
    assert_int_equal(pair.node[A].core.counts.acks_sent, 1);
}

static void an_idle_peer_is_small(void **state)
{
    (void)state;
    acquaint(A, B);
    pair_run(10 * PAIR_MS);
    assert_null(pair_peer(A, B)->busy);
    assert_null(pair_peer(B, A)->busy);
    assert_true(weft_dgram_deadline(&pair.node[A].core) == 0);
    assert_int_equal(weft_dgram_peer_bytes(&pair.node[A].core), 212 + sizeof(uint64_t));
}

static void states_of_many_busy_peers_are_given_back(void **state)
{
    enum { MANY = WEFT_DGRAM_BUSY_KEPT + 16 }; /* of the 64 that the pair knows */
    struct weft_dgram_core *core = &pair.node[A].core;

    (void)state;
    for (int i = 0; i < MANY; i++) {
        assert_non_null(weft_dgram_peer_wake(core, pair_peer(A, 10 + i)));
    }
    assert_int_equal(core->free_busy_count, 0);
    for (int i = 0; i < MANY; i++) {
        weft_dgram_peer_rest(core, pair_peer(A, 10 + i));
        assert_null(pair_peer(A, 10 + i)->busy);
    }
    assert_int_equal(core->free_busy_count, WEFT_DGRAM_BUSY_KEPT);
    assert_non_null(weft_dgram_peer_wake(core, pair_peer(A, 10)));
    assert_int_equal(core->free_busy_count, WEFT_DGRAM_BUSY_KEPT - 1);
}

static void a_kept_packet_is_offered_in_every_look(void **state)
{
    (void)state;
    acquaint(A, B);
    pair.node[B].keeps = true;
    assert_int_equal(pair_send(A, B, 1, 10, 0), WEFT_OK);
    assert_int_equal(pair_send(A, B, 2, 10, 0), WEFT_OK);
    pair_move();
    assert_int_equal(pair.node[B].count, 0);
    for (unsigned i = 0; i < 5; i++) {
        const unsigned offered = pair.node[B].offered;

        pair_look(B);
        assert_int_equal(pair.node[B].offered, offered + 1);
    }
    assert_false(weft_dgram_may_take(&pair.node[B].core));
    pair.node[B].keeps = false;
    assert_true(weft_dgram_may_take(&pair.node[B].core));
    pair_look(B);
    assert_int_equal(pair.node[B].count, 2);
    assert_int_equal(pair.node[B].taken[0].name, 1);
    assert_int_equal(pair.node[B].taken[1].name, 2);
}

static void kept_packets_stop_ordered_ones_but_not_control(void **state)
{
    uint32_t sent = 0;
    unsigned taken;

    (void)state;
    acquaint(A, B);
    pair.node[B].keeps = true;
    while (sent < 2000 && pair_send(A, B, sent, 400, 0) == WEFT_OK) {
        sent++;
        pair_run(PAIR_MS);
    }
    assert_true(sent < 2000); /* they wait at the sender */
    assert_true(pair_peer(B, A)->busy->held < 3 * WEFT_DGRAM_HELD_MAX);
    for (uint32_t i = 0; i < 20; i++) {
        assert_int_equal(pair_send(A, B, i, 10, WEFT_SEND_CONTROL), WEFT_OK);
    }
    pair_run(50 * PAIR_MS);
    assert_int_equal(pair.node[B].count, 20);
    for (unsigned i = 0; i < 20; i++) {
        assert_true(pair.node[B].taken[i].is_control);
        assert_int_equal(pair.node[B].taken[i].name, i);
    }
    pair.node[B].keeps = false;
    pair_look(B);
    pair_run(5000 * PAIR_MS);
    taken = pair.node[B].count;
    assert_int_equal(taken, 20 + sent);
    for (unsigned i = 0; i < sent; i++) {
        assert_int_equal(pair.node[B].taken[20 + i].name, i);
    }
}

static void only_one_datagram_is_under_way_without_a_grant(void **state)
{
    (void)state;
    acquaint(A, B);
    pair.now += WEFT_DGRAM_LEASE_SENDER + 1; /* A forgets its grants */
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(pair_send(A, B, i, 10, WEFT_SEND_CONTROL), WEFT_OK);
    }
    assert_int_equal(pair_send(A, B, 3, 10, 0), WEFT_OK);
    assert_int_equal(pair.count, 1);
    pair_run(PAIR_MS);
    assert_int_equal(pair.node[B].count, 4);
}

static void a_stuck_sender_asks_ever_less_often(void **state)
{
    uint64_t asked;

    (void)state;
    acquaint(A, B);
    pair.node[B].keeps = true;
    for (uint32_t i = 0; i < 2000 && pair_send(A, B, i, 400, 0) == WEFT_OK; i++) {
        pair_run(PAIR_MS);
    }
    asked = pair.node[A].core.counts.acks_sent;
    pair_run(60000 * PAIR_MS);
    assert_in_range(pair.node[A].core.counts.acks_sent - asked, 50, 75);
    assert_int_equal(pair.node[A].lost, 0);
    assert_int_equal(pair_send(A, B, 7, 10, WEFT_SEND_CONTROL), WEFT_OK);
    pair_drop(0); /* it is repeated soon all the same */
    pair_run(50 * PAIR_MS);
    assert_int_equal(pair.node[B].count, 1);
    pair.node[B].keeps = false;
    pair_look(B);
    pair_drop(0); /* the first of two that say so */
    pair_run(PAIR_MS);
    assert_true(pair_peer(A, B)->busy == NULL || pair_peer(A, B)->busy->waiting == 0);
}

static void a_control_packet_goes_between_parts(void **state)
{
    (void)state;
    acquaint(A, B);
    assert_int_equal(pair_send(A, B, 1, 60000, 0), WEFT_OK);
    assert_int_equal(pair_send(A, B, 2, 10, WEFT_SEND_CONTROL), WEFT_OK);
    pair_move();
    assert_int_equal(pair.node[B].count, 2);
    assert_int_equal(pair.node[B].taken[0].name, 2);
    assert_int_equal(pair.node[B].taken[1].name, 1);
}

static void grants_of_all_peers_fit_the_buffer(void **state)
{
    const int peers = PAIR_NODES - 1;
    unsigned granted = 0;

    (void)state;
    pair_close();
    pair_open(PAIR_NODES, 92);
    for (int i = 1; i <= peers; i++) {
        assert_int_equal(pair_send(i, 0, 1, 60000, 0), WEFT_OK);
    }
    for (int i = 1; i <= peers; i++) {
        pair_give(&pair.wire[i - 1]);
    }
    for (int i = 1; i <= peers; i++) {
        const struct weft_dgram_peer *peer = pair_peer(0, i);

        granted +=
            peer->told > peer->expected ? (unsigned)(peer->told - peer->expected) : 0;
    }
    assert_true(granted > 0 && granted <= 69);
    assert_int_equal(granted, pair.node[0].core.outstanding);
    assert_true(pair.node[0].core.waiters > 0);
    pair_run(PAIR_MS);
    assert_int_equal(pair.node[0].count, peers);
    assert_int_equal(pair.node[0].core.waiters, 0);
}

static void grants_that_nobody_uses_are_taken_back(void **state)
{
    struct weft_dgram_core *core = &pair.node[B].core;

    (void)state;
    pair_close();
    pair_open(3, 20); /* 15 to grant */
    acquaint(A, B);
    assert_int_equal(core->outstanding, 15);
    acquaint(C, B);
    assert_int_equal(pair_peer(B, C)->counted, 0);
    pair.now += WEFT_DGRAM_LEASE + 1;
    assert_int_equal(pair_send(C, B, 1, 60000, 0), WEFT_OK);
    pair_move();
    assert_int_equal(pair_peer(B, A)->counted, 0);
    assert_int_equal(pair.node[B].count, 1);
    /* A knows by its own clock. */
    assert_int_equal(pair_send(A, B, 1, 60000, 0), WEFT_OK);
    assert_int_equal(pair.count, 1);
    pair_run(100 * PAIR_MS);
    assert_int_equal(pair.node[B].count, 2);
}

static void a_full_pool_drops_and_a_wanted_packet_passes(void **state)
{
    struct weft_dgram_core *core = &pair.node[B].core;

    (void)state;
    acquaint(A, B);
    acquaint(C, B);
    core->receive_pool.limit = 1000;
    pair.node[B].keeps = true;
    assert_int_equal(pair_send(A, B, 1, 3000, 0), WEFT_OK);
    pair_run(20 * PAIR_MS);
    assert_true(core->counts.no_room > 0);
    assert_int_equal(core->receive_pool.used, 0);
    pair.node[B].keeps = false;
    pair_run(1200 * PAIR_MS);
    assert_int_equal(pair.node[B].count, 1);
    assert_int_equal(core->receive_pool.used, 0);
}

static void who_has_no_room_is_not_taken_for_lost(void **state)
{
    struct weft_dgram_core *core = &pair.node[B].core;

    (void)state;
    acquaint(A, B);
    core->receive_pool.limit = 1000;
    pair.node[B].keeps = true;
    assert_int_equal(pair_send(A, B, 1, 3000, 0), WEFT_OK);
    pair_run(60000 * PAIR_MS);
    assert_true(core->counts.no_room > WEFT_DGRAM_REPEATS_LOST);
    assert_true(pair.node[A].core.counts.sent < 200);
    assert_int_equal(pair.node[A].lost, 0);
    pair.node[B].keeps = false;
    pair_run(1200 * PAIR_MS);
    assert_int_equal(pair.node[B].count, 1);
}

/* A control packet that comes through shows a hole, which only room can fill. */
static void who_has_no_room_is_not_asked_often(void **state)
{
    struct weft_dgram_core *core = &pair.node[B].core;

    (void)state;
    acquaint(A, B);
    core->receive_pool.limit = 1000;
    pair.node[B].keeps = true;
    assert_int_equal(pair_send(A, B, 1, 3000, 0), WEFT_OK);
    assert_int_equal(pair_send(A, B, 2, 10, WEFT_SEND_CONTROL), WEFT_OK);
    pair_run(10000 * PAIR_MS);
    assert_true(core->counts.no_room > 0);
    assert_true(pair.node[A].core.counts.sent < 200);
    pair.node[B].keeps = false;
    pair_run(1200 * PAIR_MS);
    assert_int_equal(pair.node[B].count, 2);
}

static void a_sender_has_limits_for_each_peer(void **state)
{
    uint32_t sent = 0;
    unsigned control = 0;

    (void)state;
    while (sent < 100 && pair_send(A, B, sent, 65508, 0) == WEFT_OK) {
        sent++;
    }
    assert_int_equal(sent, 8);
    assert_int_equal(pair_send(A, B, 0, 65509, 0), WEFT_ERR_ARGUMENT);
    while (control < 100 && pair_send(A, B, 1, 10, WEFT_SEND_CONTROL) == WEFT_OK) {
        control++;
    }
    assert_int_equal(control, WEFT_DGRAM_CONTROL_MAX);
    pair.node[A].core.send_pool.limit = 0;
    assert_int_equal(pair_send(A, C, 1, 60000, 0), WEFT_OK);
    assert_int_equal(pair_send(A, C, 1, 60000, 0), WEFT_AGAIN);
    pair_run(100 * PAIR_MS);
    assert_int_equal(pair.node[B].count, 8 + WEFT_DGRAM_CONTROL_MAX);
    assert_int_equal(pair.node[A].core.send_pool.used, 0);
}

static bool has_name(const void *header, const void *name)
{
    return memcmp(header, name, sizeof(uint32_t)) == 0;
}

static void what_was_not_taken_may_be_queued(void **state)
{
    const uint32_t one = 1;
    const uint32_t two = 2;

    (void)state;
    acquaint(A, B);
    assert_false(weft_dgram_may_be_queued(pair_peer(A, B), has_name, &one));
    pair.node[B].keeps = true;
    assert_int_equal(pair_send(A, B, 1, 10, 0), WEFT_OK);
    assert_true(weft_dgram_may_be_queued(pair_peer(A, B), has_name, &one));
    assert_false(weft_dgram_may_be_queued(pair_peer(A, B), has_name, &two));
    pair_run(PAIR_MS); /* it has arrived, but nobody knows what it was */
    assert_null(pair_peer(A, B)->busy);
    assert_true(weft_dgram_may_be_queued(pair_peer(A, B), has_name, &one));
    assert_true(weft_dgram_may_be_queued(pair_peer(A, B), has_name, &two));
    pair.node[B].keeps = false;
    pair_look(B);
    pair_run(PAIR_MS);
    assert_false(weft_dgram_may_be_queued(pair_peer(A, B), has_name, &one));
}

static void what_the_port_refuses_is_sent_later(void **state)
{
    (void)state;
    acquaint(A, B);
    pair.node[A].takes = 3;
    assert_int_equal(pair_send(A, B, 1, 10 * PAIR_PART - 28, 0), WEFT_OK);
    assert_int_equal(pair.count, 3);
    assert_true(weft_dgram_deadline(&pair.node[A].core) <= pair.now + WEFT_DGRAM_RETRY);
    pair.node[A].takes = 1000;
    pair_run(PAIR_MS);
    assert_int_equal(pair.node[B].count, 1);
    assert_int_equal(pair.node[A].core.counts.repeats_by_time, 0);
}

/* The system has no memory for datagrams for a while: the peer has not been asked. */
static void who_cannot_send_takes_nobody_for_lost(void **state)
{
    const struct weft_dgram_core *core = &pair.node[A].core;

    (void)state;
    acquaint(A, B);
    assert_int_equal(pair_send(A, B, 1, 10, 0), WEFT_OK);
    pair_drop(0);
    pair.node[A].takes = 0;
    pair_run(60000 * PAIR_MS);
    assert_int_equal(pair.node[A].lost, 0);
    assert_int_equal(core->counts.repeats_by_time, 0);
    pair.node[A].takes = 1000;
    pair_run(1200 * PAIR_MS);
    assert_int_equal(pair.node[B].count, 1);
}

static void a_wrong_bit_anywhere_is_dropped(void **state)
{
    struct weft_dgram_counts *counts = &pair.node[B].core.counts;
    struct pair_datagram good;

    (void)state;
    acquaint(A, B);
    assert_int_equal(pair_send(A, B, 1, 10, 0), WEFT_OK);
    good = pair.wire[0];
    for (size_t i = 0; i < 8 * good.length; i++) {
        struct pair_datagram bad = good;

        bad.bytes[i / 8] ^= (uint8_t)(1U << i % 8);
        pair_give(&bad);
    }
    assert_int_equal(pair.node[B].count, 0);
    assert_int_equal(pair.count, 1);
    assert_int_equal(counts->forged + counts->corrupt + counts->unknown +
                         counts->malformed,
                     8 * good.length);
    assert_int_equal(counts->corrupt, 8 * 38);
    for (size_t length = 0; length < good.length; length++) {
        struct pair_datagram bad = good;

        bad.length = length;
        pair_give(&bad);
    }
    assert_int_equal(pair.node[B].count, 0);
    assert_int_equal(pair.node[B].nonsense, 0);
    pair_move();
    assert_int_equal(pair.node[B].count, 1);
}

static void a_tag_is_worthless_elsewhere(void **state)
{
    struct pair_datagram datagram;

    (void)state;
    acquaint(A, B);
    acquaint(A, C);
    acquaint(C, B);
    assert_int_equal(pair_send(A, B, 1, 10, 0), WEFT_OK);
    datagram = pair.wire[0];
    datagram.to = C; /* another receiver */
    pair_give(&datagram);
    assert_int_equal(pair.node[C].core.counts.forged, 1);
    datagram.to = A; /* its maker, as if B had sent it */
    datagram.from = B;
    ((struct weft_dgram_header *)(void *)datagram.bytes)->process = B;
    pair_give(&datagram);
    assert_int_equal(pair.node[A].core.counts.forged, 1);
    datagram = pair.wire[0];
    datagram.from = C; /* another address */
    pair_give(&datagram);
    assert_int_equal(pair.node[B].core.counts.replayed, 1);
    assert_int_equal(pair.node[A].count + pair.node[B].count + pair.node[C].count, 0);
}

static void an_old_hello_does_not_begin_anew(void **state)
{
    struct pair_datagram hello;
    struct weft_dgram_peer *peer;

    (void)state;
    assert_int_equal(pair_send(A, B, 1, 10, 0), WEFT_OK);
    hello = pair.wire[0];
    pair_run(10 * PAIR_MS);
    assert_int_equal(pair.node[B].count, 1);
    /* A's port is opened anew: to B it is another end. */
    weft_dgram_close(&pair.node[A].core);
    {
        struct weft_dgram_config config = pair.node[A].core.config;
        const uint64_t address = A;

        config.self.nonce = 1000;
        config.address = &address;
        assert_int_equal(weft_dgram_open(&pair.node[A].core, &config, pair.now), WEFT_OK);
    }
    assert_int_equal(pair_send(A, B, 2, 10, 0), WEFT_OK);
    pair_run(10 * PAIR_MS);
    assert_int_equal(pair.node[B].count, 2);
    assert_int_equal(pair.node[B].taken[1].name, 2);
    peer = pair_peer(B, A);
    assert_int_equal(peer->nonce, 1000);
    pair_give(&hello);
    assert_int_equal(peer->nonce, 1000);
    assert_int_equal(pair.node[B].count, 2);
    assert_true(pair.node[B].core.counts.forged > 0);
}

static void numbers_go_on_beyond_32_bits(void **state)
{
    const uint64_t far = UINT64_C(0x300000000) - 10;
    struct pair_datagram old;

    (void)state;
    acquaint(A, B);
    pair_peer(A, B)->next = pair_peer(A, B)->acked = far;
    pair_peer(A, B)->granted = far + 5;
    pair_peer(B, A)->expected = pair_peer(B, A)->told = far;
    pair_peer(B, A)->counted = 0;
    pair.node[B].core.outstanding = 0;
    pair.node[B].core.oldest_holder = pair.node[B].core.newest_holder = NULL;
    pair.node[B].core.holders = 0;
    assert_int_equal(pair_send(A, B, 0, 10, 0), WEFT_OK);
    old = pair.wire[0];
    for (uint32_t i = 1; i < 40; i++) {
        assert_int_equal(pair_send(A, B, i, 10, 0), WEFT_OK);
    }
    pair_run(10 * PAIR_MS);
    assert_int_equal(pair.node[B].count, 40);
    /* 2^32 later its number is what is expected, and its tag is wrong. */
    pair_peer(B, A)->expected = far + (UINT64_C(1) << 32);
    pair_give(&old);
    assert_int_equal(pair.node[B].core.counts.forged, 1);
    assert_int_equal(pair.node[B].count, 40);
    pair_peer(B, A)->expected = far + 40;
}

/* Numbers of packets have 16 bits everywhere. */
static void packets_go_on_beyond_16_bits(void **state)
{
    (void)state;
    acquaint(A, B);
    for (int class = 0; class < WEFT_DGRAM_CLASSES; class ++) {
        pair_peer(A, B)->packets_out[class] = 0xFFFE;
        pair_peer(B, A)->packets_in[class] = 0xFFFE;
    }
    pair_peer(A, B)->taken = 0xFFFE;
    pair_peer(A, B)->granted = pair_peer(A, B)->next + 20;
    for (uint32_t i = 0; i < 5; i++) {
        assert_int_equal(pair_send(A, B, i, 10, 0), WEFT_OK);
    }
    assert_int_equal(pair.count, 5);
    for (unsigned i = 5; i-- > 0;) { /* the last comes first */
        pair_give(&pair.wire[i]);
    }
    assert_int_equal(pair.node[B].count, 5);
    for (uint32_t i = 0; i < 5; i++) {
        assert_int_equal(pair.node[B].taken[i].name, i);
    }
    pair_run(10 * PAIR_MS);
    assert_int_equal(pair_peer(A, B)->taken, 3);
    assert_int_equal(pair.node[B].count, 5);
}

/* The owner keeps its path in a peer that nobody has met. */
static void a_reserved_peer_is_met_by_its_hello(void **state)
{
    struct weft_dgram_core *core = &pair.node[B].core;
    struct weft_dgram_peer *peer = weft_dgram_peer_reserve(core, A);

    (void)state;
    assert_non_null(peer);
    assert_null(weft_dgram_find(core, A));
    assert_true(weft_dgram_leave(core, pair.now)); /* there is nobody to be told */
    assert_int_equal(core->met, 0);
    assert_int_equal(pair_send(A, B, 5, 100, 0), WEFT_OK);
    pair_move();
    assert_int_equal(pair.node[B].count, 1);
    assert_ptr_equal(weft_dgram_find(core, A), peer);
    assert_ptr_equal(weft_dgram_peer_reserve(core, A), peer);
    assert_int_equal(core->met, 1);
}

/* Gives B a datagram of A that `change` has changed before it was sealed. */
static void give_changed(void (*change)(struct weft_dgram_header *header))
{
    struct pair_datagram datagram;
    struct weft_dgram_header header;

    assert_int_equal(pair_send(A, B, 1, 10, 0), WEFT_OK);
    datagram = pair.wire[pair.count - 1];
    header = pair_header(&datagram);
    change(&header);
    weft_dgram_seal(&header, NULL, pair_peer(A, B)->next - 1, datagram.length - 48,
                    pair_peer(A, B)->key_out);
    memcpy(datagram.bytes, &header, sizeof(header));
    pair_give(&datagram);
}

static void no_such_part(struct weft_dgram_header *header)
{
    header->part = 1;
}

static void no_part(struct weft_dgram_header *header)
{
    header->parts = 0;
}

static void short_part(struct weft_dgram_header *header)
{
    header->parts = 2;
}

static void old_packet(struct weft_dgram_header *header)
{
    header->packet = (uint16_t)(header->packet - 10);
}

static void early_ack(struct weft_dgram_header *header)
{
    header->ack += 5;
}

static void early_sack(struct weft_dgram_header *header)
{
    header->sack = UINT64_C(1) << 40;
}

static void what_no_rank_sends_is_told(void **state)
{
    static void (*const changes[])(struct weft_dgram_header *) = {
        no_such_part, no_part, short_part, old_packet, early_ack, early_sack,
    };

    (void)state;
    acquaint(A, B);
    for (unsigned i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        give_changed(changes[i]);
        assert_int_equal(pair.node[B].nonsense, i + 1);
    }
    assert_int_equal(pair.node[B].count, 0);
}

static void a_part_with_two_numbers_is_nonsense(void **state)
{
    struct pair_datagram second;
    struct weft_dgram_header header;

    (void)state;
    acquaint(A, B);
    assert_int_equal(pair_send(A, B, 1, 2 * PAIR_PART - 28, 0), WEFT_OK);
    assert_int_equal(pair.count, 2);
    pair_give(&pair.wire[0]);
    second = pair.wire[1];
    header = pair_header(&second);
    header.part = 0;
    weft_dgram_seal(&header, NULL, pair_peer(A, B)->next - 1, PAIR_PART,
                    pair_peer(A, B)->key_out);
    memcpy(second.bytes, &header, sizeof(header));
    pair_give(&second);
    assert_int_equal(pair.node[B].nonsense, 1);
    assert_int_equal(pair.node[B].count, 0);
}

static void a_silent_peer_is_lost_once(void **state)
{
    (void)state;
    acquaint(A, B);
    assert_int_equal(pair_send(A, B, 1, 10, 0), WEFT_OK);
    assert_int_equal(pair_send(A, B, 2, 60000, 0), WEFT_OK);
    for (int i = 0; i < 40 && pair.node[A].lost == 0; i++) {
        pair.count = 0;
        pair.now = weft_dgram_deadline(&pair.node[A].core);
        pair_look(A);
    }
    assert_int_equal(pair.node[A].lost, 1);
    assert_false(pair.node[A].lost_had_left);
    assert_true(pair_peer(A, B)->is_lost);
    assert_int_equal(pair_send(A, B, 3, 10, 0), WEFT_ERR_PROC_FAILED);
    assert_true(weft_dgram_deadline(&pair.node[A].core) == 0);
    assert_int_equal(pair.node[A].core.send_pool.used, 0);
}

/* Lets A look at its deadlines for so long, while nothing reaches anybody. */
static void run_unheard(uint64_t time)
{
    const uint64_t end = pair.now + time;

    for (;;) {
        const uint64_t next = weft_dgram_deadline(&pair.node[A].core);

        pair.count = 0;
        if (next == 0 || next > end) {
            pair.now = end;
            return;
        }
        pair.now = next;
        pair_look(A);
    }
}

static void a_peer_that_was_idle_for_long_is_not_lost_for_that(void **state)
{
    (void)state;
    acquaint(A, B);
    pair_run(1000 * PAIR_MS);
    pair.now += 60000 * PAIR_MS;
    pair_look(A);
    assert_int_equal(pair_send(A, B, 1, 10, 0), WEFT_OK);
    run_unheard(3000 * PAIR_MS);
    assert_int_equal(pair.node[A].lost, 0);
    run_unheard(4000 * PAIR_MS);
    assert_int_equal(pair.node[A].lost, 1);
}

static void who_was_stopped_does_not_take_others_for_lost(void **state)
{
    (void)state;
    acquaint(A, B);
    pair_run(1000 * PAIR_MS);
    assert_int_equal(pair_send(A, B, 1, 10, 0), WEFT_OK);
    pair.count = 0;
    pair.now += 60000 * PAIR_MS; /* nobody runs */
    pair_look(A);
    run_unheard(3000 * PAIR_MS);
    assert_int_equal(pair.node[A].lost, 0);
    run_unheard(4000 * PAIR_MS);
    assert_int_equal(pair.node[A].lost, 1);
}

static void who_runs_seldom_does_not_take_others_for_lost(void **state)
{
    (void)state;
    acquaint(A, B);
    assert_int_equal(pair_send(A, B, 1, 10, 0), WEFT_OK);
    for (int i = 0; i < 12; i++) {
        pair.count = 0;
        pair.now += 3000 * PAIR_MS;
        pair_look(A);
    }
    assert_int_equal(pair.node[A].lost, 0);
    pair_run(1000 * PAIR_MS);
    assert_int_equal(pair.node[B].taken[pair.node[B].count - 1].name, 1);
}

static void silence_is_told_once_until_something_comes(void **state)
{
    (void)state;
    pair.node[A].core.config.silent_after = 100 * PAIR_MS;
    assert_int_equal(pair_send(A, B, 1, 10, 0), WEFT_OK);
    assert_int_equal(weft_dgram_delivery(pair_peer(A, B)), WEFT_ON_THE_WAY);
    run_unheard(99 * PAIR_MS);
    assert_int_equal(pair.node[A].silent, 0);
    run_unheard(2 * PAIR_MS);
    assert_int_equal(pair.node[A].silent, 1);
    assert_int_equal(weft_dgram_delivery(pair_peer(A, B)), WEFT_UNANSWERED);
    run_unheard(1000 * PAIR_MS);
    assert_int_equal(pair.node[A].silent, 1);
    pair_run(1200 * PAIR_MS);
    assert_int_equal(pair.node[B].count, 1);
    assert_int_equal(weft_dgram_delivery(pair_peer(A, B)), WEFT_ARRIVED);
    assert_int_equal(pair_send(A, B, 2, 10, 0), WEFT_OK);
    run_unheard(1000 * PAIR_MS);
    assert_int_equal(pair.node[A].silent, 2);
    assert_int_equal(pair.node[A].lost, 0);
}

/* For so long, while B sends a short packet every 20 ms. */
static void run_talking(uint64_t time)
{
    const uint64_t end = pair.now + time;

    while (pair.now < end) {
        assert_int_equal(pair_send(B, A, 9, 10, 0), WEFT_OK);
        pair_run(20 * PAIR_MS);
    }
}

static void open_narrow(void)
{
    acquaint(A, B);
    pair.node[A].core.config.silent_after = 100 * PAIR_MS;
    pair.node[A].core.config.narrow_after = 300 * PAIR_MS;
    pair.node[B].count = 0;
}

static void a_path_that_drops_long_datagrams_is_narrow(void **state)
{
    (void)state;
    open_narrow();
    pair.passes = 200;
    assert_int_equal(pair_send(A, B, 1, 10, 0), WEFT_OK);
    assert_int_equal(pair_send(A, B, 2, 1000, 0), WEFT_OK);
    run_talking(300 * PAIR_MS);
    assert_int_equal(pair.node[A].silent, 0);
    assert_int_equal(weft_dgram_delivery(pair_peer(A, B)), WEFT_ON_THE_WAY);
    run_talking(1000 * PAIR_MS);
    assert_int_equal(pair.node[A].silent, 1);
    assert_int_equal(pair.node[A].core.counts.narrow, 1);
    assert_int_equal(weft_dgram_delivery(pair_peer(A, B)), WEFT_NARROW);
    assert_int_equal(pair.node[A].lost, 0);
    assert_int_equal(pair.node[B].count, 1);
}

static void a_path_that_is_wide_again_is_not_narrow(void **state)
{
    (void)state;
    open_narrow();
    pair.passes = 200;
    assert_int_equal(pair_send(A, B, 1, 1000, 0), WEFT_OK);
    run_talking(1500 * PAIR_MS);
    assert_int_equal(weft_dgram_delivery(pair_peer(A, B)), WEFT_NARROW);
    pair.passes = 0;
    run_talking(1200 * PAIR_MS);
    assert_int_equal(weft_dgram_delivery(pair_peer(A, B)), WEFT_ARRIVED);
    assert_int_equal(pair.node[B].count, 1);
    assert_int_equal(pair_send(A, B, 2, 1000, 0), WEFT_OK);
    assert_int_equal(weft_dgram_delivery(pair_peer(A, B)), WEFT_ON_THE_WAY);
}

static void without_another_path_a_narrow_one_loses_the_peer(void **state)
{
    (void)state;
    acquaint(A, B);
    pair.passes = 200;
    assert_int_equal(pair_send(A, B, 1, 1000, 0), WEFT_OK);
    run_talking(4000 * PAIR_MS);
    assert_int_equal(pair.node[A].lost, 0);
    run_talking(4000 * PAIR_MS);
    assert_int_equal(pair.node[A].lost, 1);
    assert_string_equal(pair.node[A].why_lost,
                        "it answers, but a datagram of 512 bytes does not reach it: a "
                        "link may drop long ones (MTU); WEFT_TRANSPORT=shm+msg uses "
                        "connections instead");
    assert_int_equal(pair.node[A].core.send_pool.used, 0);
}

/* The last word of a path that dies comes behind a time-out: that is silence. */
static void a_path_that_has_died_is_not_narrow(void **state)
{
    (void)state;
    open_narrow();
    assert_int_equal(pair_send(A, B, 1, 1000, 0), WEFT_OK);
    run_unheard(10 * PAIR_MS);
    assert_int_equal(pair_send(B, A, 2, 10, 0), WEFT_OK);
    pair_give(&pair.wire[0]);
    run_unheard(1000 * PAIR_MS);
    assert_int_equal(pair.node[A].core.counts.narrow, 0);
    assert_int_equal(weft_dgram_delivery(pair_peer(A, B)), WEFT_UNANSWERED);
}

static void who_has_no_room_is_not_behind_a_narrow_path(void **state)
{
    (void)state;
    open_narrow();
    pair.node[B].core.receive_pool.limit = 1000;
    pair.node[B].keeps = true;
    assert_int_equal(pair_send(A, B, 1, 3000, 0), WEFT_OK);
    run_talking(10000 * PAIR_MS);
    assert_true(pair.node[B].core.counts.no_room > WEFT_DGRAM_REPEATS_VAIN);
    assert_int_equal(pair.node[A].core.counts.narrow, 0);
    assert_int_equal(pair.node[A].lost, 0);
}

struct back {
    uint32_t name[8];
    bool is_control[8];
    size_t length[8];
    unsigned count;
};

static void take_back(void *argument, const void *header, const void *data, size_t len,
                      unsigned flags)
{
    struct back *back = argument;

    assert_non_null(data);
    assert_true(back->count < 8);
    memcpy(&back->name[back->count], header, sizeof(uint32_t));
    back->is_control[back->count] = (flags & WEFT_SEND_CONTROL) != 0;
    back->length[back->count++] = len;
}

static void what_is_not_acknowledged_is_handed_back(void **state)
{
    struct back back = {.count = 0};

    (void)state;
    acquaint(A, B);
    assert_int_equal(pair_send(A, B, 1, 10, 0), WEFT_OK);
    pair_move();            /* B has it, */
    pair_run(10 * PAIR_MS); /* and has said so */
    pair.node[B].count = 0;
    assert_int_equal(pair_send(A, B, 2, 10, 0), WEFT_OK);
    assert_int_equal(pair_send(A, B, 3, 5000, 0), WEFT_OK);
    assert_int_equal(pair_send(A, B, 4, 20, WEFT_SEND_CONTROL), WEFT_OK);
    pair.count = 0;
    weft_dgram_hand_back(&pair.node[A].core, pair_peer(A, B), take_back, &back, WEFT_OK);
    assert_int_equal(back.count, 3);
    assert_true(back.name[0] == 4 && back.is_control[0] && back.length[0] == 20);
    assert_true(back.name[1] == 2 && !back.is_control[1] && back.length[1] == 10);
    assert_true(back.name[2] == 3 && !back.is_control[2] && back.length[2] == 5000);
    assert_int_equal(pair.node[A].core.send_pool.used, 0);
    assert_int_equal(weft_dgram_delivery(pair_peer(A, B)), WEFT_ARRIVED);
    assert_int_equal(pair_send(A, B, 5, 10, 0), WEFT_ERR_PROC_FAILED);
    run_unheard(60000 * PAIR_MS);
    assert_int_equal(pair.node[A].lost, 0);
}

static void what_has_arrived_behind_a_hole_is_handed_back_too(void **state)
{
    struct back back = {.count = 0};
    const struct weft_dgram_out *out;

    (void)state;
    acquaint(A, B);
    for (uint32_t i = 1; i <= 3; i++) {
        assert_int_equal(pair_send(A, B, i, 10, 0), WEFT_OK);
    }
    assert_int_equal(pair.count, 3);
    pair_drop(0);
    pair_drop(0);
    pair_move(); /* B has the third, says so, and cannot take it */
    out = pair_peer(A, B)->busy->out[WEFT_DGRAM_IN_ORDER].last;
    assert_int_equal(out->parts_done, out->parts);
    pair.node[B].count = 0;
    weft_dgram_hand_back(&pair.node[A].core, pair_peer(A, B), take_back, &back, WEFT_OK);
    assert_int_equal(back.count, 3);
    assert_true(back.name[0] == 1 && back.name[1] == 2 && back.name[2] == 3);
    assert_int_equal(pair.node[B].count, 0);
}

static void who_was_handed_back_is_still_heard(void **state)
{
    struct back back = {.count = 0};

    (void)state;
    acquaint(A, B);
    weft_dgram_hand_back(&pair.node[A].core, pair_peer(A, B), take_back, &back, WEFT_OK);
    assert_int_equal(back.count, 0);
    pair.node[A].count = 0;
    assert_int_equal(pair_send(B, A, 7, 5000, 0), WEFT_OK);
    pair_run(100 * PAIR_MS);
    assert_int_equal(pair.node[A].count, 1);
    assert_int_equal(weft_dgram_delivery(pair_peer(B, A)), WEFT_ARRIVED);
    assert_true(weft_dgram_leave(&pair.node[A].core, pair.now));
    assert_true(weft_dgram_is_settled(&pair.node[A].core));
}

/* From within the upcall: the core goes on with a peer that has nothing under way. */
static struct back back_at_once;

static void take_back_at_once(void *owner, struct weft_peer *peer)
{
    struct pair_node *node = owner;

    (void)peer;
    node->silent++;
    weft_dgram_hand_back(&node->core, pair_peer(A, B), take_back, &back_at_once, WEFT_OK);
}

static void what_a_narrow_path_holds_is_handed_back(void **state)
{
    (void)state;
    open_narrow();
    back_at_once.count = 0;
    pair.node[A].up.silent = take_back_at_once;
    pair.passes = 200;
    assert_int_equal(pair_send(A, B, 1, 10, 0), WEFT_OK);
    assert_int_equal(pair_send(A, B, 2, 1000, 0), WEFT_OK);
    assert_int_equal(pair_send(A, B, 3, 10, 0), WEFT_OK);
    assert_int_equal(pair_send(A, B, 4, 10, WEFT_SEND_CONTROL), WEFT_OK);
    run_talking(3000 * PAIR_MS);
    assert_int_equal(pair.node[A].silent, 1);
    assert_int_equal(back_at_once.count, 2); /* the control packet has arrived */
    assert_true(back_at_once.name[0] == 2 && back_at_once.length[0] == 1000);
    assert_true(back_at_once.name[1] == 3); /* so has this, behind the hole */
    assert_int_equal(pair.node[A].core.send_pool.used, 0);
    pair.passes = 0;
    run_talking(100 * PAIR_MS);
    assert_int_equal(pair.node[B].count, 2);
    assert_true(weft_dgram_leave(&pair.node[A].core, pair.now));
    assert_true(weft_dgram_is_settled(&pair.node[A].core));
    assert_true(weft_dgram_leave(&pair.node[B].core, pair.now));
    pair_run(100 * PAIR_MS);
    assert_true(weft_dgram_is_settled(&pair.node[B].core));
}

/* ---- sends without a copy ---- */

enum { BORROWED = 20000, HEAD = 16 };

static uint8_t borrowed[BORROWED];

struct borrowing {
    struct weft_op op;
    unsigned count;
    enum weft_rc rc;
};

static void on_done(struct weft_op *op, enum weft_rc rc)
{
    struct borrowing *one = (struct borrowing *)(void *)op;

    one->count++;
    one->rc = rc;
}

/* A sends so many bytes behind a head of HEAD. */
static void lend(struct borrowing *one, uint32_t name, size_t length)
{
    static const uint8_t head[HEAD];
    uint8_t header[WEFT_HEADER_BYTES] = {0};

    pair.node[A].core.config.has_crc = false;
    memcpy(header, &name, sizeof(name));
    *one = (struct borrowing){.op = {.done = on_done}};
    assert_int_equal(weft_dgram_send_zcopy(&pair.node[A].core, pair_peer(A, B), header,
                                           head, HEAD, borrowed, length, &one->op,
                                           pair.now),
                     WEFT_PENDING);
    assert_int_equal(one->count, 0);
}

static void a_send_without_a_copy_is_over_when_it_has_arrived(void **state)
{
    struct borrowing one;

    (void)state;
    acquaint(A, B);
    lend(&one, 7, BORROWED);
    assert_true(pair.node[A].core.send_pool.used < 200);
    assert_memory_equal(pair.wire[0].bytes + 48 + WEFT_HEADER_BYTES + HEAD, borrowed,
                        100);
    pair_look(A);
    assert_int_equal(one.count, 0);
    pair_move();
    pair_run(2 * PAIR_MS);
    assert_int_equal(pair.node[B].count, 1);
    assert_int_equal(pair.node[B].taken[0].name, 7);
    assert_int_equal(pair.node[B].taken[0].length, HEAD + BORROWED);
    assert_int_equal(one.count, 1);
    assert_int_equal(one.rc, WEFT_OK);
    assert_int_equal(pair.node[A].core.send_pool.used, 0);
}

static void a_short_send_without_a_copy_is_copied_and_over_in_the_next_look(void **state)
{
    struct borrowing one;

    (void)state;
    acquaint(A, B);
    lend(&one, 7, 100);
    assert_true(weft_dgram_may_take(&pair.node[A].core)); /* nobody sleeps now */
    pair.count = 0;
    pair_look(A);
    assert_int_equal(one.count, 1);
    assert_int_equal(one.rc, WEFT_OK);
    pair_run(100 * PAIR_MS); /* it is repeated */
    assert_int_equal(pair.node[B].taken[0].length, HEAD + 100);
}

static void a_send_without_a_copy_is_handed_back_as_others(void **state)
{
    struct back back = {.count = 0};
    struct borrowing one;

    (void)state;
    acquaint(A, B);
    lend(&one, 7, BORROWED);
    weft_dgram_hand_back(&pair.node[A].core, pair_peer(A, B), take_back, &back, WEFT_OK);
    assert_int_equal(back.count, 1);
    assert_int_equal(back.length[0], HEAD + BORROWED);
    assert_int_equal(one.count, 0);
    pair_look(A);
    assert_int_equal(one.count, 1);
    assert_int_equal(one.rc, WEFT_OK); /* its bytes are not needed any more */
}

static void a_send_without_a_copy_fails_with_its_peer(void **state)
{
    struct borrowing one;

    (void)state;
    acquaint(A, B);
    lend(&one, 7, BORROWED);
    run_unheard(20000 * PAIR_MS);
    assert_int_equal(pair.node[A].lost, 1);
    pair_look(A);
    assert_int_equal(one.count, 1);
    assert_int_equal(one.rc, WEFT_ERR_PROC_FAILED);
}

/* ---- packets in pieces ---- */

static struct {
    unsigned count;
    size_t pieces;
    size_t bytes;
    bool keeps;
} in_pieces;

static enum weft_taken take_pieces(void *owner, struct weft_peer *from,
                                   const void *header, const struct iovec *pieces,
                                   size_t count, size_t len)
{
    size_t bytes = 0;

    (void)owner;
    (void)from;
    (void)header;
    for (size_t i = 0; i < count; i++) {
        bytes += pieces[i].iov_len;
    }
    assert_int_equal(bytes, len);
    in_pieces.count++;
    in_pieces.pieces = count;
    in_pieces.bytes = bytes;
    return in_pieces.keeps ? WEFT_KEEP : WEFT_TAKEN;
}

/* B reads so many datagrams of those on the wire in one look, from memory that it may
 * keep meanwhile. */
static void read_batch(unsigned from, unsigned count)
{
    struct weft_dgram_core *core = &pair.node[B].core;

    pair.node[B].up.arrived_in_pieces = take_pieces;
    weft_dgram_begin(core, pair.now, 0, 1000);
    weft_dgram_batch_begin(core);
    for (unsigned i = from; i < from + count; i++) {
        weft_dgram_receive(core, pair.wire[i].bytes, pair.wire[i].length,
                           &pair.wire[i].from);
    }
    weft_dgram_batch_end(core);
    for (unsigned i = from; i < from + count; i++) {
        memset(pair.wire[i].bytes, 0xEE, sizeof(pair.wire[i].bytes));
    }
    (void)weft_dgram_end(core, pair.now, true);
}

/* A sends one packet of ten parts, all of which are on the wire. */
static void send_ten_parts(void)
{
    memset(&in_pieces, 0, sizeof(in_pieces));
    acquaint(A, B);
    assert_int_equal(pair_send(A, B, 7, 10 * PAIR_PART - WEFT_HEADER_BYTES, 0), WEFT_OK);
    assert_int_equal(pair.count, 10);
}

static void parts_of_one_look_are_offered_where_they_lie(void **state)
{
    (void)state;
    send_ten_parts();
    read_batch(0, 10);
    assert_int_equal(in_pieces.count, 1);
    assert_int_equal(in_pieces.pieces, 10);
    assert_int_equal(in_pieces.bytes, 10 * PAIR_PART - WEFT_HEADER_BYTES);
    assert_int_equal(pair.node[B].offered, 0);
    assert_int_equal(pair.node[B].core.receive_pool.used, 0);
}

static void what_is_not_taken_in_pieces_is_offered_in_one(void **state)
{
    (void)state;
    send_ten_parts();
    in_pieces.keeps = true;
    read_batch(0, 10);
    assert_int_equal(in_pieces.count, 1);
    assert_int_equal(pair.node[B].count, 1);
    assert_int_equal(pair.node[B].taken[0].name, 7);
    assert_int_equal(pair.node[B].taken[0].length, 10 * PAIR_PART - WEFT_HEADER_BYTES);
}

static void parts_of_two_looks_are_copied(void **state)
{
    (void)state;
    send_ten_parts();
    read_batch(0, 4);
    read_batch(4, 6);
    assert_int_equal(in_pieces.count, 0);
    assert_int_equal(pair.node[B].count, 1);
    assert_int_equal(pair.node[B].taken[0].name, 7);
}

static void a_packet_begins_a_train_if_it_does_not_fit_behind_another(void **state)
{
    (void)state;
    acquaint(A, B);
    pair_peer(A, B)->granted += 100;
    pair.node[A].takes = 0;
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(pair_send(A, B, i, 7 * PAIR_PART - WEFT_HEADER_BYTES, 0),
                         WEFT_OK);
    }
    pair.node[A].takes = 1000000;
    pair.now += PAIR_MS;
    pair_look(A);
    assert_int_equal(pair.count, 21);
    assert_int_equal(pair.wire[0].train, pair.wire[13].train); /* of 16 at the most */
    assert_int_equal(pair.wire[14].train, pair.wire[13].train + 1);
    assert_int_equal(pair.wire[14].train, pair.wire[20].train);
    pair_run(2 * PAIR_MS);
    assert_int_equal(pair.node[B].count, 3);
}

static void who_leaves_settles_and_is_known_to_have_left(void **state)
{
    (void)state;
    acquaint(A, B);
    assert_int_equal(pair_send(A, B, 1, 10, 0), WEFT_OK);
    assert_true(weft_dgram_leave(&pair.node[A].core, pair.now));
    assert_false(weft_dgram_is_settled(&pair.node[A].core));
    pair_move();
    assert_true(weft_dgram_is_settled(&pair.node[A].core));
    assert_true(pair_peer(B, A)->has_left);
    assert_int_equal(pair.node[B].count, 1);
    assert_true(weft_dgram_leave(&pair.node[A].core, pair.now));
    assert_int_equal(pair.count, 0); /* told once */
    assert_int_equal(pair_send(A, B, 2, 10, 0), WEFT_OK);
    pair_move();
    assert_false(pair_peer(B, A)->has_left);
    assert_int_equal(pair.node[B].count, 2);
}

/* Looks of one node for so long, while all that is sent gets lost. */
static void linger_unheard(int node, uint64_t time)
{
    const uint64_t end = pair.now + time;

    while (pair.now < end) {
        pair.count = 0;
        pair.now += PAIR_MS;
        pair_look(node);
    }
    pair.count = 0;
}

static void who_leaves_stays_for_a_peer_that_does_not_know(void **state)
{
    struct weft_dgram_core *core = &pair.node[A].core;

    (void)state;
    acquaint(A, B);
    assert_int_equal(pair_send(B, A, 1, 10, 0), WEFT_OK);
    pair_give(&pair.wire[0]); /* B's only packet; it gets no answer */
    assert_true(weft_dgram_leave(core, pair.now));
    linger_unheard(A, 2000 * PAIR_MS);
    assert_false(weft_dgram_may_go(core, 2000 * PAIR_MS, true));
    assert_true(weft_dgram_may_go(core, 2000 * PAIR_MS, false));
    pair_run(2000 * PAIR_MS);
    assert_true(weft_dgram_may_go(core, 4000 * PAIR_MS, true));
    assert_int_equal(weft_dgram_delivery(pair_peer(B, A)), WEFT_ARRIVED);
    assert_true(weft_dgram_may_go(core, WEFT_DGRAM_LINGER_MOST, true));
}

static void who_leaves_last_waits_for_nobody(void **state)
{
    (void)state;
    acquaint(A, B);
    assert_true(weft_dgram_leave(&pair.node[A].core, pair.now));
    pair_move();
    assert_true(weft_dgram_is_settled(&pair.node[A].core));
    assert_true(weft_dgram_leave(&pair.node[B].core, pair.now)); /* A does not look */
    assert_int_equal(pair.count, 0);
    assert_true(weft_dgram_is_settled(&pair.node[B].core));
    assert_int_equal(pair_send(B, A, 1, 10, 0), WEFT_OK);
    for (unsigned i = 0; i < WEFT_DGRAM_REPEATS_LEFT; i++) {
        assert_false(weft_dgram_may_go(&pair.node[B].core, 0, true));
        pair.count = 0;
        pair.now = weft_dgram_deadline(&pair.node[B].core);
        pair_look(B);
    }
    assert_true(weft_dgram_may_go(&pair.node[B].core, 0, true));
}

static void timers_are_in_order(void **state)
{
    static struct weft_dgram_busy busy[100];
    static struct weft_dgram_peer *peers[100];
    struct weft_dgram_core core = {.timer_count = 0};
    uint32_t random = 1;
    uint64_t last = 0;

    (void)state;
    for (unsigned i = 0; i < 100; i++) {
        peers[i] = calloc(1, sizeof(*peers[i]));
        assert_non_null(peers[i]);
        peers[i]->busy = &busy[i];
        core.busy_count = i;
        assert_true(weft_dgram_timers_grow(&core));
    }
    for (unsigned i = 0; i < 10000; i++) {
        random = random * 1103515245 + 12345;
        weft_dgram_timer_set(&core, peers[random >> 8 & 63],
                             random % 7 == 0 ? WEFT_DGRAM_NEVER : random >> 16);
    }
    while (core.timer_count > 0) {
        struct weft_dgram_peer *first = weft_dgram_timer_first(&core);

        assert_true(first->busy->timer_at >= last);
        last = first->busy->timer_at;
        weft_dgram_timer_set(&core, first, WEFT_DGRAM_NEVER);
        assert_int_equal(first->busy->timer, 0);
    }
    for (unsigned i = 0; i < 100; i++) {
        free(peers[i]);
    }
    free(core.timers);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_two, close_all)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_fit_a_byte),
        cmocka_unit_test(a_number_is_the_nearest_one),
        cmocka_unit_test(timers_are_in_order),
        TEST(the_first_packet_needs_one_datagram),
        TEST(only_one_datagram_comes_unasked),
        TEST(a_long_first_packet_asks_first),
        TEST(a_lost_first_question_is_asked_again),
        TEST(two_first_contacts_may_cross),
        TEST(parts_of_a_packet_leave_in_trains),
        TEST(what_one_look_grants_leaves_in_one_train),
        TEST(parts_may_come_in_any_order_and_twice),
        TEST(a_hole_with_three_above_is_repeated_alone),
        TEST(a_hole_with_two_above_waits),
        TEST(a_time_out_repeats_the_oldest_and_doubles),
        TEST(one_answer_shows_all_that_was_lost),
        TEST(others_do_not_put_off_the_timer_of_the_oldest),
        TEST(an_ack_shows_the_whole_window),
        TEST(a_lost_repeat_of_the_oldest_is_found_soon),
        TEST(a_lost_part_does_not_stop_grants),
        TEST(what_a_repeat_uncovers_is_not_measured),
        TEST(timers_wait_until_all_was_read),
        TEST(a_late_look_wants_all_that_is_there),
        TEST(a_peer_that_was_away_gets_more_time),
        TEST(a_repeat_that_was_not_needed_is_counted),
        TEST(an_ack_rides_on_an_answer),
        TEST(an_idle_peer_is_small),
        TEST(states_of_many_busy_peers_are_given_back),
        TEST(a_kept_packet_is_offered_in_every_look),
        TEST(kept_packets_stop_ordered_ones_but_not_control),
        TEST(only_one_datagram_is_under_way_without_a_grant),
        TEST(a_stuck_sender_asks_ever_less_often),
        TEST(a_control_packet_goes_between_parts),
        TEST(grants_of_all_peers_fit_the_buffer),
        TEST(grants_that_nobody_uses_are_taken_back),
        TEST(a_full_pool_drops_and_a_wanted_packet_passes),
        TEST(who_has_no_room_is_not_taken_for_lost),
        TEST(a_sender_has_limits_for_each_peer),
        TEST(what_was_not_taken_may_be_queued),
        TEST(what_the_port_refuses_is_sent_later),
        TEST(who_cannot_send_takes_nobody_for_lost),
        TEST(who_has_no_room_is_not_asked_often),
        TEST(a_wrong_bit_anywhere_is_dropped),
        TEST(a_tag_is_worthless_elsewhere),
        TEST(an_old_hello_does_not_begin_anew),
        TEST(numbers_go_on_beyond_32_bits),
        TEST(packets_go_on_beyond_16_bits),
        TEST(a_reserved_peer_is_met_by_its_hello),
        TEST(what_no_rank_sends_is_told),
        TEST(a_part_with_two_numbers_is_nonsense),
        TEST(a_silent_peer_is_lost_once),
        TEST(a_path_that_drops_long_datagrams_is_narrow),
        TEST(a_path_that_is_wide_again_is_not_narrow),
        TEST(without_another_path_a_narrow_one_loses_the_peer),
        TEST(a_path_that_has_died_is_not_narrow),
        TEST(who_has_no_room_is_not_behind_a_narrow_path),
        TEST(what_a_narrow_path_holds_is_handed_back),
        TEST(a_peer_that_was_idle_for_long_is_not_lost_for_that),
        TEST(who_was_stopped_does_not_take_others_for_lost),
        TEST(who_runs_seldom_does_not_take_others_for_lost),
        TEST(silence_is_told_once_until_something_comes),
        TEST(what_is_not_acknowledged_is_handed_back),
        TEST(what_has_arrived_behind_a_hole_is_handed_back_too),
        TEST(who_was_handed_back_is_still_heard),
        TEST(a_send_without_a_copy_is_over_when_it_has_arrived),
        TEST(a_short_send_without_a_copy_is_copied_and_over_in_the_next_look),
        TEST(a_send_without_a_copy_is_handed_back_as_others),
        TEST(a_send_without_a_copy_fails_with_its_peer),
        TEST(parts_of_one_look_are_offered_where_they_lie),
        TEST(what_is_not_taken_in_pieces_is_offered_in_one),
        TEST(parts_of_two_looks_are_copied),
        TEST(a_packet_begins_a_train_if_it_does_not_fit_behind_another),
        TEST(who_leaves_settles_and_is_known_to_have_left),
        TEST(who_leaves_stays_for_a_peer_that_does_not_know),
        TEST(who_leaves_last_waits_for_nobody),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
