/*
 * test_rendezvous.c - long messages against the fake transport: announced, then fetched,
 * copied by both, or sent in chunks; and each of these falling back on the next.
 */
#include "p2p_fixture.h"

#include "base/crc32c.h"
#include "engine/seal.h"

#include "base/log.h"
#include "copy_share.h"
#include "engine/lock.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

enum {
    A = 1,
    B = 2,
    LONG = 100 * 1000, /* two chunks where both copy */
    HUGE_BYTES = 1024 * 1024,
    CHUNKS = 8, /* of a huge one, where both copy */
    CHUNK = HUGE_BYTES / CHUNKS,
    SHARE_FROM = 32 * 1024, /* what is shorter goes in one chunk */
    SHARE = 2,              /* which one a peer announces with */
    LIMIT_SECONDS = 580,
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
static union weft_pkt_control only(enum weft_packet kind)
{
    assert_int_equal(fake_count(kind), 1);
    assert_int_equal(fake_nth(kind, 0)->peer, A);
    return answer_in(fake_nth(kind, 0));
}

/* The message came whole, and a sender without a share was told so once. */
static void assert_fetched(struct weft_request *request, uint64_t length, uint64_t name)
{
    end_recv(request, A, 5, length);
    assert_pattern(buffer, length, 1);
    assert_int_equal(only(WEFT_PKT_FETCHED).fetched.request, name);
    weft_progress();
    weft_progress();
    assert_int_equal(fake_count(WEFT_PKT_FETCHED), 1);
    assert_int_equal(shares_used(), 0);
}

/* The same for a sender with a share, which sees it there and is told nothing. */
static void assert_received(struct weft_request *request, uint64_t length)
{
    end_recv(request, A, 5, length);
    assert_pattern(buffer, length, 1);
    weft_progress();
    assert_int_equal(fake_count(WEFT_PKT_FETCHED), 0);
    assert_int_equal(share_state(share_of(A, SHARE)), WEFT_SHARE_OPEN);
    assert_int_equal(share_copied(share_of(A, SHARE)), length);
    assert_int_equal(shares_used(), 0);
}

/* A was woken once, as somebody who may sleep until the transfer is over. */
static void assert_woken_once(void)
{
    assert_int_equal(fake.wakes, 1);
    assert_ptr_equal(fake.woken, area_of(A));
    assert_int_equal(fake.wake_level, WEFT_WAKE_STEPS);
}

/* Sends what a PULL asks for. */
static void answer_pull(const struct fake_packet *packet)
{
    const struct weft_pkt_pull pull = answer_in(packet).pull;
    const uint64_t end = pull.offset + pull.length;

    for (uint64_t at = pull.offset; at < end;) {
        uint64_t n = end - at < 4000 ? end - at : 4000;

        arrive_data(packet->peer, pull.receiver, message, at, n);
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

static void an_announced_share_is_opened_and_its_sender_told_nothing(void **state)
{
    const struct weft_copy_share *share = share_of(A, SHARE);
    struct weft_request *request;
    uint32_t generation;

    (void)state;
    request = start_recv(A, 5, buffer, sizeof(buffer));
    generation = arrive_with_share(A, 5, message, LONG, 42, SHARE);
    assert_int_equal(share_state(share), WEFT_SHARE_ANNOUNCED);
    weft_progress();
    assert_int_equal(share_generation(share), generation);
    assert_int_equal(weft_share_field(&share->source), (uint64_t)(uintptr_t)message);
    assert_int_equal(weft_share_field(&share->target), (uint64_t)(uintptr_t)buffer);
    assert_int_equal(atomic_load(&share->length), LONG);
    assert_int_not_equal(weft_share_field(&share->note), 0);
    assert_true(weft_share_is_over(share, generation));
    assert_received(request, LONG);
    assert_int_equal(fake.sent_count, 0);
    assert_woken_once();
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

    fake_forget();
    memset(buffer, 0, sizeof(buffer));
    arrive_with_share(A, 5, message, LONG, 42, SHARE);
    weft_progress();
    assert_int_equal(share_state(share_of(A, SHARE)), WEFT_SHARE_ANNOUNCED);
    assert_int_equal(fake.move_count, 0);
    request = start_recv(WEFT_ANY_SOURCE, 5, buffer, sizeof(buffer));
    weft_progress();
    assert_received(request, LONG);
}

static void an_announced_message_of_any_length_is_fetched_whole(void **state)
{
    static const uint64_t edges[] = {0, 1, 4096, 8192, 32768, 65536, 131072, 262144};

    (void)state;
    for (int way = 0; way < 4; way++) {
        set_peers_inside((way & 1) != 0);
        for (size_t i = 0; i < sizeof(edges) / sizeof(edges[0]); i++) {
            for (uint64_t length = edges[i] == 0 ? 0 : edges[i] - 1;
                 length <= edges[i] + 1; length++) {
                struct weft_request *request = start_recv(A, 5, buffer, sizeof(buffer));

                memset(buffer, 0, length + 1);
                if ((way & 2) != 0) {
                    arrive_with_share(A, 5, message, length, 42, SHARE);
                    weft_progress();
                    assert_received(request, length);
                } else {
                    arrive_announced(A, 5, message, length, length + 1);
                    weft_progress();
                    assert_fetched(request, length, length + 1);
                }
                assert_int_equal(buffer[length], 0); /* and no more */
                fake_forget();
            }
        }
    }
}

static void what_cannot_be_reached_is_asked_for_and_comes_in_any_order(void **state)
{
    enum { PART = 4000, PARTS = LONG / PART };

    (void)state;
    fake_reach(false);
    for (int has_share = 0; has_share < 2; has_share++) {
        struct weft_request *request = start_recv(A, 5, buffer, sizeof(buffer));
        struct weft_pkt_pull pull;

        fake_forget();
        memset(buffer, 0, sizeof(buffer));
        if (has_share) {
            arrive_with_share(A, 5, message, LONG, 42, SHARE);
        } else {
            arrive_announced(A, 5, message, LONG, 42);
        }
        weft_progress();
        pull = only(WEFT_PKT_PULL).pull;
        assert_int_equal(pull.request, 42);
        assert_int_equal(pull.offset, 0);
        assert_int_equal(pull.length, LONG);
        for (uint64_t i = 0; i < PARTS; i++) {
            assert_false(weft_request_is_complete(request));
            assert_int_equal(fake.wakes, 0);
            arrive_data(A, pull.receiver, message, i * 7 % PARTS * PART, PART);
            weft_progress();
        }
        assert_woken_once();
        if (has_share) {
            assert_received(request, LONG);
        } else {
            assert_fetched(request, LONG, 42);
        }
        assert_int_equal(fake.move_count, 0);
    }
}

static void two_messages_in_chunks_do_not_mix(void **state)
{
    enum { EACH = 40 * 1000, PART = 4000 };
    struct weft_request *request[2];
    struct weft_pkt_pull pull[2];

    (void)state;
    fake_reach(false);
    for (int i = 0; i < 2; i++) {
        request[i] = start_recv(A, i, buffer + i * EACH, EACH);
        arrive_announced(A, i, message + i * EACH, EACH, (uint64_t)i + 70);
    }
    weft_progress();
    for (int i = 0; i < 2; i++) {
        pull[i] = answer_in(fake_nth(WEFT_PKT_PULL, (size_t)i)).pull;
        assert_int_equal(pull[i].request, i + 70);
    }
    for (uint64_t at = 0; at < EACH; at += PART) {
        arrive_data(A, pull[1].receiver, message + EACH, EACH - PART - at, PART);
        arrive_data(A, pull[0].receiver, message, at, PART);
    }
    weft_progress();
    for (int i = 0; i < 2; i++) {
        end_recv(request[i], A, i, EACH);
    }
    assert_pattern(buffer, 2 * EACH, 1);
    assert_int_equal(fake_count(WEFT_PKT_FETCHED), 2);
}

/* Asks of the PULLs that they are for these bytes, each once, and answers them. */
static void answer_pulls(uint64_t offset, uint64_t length)
{
    static uint8_t times[HUGE_BYTES];
    const size_t pulls = fake_count(WEFT_PKT_PULL);

    memset(times, 0, sizeof(times));
    for (size_t i = 0; i < pulls; i++) {
        const struct weft_pkt_pull pull = answer_in(fake_nth(WEFT_PKT_PULL, i)).pull;

        assert_int_equal(pull.request, 42);
        assert_true(pull.length <= HUGE_BYTES && pull.offset <= HUGE_BYTES - pull.length);
        for (uint64_t at = pull.offset; at < pull.offset + pull.length; at++) {
            times[at]++;
        }
        answer_pull(fake_nth(WEFT_PKT_PULL, i));
    }
    for (uint64_t at = 0; at < sizeof(times); at++) {
        if (times[at] != (at >= offset && at < offset + length ? 1 : 0)) {
            fail_msg("byte %zu was asked for %u times", (size_t)at, times[at]);
        }
    }
    for (int i = 0; i < 20; i++) {
        weft_progress();
    }
}

/* `done` chunks were fetched, the next one failed; it and the rest are asked for. */
static void a_fetch_that_fails_in_the_middle_asks_for_what_is_missing(void **state)
{
    (void)state;
    for (int has_share = 0; has_share < 2; has_share++) {
        for (int done = 0; done < CHUNKS; done++) {
            struct weft_request *request;

            fake_forget();
            memset(buffer, 0, sizeof(buffer));
            fake.gets = done;
            request = start_recv(A, 5, buffer, sizeof(buffer));
            if (has_share) {
                arrive_with_share(A, 5, message, HUGE_BYTES, 42, SHARE);
            } else {
                arrive_announced(A, 5, message, HUGE_BYTES, 42);
            }
            weft_progress();
            assert_int_equal(fake.move_count, done + 1);
            assert_false(weft_request_is_complete(request));
            answer_pulls((uint64_t)done * CHUNK, HUGE_BYTES - (uint64_t)done * CHUNK);
            if (has_share) {
                assert_received(request, HUGE_BYTES);
            } else {
                assert_fetched(request, HUGE_BYTES, 42);
            }
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
        fake_reach(is_reachable != 0);
        request = start_recv(A, 5, buffer, FITS);
        arrive_announced(A, 5, message, LONG, 42);
        weft_progress();
        if (is_reachable) {
            for (size_t i = 0; i < fake.move_count; i++) {
                moved += fake.moves[i].length;
            }
            assert_int_equal(moved, FITS);
        } else {
            assert_int_equal(only(WEFT_PKT_PULL).pull.offset, 0);
            assert_int_equal(only(WEFT_PKT_PULL).pull.length, FITS);
            answer_pull(fake_nth(WEFT_PKT_PULL, 0));
            weft_progress();
        }
        assert_int_equal(request->bytes, FITS);
        end_request(request, WEFT_ERR_TRUNCATE);
        assert_pattern(buffer, FITS, 1);
        assert_int_equal(buffer[FITS], 0);
        assert_int_equal(only(WEFT_PKT_FETCHED).fetched.request, 42);
    }
}

static void a_receive_without_room_fetches_nothing_and_tells_the_sender(void **state)
{
    struct weft_request *request;

    (void)state;
    for (int is_reachable = 0; is_reachable < 2; is_reachable++) {
        fake_forget();
        fake_reach(is_reachable != 0);
        arrive_announced(A, 5, message, LONG, 42);
        request = start_recv(A, 5, NULL, 0);
        weft_progress();
        end_request(request, WEFT_ERR_TRUNCATE);
        assert_int_equal(fake.move_count, 0);
        assert_int_equal(fake_count(WEFT_PKT_PULL), 0);
        assert_int_equal(only(WEFT_PKT_FETCHED).fetched.request, 42);
    }
}

/* A sender that sleeps until then sees a share of length 0 only if it is woken. */
static void a_receive_without_room_opens_the_share_and_wakes_the_sender(void **state)
{
    struct weft_request *request;
    uint32_t generation;

    (void)state;
    for (int is_reachable = 0; is_reachable < 2; is_reachable++) {
        fake_forget();
        fake_reach(is_reachable != 0);
        generation = arrive_with_share(A, 5, message, LONG, 42, SHARE);
        request = start_recv(A, 5, NULL, 0);
        weft_progress();
        assert_int_equal(request->bytes, 0);
        end_request(request, WEFT_ERR_TRUNCATE);
        assert_true(weft_share_is_over(share_of(A, SHARE), generation));
        assert_int_equal(fake.move_count, 0);
        assert_int_equal(fake.sent_count, 0);
        assert_woken_once();
    }
}

/* ---- both copy ---- */

/* Stands for the sender: copies a chunk from the back whenever the receiver fetches. */
static void help_a_chunk(uint64_t address, uint64_t length)
{
    struct weft_copy_share *share = share_of(A, SHARE);
    uint64_t at;
    uint64_t part;

    (void)address;
    (void)length;
    if (weft_share_claim_chunk(share, share_generation(share), WEFT_SHARE_SENDER, &at,
                               &part)) {
        memcpy((uint8_t *)(uintptr_t)weft_share_field(&share->target) + at, message + at,
               part);
        assert_false(weft_share_count(share, part));
    }
}

static void
a_sender_that_helps_copies_from_the_back_and_the_receiver_the_front(void **state)
{
    struct weft_request *request;

    (void)state;
    fake.getting = help_a_chunk;
    request = start_recv(A, 5, buffer, sizeof(buffer));
    arrive_with_share(A, 5, message, HUGE_BYTES, 42, SHARE);
    weft_progress();
    assert_int_equal(fake.move_count, CHUNKS / 2);
    for (uint64_t i = 0; i < CHUNKS / 2; i++) {
        assert_int_equal(fake.moves[i].address, (uintptr_t)message + i * CHUNK);
        assert_int_equal(fake.moves[i].length, CHUNK);
    }
    assert_received(request, HUGE_BYTES);
    assert_woken_once(); /* the last chunk that was counted is ours */
}

static void chunks_are_small_only_where_sharing_pays(void **state)
{
    (void)state;
    for (int way = 0; way < 4; way++) {
        const bool is_long = (way & 1) != 0;
        const uint64_t length = is_long ? SHARE_FROM : SHARE_FROM - 1;
        struct weft_request *request;

        fake_forget();
        set_peers_inside((way & 2) != 0);
        request = start_recv(A, 5, buffer, sizeof(buffer));
        arrive_with_share(A, 5, message, length, 42, SHARE);
        weft_progress();
        assert_int_equal(fake.move_count, is_long ? 2 : 1);
        assert_received(request, length);
    }
}

static struct weft_copy_share
    *helped; /* the sender has a chunk of it and does not hurry */
static uint64_t helped_at;
static uint64_t helped_length;

static void claim_slowly(uint64_t address, uint64_t length)
{
    (void)address;
    (void)length;
    if (helped == NULL) {
        helped = share_of(A, SHARE);
        assert_true(weft_share_claim_chunk(helped, share_generation(helped),
                                           WEFT_SHARE_SENDER, &helped_at,
                                           &helped_length));
    }
}

/* The sender copies its chunk at last; that is the last one. */
static void help_at_last(void)
{
    memcpy(buffer + helped_at, message + helped_at, helped_length);
    assert_true(weft_share_count(helped, helped_length));
}

/* A receive of which the sender has claimed the last chunk. */
static struct weft_request *start_helped(void)
{
    struct weft_request *request = start_recv(A, 5, buffer, sizeof(buffer));

    helped = NULL;
    fake.getting = claim_slowly;
    arrive_with_share(A, 5, message, HUGE_BYTES, 42, SHARE);
    weft_progress();
    assert_int_equal(helped_at, HUGE_BYTES - CHUNK);
    assert_int_equal(helped_length, CHUNK);
    return request;
}

static void a_receive_waits_for_the_chunks_that_the_sender_has_claimed(void **state)
{
    struct weft_request *request;

    (void)state;
    request = start_helped();
    weft_progress();
    assert_int_equal(fake.move_count, CHUNKS - 1);
    assert_false(weft_request_is_complete(request));
    help_at_last();
    weft_progress();
    assert_received(request, HUGE_BYTES);
    assert_int_equal(fake.wakes, 0); /* the sender counted last: it knows */
}

/* Seeing the end is not enough: the sender may have gone on with its share. */
static void a_share_in_another_turn_ends_the_receive(void **state)
{
    struct weft_copy_share *share = share_of(A, SHARE);
    struct weft_request *request;

    (void)state;
    request = start_helped();
    assert_false(weft_request_is_complete(request));
    help_at_last();
    weft_share_announce(share, 12345);
    weft_progress();
    end_recv(request, A, 5, HUGE_BYTES);
    assert_pattern(buffer, HUGE_BYTES, 1);
    assert_int_equal(share_state(share), WEFT_SHARE_ANNOUNCED);
    assert_int_equal(weft_share_field(&share->source), 12345);
    assert_int_equal(fake.move_count, CHUNKS - 1);
    assert_int_equal(fake.sent_count, 0);
}

/* The sender has claimed a chunk when the receiver's fetch fails. */
static void a_fetch_that_fails_beside_a_helper_asks_for_all_but_its_chunk(void **state)
{
    struct weft_request *request;

    (void)state;
    fake.gets = 0;
    request = start_helped();
    assert_int_equal(fake.move_count, 1);
    answer_pulls(0, HUGE_BYTES - CHUNK);
    assert_false(weft_request_is_complete(request));
    help_at_last();
    weft_progress();
    assert_received(request, HUGE_BYTES);
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
    struct weft_copy_share *share = share_of(A, SHARE);
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
        while (weft_share_claim_chunk(share, share_generation(share), WEFT_SHARE_SENDER,
                                      &at, &part)) {
            race.claimed[race.claims++] = at;
            weft_share_count(share, part);
        }
        atomic_store_explicit(&race.done, seen, memory_order_release);
    }
}

static void start_race(uint64_t address, uint64_t length)
{
    const int round = atomic_fetch_add_explicit(&race.round, 1, memory_order_release) + 1;

    (void)address;
    (void)length;
    while (atomic_load_explicit(&race.ready, memory_order_acquire) != round) {
        sched_yield();
    }
    for (volatile int i = 0; i < race.delay[0]; i++) {
    }
}

static void every_byte_is_copied_or_asked_for_once_however_helpers_meet(void **state)
{
    enum { ROUNDS = 5000, RACED = 2 * CHUNK };
    uint64_t random = 1;
    pthread_t thread;

    (void)state;
    fake.is_dry = true;
    fake.getting = start_race;
    assert_int_equal(pthread_create(&thread, NULL, race_helper, NULL), 0);
    for (int r = 0; r < ROUNDS; r++) {
        struct weft_request *request;
        unsigned chunks = 0;
        uint64_t asked = 0;

        random = random * UINT64_C(6364136223846793005) + 1;
        race.delay[0] = (int)(random >> 33) % 50;
        race.delay[1] = (int)(random >> 45) % 200;
        fake_forget();
        fake.gets = 0;
        request = start_recv(A, 5, buffer, RACED);
        arrive_with_share(A, 5, message, RACED, 42, SHARE);
        weft_progress();
        while (atomic_load_explicit(&race.done, memory_order_acquire) !=
               atomic_load_explicit(&race.round, memory_order_relaxed)) {
            sched_yield();
        }
        for (int i = 0; i < race.claims; i++) {
            assert_int_equal(chunks & 1u << race.claimed[i] / CHUNK, 0);
            chunks |= 1u << race.claimed[i] / CHUNK;
        }
        for (size_t i = 0; i < fake_count(WEFT_PKT_PULL); i++) {
            const struct weft_pkt_pull pull = answer_in(fake_nth(WEFT_PKT_PULL, i)).pull;

            for (uint64_t at = pull.offset; at < pull.offset + pull.length; at += CHUNK) {
                assert_int_equal(chunks & 1u << at / CHUNK, 0);
                chunks |= 1u << at / CHUNK;
            }
            asked += pull.length;
        }
        assert_int_equal(chunks, 3);
        assert_int_equal(asked + (uint64_t)race.claims * CHUNK, RACED);
        if (asked > 0) { /* in place of the data */
            assert_true(weft_share_count(share_of(A, SHARE), asked));
        }
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
    struct weft_pkt_announce announced = announce_in(fake_nth(WEFT_PKT_ANNOUNCE, 0));

    assert_int_equal(fake_count(WEFT_PKT_ANNOUNCE), 1);
    assert_true((fake_nth(WEFT_PKT_ANNOUNCE, 0)->flags & WEFT_SEND_URGENT) != 0);
    assert_int_equal(announced.length, bytes);
    assert_int_equal(announced.address, (uint64_t)(uintptr_t)message);
    *name = announced.request;
    return request;
}

/* The share that the last announcement carries: ours, in this generation. */
static struct weft_copy_share *announced_share(uint32_t *generation)
{
    const size_t last = fake_count(WEFT_PKT_ANNOUNCE) - 1;
    const uint64_t share = announce_in(fake_nth(WEFT_PKT_ANNOUNCE, last)).share;

    assert_true(share != WEFT_NO_SHARE);
    assert_true((uint32_t)share < FIXTURE_SHARES);
    *generation = (uint32_t)(share >> 32);
    assert_true((shares_used() & 1u << (uint32_t)share) != 0);
    return share_of(0, (uint32_t)share);
}

/* Stands for the receiver: answers the announcement. */
static struct weft_copy_share *open_announced(uint64_t length, uint64_t chunk,
                                              uint32_t *generation)
{
    struct weft_copy_share *share = announced_share(generation);
    const struct weft_share_terms terms = {
        .source = weft_share_field(&share->source),
        .target = (uint64_t)(uintptr_t)buffer,
        .length = length,
        .note = 99,
        .chunk = chunk,
    };

    weft_share_open(share, *generation, &terms);
    return share;
}

/* The same, and it claims all of it, to fetch it or to ask for it. */
static struct weft_copy_share *claim_announced(uint64_t length)
{
    uint32_t generation;
    struct weft_copy_share *share = open_announced(length, length, &generation);
    uint64_t at;
    uint64_t part;

    assert_true(
        weft_share_claim_chunk(share, generation, WEFT_SHARE_RECEIVER, &at, &part));
    assert_int_equal(part, length);
    return share;
}

static void fetch_announced(uint64_t length)
{
    assert_true(weft_share_count(claim_announced(length), length));
}

static void arrive_fetched(uint64_t name)
{
    arrive_answer(A, WEFT_PKT_FETCHED,
                  (union weft_pkt_control){.fetched = {.request = name}});
}

/* The DATA packets sent for `request` are these bytes of the message, each once. */
static void assert_pushed(uint64_t request, uint64_t offset, uint64_t length)
{
    static uint8_t times[HUGE_BYTES];

    memset(times, 0, sizeof(times));
    for (size_t i = 0; i < fake.sent_count; i++) {
        const struct fake_packet *packet = fake.sent[i];
        struct weft_pkt_data chunk;
        size_t n;

        if (packet->header.kind != WEFT_PKT_DATA) {
            continue;
        }
        chunk = data_in(packet);
        if (chunk.request != request) {
            continue;
        }
        n = packet->len - sizeof(chunk);
        assert_memory_equal(packet->data + sizeof(chunk), message + chunk.offset, n);
        for (uint64_t at = chunk.offset; at < chunk.offset + n; at++) {
            times[at]++;
        }
    }
    for (uint64_t at = 0; at < sizeof(times); at++) {
        if (times[at] != (at >= offset && at < offset + length ? 1 : 0)) {
            fail_msg("byte %zu was sent %u times", (size_t)at, times[at]);
        }
    }
}

static void a_long_send_is_over_when_all_is_counted(void **state)
{
    const struct weft_copy_share *share;
    struct weft_request *request;
    uint64_t name;
    uint32_t generation;

    (void)state;
    request = announce(LONG, WEFT_SEND_STANDARD, &name);
    share = announced_share(&generation);
    assert_int_equal(share_state(share), WEFT_SHARE_ANNOUNCED);
    assert_int_equal(share_generation(share), generation);
    assert_int_equal(weft_share_field(&share->source), (uint64_t)(uintptr_t)message);
    weft_progress();
    assert_false(weft_request_is_complete(request));
    assert_int_equal(fake.move_count, 0); /* nobody has opened it */
    fetch_announced(LONG);
    weft_progress();
    end_request(request, WEFT_OK);
    assert_int_equal(fake.move_count, 0);
    assert_int_equal(shares_used(), 0);
    assert_int_equal(fake.wakes, 0); /* the receiver counted last: it knows */
}

static void a_sender_without_a_share_learns_the_end_from_the_receiver(void **state)
{
    (void)state;
    for (int why = 0; why < 2; why++) {
        struct weft_request *request;
        uint64_t name;

        fake_forget();
        limit_shares(why == 0 ? 0 : FIXTURE_SHARES);
        fake_reach(why != 1);
        request = announce(LONG, WEFT_SEND_STANDARD, &name);
        assert_true(announce_in(fake_nth(WEFT_PKT_ANNOUNCE, 0)).share == WEFT_NO_SHARE);
        assert_int_equal(shares_used(), 0);
        weft_progress();
        assert_false(weft_request_is_complete(request));
        arrive_fetched(name);
        weft_progress();
        end_request(request, WEFT_OK);
    }
}

/* One send more than there are shares; they are given back and used again. */
static void shares_are_used_again_in_another_turn(void **state)
{
    enum { SENDS = FIXTURE_SHARES + 1, ROUNDS = 3 };

    (void)state;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        struct weft_request *request[SENDS];
        struct weft_pkt_announce announced;

        fake_forget();
        for (uint32_t i = 0; i < SENDS; i++) {
            request[i] = start_send(A, 5, message, LONG, WEFT_SEND_STANDARD);
            announced = announce_in(fake_nth(WEFT_PKT_ANNOUNCE, i));
            if (i < FIXTURE_SHARES) {
                uint32_t generation;

                assert_int_equal((uint32_t)announced.share, i);
                fetch_announced(LONG);
                announced_share(&generation);
                assert_int_equal(generation, round + 1);
            } else {
                assert_true(announced.share == WEFT_NO_SHARE);
                arrive_fetched(announced.request);
            }
        }
        weft_progress();
        for (uint32_t i = 0; i < SENDS; i++) {
            end_request(request[i], WEFT_OK);
        }
        assert_int_equal(shares_used(), 0);
    }
}

static void an_announcement_that_finds_no_room_gives_its_share_back(void **state)
{
    struct weft_request *request;
    struct weft_request *other;
    uint32_t generation;

    (void)state;
    fake.refuse_ordered = 3;
    request = start_send(A, 5, message, LONG, WEFT_SEND_STANDARD);
    assert_int_equal(shares_used(), 0);
    weft_progress();
    assert_int_equal(shares_used(), 0);
    other = start_send(B, 5, message, LONG, WEFT_SEND_STANDARD); /* nor this one */
    assert_int_equal(shares_used(), 0);
    assert_int_equal(fake.sent_count, 0);
    weft_progress();
    assert_int_equal(fake_count(WEFT_PKT_ANNOUNCE), 2);
    assert_int_equal(shares_used(), 3);
    assert_int_equal(share_state(announced_share(&generation)), WEFT_SHARE_ANNOUNCED);
    for (uint32_t i = 0; i < 2; i++) { /* both, in the turns that were announced */
        const uint64_t share = announce_in(fake_nth(WEFT_PKT_ANNOUNCE, i)).share;
        const struct weft_share_terms terms = {.length = 0};

        assert_int_equal(share_generation(share_of(0, (uint32_t)share)), share >> 32);
        weft_share_open(share_of(0, (uint32_t)share), (uint32_t)(share >> 32), &terms);
    }
    weft_progress();
    end_request(request, WEFT_OK);
    end_request(other, WEFT_OK);
    assert_int_equal(shares_used(), 0);

    fake.send_error = WEFT_ERR_SYSTEM;
    request = start_send(A, 5, message, LONG, WEFT_SEND_STANDARD);
    end_request(request, WEFT_ERR_SYSTEM);
    assert_int_equal(shares_used(), 0);
    weft_progress();
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
        if (sizes[i] == 0) { /* there is nothing to copy together */
            assert_int_equal(shares_used(), 0);
            arrive_fetched(name);
        } else {
            fetch_announced(sizes[i]);
        }
        weft_progress();
        end_request(request, WEFT_OK);
    }
}

/* A receiver that has room for less, or for nothing, copies less. */
static void a_send_that_is_cut_off_is_over_when_the_rest_is_counted(void **state)
{
    const uint64_t fits[] = {0, 1, LONG - 1};

    (void)state;
    for (size_t i = 0; i < sizeof(fits) / sizeof(fits[0]); i++) {
        struct weft_copy_share *share;
        struct weft_request *request;
        uint64_t name;
        uint32_t generation;

        fake_forget();
        memset(buffer, 0, sizeof(buffer));
        request = announce(LONG, WEFT_SEND_STANDARD, &name);
        share = open_announced(fits[i], fits[i], &generation);
        weft_progress(); /* we are there, the receiver is not */
        end_request(request, WEFT_OK);
        assert_int_equal(share_copied(share), fits[i]);
        assert_pattern(buffer, fits[i], 1);
        assert_int_equal(buffer[fits[i]], 0);
    }
}

static void a_pull_is_answered_with_exactly_these_bytes(void **state)
{
    const uint64_t parts[][2] = {
        {0, 1}, {5000, 9000}, {14000, LONG - 14001}, {LONG - 1, 1}};
    struct weft_request *request;
    struct weft_copy_share *share;
    uint64_t name;

    (void)state;
    request = announce(LONG, WEFT_SEND_STANDARD, &name);
    share = claim_announced(LONG);
    for (uint64_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        arrive_answer(A, WEFT_PKT_PULL,
                      (union weft_pkt_control){.pull = {.request = name,
                                                        .receiver = 90 + i,
                                                        .offset = parts[i][0],
                                                        .length = parts[i][1]}});
    }
    weft_progress();
    for (uint64_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        assert_pushed(90 + i, parts[i][0], parts[i][1]);
    }
    assert_false(weft_request_is_complete(request));
    assert_true(weft_share_count(share, LONG));
    weft_progress();
    end_request(request, WEFT_OK);
}

static void chunks_that_find_the_queue_full_wait_and_messages_pass_them(void **state)
{
    struct weft_request *request;
    struct weft_copy_share *share;
    uint64_t name;

    (void)state;
    request = announce(LONG, WEFT_SEND_STANDARD, &name);
    share = claim_announced(LONG);
    arrive_answer(A, WEFT_PKT_PULL,
                  (union weft_pkt_control){
                      .pull = {.request = name, .receiver = 90, .length = LONG}});
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
    assert_true(weft_share_count(share, LONG));
    weft_progress();
    end_request(request, WEFT_OK);
}

/* ---- the sender helps ---- */

static void a_sender_stores_from_the_back_what_nobody_has_claimed(void **state)
{
    struct weft_copy_share *share;
    struct weft_request *request;
    uint64_t name;
    uint64_t at;
    uint64_t part;
    uint32_t generation;

    (void)state;
    request = announce(HUGE_BYTES, WEFT_SEND_STANDARD, &name);
    weft_progress();
    assert_int_equal(fake.move_count, 0); /* announced is not open */
    share = open_announced(HUGE_BYTES, CHUNK, &generation);
    assert_true(
        weft_share_claim_chunk(share, generation, WEFT_SHARE_RECEIVER, &at, &part));
    weft_progress();
    assert_int_equal(fake.move_count, CHUNKS - 1);
    for (uint64_t i = 0; i < CHUNKS - 1; i++) {
        assert_true(fake.moves[i].is_put);
        assert_int_equal(fake.moves[i].address,
                         (uintptr_t)buffer + HUGE_BYTES - (i + 1) * CHUNK);
        assert_int_equal(fake.moves[i].length, CHUNK);
    }
    assert_int_equal(share_copied(share), HUGE_BYTES - part);
    assert_memory_equal(buffer + part, message + part, HUGE_BYTES - part);
    assert_int_equal(buffer[0] | buffer[1] | buffer[part - 1], 0);
    assert_false(weft_request_is_complete(request)); /* the receiver has one chunk yet */
    assert_int_equal(fake.wakes, 0);
    assert_true(weft_share_count(share, part));
    weft_progress();
    end_request(request, WEFT_OK);
    assert_int_equal(fake.sent_count, 1);
    assert_int_equal(fake.wakes, 0);
}

static void a_sender_that_counts_the_last_chunk_wakes_the_receiver(void **state)
{
    struct weft_copy_share *share;
    struct weft_request *request;
    uint64_t name;
    uint64_t at;
    uint64_t part;
    uint32_t generation;

    (void)state;
    request = announce(HUGE_BYTES, WEFT_SEND_STANDARD, &name);
    share = open_announced(HUGE_BYTES, CHUNK, &generation);
    assert_true(
        weft_share_claim_chunk(share, generation, WEFT_SHARE_RECEIVER, &at, &part));
    assert_false(weft_share_count(share, part));
    weft_progress();
    assert_woken_once();
    end_request(request, WEFT_OK);
    assert_int_equal(shares_used(), 0);
    assert_int_equal(fake.sent_count, 1); /* and sends nothing */
}

/* Every store fails after `done`: from there on it sends what it would have stored. */
static void a_store_that_fails_sends_that_chunk_to_who_opened_the_share(void **state)
{
    (void)state;
    for (int done = 0; done < CHUNKS; done++) {
        const uint64_t rest = HUGE_BYTES - (uint64_t)done * CHUNK;
        struct weft_copy_share *share;
        struct weft_request *request;
        uint64_t name;
        uint32_t generation;

        fake_forget();
        memset(buffer, 0, sizeof(buffer));
        fake.puts = done;
        request = announce(HUGE_BYTES, WEFT_SEND_STANDARD, &name);
        share = open_announced(HUGE_BYTES, CHUNK, &generation);
        for (int i = 0; i < 2 * CHUNKS; i++) {
            weft_progress();
        }
        assert_int_equal(share_copied(share), HUGE_BYTES - rest);
        assert_memory_equal(buffer + rest, message + rest, HUGE_BYTES - rest);
        assert_pushed(99, 0, rest);
        assert_false(weft_request_is_complete(request)); /* nor are they counted */
        assert_int_equal(fake.wakes, 0);
        assert_true(weft_share_count(share, rest));
        weft_progress();
        end_request(request, WEFT_OK);
    }
}

static struct weft_request *waited_for;

/* The receiver takes the rest while the sender's first store is under way, and fails. */
static void fetch_the_rest(uint64_t address, uint64_t length)
{
    struct weft_copy_share *share = share_of(0, 0);
    uint64_t at;
    uint64_t part;

    assert_int_equal(address, (uintptr_t)buffer + HUGE_BYTES - CHUNK);
    assert_int_equal(length, CHUNK);
    while (weft_share_claim_chunk(share, share_generation(share), WEFT_SHARE_RECEIVER,
                                  &at, &part)) {
        weft_share_count(share, part);
    }
    assert_false(weft_request_is_complete(waited_for));
}

static void a_store_that_fails_sends_exactly_that_chunk(void **state)
{
    struct weft_copy_share *share;
    uint64_t name;
    uint32_t generation;

    (void)state;
    fake.puts = 0;
    fake.putting = fetch_the_rest;
    waited_for = announce(HUGE_BYTES, WEFT_SEND_STANDARD, &name);
    share = open_announced(HUGE_BYTES, CHUNK, &generation);
    weft_progress();
    weft_progress();
    assert_int_equal(fake.move_count, 1);
    assert_pushed(99, HUGE_BYTES - CHUNK, CHUNK);
    assert_true(weft_share_count(share, CHUNK));
    weft_progress();
    end_request(waited_for, WEFT_OK);
}

/* ---- the sender sleeps ---- */

static void fetch_while_asleep(void)
{
    if (fake.sleeps == 2) { /* the first time it was woken for nothing */
        fetch_announced(LONG);
    }
}

static void a_blocking_send_sleeps_until_its_share_is_over(void **state)
{
    (void)state;
    fake.sleeping = fetch_while_asleep;
    assert_int_equal(weft_send(&fixture_comm, A, 5, message, LONG,
                               WEFT_PLANE_P2P | (unsigned)WEFT_SEND_STANDARD),
                     WEFT_OK);
    assert_int_equal(fake.sleeps, 2);
    assert_int_equal(shares_used(), 0);
    assert_false(fake_is_armed());
}

static bool opens_only; /* or else fetches all of it */

static void answer_while_arming(void)
{
    uint32_t generation;

    fake.arming = NULL;
    if (opens_only) {
        open_announced(LONG, LONG, &generation);
    } else {
        fetch_announced(LONG);
    }
}

/* Between the last look and the sleep: nobody would wake it any more. */
static void an_answer_just_before_the_sleep_is_seen(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        fake_forget();
        opens_only = i != 0;
        fake.arming = answer_while_arming; /* and no `sleeping`: a sleep is a fault */
        assert_int_equal(weft_send(&fixture_comm, A, 5, message, LONG,
                                   WEFT_PLANE_P2P | (unsigned)WEFT_SEND_STANDARD),
                         WEFT_OK);
        assert_null(fake.arming);
        assert_int_equal(fake.sleeps, 0);
        assert_int_equal(fake.move_count, opens_only ? 1 : 0);
        assert_false(fake_is_armed());
    }
}

/* ---- answers that name nothing ---- */

static void answers_to_a_request_that_is_over_are_ignored(void **state)
{
    struct weft_request *request;
    struct weft_request *later;
    uint64_t name;
    uint64_t later_name;

    (void)state;
    limit_shares(0);
    fake.repeat_control = 1; /* which no transport may do */
    request = announce(LONG, WEFT_SEND_STANDARD, &name);
    arrive_fetched(name);
    weft_progress();
    arrive_answer(A, WEFT_PKT_PULL,
                  (union weft_pkt_control){
                      .pull = {.request = name, .receiver = 9, .length = LONG}});
    weft_progress();
    end_request(request, WEFT_OK);
    fake_forget();

    /* The same memory, another request. */
    later = announce(LONG, WEFT_SEND_STANDARD, &later_name);
    assert_ptr_equal(later, request);
    assert_true(later_name != name);
    arrive_fetched(name);
    arrive_answer(A, WEFT_PKT_PULL,
                  (union weft_pkt_control){
                      .pull = {.request = name, .receiver = 9, .length = LONG}});
    weft_progress();
    assert_false(weft_request_is_complete(later));
    assert_int_equal(fake_count(WEFT_PKT_DATA), 0);
    arrive_fetched(later_name);
    weft_progress();
    end_request(later, WEFT_OK);
}

static void a_send_whose_end_is_lost_is_never_over(void **state)
{
    struct weft_request *request;
    uint64_t name;

    (void)state;
    limit_shares(0);
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

#define ANYONE UINT32_MAX /* a queue that many senders share */

static bool is_granted(uint32_t from)
{
    return weft_engine.hooks.wants(
        from == ANYONE ? NULL : weft_peer_get(weft_engine_process(from)));
}

static void chunks_that_were_asked_for_are_taken_also_by_a_full_store(void **state)
{
    struct weft_request *request;

    (void)state;
    fill_store();
    fake_reach(false);
    request = start_recv(A, 5, buffer, sizeof(buffer));
    arrive_announced(A, 5, message, LONG, 42);
    weft_progress();
    assert_true(is_granted(A));
    assert_true(is_granted(ANYONE)); /* where A has no lane, its chunks come so */
    assert_false(is_granted(B));
    answer_pull(fake_nth(WEFT_PKT_PULL, 0));
    weft_progress();
    assert_fetched(request, LONG, 42);
    assert_false(is_granted(A));
    assert_false(is_granted(ANYONE));
}

/* A helper whose store fails sends its chunk unasked. */
static void a_chunk_that_could_not_be_stored_is_taken_by_a_full_store(void **state)
{
    struct weft_request *request;

    (void)state;
    fill_store();
    request = start_helped();
    assert_int_equal(fake_count(WEFT_PKT_PULL), 0);
    assert_false(weft_request_is_complete(request));
    assert_true(is_granted(A));
    assert_true(is_granted(ANYONE));
    assert_int_equal(helped->note, transfer_name(request));
    for (uint64_t at = helped_at; at < helped_at + helped_length; at += 2048) {
        arrive_data(A, helped->note, message, at, 2048);
    }
    for (int i = 0; i < 20; i++) {
        weft_progress();
    }
    assert_received(request, HUGE_BYTES);
    assert_woken_once(); /* the sender cannot know that its chunks have arrived */
    assert_false(is_granted(A));
    assert_false(is_granted(ANYONE));
}

/* ---- checksums ---- */

/* An announcement of ours becomes one of a peer that has no share to give. */
static void without_share(struct fake_packet *packet)
{
    struct weft_pkt_announce announced;

    memcpy(&announced, packet->data, sizeof(announced));
    announced.request = 42;
    announced.share = WEFT_NO_SHARE;
    memcpy(packet->data, &announced, sizeof(announced));
    weft_seal_packet(&packet->header, packet->data, packet->len);
}

/* Announces the message to A and lets its packet come back as an announcement of A's. */
static struct fake_packet announced_with_sums(uint64_t length)
{
    struct fake_packet packet;
    struct weft_request *request;
    uint64_t name;

    fake_forget();
    request = announce(length, WEFT_SEND_STANDARD, &name);
    packet = *fake_nth(WEFT_PKT_ANNOUNCE, 0);
    assert_int_equal(packet.len, sizeof(struct weft_pkt_announce) + 4 * WEFT_SUM_BLOCKS);
    fetch_announced(length);
    weft_progress();
    end_request(request, WEFT_OK);

    packet.header.source = A;
    without_share(&packet);
    return packet;
}

static uint32_t announced_as; /* the number of the packet that was received last */

/* Receives it, by fetching or in chunks, posted before or after it came. */
static void receive(const struct fake_packet *packet, bool is_reachable, bool is_posted,
                    enum weft_rc rc)
{
    struct weft_header header = packet->header;
    struct weft_request *request = NULL;

    fake_forget();
    fake_reach(is_reachable);
    if (is_posted) {
        request = start_recv(A, 5, buffer, sizeof(buffer));
    }
    announced_as = header.sequence = fake_number(A);
    weft_seal_packet(&header, packet->data, packet->len);
    fake_arrive(A, header, packet->data, packet->len, WEFT_SEND_URGENT);
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
    char middle[64];
    const char *where = strstr(said, "the block at offset ");
    unsigned long long from;
    unsigned long long to;

    snprintf(begin, sizeof(begin), "a message of %llu bytes from rank 1 of",
             (unsigned long long)length);
    assert_non_null(strstr(said, "weft: rank 0 on here: "));
    assert_non_null(strstr(said, begin));
    snprintf(middle, sizeof(middle), "with tag 5, sequence %u,", announced_as);
    assert_non_null(strstr(said, middle));
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
    weft_p2p_set_checksum(true);
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
    weft_p2p_set_checksum(true);
    for (uint64_t length = 0; length < 3; length++) {
        struct fake_packet packet;
        struct weft_request *request;
        uint64_t name;

        fake_forget();
        request = announce(length, WEFT_SEND_SYNCHRONOUS, &name);
        packet = *fake_nth(WEFT_PKT_ANNOUNCE, 0);
        packet.header.source = A;
        without_share(&packet);
        if (length == 0) {
            arrive_fetched(name);
        } else {
            fetch_announced(length);
        }
        weft_progress();
        end_request(request, WEFT_OK);
        receive(&packet, true, true, WEFT_OK);
    }
}

/* ---- offers ---- */

/* Posts a receive that A is told of, and says which share it may claim. */
static struct weft_request *offer_to(struct weft_copy_share **share,
                                     struct weft_pkt_offer *offer)
{
    struct weft_request *request = NULL;

    /* A peer that was never spoken to has no queue to tell it by. */
    end_request(start_send(A, 9, message, 8, WEFT_SEND_STANDARD), WEFT_OK);
    weft_lock();
    weft_engine.has_progress = true;
    assert_int_equal(weft_irecv_locked(&fixture_comm, WEFT_PLANE_P2P, A, 5, buffer,
                                       SHARE_FROM, &request),
                     WEFT_OK);
    weft_engine.has_progress = false;
    weft_unlock();
    assert_int_equal(fake_count(WEFT_PKT_OFFER), 1);
    *offer = answer_in(fake_nth(WEFT_PKT_OFFER, 0)).offer;
    *share = share_of(0, (uint32_t)offer->share);
    return request;
}

/* The sender's store failed, and its DATA come before we have seen that it claimed. */
static void data_for_an_offered_receive_may_come_before_its_claim_is_seen(void **state)
{
    struct weft_share_terms terms = {.length = SHARE_FROM, .note = SHARE_FROM};
    struct weft_pkt_offer offer;
    struct weft_copy_share *share;
    struct weft_request *request;
    uint64_t at;
    uint64_t part;

    (void)state;
    request = offer_to(&share, &offer);
    assert_true(weft_share_claim(share, (uint32_t)(offer.share >> 32)));
    terms.chunk = terms.length;
    weft_share_open(share, (uint32_t)(offer.share >> 32), &terms);
    assert_true(weft_share_claim_chunk(share, (uint32_t)(offer.share >> 32),
                                       WEFT_SHARE_SENDER, &at, &part));
    for (at = 0; at < SHARE_FROM; at += 2048) {
        arrive_data(A, offer.request, message, at, 2048);
    }
    while (fake_pending() != 0) {
        weft_progress();
    }
    end_recv(request, A, 5, SHARE_FROM);
    assert_pattern(buffer, SHARE_FROM, 1);
    assert_int_equal(fake_count(WEFT_PKT_FETCHED), 0);
    assert_int_equal(shares_used(), 0);
    assert_woken_once();
}

/* What A sends after a message of ours, or for one that takes our offer. */
static void arrive_sums(uint64_t receive, const uint8_t *bytes, uint64_t length)
{
    const uint64_t pages = UINT64_C(4096) * WEFT_SUM_BLOCKS;
    const uint64_t block = (length + pages - 1) / pages * 4096;
    union weft_pkt_control answer = {.sums = {.request = receive}};

    for (uint64_t at = 0; at < length; at += block) {
        answer.sums.sums[at / block] =
            weft_crc32c(bytes + at, (size_t)(length - at < block ? length - at : block));
    }
    arrive_answer(A, WEFT_PKT_SUMS, answer);
}

/* A takes an offer and stores the message, of which it sends the sums, before or after.
 */
static void store_by_offer(bool are_sums_first, uint64_t changed, enum weft_rc rc)
{
    struct weft_share_terms terms = {
        .length = SHARE_FROM, .note = SHARE_FROM, .chunk = SHARE_FROM};
    struct weft_pkt_offer offer;
    struct weft_copy_share *share;
    struct weft_request *request;
    uint64_t at;
    uint64_t part;

    fake_forget();
    request = offer_to(&share, &offer);
    assert_true(weft_share_claim(share, (uint32_t)(offer.share >> 32)));
    weft_share_open(share, (uint32_t)(offer.share >> 32), &terms);
    assert_true(weft_share_claim_chunk(share, (uint32_t)(offer.share >> 32),
                                       WEFT_SHARE_SENDER, &at, &part));
    if (are_sums_first) {
        arrive_sums(offer.request, message, SHARE_FROM);
        weft_progress();
    }
    memcpy(buffer, message, SHARE_FROM);
    buffer[changed] ^= (uint8_t)(rc == WEFT_OK ? 0 : 1);
    assert_true(weft_share_count(share, SHARE_FROM));
    weft_progress();
    if (!are_sums_first) {
        assert_false(weft_request_is_complete(request));
        assert_false(weft_transfers_have_news());
        arrive_sums(offer.request, message, SHARE_FROM);
        weft_progress();
    }
    end_request(request, rc);
    assert_int_equal(shares_used(), 0);
}

static void a_stored_message_is_received_when_its_sums_have_come_and_fit(void **state)
{
    (void)state;
    weft_p2p_set_checksum(true);
    for (int first = 0; first < 2; first++) {
        store_by_offer(first, 0, WEFT_OK);
        for (uint64_t part = 0; part < WEFT_SUM_BLOCKS; part++) {
            start_listening();
            store_by_offer(first, (part + 1) * SHARE_FROM / WEFT_SUM_BLOCKS - 1,
                           WEFT_ERR_CHECKSUM);
            assert_non_null(strstr(stop_listening(), "changed on its way"));
        }
    }
}

/* A announces a message whose sums it owes, and we fetch all of it. */
static void fetch_with_late_sums(uint64_t length, uint64_t changed, enum weft_rc rc)
{
    struct weft_pkt_announce announce = {
        .length = length,
        .address = (uint64_t)(uintptr_t)message,
        .request = 42,
        .share =
            (uint64_t)weft_share_announce(share_of(A, 0), (uint64_t)(uintptr_t)message)
            << 32,
    };
    struct weft_header header = fixture_header(WEFT_PKT_ANNOUNCE, A, 5);
    struct weft_request *request = start_recv(A, 5, buffer, sizeof(buffer));

    header.length = sizeof(announce);
    header.sequence = fake_number(A);
    weft_seal_packet(&header, &announce, sizeof(announce));
    fake_arrive(A, header, &announce, sizeof(announce), WEFT_SEND_URGENT);
    message[changed] ^= (uint8_t)(rc == WEFT_OK ? 0 : 1);
    while (fake_pending() != 0) {
        weft_progress();
    }
    weft_progress();
    message[changed] ^= (uint8_t)(rc == WEFT_OK ? 0 : 1);
    assert_false(weft_request_is_complete(request));
    arrive_sums(transfer_name(request), message, length);
    weft_progress();
    end_request(request, rc);
}

static void a_message_whose_sums_follow_is_received_when_they_fit(void **state)
{
    static const uint64_t lengths[] = {4097, LONG, 65536, 65537, HUGE_BYTES};

    (void)state;
    weft_p2p_set_checksum(true);
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        fake_forget();
        fetch_with_late_sums(lengths[i], 0, WEFT_OK);
        for (uint64_t part = 1; part <= WEFT_SUM_BLOCKS; part++) {
            start_listening();
            fetch_with_late_sums(lengths[i], part * lengths[i] / WEFT_SUM_BLOCKS - 1,
                                 WEFT_ERR_CHECKSUM);
            assert_non_null(strstr(stop_listening(), "changed on its way"));
        }
    }
}

/* A says that it has posted a receive, with a share of its own. */
static void arrive_offer(int tag, uint32_t number, void *target)
{
    const uint32_t generation =
        weft_share_offer(share_of(A, number), (uint64_t)(uintptr_t)target, SHARE_FROM);

    arrive_answer(
        A, WEFT_PKT_OFFER,
        (union weft_pkt_control){.offer = {.share = (uint64_t)generation << 32 | number,
                                           .context = FIXTURE_CONTEXT,
                                           .tag = tag,
                                           .length = SHARE_FROM}});
}

/* However many offers A has taken back since: the oldest that holds is not forgotten. */
static void a_message_takes_the_oldest_of_many_offers(void **state)
{
    enum { OLD = 0, YOUNG = 1, OTHER = 2, MANY = 100 };
    static uint8_t old_place[SHARE_FROM];
    static uint8_t young_place[SHARE_FROM];
    struct weft_request *request;

    (void)state;
    set_peers_inside(false);
    arrive_offer(5, OLD, old_place);
    arrive_offer(5, YOUNG, young_place);
    for (int i = 0; i < MANY; i++) {
        arrive_offer(6, OTHER, buffer);
    }
    while (fake_pending() != 0) {
        weft_progress();
    }
    request = start_send(A, 5, message, SHARE_FROM, WEFT_SEND_STANDARD);
    weft_progress();
    end_request(request, WEFT_OK);
    assert_int_equal(fake_count(WEFT_PKT_ANNOUNCE), 0);
    assert_pattern(old_place, SHARE_FROM, 1);
    assert_true(weft_share_take_back(share_of(A, YOUNG), 1));
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, open_with_message, fixture_close)
    const struct CMUnitTest tests[] = {
        CASE(an_announced_message_is_fetched_and_the_sender_told_once),
        CASE(an_announced_share_is_opened_and_its_sender_told_nothing),
        CASE(an_announcement_before_the_receive_is_kept),
        CASE(an_announced_message_of_any_length_is_fetched_whole),
        CASE(what_cannot_be_reached_is_asked_for_and_comes_in_any_order),
        CASE(two_messages_in_chunks_do_not_mix),
        CASE(a_fetch_that_fails_in_the_middle_asks_for_what_is_missing),
        CASE(a_truncated_receive_asks_only_for_what_fits),
        CASE(a_receive_without_room_fetches_nothing_and_tells_the_sender),
        CASE(a_receive_without_room_opens_the_share_and_wakes_the_sender),

        CASE(a_sender_that_helps_copies_from_the_back_and_the_receiver_the_front),
        CASE(chunks_are_small_only_where_sharing_pays),
        CASE(a_receive_waits_for_the_chunks_that_the_sender_has_claimed),
        CASE(a_share_in_another_turn_ends_the_receive),
        CASE(a_fetch_that_fails_beside_a_helper_asks_for_all_but_its_chunk),
        CASE(every_byte_is_copied_or_asked_for_once_however_helpers_meet),

        CASE(a_long_send_is_over_when_all_is_counted),
        CASE(a_sender_without_a_share_learns_the_end_from_the_receiver),
        CASE(shares_are_used_again_in_another_turn),
        CASE(an_announcement_that_finds_no_room_gives_its_share_back),
        CASE(a_synchronous_send_is_over_only_when_it_was_fetched),
        CASE(a_send_that_is_cut_off_is_over_when_the_rest_is_counted),
        CASE(a_pull_is_answered_with_exactly_these_bytes),
        CASE(chunks_that_find_the_queue_full_wait_and_messages_pass_them),

        CASE(a_sender_stores_from_the_back_what_nobody_has_claimed),
        CASE(a_sender_that_counts_the_last_chunk_wakes_the_receiver),
        CASE(a_store_that_fails_sends_that_chunk_to_who_opened_the_share),
        CASE(a_store_that_fails_sends_exactly_that_chunk),
        CASE(a_blocking_send_sleeps_until_its_share_is_over),
        CASE(an_answer_just_before_the_sleep_is_seen),

        CASE(answers_to_a_request_that_is_over_are_ignored),
        CASE(a_send_whose_end_is_lost_is_never_over),

        CASE(a_long_message_to_ourselves_is_copied),

        CASE(chunks_that_were_asked_for_are_taken_also_by_a_full_store),
        CASE(a_chunk_that_could_not_be_stored_is_taken_by_a_full_store),

        CASE(a_long_message_that_changed_on_its_way_is_reported),
        CASE(a_synchronous_message_of_no_or_few_bytes_has_a_checksum_that_fits),
        CASE(a_stored_message_is_received_when_its_sums_have_come_and_fit),
        CASE(a_message_whose_sums_follow_is_received_when_they_fit),
        CASE(data_for_an_offered_receive_may_come_before_its_claim_is_seen),
        CASE(a_message_takes_the_oldest_of_many_offers),
    };

    alarm(LIMIT_SECONDS);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
