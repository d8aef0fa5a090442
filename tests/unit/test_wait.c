/*
 * test_wait.c - when a rank that waits gives its processor away, and when it sleeps. The
 * clock is the test's own: only a yield lets it advance.
 */
#include "p2p_fixture.h"

#include "base/clock.h"
#include "base/wait.h"
#include "engine/hot.h"

#include <sched.h>

enum { PEER = 1, TAG = 5, OTHER_TAG = 6, SHORT_NS = 2000, LONG_NS = 5000000 };

static uint64_t now = 1;
static uint64_t yield_ns; /* how long a yield takes */
static int yields;
static int yields_until_sent; /* 0: none is sent by a yield */

uint64_t __wrap_weft_clock_ns(void);
int __wrap_sched_yield(void);

uint64_t __wrap_weft_clock_ns(void)
{
    return now;
}

int __wrap_sched_yield(void)
{
    yields++;
    now += yield_ns;
    if (yields_until_sent > 0 && --yields_until_sent == 0) {
        arrive_eager(PEER, OTHER_TAG, "m", 1);
    }
    return 0;
}

/* In place of a sleep: the message that is waited for. */
static void send_one(void)
{
    arrive_eager(PEER, TAG, "m", 1);
}

/* Receives a message that comes when we sleep; how often we yielded before. */
static int yields_of_a_wait(uint64_t each_ns)
{
    static const struct weft_wait_reason why = {"MPI_Wait", "", PEER, TAG, 1};
    const int sleeps = fake.sleeps;
    struct weft_request *request;
    char byte;

    fake.sleeping = send_one;
    yield_ns = each_ns;
    yields = 0;
    request = start_recv(PEER, TAG, &byte, 1);
    weft_wait(request, &why);
    end_recv(request, PEER, TAG, 1);
    assert_int_equal(fake.sleeps, sleeps + 1);
    return yields;
}

static void short_yields_go_on_for_a_bounded_time(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(yields_of_a_wait(SHORT_NS), WEFT_YIELD_NS / SHORT_NS);
    }
}

static void a_yield_that_took_long_is_not_repeated_soon(void **state)
{
    const uint64_t before = now;

    (void)state;
    assert_int_equal(yields_of_a_wait(LONG_NS), 1);
    assert_int_equal(yields_of_a_wait(LONG_NS), 0);
    now += (uint64_t)32 * LONG_NS;
    assert_int_equal(yields_of_a_wait(LONG_NS), 0);

    /* It is tried again, and if it is cheap, all is as before. */
    now = before + (uint64_t)100 * LONG_NS;
    assert_int_equal(yields_of_a_wait(SHORT_NS), WEFT_YIELD_NS / SHORT_NS);
    assert_int_equal(yields_of_a_wait(SHORT_NS), WEFT_YIELD_NS / SHORT_NS);
}

/* Rings that come for somebody who is away are judged by that (engine/quiet.h). */
static void who_waits_is_not_away(void **state)
{
    const uint64_t before = now;
    const uint64_t waited = weft_engine.waited_ns;

    (void)state;
    now += (uint64_t)1000 * LONG_NS; /* after all that other tests have given away */
    (void)yields_of_a_wait(SHORT_NS);
    assert_int_equal(weft_engine.waited_ns - waited,
                     now - before - (uint64_t)1000 * LONG_NS);
    assert_true(weft_engine.waited_ns - waited >= WEFT_YIELD_NS);
}

static uint64_t away(void)
{
    uint64_t ns;

    weft_lock();
    ns = weft_engine_away_ns();
    weft_unlock();
    return ns;
}

static uint64_t away_in_between;

/* In place of a sleep: another thread begins to wait, and ends. */
static void wait_as_another_thread(void)
{
    static const struct weft_wait_reason why = {"MPI_Wait", "", PEER, OTHER_TAG, 1};
    struct weft_request *request;
    char byte;

    yields_until_sent = 3;
    request = start_recv(PEER, OTHER_TAG, &byte, 1);
    weft_wait(request, &why);
    end_recv(request, PEER, OTHER_TAG, 1);
    assert_int_equal(yields_until_sent, 0);
    away_in_between = away();
    send_one();
}

static void two_threads_that_wait_are_not_away_twice(void **state)
{
    static const struct weft_wait_reason why = {"MPI_Wait", "", PEER, TAG, 1};
    struct weft_request *request;
    uint64_t before;
    char byte;

    (void)state;
    now += (uint64_t)1000 * LONG_NS;
    yield_ns = SHORT_NS;
    fake.sleeping = wait_as_another_thread;
    request = start_recv(PEER, TAG, &byte, 1);
    before = away();
    weft_wait(request, &why);
    end_recv(request, PEER, TAG, 1);
    assert_int_equal(away_in_between, before);
    assert_int_equal(away(), before);
    now += LONG_NS;
    assert_int_equal(away(), before + LONG_NS);
}

static int rings;
static uint32_t level_behind; /* the wake level behind what another thread has done */

static void note_ring(void)
{
    rings++;
}

static uint32_t wake_level(void)
{
    return atomic_load(&area_of(0)->wake_level);
}

/* In place of a sleep: another thread looks into MPI, again and again. */
static void look_as_another_thread(void)
{
    for (int i = 0; i < 100; i++) {
        weft_progress();
    }
    level_behind = wake_level();
    assert_int_equal(rings, 0);
    send_one();
}

/* In place of a sleep: another thread waits for a message that comes at once. */
static void receive_as_another_thread(void)
{
    static const struct weft_wait_reason why = {"MPI_Recv", "", PEER, OTHER_TAG, 1};
    struct weft_request *request;
    char byte;

    request = start_recv(PEER, OTHER_TAG, &byte, 1);
    arrive_eager(PEER, OTHER_TAG, "m", 1);
    weft_wait(request, &why);
    end_recv(request, PEER, OTHER_TAG, 1);
    weft_lock();
    weft_engine_leave();
    weft_unlock();
    level_behind = wake_level();
    assert_int_equal(rings, 0);
    send_one();
}

/* Peers ring a thread that sleeps in MPI, although another thread has polled since. */
static void wait_while(void (*another)(void))
{
    static const struct weft_wait_reason why = {"MPI_Wait", "", PEER, TAG, 1};
    struct weft_request *request;
    char byte;

    rings = 0;
    fake.ringing = note_ring;
    fake.sleeping = another;
    request = start_recv(PEER, TAG, &byte, 1);
    weft_wait(request, &why);
    fake.ringing = NULL;
    end_recv(request, PEER, TAG, 1);
    assert_int_equal(level_behind, WEFT_WAKE_ALL);
}

static void a_thread_that_looks_leaves_a_sleeper_armed(void **state)
{
    (void)state;
    wait_while(look_as_another_thread);
}

static void a_thread_that_waits_leaves_a_sleeper_armed(void **state)
{
    (void)state;
    wait_while(receive_as_another_thread);
}

/* Before a wait that costs more: only a few looks, and none after a long absence. */
static void a_brief_wait_gives_up_soon(void **state)
{
    _Atomic uint32_t word = 1;

    (void)state;
    weft_wait_set_crowded(true);
    now += (uint64_t)1000 * LONG_NS;
    yields = 0;
    yield_ns = SHORT_NS;
    assert_true(weft_wait_briefly(&word, 0));
    assert_int_equal(yields, 0);
    assert_false(weft_wait_briefly(&word, 1));
    assert_in_range(yields, 2, WEFT_YIELD_NS / SHORT_NS / 2);
    yields = 0;
    yield_ns = LONG_NS;
    assert_false(weft_wait_briefly(&word, 1));
    assert_int_equal(yields, 1);
    assert_false(weft_wait_briefly(&word, 1));
    assert_int_equal(yields, 1);
    now += (uint64_t)100 * LONG_NS;
    assert_false(weft_wait_briefly(&word, 1));
    assert_int_equal(yields, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(short_yields_go_on_for_a_bounded_time,
                                        fixture_open, fixture_close),
        cmocka_unit_test_setup_teardown(a_yield_that_took_long_is_not_repeated_soon,
                                        fixture_open, fixture_close),
        cmocka_unit_test_setup_teardown(who_waits_is_not_away, fixture_open,
                                        fixture_close),
        cmocka_unit_test_setup_teardown(two_threads_that_wait_are_not_away_twice,
                                        fixture_open, fixture_close),
        cmocka_unit_test_setup_teardown(a_thread_that_looks_leaves_a_sleeper_armed,
                                        fixture_open, fixture_close),
        cmocka_unit_test_setup_teardown(a_thread_that_waits_leaves_a_sleeper_armed,
                                        fixture_open, fixture_close),
        cmocka_unit_test_setup_teardown(a_brief_wait_gives_up_soon, fixture_open,
                                        fixture_close),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
