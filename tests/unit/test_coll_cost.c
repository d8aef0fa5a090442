/* test_coll_cost.c - how long a collective takes by what it costs, and the pieces that
 * large data are cut into. */
#include "unit.h"

#include "coll/algorithm.h"
#include "coll/constants.h"
#include "coll/pieces.h"
#include "engine/wire.h"

#define NEAR   (&weft_constants.near)
#define SHARED (&weft_constants.shared)
#define FAR    (&weft_constants.far)

static struct weft_shape shape_of(int n, int processors, int nodes)
{
    return (struct weft_shape){
        .n = n, .processors = processors, .nodes = nodes, .unit = 1, .commutes = true};
}

static uint64_t time_in(struct weft_shape shape, struct weft_cost cost)
{
    return weft_model_time(&shape, &cost);
}

/* ---- the chain ---- */

static void a_chain_takes_the_sum_of_what_is_in_it(void **state)
{
    const struct weft_cost cost = {
        .messages = 3,
        .bytes = 3000,
        .chain = {.rounds = 2,
                  .messages = 3,
                  .bytes = 3000,
                  .steps = 4,
                  .reduced = 50000,
                  .copied = 70000,
                  .flags = 5},
    };
    const uint64_t own = 4 * weft_constants.step_ns + 5 * weft_constants.flag_ns +
                         50 * weft_constants.reduced_ps + 70 * weft_constants.copied_ps;

    (void)state;
    assert_int_equal(time_in(shape_of(2, 2, 1), cost), own + 2 * NEAR->latency_ns +
                                                           3 * NEAR->message_ns +
                                                           3 * NEAR->byte_ps);
    assert_int_equal(time_in(shape_of(2, 2, 2), cost),
                     own + 2 * FAR->latency_ns + 3 * FAR->message_ns + 3 * FAR->byte_ps);
    assert_int_equal(time_in(shape_of(2, 0, 0), cost), time_in(shape_of(2, 2, 1), cost));
}

static void long_messages_have_prices_of_their_own(void **state)
{
    const uint64_t bytes = WEFT_EAGER_MAX + 1;
    struct weft_cost cost = {.messages = 1,
                             .bytes = bytes,
                             .chain = {.rounds = 1, .messages = 1, .bytes = bytes}};

    (void)state;
    assert_int_equal(time_in(shape_of(2, 2, 1), cost),
                     NEAR->long_latency_ns + NEAR->long_message_ns +
                         bytes * NEAR->long_byte_ps / 1000);
    cost.is_single_copy = true; /* nobody announces it or says that it is there */
    assert_int_equal(time_in(shape_of(2, 2, 1), cost),
                     NEAR->long_message_ns - 2 * NEAR->message_ns +
                         bytes * NEAR->long_byte_ps / 1000);
    cost.is_single_copy = false;
    cost.messages = 2; /* half as long, on average */
    assert_int_equal(time_in(shape_of(2, 2, 1), cost),
                     NEAR->latency_ns + NEAR->message_ns + bytes * NEAR->byte_ps / 1000);
}

static void bytes_that_leave_a_node_share_its_link(void **state)
{
    struct weft_cost cost = {.messages = 1, .bytes = 4000};

    (void)state;
    assert_int_equal(time_in(shape_of(4, 4, 2), cost), FAR->byte_ps);
    assert_int_equal(time_in(shape_of(4, 4, 1), cost), 0);
}

/* ---- more ranks than processors ---- */

static void one_processor_does_the_work_of_all(void **state)
{
    struct weft_cost cost = {.messages = 6,
                             .bytes = 6000,
                             .reduced = 8000,
                             .chain = {.rounds = 2,
                                       .messages = 3,
                                       .bytes = 3000,
                                       .steps = 1,
                                       .reduced = 2000,
                                       .copied = 1000}};

    (void)state;
    assert_int_equal(time_in(shape_of(4, 1, 1), cost),
                     6 * SHARED->latency_ns + 6 * SHARED->message_ns +
                         6 * SHARED->byte_ps + 4 * weft_constants.step_ns +
                         8 * weft_constants.reduced_ps + 4 * weft_constants.copied_ps +
                         4 * 2 * weft_constants.yield_ns);
}

static void processors_share_the_work_but_not_the_chain(void **state)
{
    const struct weft_cost cost = {.reduced = 12000000, .chain = {.reduced = 2000000}};
    const uint64_t all = 12000 * weft_constants.reduced_ps;
    const uint64_t chain = 2000 * weft_constants.reduced_ps;

    (void)state;
    assert_int_equal(time_in(shape_of(6, 1, 1), cost), all);
    assert_int_equal(time_in(shape_of(6, 2, 1), cost), all / 2 + chain - chain / 2);
    assert_int_equal(time_in(shape_of(6, 6, 1), cost), chain);
}

static void senders_of_long_messages_wait_as_well(void **state)
{
    const struct weft_cost none = {.chain = {.messages = 1}};
    struct weft_cost cost = none;

    (void)state;
    cost.chain.flags = 3; /* all of which a rank awaits at once */
    assert_int_equal(time_in(shape_of(4, 1, 1), cost), 4 * weft_constants.yield_ns);
    cost = (struct weft_cost){.messages = 1,
                              .bytes = WEFT_EAGER_MAX + 1,
                              .chain = {.rounds = 3, .messages = 1}};
    assert_int_equal(time_in(shape_of(4, 1, 1), cost) -
                         time_in(shape_of(4, 1, 1),
                                 (struct weft_cost){
                                     .messages = 1,
                                     .bytes = WEFT_EAGER_MAX + 1,
                                 }),
                     SHARED->long_latency_ns + 4 * 2 * 3 * weft_constants.yield_ns);
}

/* ---- all algorithms ---- */

static struct weft_shape large_shape(int n, uint64_t bytes)
{
    struct weft_shape shape = shape_of(n, n / 2, 1);

    shape.bytes = shape.given = bytes;
    shape.has_slots = shape.is_reached = shape.is_plain = true;
    return shape;
}

/* No rank has more than 2^47 bytes of memory for what it gets. */
static void times_of_all_that_fits_into_memory_do_not_overflow(void **state)
{
    const struct weft_algorithm *at;

    (void)state;
    for (int i = 0; (at = weft_algorithm_at(i)) != NULL; i++) {
        for (int n = 2; n <= 1024; n *= 2) {
            uint64_t before = 0;

            for (uint64_t all = UINT64_C(1) << 30; all <= UINT64_C(1) << 47; all *= 2) {
                const struct weft_shape shape = large_shape(n, all / (uint64_t)n);

                if (at->cost != NULL && weft_algorithm_fits(at, &shape)) {
                    const uint64_t time = time_in(shape, at->cost(&shape));

                    assert_true(time >= before); /* a barrier has none */
                    before = time;
                }
            }
        }
    }
}

static void the_same_cost_takes_the_same_time(void **state)
{
    const struct weft_shape shape = large_shape(7, 92968);
    const struct weft_algorithm *at;

    (void)state;
    for (int i = 0; (at = weft_algorithm_at(i)) != NULL; i++) {
        if (at->cost != NULL && weft_algorithm_fits(at, &shape)) {
            struct weft_shape other = shape;

            other.rank = 5; /* what only one member knows */
            other.is_in_place = true;
            assert_int_equal(time_in(shape, at->cost(&shape)),
                             time_in(other, at->cost(&other)));
        }
    }
}

/* ---- pieces ---- */

static void two_work_on_the_block_of_a_bcast(void **state)
{
    (void)state;
    assert_int_equal(weft_pieces_of_block(1000, true).count, 1);
    assert_int_equal(weft_pieces_of_block(100000, true).count, 2);
    assert_int_equal(weft_pieces_of_block(100000, false).count, 1);
    assert_int_equal(weft_pieces_of_block(UINT64_C(1) << 20, true).count, 8);
    assert_int_equal(weft_pieces_of_block(UINT64_C(1) << 20, false).count, 2);
}

static void those_who_reduce_share_a_vector(void **state)
{
    (void)state;
    assert_int_equal(weft_pieces_of_vector(8, 8, 4).count, 1);
    assert_int_equal(weft_pieces_of_vector(40000, 8, 4).count, 4);
    assert_int_equal(weft_pieces_of_vector(40000, 24, 4).bytes % 24, 0);
    assert_true(weft_pieces_of_vector(1 << 20, 8, 4).bytes <= WEFT_PIECE_REDUCED);
}

static void what_pieces_cost_is_counted_in_pieces(void **state)
{
    const struct weft_shape shape = large_shape(6, 4672);
    const struct weft_algorithm *at;
    int seen = 0;

    (void)state;
    for (int i = 0; (at = weft_algorithm_at(i)) != NULL; i++) {
        if (at->method == WEFT_BY_PIECES && at->kind == WEFT_COLL_SCATTER) {
            assert_int_equal(at->cost(&shape).messages, 5);
            assert_int_equal(at->cost(&shape).bytes, 5 * 4672);
            assert_int_equal(at->cost(&shape).chain.messages, 1);
            seen++;
        }
        if (at->method == WEFT_BY_PIECES && at->kind == WEFT_COLL_ALLREDUCE) {
            assert_int_equal(at->cost(&shape).messages, 10); /* five read, five written */
            assert_int_equal(at->cost(&shape).chain.messages, 10);
            seen++;
        }
    }
    assert_int_equal(seen, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_chain_takes_the_sum_of_what_is_in_it),
        cmocka_unit_test(long_messages_have_prices_of_their_own),
        cmocka_unit_test(bytes_that_leave_a_node_share_its_link),
        cmocka_unit_test(one_processor_does_the_work_of_all),
        cmocka_unit_test(processors_share_the_work_but_not_the_chain),
        cmocka_unit_test(senders_of_long_messages_wait_as_well),
        cmocka_unit_test(times_of_all_that_fits_into_memory_do_not_overflow),
        cmocka_unit_test(the_same_cost_takes_the_same_time),
        cmocka_unit_test(two_work_on_the_block_of_a_bcast),
        cmocka_unit_test(those_who_reduce_share_a_vector),
        cmocka_unit_test(what_pieces_cost_is_counted_in_pieces),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
