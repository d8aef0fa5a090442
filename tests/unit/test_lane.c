/*
 * test_lane.c - the lane, with two threads that stand for two processes.
 *
 * Everything that is sent consists of words that look like flags: lengths plus one, and
 * the mark of a wrap. A receiver that took old bytes for a flag would find a message
 * where there is none. Sizes, headers and bytes follow from a message's number, so that
 * both sides know them.
 */
#include "unit.h"

#include "sanitized.h"
#include "transport/shm/lane.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    LARGEST = WEFT_SHORT_MAX,
    LARGEST_CELLS = (WEFT_CELL_HEAD + LARGEST + WEFT_CELL_BYTES - 1) / WEFT_CELL_BYTES,
    IN_ONE_CELL = WEFT_CELL_BYTES - WEFT_CELL_HEAD,
    WORDS = 8192,
    LIMIT_SECONDS = 580,
};

static uint32_t words[WORDS]; /* all messages are parts of this */
static struct weft_lane lane;

static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 31)) * UINT64_C(0x9e3779b97f4a7c15);
    return x ^ (x >> 29);
}

static int fill_words(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < WORDS; i++) {
        const uint64_t r = mix(i + 1);

        words[i] = r % 5 == 0   ? WEFT_CELL_WRAP
                   : r % 5 == 1 ? (uint32_t)(r >> 8) % 40 + 1
                                : (uint32_t)(r >> 8) % (LARGEST + 1) + 1;
    }
    return 0;
}

struct message {
    uint8_t header[WEFT_HEADER_BYTES];
    const uint8_t *data;
    size_t len;
};

static struct message message_of(uint64_t number, size_t len)
{
    struct message m = {.len = len};

    m.data = (const uint8_t *)(words + mix(number) % (WORDS - LARGEST / 4));
    memcpy(m.header, words + mix(~number) % (WORDS - 8), sizeof(m.header));
    memcpy(m.header + 4, &number, sizeof(number));
    return m;
}

/* Most are small, as in life; some fill a lane in a few steps. */
static size_t random_length(uint64_t number)
{
    const uint64_t r = mix(number * 3 + 1);

    switch (r % 4) {
    case 0:
        return (size_t)(r >> 8) % (LARGEST + 1);
    case 1:
        return (size_t)(r >> 8) % 400;
    default:
        return (size_t)(r >> 8) % (IN_ONE_CELL + 2);
    }
}

static bool push(struct weft_lane_out *out, const struct message *m)
{
    return m->len <= IN_ONE_CELL ? weft_lane_push_small(out, m->header, m->data, m->len)
                                 : weft_lane_push(out, m->header, m->data, m->len);
}

/* The next message, if there is one; wrong ones are counted. */
static bool pop(struct weft_lane_in *in, const struct message *m, int *wrong)
{
    size_t len;
    struct weft_cell *cell = weft_lane_next(in, &len);

    if (cell == NULL) {
        return false;
    }
    if (len != m->len || memcmp(cell->header, m->header, sizeof(m->header)) != 0 ||
        memcmp((uint8_t *)cell + WEFT_CELL_HEAD, m->data, m->len) != 0) {
        (*wrong)++;
    }
    weft_lane_drop(in, m->len);
    return true;
}

/* ---- one thread: every place, full, empty ---- */

struct both {
    struct weft_lane_out out;
    struct weft_lane_in in;
    uint64_t sent;
    uint64_t taken;
    int wrong;
};

static void both_open(struct both *b)
{
    memset(&lane, 0, sizeof(lane));
    *b = (struct both){.out = {.lane = &lane}, .in = {.lane = &lane}};
}

/* A message goes in and comes out, and nothing comes after it. */
static void pass(struct both *b, size_t len)
{
    struct message m = message_of(b->sent++, len);
    size_t ignored;

    assert_true(push(&b->out, &m));
    assert_true(pop(&b->in, &m, &b->wrong));
    assert_int_equal(b->wrong, 0);
    assert_null(weft_lane_next(&b->in, &ignored));
}

/* Bytes of data in a message of so many cells: as many as fit, or as few. */
static size_t length_for(uint32_t cells, bool is_short)
{
    size_t most = (size_t)cells * WEFT_CELL_BYTES - WEFT_CELL_HEAD;
    size_t least = cells == 1 ? 0 : most - WEFT_CELL_BYTES + 1;

    return is_short ? least : most < LARGEST ? most : LARGEST;
}

/* Goes on to a place of the lane, over bytes that look like flags. */
static void move_to(struct both *b, uint64_t place)
{
    for (;;) {
        uint64_t distance = (place - b->out.head) & WEFT_LANE_MASK;
        uint64_t rest = WEFT_LANE_CELLS - (b->out.head & WEFT_LANE_MASK);

        if (distance == 0) {
            return;
        }
        pass(b, distance > LARGEST_CELLS && rest >= LARGEST_CELLS ? LARGEST : 0);
    }
}

static void a_zeroed_lane_is_empty(void **state)
{
    struct both b;
    size_t len;

    (void)state;
    both_open(&b);
    assert_null(weft_lane_next(&b.in, &len));
    assert_null(weft_lane_next(&b.in, &len));
}

/* Longer than any, beyond the end of the lane, or a second jump to its beginning. */
static void what_no_sender_writes_is_no_message(void **state)
{
    const uint32_t flags[] = {WEFT_SHORT_MAX + 2, 1u << 20, UINT32_MAX - 1};
    struct both b;
    size_t len;

    (void)state;
    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
        both_open(&b);
        lane.cells[0].flag = flags[i];
        assert_non_null(weft_lane_next(&b.in, &len));
        assert_true(len == SIZE_MAX);
    }
    both_open(&b);
    b.in.position = WEFT_LANE_CELLS - 1;
    lane.cells[WEFT_LANE_CELLS - 1].flag = IN_ONE_CELL + 2;
    assert_non_null(weft_lane_next(&b.in, &len));
    assert_true(len == SIZE_MAX);
    both_open(&b);
    lane.cells[0].flag = WEFT_CELL_WRAP;
    assert_non_null(weft_lane_next(&b.in, &len));
    assert_true(len == SIZE_MAX);
}

static void messages_of_every_size_pass_an_empty_lane(void **state)
{
    struct both b;

    (void)state;
    both_open(&b);
    for (int round = 0; round < 3; round++) {
        for (size_t len = 0; len <= LARGEST; len++) {
            pass(&b, len);
        }
    }
}

static void messages_of_every_size_begin_at_every_place(void **state)
{
    const uint64_t step = IS_SANITIZED ? 37 : 1;
    struct both b;

    (void)state;
    both_open(&b);
    for (uint32_t cells = 1; cells <= LARGEST_CELLS; cells++) {
        for (uint64_t place = 0; place < WEFT_LANE_CELLS; place += step) {
            move_to(&b, place);
            pass(&b, length_for(cells, place % 2 == 0));
            pass(&b, 0); /* finds the flag behind it clear */
        }
    }
}

/* Between leaving the rest of the ring and the message in front there is nothing. */
static void the_rest_that_is_left_unused_leads_to_no_old_message(void **state)
{
    struct both b;
    size_t ignored;

    (void)state;
    both_open(&b);
    for (uint64_t place = WEFT_LANE_CELLS - LARGEST_CELLS; place < WEFT_LANE_CELLS;
         place++) {
        move_to(&b, LARGEST_CELLS); /* where something that looks like flags begins */
        pass(&b, LARGEST);
        move_to(&b, place);
        assert_true(weft_lane_skip(&b.out, LARGEST_CELLS));
        assert_null(weft_lane_next(&b.in, &ignored));
        assert_int_equal(b.out.head & WEFT_LANE_MASK, 0);
        assert_int_equal(b.in.position, b.out.head);
        pass(&b, LARGEST);
    }
}

static void fill(struct both *b, size_t (*length)(uint64_t))
{
    static struct weft_lane before;

    for (;;) {
        struct message m = message_of(b->sent, length(b->sent));

        memcpy(&before, &lane, sizeof(lane));
        if (!push(&b->out, &m)) {
            break;
        }
        b->sent++;
        assert_true(b->sent - b->taken < WEFT_LANE_CELLS);
    }
    assert_memory_equal(&before, &lane, sizeof(lane)); /* nothing was written */
}

static void empty_to(struct both *b, uint64_t left, size_t (*length)(uint64_t))
{
    while (b->sent - b->taken > left) {
        struct message m = message_of(b->taken, length(b->taken));

        b->taken++;
        assert_true(pop(&b->in, &m, &b->wrong));
        assert_int_equal(b->wrong, 0);
    }
}

static size_t length_of_nothing(uint64_t number)
{
    (void)number;
    return 0;
}

static size_t length_of_largest(uint64_t number)
{
    (void)number;
    return LARGEST;
}

static void a_full_lane_says_so_and_loses_nothing(void **state)
{
    size_t (*const lengths[])(uint64_t) = {length_of_nothing, length_of_largest,
                                           random_length};
    const int rounds = IS_SANITIZED ? 20 : 200;
    struct both b;

    (void)state;
    for (size_t l = 0; l < sizeof(lengths) / sizeof(lengths[0]); l++) {
        both_open(&b);
        for (int round = 0; round < rounds; round++) {
            size_t ignored;

            fill(&b, lengths[l]);
            if (lengths[l] == length_of_nothing) { /* one cell stays clear */
                assert_int_equal(b.sent - b.taken, WEFT_LANE_CELLS - 1);
            }
            empty_to(&b, (uint64_t)round % 40, lengths[l]);
            if (b.sent == b.taken) {
                assert_null(weft_lane_next(&b.in, &ignored));
            }
        }
    }
}

static void a_message_waits_in_the_lane_until_it_is_dropped(void **state)
{
    struct both b;
    struct message m = message_of(1, 100);
    size_t len;

    (void)state;
    both_open(&b);
    assert_true(push(&b.out, &m));
    for (int i = 0; i < 3; i++) { /* one that may not be taken yet is looked at again */
        assert_non_null(weft_lane_next(&b.in, &len));
        assert_int_equal(len, 100);
    }
    assert_true(pop(&b.in, &m, &b.wrong));
    assert_int_equal(b.wrong, 0);
}

/* ---- two threads ---- */

enum pace {
    AS_FAST_AS_CAN_BE,
    ALWAYS_FULL,  /* the receiver takes one only when the sender was refused */
    ALWAYS_EMPTY, /* the sender sends one only when the receiver has all */
    RANDOM_PAUSES,
};

struct run {
    enum pace pace;
    uint64_t count;
    _Alignas(64) _Atomic uint64_t refused;
    _Alignas(64) _Atomic uint64_t taken;
};

static void pause_sometimes(uint64_t number)
{
    const uint64_t r = mix(number ^ 0x5555);

    if (r % 64 == 0) {
        sched_yield();
    }
    for (volatile uint64_t i = 0; i < r % 50; i++) {
    }
}

static void *send_all(void *argument)
{
    struct run *run = argument;
    struct weft_lane_out out = {.lane = &lane};

    for (uint64_t i = 0; i < run->count; i++) {
        struct message m = message_of(i, random_length(i));

        if (run->pace == RANDOM_PAUSES) {
            pause_sometimes(2 * i);
        }
        while (run->pace == ALWAYS_EMPTY &&
               atomic_load_explicit(&run->taken, memory_order_relaxed) != i) {
            sched_yield();
        }
        while (!push(&out, &m)) {
            atomic_fetch_add_explicit(&run->refused, 1, memory_order_relaxed);
            sched_yield();
        }
    }
    /* Nothing more comes, so that a receiver that waits for a refusal goes on. */
    atomic_store_explicit(&run->refused, UINT64_MAX / 2, memory_order_relaxed);
    return NULL;
}

static void run_two_threads(enum pace pace, uint64_t count)
{
    static struct run run;
    struct weft_lane_in in = {.lane = &lane};
    uint64_t refused = 0;
    pthread_t sender;
    size_t ignored;
    int wrong = 0;

    memset(&lane, 0, sizeof(lane));
    memset(&run, 0, sizeof(run));
    run.pace = pace;
    run.count = count;
    assert_int_equal(pthread_create(&sender, NULL, send_all, &run), 0);
    for (uint64_t i = 0; i < count && wrong == 0; i++) {
        const struct message m = message_of(i, random_length(i));

        if (pace == RANDOM_PAUSES) {
            pause_sometimes(2 * i + 1);
        }
        while (pace == ALWAYS_FULL &&
               atomic_load_explicit(&run.refused, memory_order_relaxed) <= refused) {
            sched_yield();
        }
        refused = atomic_load_explicit(&run.refused, memory_order_relaxed);
        if (refused >= UINT64_MAX / 2) {
            refused = 0;
        }
        while (!pop(&in, &m, &wrong)) {
            sched_yield();
        }
        atomic_store_explicit(&run.taken, i + 1, memory_order_relaxed);
    }
    assert_int_equal(wrong, 0); /* else the sender waits for ever: the process ends */
    pthread_join(sender, NULL);
    assert_null(weft_lane_next(&in, &ignored));
}

static void a_million_messages_arrive_in_order(void **state)
{
    (void)state;
    run_two_threads(AS_FAST_AS_CAN_BE, IS_SANITIZED ? 50000 : 1000000);
}

static void messages_arrive_in_order_through_a_lane_that_is_always_full(void **state)
{
    (void)state;
    run_two_threads(ALWAYS_FULL, IS_SANITIZED ? 5000 : 10000);
}

static void messages_arrive_in_order_through_a_lane_that_is_always_empty(void **state)
{
    (void)state;
    run_two_threads(ALWAYS_EMPTY, IS_SANITIZED ? 5000 : 10000);
}

static void messages_arrive_in_order_whoever_pauses(void **state)
{
    (void)state;
    run_two_threads(RANDOM_PAUSES, IS_SANITIZED ? 20000 : 60000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_zeroed_lane_is_empty),
        cmocka_unit_test(what_no_sender_writes_is_no_message),
        cmocka_unit_test(messages_of_every_size_pass_an_empty_lane),
        cmocka_unit_test(messages_of_every_size_begin_at_every_place),
        cmocka_unit_test(the_rest_that_is_left_unused_leads_to_no_old_message),
        cmocka_unit_test(a_full_lane_says_so_and_loses_nothing),
        cmocka_unit_test(a_message_waits_in_the_lane_until_it_is_dropped),
        cmocka_unit_test(a_million_messages_arrive_in_order),
        cmocka_unit_test(messages_arrive_in_order_through_a_lane_that_is_always_full),
        cmocka_unit_test(messages_arrive_in_order_through_a_lane_that_is_always_empty),
        cmocka_unit_test(messages_arrive_in_order_whoever_pauses),
    };

    alarm(LIMIT_SECONDS);
    return cmocka_run_group_tests(tests, fill_words, NULL);
}
