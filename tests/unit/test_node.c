/*
 * test_node.c - what the processes of a node share, with two nodes in one process: each
 * has attached the segment of one memfd by itself, so that nothing is shared but the
 * file.
 */
#include "unit.h"

#include "base/process.h"
#include "node/copy_share.h"
#include "node/doorbell.h"
#include "node/stage.h"

#include <pthread.h>
#include <unistd.h>

#define CASE(name) cmocka_unit_test_setup_teardown(name, open_pair, close_pair)

enum { RANKS = 3, SIDES = 2, JOB = 4711 };

static struct weft_job jobs[SIDES];
static struct weft_node nodes[SIDES];

static int open_pair(void **state)
{
    const struct weft_segment_plan plan = {
        .job = JOB,
        .job_size = RANKS + 1,
        .node_count = 2,
        .local_size = RANKS,
        .is_by_launcher = true,
    };

    (void)state;
    memset(jobs, 0, sizeof(jobs));
    assert_int_equal(weft_segment_create(&plan, &jobs[0].segment), WEFT_OK);
    for (uint32_t i = 0; i < RANKS; i++) {
        weft_segment_map(&jobs[0].segment)[i].local_rank = i;
        weft_segment_plan_slot(&jobs[0].segment, i, i);
    }
    weft_segment_map(&jobs[0].segment)[RANKS].node = 1;
    assert_int_equal(weft_segment_attach(dup(jobs[0].segment.fd), &jobs[1].segment),
                     WEFT_OK);
    for (int i = 0; i < SIDES; i++) {
        jobs[i].who.rank = jobs[i].who.local_rank = i;
        (void)weft_segment_join(&jobs[i].segment, (uint32_t)i);
        weft_node_open(&jobs[i], &nodes[i]);
    }
    return 0;
}

static int close_pair(void **state)
{
    (void)state;
    for (int i = 0; i < SIDES; i++) {
        weft_node_close(&nodes[i]);
        weft_segment_close(&jobs[i].segment);
    }
    return 0;
}

/* Rank 0 as rank 1 sees it. */
static struct weft_node_area *other(void)
{
    return weft_node_find(&nodes[1], weft_process(JOB, 0));
}

static uint32_t progress_bell(void)
{
    return atomic_load(&nodes[0].area->progress_bell);
}

static uint32_t doorbell(void)
{
    return atomic_load(&nodes[0].area->doorbell);
}

static void only_ranks_that_have_mapped_the_segment_are_found(void **state)
{
    uint32_t local = 7;

    (void)state;
    assert_non_null(other());
    assert_ptr_not_equal(other(), nodes[0].area); /* another mapping */
    assert_true(weft_node_has(&nodes[0], weft_process(JOB, 1), &local));
    assert_int_equal(local, 1);
    assert_null(weft_node_find(&nodes[0], weft_process(JOB, 2))); /* it has not started */
    jobs[0].is_by_mpiexec = true;
    assert_non_null(weft_node_find(&nodes[0], weft_process(JOB, 2))); /* it will */
    assert_null(weft_node_find(&nodes[0], weft_process(JOB, RANKS))); /* another node's */
    assert_null(weft_node_find(&nodes[0], weft_process(JOB + 1, 1))); /* another job's */
    assert_null(weft_node_find(&nodes[0], weft_process(JOB, 1 << 30))); /* nobody's */
}

static void a_notice_rings_only_who_asked_for_that_much(void **state)
{
    static const enum weft_wake_level levels[] = {WEFT_WAKE_REQUESTS, WEFT_WAKE_STEPS,
                                                  WEFT_WAKE_ANYTHING, WEFT_WAKE_ALL};

    (void)state;
    for (size_t out = 0; out < 4; out++) {
        for (size_t needed = 0; needed < 4; needed++) {
            const uint32_t before = doorbell() + progress_bell();

            (void)weft_node_publish(&nodes[0], levels[out]);
            weft_node_notice(other(), levels[needed]);
            assert_int_equal(doorbell() + progress_bell() - before,
                             levels[out] >= levels[needed]);
        }
    }
    weft_node_disarm(&nodes[0]);
    weft_node_notice_urgent(other());
    weft_node_ring(&nodes[0]); /* nobody sleeps */
    assert_int_equal(weft_node_rings(&nodes[0]), doorbell() + progress_bell());
}

static void each_sleeper_has_its_own_bell_and_is_rung_once(void **state)
{
    (void)state;
    (void)weft_node_publish(&nodes[0], WEFT_WAKE_ALL);
    weft_node_wake(other(), WEFT_WAKE_ANYTHING);
    weft_node_wake(other(), WEFT_WAKE_ANYTHING);
    assert_int_equal(doorbell(), 1);
    assert_int_equal(progress_bell(), 0);
    assert_int_equal(weft_node_wakeups(&nodes[0]), 1);

    weft_node_publish_leaving(&nodes[0], WEFT_WAKE_REQUESTS);
    weft_node_wake(other(), WEFT_WAKE_ANYTHING); /* not worth it */
    assert_int_equal(progress_bell(), 0);
    weft_node_notice_urgent(other());
    weft_node_notice_urgent(other());
    assert_int_equal(progress_bell(), 1);
    assert_int_equal(doorbell(), 1);
}

static void who_awaits_a_step_rings_only_who_has_one_under_way(void **state)
{
    static const enum weft_wake_level levels[] = {WEFT_WAKE_REQUESTS, WEFT_WAKE_ANYTHING,
                                                  WEFT_WAKE_ALL, WEFT_WAKE_STEPS};

    (void)state;
    for (uint32_t i = 0; i < 4; i++) {
        assert_false(weft_node_is_awaited(&nodes[0]));
        weft_node_publish_leaving(&nodes[0], levels[i]);
        weft_node_await(other());
        assert_true(weft_node_is_awaited(&nodes[0]));
        weft_node_await(other());
        weft_node_await_end(other());
        assert_true(weft_node_is_awaited(&nodes[0])); /* by another one */
        weft_node_await_end(other());
        assert_int_equal(progress_bell(), levels[i] == WEFT_WAKE_STEPS);
        weft_node_disarm(&nodes[0]);
    }
    assert_int_equal(doorbell(), 0);
}

/* A ring between publishing and sleeping is not lost. */
static void a_ring_before_the_sleep_ends_it(void **state)
{
    const uint32_t bell = weft_node_publish(&nodes[0], WEFT_WAKE_ALL);

    (void)state;
    weft_node_notice(other(), WEFT_WAKE_ANYTHING);
    weft_node_sleep(&nodes[0], bell, NULL, 0, 0); /* without end, but for the ring */
    weft_node_disarm(&nodes[0]);
}

static void *ring_as_peer(void *ignored)
{
    while (atomic_load(&other()->wake_level) == WEFT_WAKE_NONE) {
    }
    weft_node_notice(other(), WEFT_WAKE_ANYTHING);
    return ignored;
}

static void a_peer_ends_a_sleep(void **state)
{
    pthread_t thread;
    uint32_t bell;

    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, ring_as_peer, NULL), 0);
    bell = weft_node_publish(&nodes[0], WEFT_WAKE_ALL);
    weft_node_sleep(&nodes[0], bell, NULL, 0, 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(weft_node_wakeups(&nodes[0]), 1);
}

/* Where a rank has no barrier nobody sleeps for long, and progress threads are told to
 * look. */
static void without_a_barrier_no_sleep_lasts(void **state)
{
    (void)state;
    assert_false(weft_node_may_miss(&nodes[0]));
    atomic_store(&jobs[1].segment.header->is_barrier_refused, 1);
    assert_true(weft_node_may_miss(&nodes[0]));
    weft_node_sleep(&nodes[0], weft_node_publish(&nodes[0], WEFT_WAKE_ALL), NULL, 0, 0);
    weft_node_disarm(&nodes[0]);
}

/* What was asked before a barrier need not be asked again; after it, it must. */
static void only_a_barrier_forgets_that_room_was_asked_for(void **state)
{
    (void)state;
    nodes[0].has_asked_for_room = true;
    weft_node_publish_leaving(&nodes[0], WEFT_WAKE_REQUESTS);
    weft_node_publish_leaving(&nodes[0], WEFT_WAKE_STEPS);
    assert_true(nodes[0].has_asked_for_room);
    weft_node_publish_leaving(&nodes[0], WEFT_WAKE_ANYTHING);
    assert_false(nodes[0].has_asked_for_room);
    weft_node_disarm(&nodes[0]);
}

static void the_hint_and_the_identity_are_seen_by_peers(void **state)
{
    (void)state;
    assert_false(weft_node_is_inside(other()));
    weft_node_set_inside(&nodes[0], true);
    assert_true(weft_node_is_inside(other()));
    weft_node_set_inside(&nodes[0], false);
    assert_false(weft_node_is_inside(other()));

    assert_int_equal(atomic_load(&other()->is_known), 1);
    assert_int_equal(weft_segment_slot(&jobs[1].segment, 0)->pid, getpid());
    assert_int_equal(*(const uint64_t *)(uintptr_t)other()->probe_address,
                     other()->probe_value);
}

static void shares_are_taken_once_and_seen_by_number(void **state)
{
    uint32_t numbers[WEFT_SHARES];
    uint32_t number;

    (void)state;
    for (uint32_t i = 0; i < WEFT_SHARES; i++) {
        struct weft_copy_share *share = weft_share_take(&nodes[0], &numbers[i]);

        assert_non_null(share);
        atomic_store(&share->note, 100 + i);
        assert_int_equal(atomic_load(&weft_share_of(other(), numbers[i])->note), 100 + i);
    }
    assert_null(weft_share_take(&nodes[0], &number));
    weft_share_give(&nodes[0], numbers[5]);
    assert_non_null(weft_share_take(&nodes[0], &number));
    assert_int_equal(number, numbers[5]);
    assert_null(weft_share_of(other(), WEFT_SHARES));
}

static void stages_are_taken_once_and_read_by_number(void **state)
{
    uint32_t number;

    (void)state;
    for (uint32_t i = 0; i < WEFT_STAGES; i++) {
        uint8_t *stage = weft_stage_take(&nodes[0], &number);

        assert_non_null(stage);
        memset(stage, (int)(1 + number), WEFT_STAGE_BYTES);
    }
    assert_null(weft_stage_take(&nodes[0], &number));
    for (uint32_t i = 0; i < WEFT_STAGES; i++) {
        const uint8_t *seen = weft_stage_of(other(), i);

        assert_int_equal(seen[0], 1 + i);
        assert_int_equal(seen[WEFT_STAGE_BYTES - 1], 1 + i);
    }
    assert_null(weft_stage_of(other(), WEFT_STAGES));
    weft_stage_give(&nodes[0], 3);
    assert_ptr_equal(weft_stage_take(&nodes[0], &number), nodes[0].area->stages[3]);
}

/* Nobody reads its level without a barrier: it neither asks for one nor wakes up to look.
 */
static void a_rank_that_is_alone_sleeps_without_a_barrier(void **state)
{
    const struct weft_segment_plan plan = {
        .job = JOB,
        .job_size = 2,
        .node_count = 2,
        .local_size = 1,
        .is_by_launcher = true,
    };
    struct weft_job job;
    struct weft_node node;
    uint32_t bell;

    (void)state;
    memset(&job, 0, sizeof(job));
    assert_int_equal(weft_segment_create(&plan, &job.segment), WEFT_OK);
    weft_segment_plan_slot(&job.segment, 0, 0);
    (void)weft_segment_join(&job.segment, 0);
    weft_node_open(&job, &node);
    assert_false(node.has_membarrier);
    bell = weft_node_publish(&node, WEFT_WAKE_ALL);
    assert_false(weft_node_may_miss(&node));
    weft_node_ring(&node); /* as a thread of its own does */
    weft_node_sleep(&node, bell, NULL, 0, 0);
    weft_node_close(&node);
    weft_segment_close(&job.segment);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rank_that_is_alone_sleeps_without_a_barrier),
        CASE(only_ranks_that_have_mapped_the_segment_are_found),
        CASE(a_notice_rings_only_who_asked_for_that_much),
        CASE(each_sleeper_has_its_own_bell_and_is_rung_once),
        CASE(who_awaits_a_step_rings_only_who_has_one_under_way),
        CASE(a_ring_before_the_sleep_ends_it),
        CASE(a_peer_ends_a_sleep),
        CASE(without_a_barrier_no_sleep_lasts),
        CASE(only_a_barrier_forgets_that_room_was_asked_for),
        CASE(the_hint_and_the_identity_are_seen_by_peers),
        CASE(shares_are_taken_once_and_seen_by_number),
        CASE(stages_are_taken_once_and_read_by_number),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
