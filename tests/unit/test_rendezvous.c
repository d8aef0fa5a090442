/*
 * test_rendezvous.c - long messages against the fake transport: announced, then fetched,
 * copied by both, or sent in pieces; and each of these falling back on the next.
 */
#include "p2p_fixture.h"

#include "base/log.h"
#include "joint.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

enum {
    A = 1,
    B = 2,
    LONG = 100 * 1000, /* two pieces where both copy */
    HUGE_BYTES = 1024 * 1024,
    PIECES = 8, /* of a huge one */
    LIMIT_SECONDS = 120,
};

static uint8_t message[HUGE_BYTES];
static uint8_t buffer[HUGE_BYTES];

static int open_with_message(void **state)
{
    fill_pattern(message, sizeof(message), 1);
    memset(buffer, 0, sizeof(buffer));
    return fixture_open(state);
}

/* The one answer of this kind that was sent, to A. */
static struct weft_answer only(enum weft_packet kind)
{
    assert_int_equal(fake_count(kind), 1);
    assert_int_equal(fake_nth(kind, 0)->peer, A);
    return answer_in(fake_nth(kind, 0));
}

/* The message came whole, and the sender was told so once. */
static void assert_fetched(struct weft_request *request, uint64_t length, uint64_t name)
{
    end_recv(request, A, 5, length);
    assert_pattern(buffer, length, 1);
    assert_int_equal(only(WEFT_PKT_FETCHED).request, name);
    weft_progress();
    weft_progress();
    assert_int_equal(fake_count(WEFT_PKT_FETCHED), 1);
    assert_int_equal(fake.joints_used, 0);
}

/* Sends what a PULL asks for. */
static void answer_pull(const struct fake_packet *packet)
{
    const struct weft_answer pull = answer_in(packet);
    const uint64_t end = pull.offset + pull.length;

    for (uint64_t at = pull.offset; at < end;) {
        uint64_t n = end - at < 4000 ? end - at : 4000;

        arrive_data(packet->peer, pull.other, message, at, n);
        at += n;
    }
}

/* ---- the receiver's half ---- */

static void an_announced_message_is_fetched_and_the_sender_told_once(void **state)
{
    struct weft_request *request;

    (void)state;
    request = start_recv(A, 5, buffer, sizeof(buffer));
    arrive_announced(A, 5, message, LONG, 42);
    weft_progress();
    assert_fetched(request, LONG, 42);
    assert_int_equal(fake_count(WEFT_PKT_PULL), 0);
}

static void an_announcement_before_the_receive_is_kept(void **state)
{
    struct weft_request *request;

    (void)state;
    arrive_announced(A, 5, message, LONG, 42);
    weft_progress();
    assert_int_equal(fake.move_count, 0);
    assert_int_equal(fake.sent_count, 0);
    request = start_recv(A, WEFT_ANY_TAG, buffer, sizeof(buffer));
    weft_progress();
    assert_fetched(request, LONG, 42);
}

static void an_announced_message_of_any_length_is_fetched_whole(void **state)
{
    static const uint64_t edges[] = {0, 1, 4096, 8192, 32768, 65536, 131072, 262144};

    (void)state;
    for (int is_shared = 0; is_shared < 2; is_shared++) {
        fake.is_inside = is_shared != 0;
        for (size_t i = 0; i < sizeof(edges) / sizeof(edges[0]); i++) {
            for (uint64_t length = edges[i] == 0 ? 0 : edges[i] - 1;
                 length <= edges[i] + 1; length++) {
                struct weft_request *request = start_recv(A, 5, buffer, sizeof(buffer));

                memset(buffer, 0, length + 1);
                arrive_announced(A, 5, message, length, length + 1);
                weft_progress();
                assert_fetched(request, length, length + 1);
                assert_int_equal(buffer[length], 0); /* and no more */
                fake_forget();
            }
        }
    }
}

static void what_cannot_be_reached_is_asked_for_and_comes_in_any_order(void **state)
{
    enum { PART = 4000, PARTS = LONG / PART };
    struct weft_request *request;
    struct weft_answer pull;

    (void)state;
    fake.is_reachable = false;
    request = start_recv(A, 5, buffer, sizeof(buffer));
    arrive_announced(A, 5, message, LONG, 42);
    weft_progress();
    pull = only(WEFT_PKT_PULL);
    assert_int_equal(pull.request, 42);
    assert_int_equal(pull.offset, 0);
    assert_int_equal(pull.length, LONG);
    for (uint64_t i = 0; i < PARTS; i++) {
        assert_false(weft_request_is_complete(request));
        arrive_data(A, pull.other, message, i * 7 % PARTS * PART, PART);
        weft_progress();
    }
    assert_fetched(request, LONG, 42);
    assert_int_equal(fake.move_count, 0);
    assert_int_equal(fake_count(WEFT_PKT_HELP), 0);
}

static void two_messages_in_pieces_do_not_mix(void **state)
{
    enum { EACH = 40 * 1000, PART = 4000 };
    struct weft_request *request[2];
    struct weft_answer pull[2];

    (void)state;
    fake.is_reachable = false;
    for (int i = 0; i < 2; i++) {
        request[i] = start_recv(A, i, buffer + i * EACH, EACH);
        arrive_announced(A, i, message + i * EACH, EACH, (uint64_t)i + 70);
    }
    weft_progress();
    for (int i = 0; i < 2; i++) {
        pull[i] = answer_in(fake_nth(WEFT_PKT_PULL, (size_t)i));
        assert_int_equal(pull[i].request, i + 70);
    }
    for (uint64_t at = 0; at < EACH; at += PART) {
        arrive_data(A, pull[1].other, message + EACH, EACH - PART - at, PART);
        arrive_data(A, pull[0].other, message, at, PART);
    }
    weft_progress();
    for (int i = 0; i < 2; i++) {
        end_recv(request[i], A, i, EACH);
    }
    assert_pattern(buffer, 2 * EACH, 1);
    assert_int_equal(fake_count(WEFT_PKT_FETCHED), 2);
}

/* `done` pieces were fetched, the next one failed; it and the rest are asked for. */
static void a_fetch_that_fails_in_the_middle_asks_for_what_is_missing(void **state)
{
    (void)state;
    for (int is_shared = 0; is_shared < 2; is_shared++) {
        for (int done = 0; done < PIECES; done++) {
            const uint64_t got = (uint64_t)done * (HUGE_BYTES / PIECES);
            struct weft_request *request;
            struct weft_answer pull;

            fake_forget();
            memset(buffer, 0, sizeof(buffer));
            fake.is_inside = is_shared != 0;
            fake.fetches = done;
            request = start_recv(A, 5, buffer, sizeof(buffer));
            arrive_announced(A, 5, message, HUGE_BYTES, 42);
            weft_progress();
            assert_int_equal(fake.move_count, done + 1);
            assert_false(weft_request_is_complete(request));
            pull = only(WEFT_PKT_PULL);
            assert_int_equal(pull.request, 42);
            assert_int_equal(pull.offset, got);
            assert_int_equal(pull.length, HUGE_BYTES - got);
            answer_pull(fake_nth(WEFT_PKT_PULL, 0));
            for (int i = 0; i < 20; i++) {
                weft_progress();
            }
            assert_fetched(request, HUGE_BYTES, 42);
        }
    }
}

static void a_truncated_receive_asks_only_for_what_fits(void **state)
{
    enum { FITS = 70 * 1000 };

    (void)state;
    for (int is_reachable = 0; is_reachable < 2; is_reachable++) {
        struct weft_request *request;
        uint64_t moved = 0;

        fake_forget();
        memset(buffer, 0, sizeof(buffer));
        fake.is_reachable = is_reachable != 0;
        request = start_recv(A, 5, buffer, FITS);
        arrive_announced(A, 5, message, LONG, 42);
        weft_progress();
        if (is_reachable) {
            for (size_t i = 0; i < fake.move_count; i++) {
                moved += fake.moves[i].length;
            }
            assert_int_equal(moved, FITS);
        } else {
            assert_int_equal(only(WEFT_PKT_PULL).offset, 0);
            assert_int_equal(only(WEFT_PKT_PULL).length, FITS);
            answer_pull(fake_nth(WEFT_PKT_PULL, 0));
            weft_progress();
        }
        assert_int_equal(request->bytes, FITS);
        end_request(request, WEFT_ERR_TRUNCATE);
        assert_pattern(buffer, FITS, 1);
        assert_int_equal(buffer[FITS], 0);
        assert_int_equal(only(WEFT_PKT_FETCHED).request, 42);
    }
}

static void a_receive_without_room_fetches_nothing_and_tells_the_sender(void **state)
{
    struct weft_request *request;

    (void)state;
    for (int is_reachable = 0; is_reachable < 2; is_reachable++) {
        fake_forget();
        fake.is_reachable = is_reachable != 0;
        arrive_announced(A, 5, message, LONG, 42);
        request = start_recv(A, 5, NULL, 0);
        weft_progress();
        end_request(request, WEFT_ERR_TRUNCATE);
        assert_int_equal(fake.move_count, 0);
        assert_int_equal(fake_count(WEFT_PKT_PULL), 0);
        assert_int_equal(only(WEFT_PKT_FETCHED).request, 42);
    }
}

/* ---- both copy ---- */

/* Stands for the sender: copies every second piece while the receiver fetches. */
static void help_a_piece(uint64_t offset, uint64_t length)
{
    struct weft_joint *joint = &fake.own_joints[0];
    uint64_t at;
    uint64_t part;

    (void)offset;
    (void)length;
    if (joint_claim(joint, joint_turn(joint), &at, &part)) {
        memcpy((uint8_t *)(uintptr_t)joint->target + at, message + at, part);
        joint_count(joint, part);
    }
}

static void a_sender_inside_is_asked_to_help_and_each_copies_its_pieces(void **state)
{
    struct weft_request *request;
    struct weft_answer help;

    (void)state;
    fake.fetching = help_a_piece;
    request = start_recv(A, 5, buffer, sizeof(buffer));
    arrive_announced(A, 5, message, HUGE_BYTES, 42);
    weft_progress();
    help = only(WEFT_PKT_HELP);
    assert_int_equal(help.request, 42);
    assert_int_equal((uint32_t)help.other, 0);
    assert_int_equal(help.other >> 32, joint_turn(&fake.own_joints[0]));
    assert_int_equal(help.offset, (uint64_t)(uintptr_t)request->handle);
    assert_int_equal(fake.move_count, PIECES / 2);
    assert_fetched(request, HUGE_BYTES, 42);
}

static void nobody_is_asked_to_help_where_it_does_not_pay(void **state)
{
    struct weft_request *request;

    (void)state;
    for (int why = 0; why < 3; why++) {
        fake_forget();
        fake.is_inside = why != 0;
        fake.joints = why == 1 ? 0 : FAKE_JOINTS;
        request = start_recv(A, 5, buffer, sizeof(buffer));
        arrive_announced(A, 5, message, why == 2 ? 32 * 1024 - 1 : LONG, 42);
        weft_progress();
        assert_int_equal(fake_count(WEFT_PKT_HELP), 0);
        assert_fetched(request, why == 2 ? 32 * 1024 - 1 : LONG, 42);
    }
}

static struct weft_joint *helped; /* the sender has a piece of it and does not hurry */
static uint64_t helped_at;
static uint64_t helped_length;

static void claim_slowly(uint64_t offset, uint64_t length)
{
    (void)offset;
    (void)length;
    if (helped == NULL) {
        helped = &fake.own_joints[0];
        assert_true(joint_claim(helped, joint_turn(helped), &helped_at, &helped_length));
    }
}

static void a_receive_waits_for_the_pieces_that_the_sender_has_claimed(void **state)
{
    struct weft_request *request;

    (void)state;
    helped = NULL;
    fake.fetching = claim_slowly;
    request = start_recv(A, 5, buffer, sizeof(buffer));
    arrive_announced(A, 5, message, HUGE_BYTES, 42);
    weft_progress();
    weft_progress();
    assert_int_equal(fake.move_count, PIECES - 1);
    assert_false(weft_request_is_complete(request));
    assert_int_equal(fake_count(WEFT_PKT_FETCHED), 0);
    memcpy(buffer + helped_at, message + helped_at, helped_length);
    joint_count(helped, helped_length);
    weft_progress();
    assert_fetched(request, HUGE_BYTES, 42);
}

/* The sender has claimed a piece behind the one whose fetch fails. */
static void a_fetch_that_fails_beside_a_helper_asks_for_both_parts(void **state)
{
    const uint64_t piece = HUGE_BYTES / PIECES;
    struct weft_request *request;
    uint64_t asked = 0;

    (void)state;
    helped = NULL;
    fake.fetches = 0;
    fake.fetching = claim_slowly;
    request = start_recv(A, 5, buffer, sizeof(buffer));
    arrive_announced(A, 5, message, HUGE_BYTES, 42);
    weft_progress();
    assert_int_equal(helped_at, piece);
    assert_int_equal(fake_count(WEFT_PKT_PULL), 2);
    for (size_t i = 0; i < 2; i++) {
        const struct weft_answer pull = answer_in(fake_nth(WEFT_PKT_PULL, i));

        assert_true(pull.offset + pull.length <= piece || pull.offset >= 2 * piece);
        asked += pull.length;
        answer_pull(fake_nth(WEFT_PKT_PULL, i));
    }
    assert_int_equal(asked, HUGE_BYTES - piece);
    for (int i = 0; i < 20; i++) {
        weft_progress();
    }
    assert_false(weft_request_is_complete(request));
    memcpy(buffer + helped_at, message + helped_at, helped_length);
    joint_count(helped, helped_length);
    weft_progress();
    assert_fetched(request, HUGE_BYTES, 42);
}

/*
 * A thread stands for a sender that helps at the very moment when a fetch fails. However
 * the two meet, every byte is fetched, claimed or asked for, and none twice.
 */
static struct {
    atomic_int round; /* the helper begins with it; negative: it ends */
    atomic_int ready; /* the helper has seen it */
    atomic_int done;  /* and has claimed what it could */
    int delay[2];     /* ours and the helper's, so that they meet in every way */
    uint64_t claimed[4];
    int claims;
} race;

static void *race_helper(void *ignored)
{
    struct weft_joint *joint = &fake.own_joints[0];
    int seen = 0;

    (void)ignored;
    for (;;) {
        int round;
        uint64_t at;
        uint64_t part;

        while ((round = atomic_load_explicit(&race.round, memory_order_acquire)) ==
               seen) {
            sched_yield();
        }
        if (round < 0) {
            return NULL;
        }
        seen = round;
        race.claims = 0;
        atomic_store_explicit(&race.ready, seen, memory_order_release);
        for (volatile int i = 0; i < race.delay[1]; i++) {
        }
        while (joint_claim(joint, joint_turn(joint), &at, &part)) {
            race.claimed[race.claims++] = at;
            joint_count(joint, part);
        }
        atomic_store_explicit(&race.done, seen, memory_order_release);
    }
}

static void start_race(uint64_t offset, uint64_t length)
{
    const int round = atomic_fetch_add_explicit(&race.round, 1, memory_order_release) + 1;

    (void)offset;
    (void)length;
    while (atomic_load_explicit(&race.ready, memory_order_acquire) != round) {
        sched_yield();
    }
    for (volatile int i = 0; i < race.delay[0]; i++) {
    }
}

static void every_byte_is_copied_or_asked_for_once_however_helpers_meet(void **state)
{
    enum { ROUNDS = 20000, RACED = 256 * 1024, PIECE = 128 * 1024 };
    uint64_t random = 1;
    pthread_t thread;

    (void)state;
    fake.is_dry = true;
    fake.fetching = start_race;
    assert_int_equal(pthread_create(&thread, NULL, race_helper, NULL), 0);
    for (int r = 0; r < ROUNDS; r++) {
        struct weft_request *request;
        unsigned pieces = 0;
        uint64_t asked = 0;

        random = random * UINT64_C(6364136223846793005) + 1;
        race.delay[0] = (int)(random >> 33) % 50;
        race.delay[1] = (int)(random >> 45) % 200;
        fake_forget();
        fake.fetches = 0;
        request = start_recv(A, 5, buffer, RACED);
        arrive_announced(A, 5, message, RACED, 42);
        weft_progress();
        while (atomic_load_explicit(&race.done, memory_order_acquire) !=
               atomic_load_explicit(&race.round, memory_order_relaxed)) {
            sched_yield();
        }
        for (int i = 0; i < race.claims; i++) {
            assert_int_equal(pieces & 1u << race.claimed[i] / PIECE, 0);
            pieces |= 1u << race.claimed[i] / PIECE;
        }
        for (size_t i = 0; i < fake_count(WEFT_PKT_PULL); i++) {
            const struct weft_answer pull = answer_in(fake_nth(WEFT_PKT_PULL, i));

            for (uint64_t at = pull.offset; at < pull.offset + pull.length; at += PIECE) {
                assert_int_equal(pieces & 1u << at / PIECE, 0);
                pieces |= 1u << at / PIECE;
            }
            asked += pull.length;
        }
        assert_int_equal(pieces, 3);
        assert_int_equal(asked + (uint64_t)race.claims * PIECE, RACED);
        joint_count(&fake.own_joints[0], asked); /* in place of the data */
        weft_progress();
        end_recv(request, A, 5, RACED);
    }
    atomic_store_explicit(&race.round, -1, memory_order_release);
    pthread_join(thread, NULL);
}

/* ---- the sender's half ---- */

static struct weft_request *announce(size_t bytes, enum weft_send_mode mode,
                                     uint64_t *name)
{
    struct weft_request *request = start_send(A, 5, message, bytes, mode);
    struct weft_announce announced = announce_in(fake_nth(WEFT_PKT_ANNOUNCE, 0));

    assert_int_equal(fake_count(WEFT_PKT_ANNOUNCE), 1);
    assert_true((fake_nth(WEFT_PKT_ANNOUNCE, 0)->flags & WEFT_SEND_URGENT) != 0);
    assert_int_equal(announced.length, bytes);
    assert_int_equal(announced.address, (uint64_t)(uintptr_t)message);
    *name = announced.request;
    return request;
}

static void arrive_fetched(uint64_t name)
{
    arrive_answer(A, WEFT_PKT_FETCHED, (struct weft_answer){.request = name});
}

/* The DATA packets sent for `request` are these bytes of the message, each once. */
static void assert_pushed(uint64_t request, uint64_t offset, uint64_t length)
{
    static uint8_t times[HUGE_BYTES];

    memset(times, 0, sizeof(times));
    for (size_t i = 0; i < fake.sent_count; i++) {
        const struct fake_packet *packet = fake.sent[i];
        struct weft_answer piece;

        if (packet->header.kind != WEFT_PKT_DATA) {
            continue;
        }
        piece = answer_in(packet);
        if (piece.request != request) {
            continue;
        }
        assert_int_equal(packet->len, sizeof(piece) + piece.length);
        assert_memory_equal(packet->data + sizeof(piece), message + piece.offset,
                            piece.length);
        for (uint64_t at = piece.offset; at < piece.offset + piece.length; at++) {
            times[at]++;
        }
    }
    for (uint64_t at = 0; at < sizeof(times); at++) {
        if (times[at] != (at >= offset && at < offset + length ? 1 : 0)) {
            fail_msg("byte %zu was sent %u times", (size_t)at, times[at]);
        }
    }
}

static void a_long_send_is_over_when_it_was_fetched(void **state)
{
    struct weft_request *request;
    uint64_t name;

    (void)state;
    request = announce(LONG, WEFT_SEND_STANDARD, &name);
    weft_progress();
    assert_false(weft_request_is_complete(request));
    arrive_fetched(name);
    weft_progress();
    end_request(request, WEFT_OK);
}

static void a_synchronous_send_is_over_only_when_it_was_fetched(void **state)
{
    const size_t sizes[] = {0, 1, 8, 4096, LONG};

    (void)state;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct weft_request *request;
        uint64_t name;

        fake_forget();
        request = announce(sizes[i], WEFT_SEND_SYNCHRONOUS, &name);
        weft_progress();
        assert_false(weft_request_is_complete(request));
        assert_int_equal(fake.sent_count, 1);
        arrive_fetched(name);
        weft_progress();
        end_request(request, WEFT_OK);
    }
}

static void a_pull_is_answered_with_exactly_these_bytes(void **state)
{
    const uint64_t parts[][2] = {{0, LONG}, {0, 1}, {LONG - 1, 1}, {5000, 9000}};
    struct weft_request *request;
    uint64_t name;

    (void)state;
    request = announce(LONG, WEFT_SEND_STANDARD, &name);
    for (uint64_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        arrive_answer(A, WEFT_PKT_PULL,
                      (struct weft_answer){.request = name,
                                           .other = 90 + i,
                                           .offset = parts[i][0],
                                           .length = parts[i][1]});
    }
    weft_progress();
    for (uint64_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        assert_pushed(90 + i, parts[i][0], parts[i][1]);
    }
    assert_false(weft_request_is_complete(request));
    arrive_fetched(name);
    weft_progress();
    end_request(request, WEFT_OK);
}

static void pieces_that_find_the_queue_full_wait_and_messages_pass_them(void **state)
{
    struct weft_request *request;
    uint64_t name;

    (void)state;
    request = announce(LONG, WEFT_SEND_STANDARD, &name);
    arrive_answer(A, WEFT_PKT_PULL,
                  (struct weft_answer){.request = name, .other = 90, .length = LONG});
    fake.refuse_ordered = 5;
    for (int i = 0; i < 5; i++) {
        weft_progress();
        assert_int_equal(fake_count(WEFT_PKT_DATA), 0);
    }
    end_request(start_send(A, 6, "x", 1, WEFT_SEND_STANDARD), WEFT_OK);
    weft_progress();
    assert_pushed(90, 0, LONG);
    for (uint32_t i = 0; i < fake.sent_count; i++) { /* no number is left out */
        assert_int_equal(fake.sent[i]->header.sequence, i);
    }
    arrive_fetched(name);
    weft_progress();
    end_request(request, WEFT_OK);
}

static void a_pull_beyond_the_message_is_not_answered(void **state)
{
    const uint64_t parts[][2] = {
        {0, LONG + 1}, {LONG, 1}, {LONG + 1, 0}, {1, UINT64_MAX}, {UINT64_MAX, 1}};
    struct weft_request *request;
    uint64_t name;

    (void)state;
    request = announce(LONG, WEFT_SEND_STANDARD, &name);
    for (uint64_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        arrive_answer(A, WEFT_PKT_PULL,
                      (struct weft_answer){.request = name,
                                           .other = 90,
                                           .offset = parts[i][0],
                                           .length = parts[i][1]});
    }
    weft_progress();
    assert_int_equal(fake_count(WEFT_PKT_DATA), 0);
    arrive_fetched(name);
    weft_progress();
    end_request(request, WEFT_OK);
}

/* Stands for the receiver: opens its joint for this send and asks for help. */
static struct weft_joint *ask_for_help(uint64_t name, uint32_t number)
{
    struct weft_joint *joint = &fake.peer_joints[number];
    uint32_t turn = joint_fill(joint, message, buffer, HUGE_BYTES, HUGE_BYTES / PIECES);

    arrive_answer(A, WEFT_PKT_HELP,
                  (struct weft_answer){.request = name,
                                       .other = (uint64_t)turn << 32 | number,
                                       .offset = 99});
    return joint;
}

static void a_sender_that_is_asked_stores_what_is_left(void **state)
{
    struct weft_joint *joint;
    struct weft_request *request;
    uint64_t name;
    uint64_t at;
    uint64_t part;

    (void)state;
    request = announce(HUGE_BYTES, WEFT_SEND_STANDARD, &name);
    joint = ask_for_help(name, 3);
    assert_true(joint_claim(joint, joint_turn(joint), &at, &part)); /* the receiver's */
    weft_progress();
    assert_int_equal(fake.move_count, PIECES - 1);
    assert_int_equal(atomic_load(&joint->copied), HUGE_BYTES - part);
    assert_memory_equal(buffer + part, message + part, HUGE_BYTES - part);
    assert_false(weft_request_is_complete(request));
    arrive_fetched(name);
    weft_progress();
    end_request(request, WEFT_OK);
}

static void a_store_that_fails_sends_exactly_that_piece(void **state)
{
    const uint64_t piece = HUGE_BYTES / PIECES;

    (void)state;
    for (int done = 0; done < PIECES; done++) {
        struct weft_joint *joint;
        struct weft_request *request;
        uint64_t name;
        uint64_t at;
        uint64_t part;

        fake_forget();
        memset(buffer, 0, sizeof(buffer));
        fake.stores = done;
        request = announce(HUGE_BYTES, WEFT_SEND_STANDARD, &name);
        joint = ask_for_help(name, 1);
        weft_progress();
        weft_progress();
        assert_int_equal(fake.move_count, done + 1);
        assert_int_equal(atomic_load(&joint->copied), (uint64_t)done * piece);
        assert_pushed(99, (uint64_t)done * piece, piece);
        assert_memory_equal(buffer, message, (uint64_t)done * piece);
        if (done + 1 < PIECES) { /* the rest is there for the receiver */
            assert_true(joint_claim(joint, joint_turn(joint), &at, &part));
            assert_int_equal(at, ((uint64_t)done + 1) * piece);
        }
        arrive_fetched(name);
        weft_progress();
        end_request(request, WEFT_OK);
    }
}

static void who_cannot_reach_the_receiver_does_not_help(void **state)
{
    struct weft_joint *joint;
    struct weft_request *request;
    uint64_t name;

    (void)state;
    request = announce(HUGE_BYTES, WEFT_SEND_STANDARD, &name);
    fake.is_reachable = false;
    joint = ask_for_help(name, 1);
    weft_progress();
    assert_int_equal(fake.move_count, 0);
    assert_int_equal(atomic_load(&joint->next) & JOINT_OFFSETS, 0);
    arrive_fetched(name);
    weft_progress();
    end_request(request, WEFT_OK);
}

static void help_that_comes_too_late_is_not_given(void **state)
{
    struct weft_joint *joint;
    struct weft_request *request;
    uint64_t name;

    (void)state;
    /* The request is over, still in hand, then freed. */
    for (int is_freed = 0; is_freed < 2; is_freed++) {
        fake_forget();
        request = announce(HUGE_BYTES, WEFT_SEND_STANDARD, &name);
        arrive_fetched(name);
        weft_progress();
        if (is_freed) {
            end_request(request, WEFT_OK);
        }
        joint = ask_for_help(name, 0);
        weft_progress();
        assert_int_equal(fake.move_count, 0);
        assert_int_equal(atomic_load(&joint->copied), 0);
        if (!is_freed) {
            end_request(request, WEFT_OK);
        }
    }
    /* The joint serves another transfer by now. */
    fake_forget();
    request = announce(HUGE_BYTES, WEFT_SEND_STANDARD, &name);
    joint = ask_for_help(name, 0);
    joint_fill(joint, message, buffer, HUGE_BYTES, HUGE_BYTES / PIECES);
    weft_progress();
    assert_int_equal(fake.move_count, 0);
    assert_int_equal(atomic_load(&joint->copied), 0);
    arrive_fetched(name);
    weft_progress();
    end_request(request, WEFT_OK);
}

static void answers_to_a_request_that_is_over_are_ignored(void **state)
{
    struct weft_request *request;
    struct weft_request *later;
    uint64_t name;
    uint64_t later_name;

    (void)state;
    fake.repeat_control = 1; /* which no transport may do */
    request = announce(LONG, WEFT_SEND_STANDARD, &name);
    arrive_fetched(name);
    weft_progress();
    arrive_answer(A, WEFT_PKT_PULL,
                  (struct weft_answer){.request = name, .other = 9, .length = LONG});
    weft_progress();
    end_request(request, WEFT_OK);
    fake_forget();

    /* The same memory, another request. */
    later = announce(LONG, WEFT_SEND_STANDARD, &later_name);
    assert_ptr_equal(later, request);
    assert_true(later_name != name);
    arrive_fetched(name);
    arrive_answer(A, WEFT_PKT_PULL,
                  (struct weft_answer){.request = name, .other = 9, .length = LONG});
    weft_progress();
    assert_false(weft_request_is_complete(later));
    assert_int_equal(fake_count(WEFT_PKT_DATA), 0);
    arrive_fetched(later_name);
    weft_progress();
    end_request(later, WEFT_OK);
}

static void answers_that_name_no_request_are_ignored(void **state)
{
    const uint64_t names[] = {0, 1, UINT64_MAX, UINT64_C(0xdeadbeef12345678)};
    struct weft_request *recv;
    uint8_t packet[64] = {0};

    (void)state;
    recv = start_recv(A, 5, buffer, 64);
    for (size_t i = 0; i <= sizeof(names) / sizeof(names[0]); i++) {
        /* Also one that is a receive, where a send is meant, and the shared one. */
        const uint64_t name = i < sizeof(names) / sizeof(names[0])
                                  ? names[i]
                                  : (uint64_t)(uintptr_t)recv->handle;
        const struct weft_answer answer = {.request = name, .length = 32};

        arrive_fetched(name);
        arrive_answer(A, WEFT_PKT_PULL, answer);
        arrive_answer(A, WEFT_PKT_HELP, answer);
        if (i < sizeof(names) / sizeof(names[0])) {
            arrive_data(A, name, packet, 0, 32);
        }
    }
    weft_progress();
    assert_false(weft_request_is_complete(recv));
    assert_int_equal(fake.sent_count, 0);
    arrive_eager(A, 5, "x", 1);
    weft_progress();
    end_recv(recv, A, 5, 1);
}

static void a_send_whose_end_is_lost_is_never_over(void **state)
{
    struct weft_request *request;
    uint64_t name;

    (void)state;
    request = announce(LONG, WEFT_SEND_SYNCHRONOUS, &name);
    fake.drop_control = 1; /* which no transport may do */
    arrive_fetched(name);
    for (int i = 0; i < 100; i++) {
        weft_progress();
    }
    assert_false(weft_request_is_complete(request));
}

/* ---- to ourselves ---- */

static void a_long_message_to_ourselves_is_copied(void **state)
{
    const size_t sizes[] = {0, 1, 100, 4097, LONG, HUGE_BYTES};

    (void)state;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct weft_request *recv;
        struct weft_request *send;

        memset(buffer, 0, sizeof(buffer));
        send = start_send(0, 5, message, sizes[i], WEFT_SEND_SYNCHRONOUS);
        weft_progress();
        assert_false(weft_request_is_complete(send));
        recv = start_recv(0, 5, buffer, sizeof(buffer));
        weft_progress();
        end_recv(recv, 0, 5, sizes[i]);
        end_request(send, WEFT_OK);
        assert_pattern(buffer, sizes[i], 1);
    }
    assert_int_equal(fake.sent_count, 0);
}

/* ---- with a full store ---- */

static bool is_granted(uint32_t from)
{
    return weft_p2p.up.may_take(weft_p2p.up.owner, from);
}

static void pieces_that_were_asked_for_are_taken_also_by_a_full_store(void **state)
{
    struct weft_request *request;

    (void)state;
    fill_store();
    fake.is_reachable = false;
    request = start_recv(A, 5, buffer, sizeof(buffer));
    arrive_announced(A, 5, message, LONG, 42);
    weft_progress();
    assert_true(is_granted(A));
    assert_true(is_granted(WEFT_ANYONE)); /* where A has no lane, its pieces come so */
    assert_false(is_granted(B));
    answer_pull(fake_nth(WEFT_PKT_PULL, 0));
    weft_progress();
    assert_fetched(request, LONG, 42);
    assert_false(is_granted(A));
    assert_false(is_granted(WEFT_ANYONE));
}

/* A helper whose store fails sends its piece unasked. */
static void a_piece_that_could_not_be_stored_is_taken_by_a_full_store(void **state)
{
    struct weft_request *request;

    (void)state;
    fill_store();
    helped = NULL;
    fake.fetching = claim_slowly;
    request = start_recv(A, 5, buffer, sizeof(buffer));
    arrive_announced(A, 5, message, HUGE_BYTES, 42);
    weft_progress();
    assert_int_equal(fake_count(WEFT_PKT_PULL), 0);
    assert_false(weft_request_is_complete(request));
    assert_true(is_granted(A));
    assert_true(is_granted(WEFT_ANYONE));
    for (uint64_t at = helped_at; at < helped_at + helped_length; at += 2048) {
        arrive_data(A, (uint64_t)(uintptr_t)request->handle, message, at, 2048);
    }
    for (int i = 0; i < 20; i++) {
        weft_progress();
    }
    assert_fetched(request, HUGE_BYTES, 42);
    assert_false(is_granted(A));
    assert_false(is_granted(WEFT_ANYONE));
}

/* ---- checksums ---- */

/* Announces the message to A and lets its packet come back as an announcement of A's. */
static struct fake_packet announced_with_sums(uint64_t length)
{
    struct fake_packet packet;
    struct weft_announce announced;
    struct weft_request *request;
    uint64_t name;

    fake_forget();
    request = announce(length, WEFT_SEND_STANDARD, &name);
    packet = *fake_nth(WEFT_PKT_ANNOUNCE, 0);
    assert_int_equal(packet.len, sizeof(announced) + 4 * WEFT_SUM_BLOCKS);
    arrive_fetched(name);
    weft_progress();
    end_request(request, WEFT_OK);

    memcpy(&announced, packet.data, sizeof(announced));
    announced.request = 42;
    memcpy(packet.data, &announced, sizeof(announced));
    packet.header.source = A;
    packet.header.sequence = 78;
    return packet;
}

/* Receives it, by fetching or in pieces, posted before or after it came. */
static void receive(const struct fake_packet *packet, bool is_reachable, bool is_posted,
                    enum weft_rc rc)
{
    struct weft_request *request = NULL;

    fake_forget();
    fake.is_reachable = is_reachable;
    if (is_posted) {
        request = start_recv(A, 5, buffer, sizeof(buffer));
    }
    fake_arrive(A, packet->header, packet->data, packet->len, WEFT_SEND_URGENT);
    weft_progress();
    if (!is_posted) {
        request = start_recv(A, 5, buffer, sizeof(buffer));
        weft_progress();
    }
    if (!is_reachable) {
        answer_pull(fake_nth(WEFT_PKT_PULL, 0));
        while (fake_pending() != 0) {
            weft_progress();
        }
    }
    end_request(request, rc);
}

/* One line that names ranks, tag, sequence, and a block around the byte that changed. */
static void assert_reported(const char *said, uint64_t length, uint64_t changed)
{
    char begin[128];
    const char *where = strstr(said, "the block at offset ");
    unsigned long long from;
    unsigned long long to;

    snprintf(begin, sizeof(begin), "a message of %llu bytes from rank 1 of",
             (unsigned long long)length);
    assert_non_null(strstr(said, "weft: rank 0 on here: "));
    assert_non_null(strstr(said, begin));
    assert_non_null(strstr(said, "with tag 5, sequence 78,"));
    assert_non_null(where);
    assert_int_equal(sscanf(where, "the block at offset %llu, up to %llu,", &from, &to),
                     2);
    assert_true(from <= changed && changed < to && to <= length);
    assert_true(to - from <= length / WEFT_SUM_BLOCKS + 4096);
    assert_ptr_equal(strchr(said, '\n'), said + strlen(said) - 1);
}

static void a_long_message_that_changed_on_its_way_is_reported(void **state)
{
    static const uint64_t lengths[] = {4097, LONG, 65536, 65537, HUGE_BYTES};

    (void)state;
    weft_p2p.has_checksum = true;
    weft_log_identity(0, "here");
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        const uint64_t length = lengths[i];
        const uint64_t changes[] = {0, 4095, 4096, length / 2, length - 1};
        const struct fake_packet packet = announced_with_sums(length);

        for (unsigned how = 0; how < 4; how++) {
            receive(&packet, how & 1, how & 2, WEFT_OK);
            for (size_t k = 0; k < sizeof(changes) / sizeof(changes[0]); k++) {
                message[changes[k]] ^= 1;
                start_listening();
                receive(&packet, how & 1, how & 2, WEFT_ERR_CHECKSUM);
                assert_reported(stop_listening(), length, changes[k]);
                message[changes[k]] ^= 1;
            }
        }
    }
}

static void
a_synchronous_message_of_no_or_few_bytes_has_a_checksum_that_fits(void **state)
{
    (void)state;
    weft_p2p.has_checksum = true;
    for (uint64_t length = 0; length < 3; length++) {
        struct fake_packet packet;
        struct weft_request *request;
        uint64_t name;

        fake_forget();
        request = announce(length, WEFT_SEND_SYNCHRONOUS, &name);
        packet = *fake_nth(WEFT_PKT_ANNOUNCE, 0);
        packet.header.source = A;
        receive(&packet, true, true, WEFT_OK);
        arrive_fetched(name);
        weft_progress();
        end_request(request, WEFT_OK);
    }
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, open_with_message, fixture_close)
    const struct CMUnitTest tests[] = {
        CASE(an_announced_message_is_fetched_and_the_sender_told_once),
        CASE(an_announcement_before_the_receive_is_kept),
        CASE(an_announced_message_of_any_length_is_fetched_whole),
        CASE(what_cannot_be_reached_is_asked_for_and_comes_in_any_order),
        CASE(two_messages_in_pieces_do_not_mix),
        CASE(a_fetch_that_fails_in_the_middle_asks_for_what_is_missing),
        CASE(a_truncated_receive_asks_only_for_what_fits),
        CASE(a_receive_without_room_fetches_nothing_and_tells_the_sender),

        CASE(a_sender_inside_is_asked_to_help_and_each_copies_its_pieces),
        CASE(nobody_is_asked_to_help_where_it_does_not_pay),
        CASE(a_receive_waits_for_the_pieces_that_the_sender_has_claimed),
        CASE(a_fetch_that_fails_beside_a_helper_asks_for_both_parts),
        CASE(every_byte_is_copied_or_asked_for_once_however_helpers_meet),

        CASE(a_long_send_is_over_when_it_was_fetched),
        CASE(a_synchronous_send_is_over_only_when_it_was_fetched),
        CASE(a_pull_is_answered_with_exactly_these_bytes),
        CASE(pieces_that_find_the_queue_full_wait_and_messages_pass_them),
        CASE(a_pull_beyond_the_message_is_not_answered),
        CASE(a_sender_that_is_asked_stores_what_is_left),
        CASE(a_store_that_fails_sends_exactly_that_piece),
        CASE(who_cannot_reach_the_receiver_does_not_help),
        CASE(help_that_comes_too_late_is_not_given),
        CASE(answers_to_a_request_that_is_over_are_ignored),
        CASE(answers_that_name_no_request_are_ignored),
        CASE(a_send_whose_end_is_lost_is_never_over),

        CASE(a_long_message_to_ourselves_is_copied),

        CASE(pieces_that_were_asked_for_are_taken_also_by_a_full_store),
        CASE(a_piece_that_could_not_be_stored_is_taken_by_a_full_store),

        CASE(a_long_message_that_changed_on_its_way_is_reported),
        CASE(a_synchronous_message_of_no_or_few_bytes_has_a_checksum_that_fits),
    };

    alarm(LIMIT_SECONDS);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
