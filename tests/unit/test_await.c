/*
 * test_await.c - small steps of a schedule wake nobody who computes, until somebody has
 * waited for them inside MPI. The test is all peers, and the clock is its own: only a
 * yield lets it advance.
 */
#include "p2p_fixture.h"

#include "base/clock.h"
#include "engine/engine.h"
#include "engine/lock.h"
#include "engine/progress_thread.h"
#include "engine/wait.h"
#include "sched/sched.h"

#include <sched.h>
#include <time.h>

enum { A = 3, B = 4, TAG = 7, OTHER_TAG = 8, AWAIT_NS = 50000, PATIENCE_S = 20 };

static struct weft_graph graph;
static struct weft_sched sched;
static uint8_t space[64];
static struct weft_data data = {.buffer = space, .bytes = sizeof(space)};
static int ends;

static uint64_t now = 1;
static uint64_t rung_at; /* when A was, in the wait of a test; 0: was not */
static _Atomic int yields;

uint64_t __wrap_weft_clock_ns(void);
int __wrap_sched_yield(void);

uint64_t __wrap_weft_clock_ns(void)
{
    return now;
}

static uint32_t rings_of(uint32_t rank)
{
    return atomic_load(&area_of(rank)->rings);
}

static uint32_t awaited(uint32_t rank)
{
    return atomic_load(&area_of(rank)->awaited);
}

static uint32_t wake_level(void)
{
    return atomic_load(&area_of(0)->wake_level);
}

int __wrap_sched_yield(void)
{
    atomic_fetch_add(&yields, 1);
    if (rung_at == 0 && rings_of(A) > 0) {
        rung_at = now;
    }
    now += 1000;
    return 0;
}

static void done(struct weft_sched *s, enum weft_rc rc)
{
    (void)s;
    assert_int_equal(rc, WEFT_OK);
    ends++;
}

static const struct weft_sched_ops ops = {.done = done};

/* A schedule that waits for a message of A, as one of B's does for ours. */
static int open_sched(void **state)
{
    weft_graph_init(&graph);
    weft_graph_recv(&graph, A, weft_span(WEFT_SPACE_RECV, 0, 4));
    sched = (struct weft_sched){
        .graph = &graph,
        .ops = &ops,
        .comm = &fixture_comm,
        .plane = WEFT_PLANE_P2P,
        .tag = TAG,
        .spaces = {&data, &data},
    };
    ends = 0;
    rung_at = 0;
    if (fixture_open(state) != 0 || weft_sched_make(&sched) != WEFT_OK) {
        return -1;
    }
    weft_sched_open();
    weft_engine.has_progress = true;
    return 0;
}

static int close_sched(void **state)
{
    weft_threads_stop();
    weft_sched_free(&sched);
    weft_graph_free(&graph);
    return fixture_close(state);
}

static void start_and_leave(void)
{
    weft_lock();
    weft_sched_start(&sched);
    weft_engine_leave();
    weft_unlock();
}

static void computes_with_a_schedule(uint32_t rank)
{
    atomic_store(&area_of(rank)->wake_level, WEFT_WAKE_STEPS);
}

/* Ends the schedule by the message of A. The progress thread may still have the lock, and
 * weft_progress() would not wait for it. */
static void end_schedule(void)
{
    weft_lock();
    arrive_eager(A, TAG, "abc", 4);
    weft_engine_poll_as_thread("MPI_Test");
    weft_engine_leave();
    weft_unlock();
    assert_int_equal(ends, 1);
}

/* Until the progress thread has asked for any packet. */
static void until_anything_wakes(void)
{
    const struct timespec pause = {.tv_nsec = 100000};

    for (int i = 0; i < PATIENCE_S * 10000 && wake_level() != WEFT_WAKE_ANYTHING; i++) {
        nanosleep(&pause, NULL);
    }
    assert_int_equal(wake_level(), WEFT_WAKE_ANYTHING);
}

static void who_leaves_with_a_schedule_is_not_woken_by_small_packets(void **state)
{
    (void)state;
    start_and_leave();
    assert_int_equal(wake_level(), WEFT_WAKE_STEPS);
    weft_node_notice(area_of(0), WEFT_WAKE_ANYTHING);
    assert_int_equal(rings_of(0), 0);
    end_schedule();
    assert_int_equal(weft_engine.progress_thread_wakeups, 0);
}

/* ---- who waits ---- */

static void send_to_waiting(void)
{
    arrive_eager(B, OTHER_TAG, "m", 1);
}

/* Waits for a message of B, which comes when we sleep. */
static void wait_asleep(void)
{
    static const struct weft_wait_reason why = {"MPI_Wait", "", B, OTHER_TAG, 1};
    struct weft_request *request;
    char byte;

    fake.sleeping = send_to_waiting;
    request = start_recv(B, OTHER_TAG, &byte, 1);
    weft_wait(request, &why);
    end_recv(request, B, OTHER_TAG, 1);
    fake.sleeping = NULL;
}

static void who_waits_for_long_wakes_those_for_whom_its_schedules_wait(void **state)
{
    const uint64_t start = now;

    (void)state;
    computes_with_a_schedule(A);
    computes_with_a_schedule(B);
    start_and_leave();
    wait_asleep();
    assert_int_equal(rings_of(A), 1);
    assert_int_equal(rings_of(B), 0); /* it does not wait for a step of B */
    assert_true(rung_at >= start + AWAIT_NS);
    assert_int_equal(awaited(A), 0); /* it does not wait any more */
    end_schedule();
}

static bool is_a_told; /* while we slept */

static void look_and_send(void)
{
    is_a_told = awaited(A) == 1;
    send_to_waiting();
}

/* A is told, so that it asks for any packet when it leaves MPI; and is not rung. */
static void who_does_not_compute_is_told_and_not_woken(void **state)
{
    static const struct weft_wait_reason why = {"MPI_Wait", "", B, OTHER_TAG, 1};
    static const enum weft_wake_level levels[] = {WEFT_WAKE_NONE, WEFT_WAKE_REQUESTS,
                                                  WEFT_WAKE_ANYTHING, WEFT_WAKE_ALL};

    (void)state;
    start_and_leave();
    for (int i = 0; i < 4; i++) {
        struct weft_request *request;
        char byte;

        atomic_store(&area_of(A)->wake_level, levels[i]);
        is_a_told = false;
        fake.sleeping = look_and_send;
        request = start_recv(B, OTHER_TAG, &byte, 1);
        weft_wait(request, &why);
        end_recv(request, B, OTHER_TAG, 1);
        assert_true(is_a_told);
        assert_int_equal(awaited(A), 0);
    }
    fake.sleeping = NULL;
    assert_int_equal(rings_of(A), 0);
    end_schedule();
}

/* ---- who is awaited ---- */

static void who_leaves_while_it_is_awaited_asks_for_any_packet(void **state)
{
    (void)state;
    computes_with_a_schedule(A);
    weft_node_await(area_of(0));
    start_and_leave();
    assert_int_equal(wake_level(), WEFT_WAKE_ANYTHING);
    assert_int_equal(rings_of(A), 1); /* the chain goes on */
    assert_int_equal(awaited(A), 1);
    weft_node_await_end(area_of(0));
    weft_lock();
    weft_engine_enter();
    weft_unlock();
    assert_int_equal(awaited(A), 0);
    end_schedule();
}

static void who_computes_and_is_awaited_is_woken_and_passes_it_on(void **state)
{
    (void)state;
    computes_with_a_schedule(A);
    start_and_leave();
    assert_int_equal(rings_of(A), 0);
    weft_node_await(area_of(0));
    until_anything_wakes();
    weft_lock(); /* after the progress thread, which has published */
    assert_int_equal(rings_of(A), 1);
    assert_int_equal(awaited(A), 1);
    weft_unlock();
    weft_node_await_end(area_of(0));
    weft_threads_stop(); /* which ends what it has taken over */
    assert_int_equal(awaited(A), 0);
    end_schedule();
}

/* A yield would give the processor of a program that computes back to it for a slice. */
static void a_thread_that_finds_the_lock_taken_does_not_yield(void **state)
{
    const struct timespec pause = {.tv_nsec = 20000000};
    int seen;

    (void)state;
    start_and_leave();
    weft_lock();
    atomic_store(&yields, 0);
    weft_node_await(area_of(0));
    nanosleep(&pause, NULL);
    seen = atomic_load(&yields);
    weft_unlock();
    assert_int_equal(seen, 0);
    until_anything_wakes();
    weft_node_await_end(area_of(0));
    end_schedule();
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_sched, close_sched)
    const struct CMUnitTest tests[] = {
        TEST(who_leaves_with_a_schedule_is_not_woken_by_small_packets),
        TEST(who_waits_for_long_wakes_those_for_whom_its_schedules_wait),
        TEST(who_does_not_compute_is_told_and_not_woken),
        TEST(who_leaves_while_it_is_awaited_asks_for_any_packet),
        TEST(who_computes_and_is_awaited_is_woken_and_passes_it_on),
        TEST(a_thread_that_finds_the_lock_taken_does_not_yield),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
