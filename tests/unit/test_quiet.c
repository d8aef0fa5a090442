/*
 * test_quiet.c - when rings for the progress thread are in vain, and when they are wanted
 * again.
 */
#include "unit.h"

#include "engine/quiet.h"

enum { OFTEN_NS = WEFT_QUIET_NS / 4, SELDOM_NS = WEFT_QUIET_NS * 5 };

static struct weft_quiet quiet;
static uint64_t looks;
static uint64_t away;

static int begin(void **state)
{
    (void)state;
    quiet = (struct weft_quiet){0};
    looks = 0;
    away = 1;
    return 0;
}

/* The program looks ten times, and is away between; then it finds that it was rung. */
static bool is_rung_after_looks(uint64_t each_ns)
{
    looks += 10;
    away += 10 * each_ns;
    return weft_quiet_judge(&quiet, looks, away);
}

/* Rings until it is quiet. */
static int rings_in_vain(void)
{
    int rings = 1;

    while (!is_rung_after_looks(OFTEN_NS)) {
        rings++;
    }
    assert_true(quiet.is_quiet);
    return rings;
}

static void it_becomes_quiet_after_some_rings_in_a_row(void **state)
{
    (void)state;
    is_rung_after_looks(SELDOM_NS);
    assert_int_equal(rings_in_vain(), WEFT_QUIET_LEAST);
    assert_false(is_rung_after_looks(OFTEN_NS)); /* it is quiet already */
}

static void one_ring_that_was_wanted_is_enough(void **state)
{
    (void)state;
    for (int i = 0; i < 100; i++) {
        for (int k = 1; k < WEFT_QUIET_LEAST; k++) {
            assert_false(is_rung_after_looks(OFTEN_NS));
        }
        assert_false(is_rung_after_looks(SELDOM_NS));
    }
}

/* A ring that is found at once, before the program has looked again. */
static void a_ring_without_a_look_is_wanted(void **state)
{
    (void)state;
    for (int i = 0; i < 100; i++) {
        away += OFTEN_NS;
        assert_false(weft_quiet_judge(&quiet, looks, away));
    }
}

static void it_stays_quiet_while_the_program_looks(void **state)
{
    (void)state;
    (void)rings_in_vain();
    for (int i = 0; i < 100; i++) {
        looks++;
        assert_false(weft_quiet_tick(&quiet, looks, true));
    }
    assert_true(weft_quiet_tick(&quiet, looks, true));
    assert_false(quiet.is_quiet);
    assert_false(weft_quiet_tick(&quiet, looks, true));
}

static void who_was_quiet_and_computed_becomes_so_later(void **state)
{
    int expected = WEFT_QUIET_LEAST;

    (void)state;
    for (int i = 0; i < 20; i++) {
        assert_int_equal(rings_in_vain(), expected);
        assert_true(weft_quiet_tick(&quiet, looks, true));
        expected = expected < WEFT_QUIET_MOST ? 2 * expected : WEFT_QUIET_MOST;
    }
    while (expected > WEFT_QUIET_LEAST) { /* nothing was outstanding */
        assert_int_equal(rings_in_vain(), expected);
        assert_true(weft_quiet_tick(&quiet, looks, false));
        expected /= 2;
    }
    assert_int_equal(rings_in_vain(), WEFT_QUIET_LEAST);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(it_becomes_quiet_after_some_rings_in_a_row, begin),
        cmocka_unit_test_setup(one_ring_that_was_wanted_is_enough, begin),
        cmocka_unit_test_setup(a_ring_without_a_look_is_wanted, begin),
        cmocka_unit_test_setup(it_stays_quiet_while_the_program_looks, begin),
        cmocka_unit_test_setup(who_was_quiet_and_computed_becomes_so_later, begin),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
