/*
 * test_copy_share.c - one long transfer that two sides work on: who may begin, open and
 * claim it, and that every byte is handed out exactly once, however the two meet.
 */
#include "unit.h"

#include "copy_share.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

enum {
    UNIT = 4096, /* chunks begin at its multiples */
    LIMIT_SECONDS = 580,
};

static struct weft_share_terms terms_of(uint64_t length, uint64_t chunk)
{
    return (struct weft_share_terms){
        .source = 111,
        .target = 222,
        .length = length,
        .note = 333,
        .chunk = chunk,
    };
}

static uint32_t fill(struct weft_copy_share *share, uint64_t length, uint64_t chunk)
{
    const struct weft_share_terms terms = terms_of(length, chunk);

    return share_fill(share, &terms);
}

static bool can_claim(struct weft_copy_share *share, uint32_t generation)
{
    uint64_t offset;
    uint64_t length;

    return weft_share_claim_chunk(share, generation, WEFT_SHARE_RECEIVER, &offset,
                                  &length) ||
           weft_share_claim_chunk(share, generation, WEFT_SHARE_SENDER, &offset, &length);
}

/* Claims a chunk, which must be this one. */
static void claim_exactly(struct weft_copy_share *share, uint32_t generation,
                          enum weft_share_side side, uint64_t offset, uint64_t length)
{
    uint64_t at;
    uint64_t part;

    assert_true(weft_share_claim_chunk(share, generation, side, &at, &part));
    assert_int_equal(at, offset);
    assert_int_equal(part, length);
}

/* ---- states ---- */

static void zero_is_a_share_in_which_nothing_can_be_done(void **state)
{
    struct weft_copy_share share = {.state = 0};

    (void)state;
    assert_int_equal(share_state(&share), WEFT_SHARE_FREE);
    assert_false(weft_share_is_over(&share, 0));
    assert_false(weft_share_has_chunks(&share, 0));
    assert_false(can_claim(&share, 0));
    assert_false(weft_share_claim(&share, 0));
    assert_false(weft_share_take_back(&share, 0));
}

static void an_announced_transfer_is_opened_claimed_and_over(void **state)
{
    const struct weft_share_terms terms = terms_of(3 * UNIT + 5, UNIT);
    struct weft_copy_share share = {.state = 0};
    const uint32_t generation = weft_share_announce(&share, 111);

    (void)state;
    assert_int_equal(share_generation(&share), generation);
    assert_int_equal(share_state(&share), WEFT_SHARE_ANNOUNCED);
    assert_int_equal(share.source, 111);
    assert_false(weft_share_has_chunks(&share, generation));
    assert_false(can_claim(&share, generation));
    assert_false(weft_share_claim(&share, generation)); /* which is for offers */
    assert_false(weft_share_take_back(&share, generation));

    weft_share_open(&share, generation, &terms);
    assert_int_equal(share_generation(&share), generation);
    assert_int_equal(share_state(&share), WEFT_SHARE_OPEN);
    assert_int_equal(share.target, 222);
    assert_int_equal(share.note, 333);
    assert_true(weft_share_has_chunks(&share, generation));
    assert_false(weft_share_is_over(&share, generation));

    claim_exactly(&share, generation, WEFT_SHARE_RECEIVER, 0, UNIT);
    claim_exactly(&share, generation, WEFT_SHARE_SENDER, 3 * UNIT, 5);
    claim_exactly(&share, generation, WEFT_SHARE_SENDER, 2 * UNIT, UNIT);
    assert_true(weft_share_has_chunks(&share, generation));
    claim_exactly(&share, generation, WEFT_SHARE_RECEIVER, UNIT, UNIT);
    assert_false(weft_share_has_chunks(&share, generation));
    assert_false(can_claim(&share, generation));

    /* In any order, and in parts. */
    assert_false(weft_share_count(&share, UNIT));
    assert_false(weft_share_count(&share, 5));
    assert_false(weft_share_count(&share, 2 * UNIT - 1));
    assert_false(weft_share_is_over(&share, generation));
    assert_true(weft_share_count(&share, 1));
    assert_true(weft_share_is_over(&share, generation));
}

static void an_offer_is_claimed_by_one_or_taken_back_by_the_other(void **state)
{
    const struct weft_share_terms terms = terms_of(100, UNIT);
    struct weft_copy_share share = {.state = 0};
    uint32_t generation = weft_share_offer(&share, 222, 5000);

    (void)state;
    assert_int_equal(share_state(&share), WEFT_SHARE_OFFERED);
    assert_int_equal(share.target, 222);
    assert_int_equal(atomic_load(&share.length), 5000);
    assert_false(can_claim(&share, generation));
    assert_false(weft_share_is_over(&share, generation));
    assert_true(weft_share_claim(&share, generation));
    assert_int_equal(share_state(&share), WEFT_SHARE_CLAIMED);
    assert_false(weft_share_claim(&share, generation));
    assert_false(weft_share_take_back(&share, generation));
    assert_false(can_claim(&share, generation));
    assert_false(weft_share_is_over(&share, generation));
    weft_share_open(&share, generation, &terms);
    assert_int_equal(share_state(&share), WEFT_SHARE_OPEN);
    assert_false(weft_share_claim(&share, generation));
    assert_false(weft_share_take_back(&share, generation));
    claim_exactly(&share, generation, WEFT_SHARE_SENDER, 0, 100);
    assert_true(weft_share_count(&share, 100));
    assert_true(weft_share_is_over(&share, generation));

    generation = weft_share_offer(&share, 222, 5000);
    assert_true(weft_share_take_back(&share, generation));
    assert_int_equal(share_state(&share), WEFT_SHARE_TAKEN);
    assert_false(weft_share_claim(&share, generation));
    assert_false(weft_share_take_back(&share, generation));
    assert_false(can_claim(&share, generation));
    assert_false(weft_share_is_over(&share, generation));
}

static void who_comes_with_a_former_turn_finds_it_over_and_gets_nothing(void **state)
{
    struct weft_copy_share share = {.state = 0};
    uint32_t former = fill(&share, 100, UNIT);

    (void)state;
    for (int round = 0; round < 4; round++) {
        uint32_t generation;

        switch (round) {
        case 0:
            generation = weft_share_announce(&share, 1);
            break;
        case 1:
            generation = fill(&share, 100, UNIT);
            break;
        case 2:
            generation = weft_share_offer(&share, 1, 1);
            break;
        default:
            generation = fill(&share, 0, UNIT);
        }
        assert_int_not_equal(generation, former);
        assert_true(weft_share_is_over(&share, former));
        assert_false(weft_share_has_chunks(&share, former));
        assert_false(can_claim(&share, former));
        assert_false(weft_share_claim(&share, former));
        assert_false(weft_share_take_back(&share, former));
        assert_int_equal(weft_share_has_chunks(&share, generation), round == 1);
        former = generation;
    }
}

static void turns_go_round(void **state)
{
    struct weft_copy_share share = {.state = (uint64_t)UINT32_MAX << 32};
    const uint32_t generation = fill(&share, 100, UNIT);

    (void)state;
    assert_int_equal(generation, 0);
    claim_exactly(&share, generation, WEFT_SHARE_RECEIVER, 0, 100);
    assert_true(weft_share_count(&share, 100));
    assert_true(weft_share_is_over(&share, generation));
    for (uint32_t i = 1; i < 70000;
         i++) { /* past all that the range tells of a generation */
        assert_int_equal(fill(&share, 100, UNIT), i);
        assert_false(can_claim(&share, i - 1));
        claim_exactly(&share, i, WEFT_SHARE_SENDER, 0, 100);
    }
}

/* ---- lengths ---- */

static void nothing_is_over_as_soon_as_it_is_open(void **state)
{
    struct weft_copy_share share = {.state = 0};

    (void)state;
    for (uint64_t chunk = 0; chunk <= UNIT + 1; chunk += UNIT + 1) {
        const uint32_t generation = fill(&share, 0, chunk);

        assert_true(weft_share_is_over(&share, generation));
        assert_false(weft_share_has_chunks(&share, generation));
        assert_false(can_claim(&share, generation));
    }
}

/* Claims with either side as the bits of `random` say; the chunks meet without a gap. */
static void claim_to_the_end(struct weft_copy_share *share, uint32_t generation,
                             uint64_t length, uint64_t random)
{
    uint64_t front = 0;
    uint64_t back = length;
    uint64_t offset;
    uint64_t part;

    while (front < back) {
        const bool is_front = (random & 1) != 0;

        assert_true(weft_share_has_chunks(share, generation));
        assert_true(weft_share_claim_chunk(
            share, generation, is_front ? WEFT_SHARE_RECEIVER : WEFT_SHARE_SENDER,
            &offset, &part));
        assert_true(part > 0 && part <= back - front);
        assert_int_equal(is_front ? offset : offset + part, is_front ? front : back);
        front += is_front ? part : 0;
        back -= is_front ? 0 : part;
        assert_int_equal(weft_share_count(share, part), front == back);
        random = random >> 1 | random << 63;
    }
    assert_int_equal(front, back);
    assert_false(can_claim(share, generation));
    assert_true(weft_share_is_over(share, generation));
}

static void every_length_is_handed_out_from_both_ends_without_a_gap(void **state)
{
    static const uint64_t lengths[] = {
        1,        2,     UNIT - 1,   UNIT,        UNIT + 1,        2 * UNIT - 1,
        2 * UNIT, 65535, 100 * 1000, 1024 * 1024, 1024 * 1024 + 1,
    };
    struct weft_copy_share share = {.state = 0};

    (void)state;
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        const uint64_t length = lengths[i];
        const uint64_t chunks[] = {1,      UNIT,      UNIT + 1, (length + 1) / 2,
                                   length, 2 * length};

        for (size_t p = 0; p < sizeof(chunks) / sizeof(chunks[0]); p++) {
            const uint64_t ways[] = {0, UINT64_MAX, UINT64_C(0x5555555555555555),
                                     UINT64_C(0x1234567890abcdef)};

            for (size_t w = 0; w < sizeof(ways) / sizeof(ways[0]); w++) {
                const uint32_t generation = fill(&share, length, chunks[p]);

                claim_to_the_end(&share, generation, length, ways[w]);
            }
        }
    }
}

static void a_chunk_is_as_long_as_was_agreed_rounded_up_to_units(void **state)
{
    struct weft_copy_share share = {.state = 0};
    uint32_t generation = fill(&share, 100 * 1000, 50 * 1000);

    (void)state;
    claim_exactly(&share, generation, WEFT_SHARE_SENDER, 12 * UNIT,
                  100 * 1000 - 12 * UNIT);
    claim_exactly(&share, generation, WEFT_SHARE_RECEIVER, 0,
                  12 * UNIT); /* what is left */
    generation = fill(&share, 100 * 1000, 50 * 1000);
    claim_exactly(&share, generation, WEFT_SHARE_RECEIVER, 0, 13 * UNIT);
    claim_exactly(&share, generation, WEFT_SHARE_SENDER, 13 * UNIT,
                  100 * 1000 - 13 * UNIT);
}

/* Beyond 64 GiB the units grow. */
static void very_long_transfers_are_counted_in_longer_units(void **state)
{
    static const uint64_t powers[] = {36, 37, 40, 48, 54};
    struct weft_copy_share share = {.state = 0};

    (void)state;
    for (size_t i = 0; i < sizeof(powers) / sizeof(powers[0]); i++) {
        for (int more = -1; more <= 1; more++) {
            const uint64_t length = (UINT64_C(1) << powers[i]) + (uint64_t)(int64_t)more;
            const uint64_t chunk = length / 100 + 1;
            const uint32_t generation = fill(&share, length, chunk);

            claim_to_the_end(&share, generation, length, UINT64_C(0x123456789abcdef0));
            assert_true(share_chunk(&share) >= chunk);
            assert_true(share_chunk(&share) < chunk + share.unit);
        }
    }
}

/* ---- interleavings ---- */

static uint64_t next_random(uint64_t *random)
{
    *random ^= *random >> 12;
    *random ^= *random << 25;
    *random ^= *random >> 27;
    return *random * UINT64_C(0x2545f4914f6cdd1d);
}

enum { MARKS = 64 }; /* units of a transfer, at most */

static uint64_t some_length(uint64_t *random)
{
    return 1 + next_random(random) % (MARKS * UNIT);
}

static uint64_t some_chunk(uint64_t *random)
{
    return 1 + next_random(random) % (8 * UNIT);
}

/* Both sides have chunks under way and count them late, in any order. */
static void every_byte_is_handed_out_once_in_any_interleaving(void **state)
{
    struct weft_copy_share share = {.state = 0};
    uint64_t random = 9;

    (void)state;
    for (int round = 0; round < 20000; round++) {
        const uint64_t length = some_length(&random);
        const uint32_t generation = fill(&share, length, some_chunk(&random));
        uint64_t under_way[MARKS];
        uint64_t marks = 0;
        uint64_t counted = 0;
        uint32_t count = 0;

        while (counted < length) {
            const uint64_t dice = next_random(&random) >> 60;
            uint64_t offset;
            uint64_t part;

            assert_false(weft_share_is_over(&share, generation));
            assert_false(can_claim(&share, generation - 1));
            if (dice < 10 && weft_share_claim_chunk(&share, generation,
                                                    (enum weft_share_side)(dice % 2),
                                                    &offset, &part)) {
                assert_int_equal(offset % UNIT, 0);
                assert_true(part > 0 && part <= length - offset);
                for (uint64_t at = offset / UNIT; at * UNIT < offset + part; at++) {
                    assert_true((marks & UINT64_C(1) << at) == 0);
                    marks |= UINT64_C(1) << at;
                }
                under_way[count++] = part;
            } else if (count > 0) {
                const uint64_t which = next_random(&random) % count;

                counted += under_way[which];
                assert_int_equal(weft_share_count(&share, under_way[which]),
                                 counted == length);
                under_way[which] = under_way[--count];
            }
        }
        assert_int_equal(counted, length);
        assert_int_equal(count, 0);
        assert_true(weft_share_is_over(&share, generation));
        assert_true(marks == UINT64_MAX >> (MARKS - (length + UNIT - 1) / UNIT));
    }
}

/* ---- two threads ---- */

enum { ROUNDS = 5000 };

/* Often not at all. */
static void pause_a_little(uint64_t *random)
{
    const uint64_t dice = next_random(random) >> 57;

    for (volatile uint64_t i = dice < 64 ? 0 : dice - 64; i > 0; i--) {
    }
}

/*
 * A receiver and a sender that is told the generation, and sometimes comes too late for
 * it. What they mark is plain memory: the thread sanitizer sees whether the share orders
 * it.
 */
static struct {
    struct weft_copy_share share;
    _Atomic uint32_t told;
    _Atomic uint64_t helped; /* chunks that the sender has got */
    _Atomic bool is_last;    /* no generation follows the one that was told */
    uint8_t marks[MARKS];    /* how often each unit was handed out in this generation */
} meeting;

/* Marks and counts what it can get; returns how many chunks. */
static uint64_t mark_all(uint32_t generation, enum weft_share_side side, uint64_t *random)
{
    uint64_t chunks = 0;
    uint64_t offset;
    uint64_t length;

    while (weft_share_claim_chunk(&meeting.share, generation, side, &offset, &length)) {
        for (uint64_t at = offset / UNIT; at * UNIT < offset + length; at++) {
            meeting.marks[at]++;
        }
        pause_a_little(random);
        weft_share_count(&meeting.share, length);
        chunks++;
    }
    return chunks;
}

static void *send_thread(void *ignored)
{
    uint64_t random = 7;
    uint32_t seen = 0;

    (void)ignored;
    for (;;) {
        const bool is_last = atomic_load_explicit(&meeting.is_last, memory_order_acquire);
        const uint32_t generation =
            atomic_load_explicit(&meeting.told, memory_order_acquire);

        if (generation == seen && is_last) {
            return NULL;
        }
        if (generation == seen) {
            sched_yield();
            continue;
        }
        seen = generation;
        while (!weft_share_is_over(&meeting.share, generation) &&
               !weft_share_has_chunks(&meeting.share, generation)) {
            sched_yield();
        }
        pause_a_little(&random);
        atomic_fetch_add_explicit(&meeting.helped,
                                  mark_all(generation, WEFT_SHARE_SENDER, &random),
                                  memory_order_relaxed);
    }
}

/* Where other programs leave one processor to both threads, the sender may come too late
 * in every round: then this proves nothing yet, and goes on. */
static bool proves_enough(uint32_t rounds)
{
    return rounds >= ROUNDS &&
           (atomic_load(&meeting.helped) > 0 || rounds >= 50 * (uint32_t)ROUNDS);
}

static void two_threads_are_never_given_the_same_bytes(void **state)
{
    uint64_t random = 3;
    pthread_t thread;

    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, send_thread, NULL), 0);
    for (uint32_t round = 1; !proves_enough(round - 1); round++) {
        const uint64_t length = some_length(&random);
        const uint64_t chunk = round % 2 == 0 ? UNIT : some_chunk(&random);
        const struct weft_share_terms terms = terms_of(length, chunk);
        const uint32_t generation = weft_share_announce(&meeting.share, 111);

        atomic_store_explicit(&meeting.told, generation, memory_order_release);
        pause_a_little(&random);
        weft_share_open(&meeting.share, generation, &terms);
        mark_all(generation, WEFT_SHARE_RECEIVER, &random);
        while (!weft_share_is_over(&meeting.share, generation) &&
               share_copied(&meeting.share) <= length) { /* more: the marks will tell */
            sched_yield();
        }
        for (uint64_t at = 0; at < MARKS; at++) {
            if (meeting.marks[at] != (at * UNIT < length ? 1 : 0)) {
                fail_msg("round %u: unit %u was handed out %u times", round, (unsigned)at,
                         meeting.marks[at]);
            }
            meeting.marks[at] = 0;
        }
    }
    atomic_store_explicit(&meeting.is_last, true, memory_order_release);
    pthread_join(thread, NULL);
    assert_true(atomic_load(&meeting.helped) > 0); /* or this proves nothing */
}

/* A sender would like an offer that its receiver would like back: one of them gets it. */
static struct {
    struct weft_copy_share share;
    _Atomic uint32_t told;
    _Atomic uint32_t answered; /* generation << 1 | claimed, by the sender */
    bool is_wrong;             /* it saw another offer */
} bargain;

static void *claim_thread(void *ignored)
{
    uint64_t random = 11;
    uint32_t seen = 0;

    (void)ignored;
    while (seen < ROUNDS) {
        const uint32_t generation =
            atomic_load_explicit(&bargain.told, memory_order_acquire);
        bool is_mine;

        if (generation == seen) {
            sched_yield();
            continue;
        }
        seen = generation;
        pause_a_little(&random);
        is_mine = weft_share_claim(&bargain.share, generation);
        if (is_mine && bargain.share.target != 2 * (uint64_t)generation) {
            bargain.is_wrong = true;
        }
        atomic_store_explicit(&bargain.answered, generation << 1 | (is_mine ? 1 : 0),
                              memory_order_release);
    }
    return NULL;
}

static void an_offer_is_claimed_or_taken_back_never_both(void **state)
{
    uint64_t random = 5;
    pthread_t thread;

    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, claim_thread, NULL), 0);
    for (uint32_t round = 1; round <= ROUNDS; round++) {
        const uint32_t generation =
            weft_share_offer(&bargain.share, 2 * (uint64_t)round, 100);
        bool is_back;
        uint32_t answer;

        assert_int_equal(generation, round);
        atomic_store_explicit(&bargain.told, generation, memory_order_release);
        pause_a_little(&random);
        is_back = weft_share_take_back(&bargain.share, generation);
        while ((answer = atomic_load_explicit(&bargain.answered, memory_order_acquire)) >>
                   1 !=
               generation) {
            sched_yield();
        }
        assert_int_equal(is_back, (answer & 1) == 0);
    }
    pthread_join(thread, NULL);
    assert_false(bargain.is_wrong);
}

/*
 * The owner of a share uses it for one transfer after the other. A process that asks
 * whether its own one is over may read the share while the next one begins in it.
 */
static struct {
    struct weft_copy_share share;
    _Atomic uint32_t ended; /* the generation that was counted last; 0: none yet */
    _Atomic bool is_last;
} reuse;

static uint32_t begin_next(uint32_t round)
{
    uint32_t generation;

    if (round % 2 == 0) {
        return weft_share_announce(&reuse.share, 111);
    }
    generation = weft_share_offer(&reuse.share, 222, (5 + round % 3) * UNIT);
    weft_share_claim(&reuse.share, generation);
    return generation;
}

static void *reuse_thread(void *ignored)
{
    enum { REUSES = 1000000 };
    uint64_t random = 13;

    (void)ignored;
    for (uint32_t round = 0; round < REUSES; round++) {
        const uint64_t length = (1 + round % 3) * UNIT;
        const struct weft_share_terms terms = terms_of(length, length);
        const uint32_t generation = begin_next(round);

        weft_share_open(&reuse.share, generation, &terms);
        weft_share_count(&reuse.share, length);
        atomic_store_explicit(&reuse.ended, generation, memory_order_release);
        pause_a_little(&random);
    }
    atomic_store_explicit(&reuse.is_last, true, memory_order_release);
    return NULL;
}

static void what_is_over_stays_so_while_the_next_transfer_begins(void **state)
{
    uint64_t missed = 0;
    pthread_t thread;

    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, reuse_thread, NULL), 0);
    while (!atomic_load_explicit(&reuse.is_last, memory_order_acquire)) {
        const uint32_t ended = atomic_load_explicit(&reuse.ended, memory_order_acquire);

        missed += ended != 0 && !weft_share_is_over(&reuse.share, ended) ? 1 : 0;
    }
    pthread_join(thread, NULL);
    assert_int_equal(missed, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zero_is_a_share_in_which_nothing_can_be_done),
        cmocka_unit_test(an_announced_transfer_is_opened_claimed_and_over),
        cmocka_unit_test(an_offer_is_claimed_by_one_or_taken_back_by_the_other),
        cmocka_unit_test(who_comes_with_a_former_turn_finds_it_over_and_gets_nothing),
        cmocka_unit_test(turns_go_round),

        cmocka_unit_test(nothing_is_over_as_soon_as_it_is_open),
        cmocka_unit_test(every_length_is_handed_out_from_both_ends_without_a_gap),
        cmocka_unit_test(a_chunk_is_as_long_as_was_agreed_rounded_up_to_units),
        cmocka_unit_test(very_long_transfers_are_counted_in_longer_units),

        cmocka_unit_test(every_byte_is_handed_out_once_in_any_interleaving),
        cmocka_unit_test(two_threads_are_never_given_the_same_bytes),
        cmocka_unit_test(an_offer_is_claimed_or_taken_back_never_both),
        cmocka_unit_test(what_is_over_stays_so_while_the_next_transfer_begins),
    };

    alarm(LIMIT_SECONDS);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
