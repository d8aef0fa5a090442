/* test_credits.c - what may be under way to a receiver, and what it returns. */
#include "unit.h"

#include "transport/ofi/common/credits.h"

enum { WINDOW = 1000 };

static void a_window_bounds_what_is_under_way(void **state)
{
    struct weft_credits c = {.sent = 0};

    (void)state;
    assert_true(weft_credits_allow(&c, WINDOW, WINDOW));
    assert_false(weft_credits_allow(&c, WINDOW, WINDOW + 1));
    c.sent += 600;
    assert_true(weft_credits_allow(&c, WINDOW, 400));
    assert_false(weft_credits_allow(&c, WINDOW, 401));
    assert_true(weft_credits_acknowledge(&c, 100, 0));
    assert_true(weft_credits_allow(&c, WINDOW, 500));
}

static void control_packets_have_credits_of_their_own(void **state)
{
    struct weft_credits c = {.sent = WINDOW};

    (void)state;
    for (int i = 0; i < WEFT_CONTROL_CREDITS; i++) {
        assert_true(weft_credits_allow_control(&c));
        c.sent_control++;
    }
    assert_false(weft_credits_allow_control(&c));
    assert_true(weft_credits_acknowledge(&c, 0, 1));
    assert_true(weft_credits_allow_control(&c));
}

static void an_older_frame_takes_nothing_back(void **state)
{
    struct weft_credits c = {.sent = 500, .sent_control = 5};

    (void)state;
    assert_true(weft_credits_acknowledge(&c, 300, 3));
    assert_true(weft_credits_acknowledge(&c, 200, 2));
    assert_int_equal(c.acknowledged, 300);
    assert_int_equal(c.acknowledged_control, 3);
}

static void more_than_was_sent_is_refused(void **state)
{
    struct weft_credits c = {.sent = 500, .sent_control = 5};

    (void)state;
    assert_false(weft_credits_acknowledge(&c, 501, 0));
    c = (struct weft_credits){.sent = 500, .sent_control = 5};
    assert_false(weft_credits_acknowledge(&c, 0, 6));
}

static void counts_may_wrap(void **state)
{
    struct weft_credits c = {
        .sent = UINT32_MAX - 99,
        .acknowledged = UINT32_MAX - 99,
        .sent_control = UINT16_MAX,
        .acknowledged_control = UINT16_MAX,
    };

    (void)state;
    c.sent += 400;
    c.sent_control = 1;
    assert_true(weft_credits_allow(&c, WINDOW, 600));
    assert_false(weft_credits_allow(&c, WINDOW, 601));
    assert_true(weft_credits_acknowledge(&c, 300, 1));
    assert_int_equal(c.acknowledged, 300);
    assert_int_equal(c.acknowledged_control, 1);
    assert_true(weft_credits_allow(&c, WINDOW, WINDOW));
}

static void credits_are_due_before_the_sender_runs_out(void **state)
{
    struct weft_credits c = {.taken = 0};

    (void)state;
    assert_true(weft_credits_are_returned(&c));
    c.taken = WINDOW / 2 - 1;
    assert_false(weft_credits_are_returned(&c));
    assert_false(weft_credits_are_due(&c, WINDOW / 2));
    c.taken++;
    assert_true(weft_credits_are_due(&c, WINDOW / 2));
    weft_credits_return(&c, c.taken, c.taken_control);
    assert_true(weft_credits_are_returned(&c));
    c.taken_control = WEFT_CONTROL_CREDITS / 2;
    assert_true(weft_credits_are_due(&c, WINDOW / 2));
}

/* Those of three peers, of which some can be returned at a time. */
struct peers {
    struct weft_credits each[3];
    bool is_open[3];
    int tries;
};

static bool try(void *argument, struct weft_credits *c)
{
    struct peers *peers = argument;

    peers->tries++;
    return peers->is_open[c - peers->each];
}

static void credits_that_were_put_off_are_tried_until_they_are_returned(void **state)
{
    struct weft_credits_due due = {.first = NULL};
    struct peers peers = {.tries = 0};

    (void)state;
    assert_false(weft_credits_are_refused(&due));
    for (int i = 0; i < 3; i++) {
        assert_false(weft_credits_are_put_off(&peers.each[i]));
        weft_credits_put_off(&due, &peers.each[i]);
    }
    assert_true(weft_credits_are_refused(&due)); /* for all that is known */
    peers.is_open[1] = true;
    weft_credits_try_again(&due, try, &peers);
    assert_int_equal(peers.tries, 3);
    assert_true(weft_credits_are_put_off(&peers.each[0]));
    assert_false(weft_credits_are_put_off(&peers.each[1]));
    assert_true(weft_credits_are_put_off(&peers.each[2]));
    peers.is_open[0] = true;
    peers.is_open[2] = true;
    weft_credits_try_again(&due, try, &peers);
    assert_int_equal(peers.tries, 5);
    assert_null(due.first);
    assert_false(weft_credits_are_refused(&due));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_window_bounds_what_is_under_way),
        cmocka_unit_test(control_packets_have_credits_of_their_own),
        cmocka_unit_test(an_older_frame_takes_nothing_back),
        cmocka_unit_test(more_than_was_sent_is_refused),
        cmocka_unit_test(counts_may_wrap),
        cmocka_unit_test(credits_are_due_before_the_sender_runs_out),
        cmocka_unit_test(credits_that_were_put_off_are_tried_until_they_are_returned),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
