/* test_rma.c - epochs, queues of locks, runs and the arithmetic of one-sided operations.
 */
#include "unit.h"

#include "rma/apply.h"
#include "rma/epoch.h"
#include "rma/near.h"
#include "rma/queue.h"
#include "rma/runs.h"

#include "datatype/construct.h"
#include "engine/lock.h"

/* ---- epochs ---- */

static void an_operation_needs_an_epoch(void **state)
{
    struct weft_epoch epoch = {0};

    (void)state;
    assert_int_equal(weft_epoch_may_operate(&epoch, false, false), WEFT_EPOCH_NONE);
    epoch.is_fence = true;
    assert_int_equal(weft_epoch_may_operate(&epoch, false, false), WEFT_EPOCH_FINE);
    epoch = (struct weft_epoch){.is_started = true};
    assert_int_equal(weft_epoch_may_operate(&epoch, false, true), WEFT_EPOCH_FINE);
    assert_int_equal(weft_epoch_may_operate(&epoch, false, false), WEFT_EPOCH_NO_START);
    epoch = (struct weft_epoch){.locks = 1};
    assert_int_equal(weft_epoch_may_operate(&epoch, true, false), WEFT_EPOCH_FINE);
    assert_int_equal(weft_epoch_may_operate(&epoch, false, false), WEFT_EPOCH_NO_LOCK);
    epoch = (struct weft_epoch){.is_all = true};
    assert_int_equal(weft_epoch_may_operate(&epoch, false, false), WEFT_EPOCH_FINE);
}

static void epochs_exclude_each_other(void **state)
{
    const struct weft_epoch started = {.is_started = true};
    const struct weft_epoch posted = {.is_posted = true};
    const struct weft_epoch locked = {.locks = 2};
    const struct weft_epoch all = {.is_all = true};
    const struct weft_epoch used = {.is_fence = true, .is_used = true};
    const struct weft_epoch empty = {.is_fence = true};

    (void)state;
    assert_int_equal(weft_epoch_may_fence(&started), WEFT_EPOCH_IN_START);
    assert_int_equal(weft_epoch_may_fence(&posted), WEFT_EPOCH_IN_POST);
    assert_int_equal(weft_epoch_may_fence(&locked), WEFT_EPOCH_IN_LOCK);
    assert_int_equal(weft_epoch_may_fence(&used), WEFT_EPOCH_FINE);
    assert_int_equal(weft_epoch_may_start(&started), WEFT_EPOCH_IN_START);
    assert_int_equal(weft_epoch_may_start(&posted), WEFT_EPOCH_FINE);
    assert_int_equal(weft_epoch_may_start(&empty), WEFT_EPOCH_FINE);
    assert_int_equal(weft_epoch_may_start(&used), WEFT_EPOCH_IN_FENCE);
    assert_int_equal(weft_epoch_may_post(&posted), WEFT_EPOCH_IN_POST);
    assert_int_equal(weft_epoch_may_lock(&locked, false), WEFT_EPOCH_FINE);
    assert_int_equal(weft_epoch_may_lock(&locked, true), WEFT_EPOCH_IN_LOCK);
    assert_int_equal(weft_epoch_may_lock_all(&locked), WEFT_EPOCH_IN_LOCK);
    assert_int_equal(weft_epoch_may_lock(&all, false), WEFT_EPOCH_IN_LOCK_ALL);
    assert_int_equal(weft_epoch_may_flush(&all, false), WEFT_EPOCH_FINE);
    assert_int_equal(weft_epoch_may_flush(&empty, false), WEFT_EPOCH_NO_PASSIVE);
    assert_int_equal(weft_epoch_may_free(&posted), WEFT_EPOCH_IN_POST);
    assert_int_equal(weft_epoch_may_free(&empty), WEFT_EPOCH_FINE);
}

/* ---- queues of locks ---- */

static void locks_are_granted_in_order(void **state)
{
    struct weft_lock_queue queue = {NULL, NULL};

    (void)state;
    assert_int_equal(weft_lock_queue_ask(&queue, 0, false), WEFT_OK);
    assert_int_equal(weft_lock_queue_ask(&queue, 1, false), WEFT_OK);
    assert_int_equal(weft_lock_queue_ask(&queue, 2, true), WEFT_OK);
    assert_int_equal(weft_lock_queue_ask(&queue, 3, false), WEFT_OK);
    assert_int_equal(weft_lock_queue_grant(&queue), 0);
    assert_int_equal(weft_lock_queue_grant(&queue), 1);
    assert_int_equal(weft_lock_queue_grant(&queue), -1); /* 3 does not pass 2 */
    assert_true(weft_lock_queue_leave(&queue, 0));
    assert_int_equal(weft_lock_queue_grant(&queue), -1);
    assert_true(weft_lock_queue_leave(&queue, 1));
    assert_int_equal(weft_lock_queue_grant(&queue), 2);
    assert_int_equal(weft_lock_queue_grant(&queue), -1);
    assert_false(weft_lock_queue_leave(&queue, 1));
    assert_true(weft_lock_queue_leave(&queue, 2));
    assert_int_equal(weft_lock_queue_grant(&queue), 3);
    assert_false(weft_lock_queue_is_free(&queue));
    weft_lock_queue_close(&queue);
    assert_true(weft_lock_queue_is_free(&queue));
}

/* ---- runs ---- */

static struct weft_datatype *commit(struct weft_datatype *type)
{
    weft_lock();
    assert_int_equal(weft_datatype_commit(type), WEFT_OK);
    weft_unlock();
    return type;
}

static void a_plain_block_is_one_run(void **state)
{
    const struct weft_where where = {weft_datatype_from_handle(MPI_INT), 100, 40};
    struct weft_rma_runs runs;

    (void)state;
    weft_runs_take(&runs, &where, 0, 400, 4096, true, 1);
    assert_int_equal(runs.n, 1);
    assert_int_equal(runs.bytes, 400);
    assert_int_equal(runs.at[0].at, 40);
    assert_int_equal(runs.at[0].length, 400);
    /* What does not fit follows later, in whole elements. */
    weft_runs_take(&runs, &where, 0, 400, 2 * sizeof(struct weft_rma_run) + 10, true, 4);
    assert_int_equal(runs.bytes, 8);
    weft_runs_take(&runs, &where, 8, 392, 4096, true, 4);
    assert_int_equal(runs.at[0].at, 48);
    assert_int_equal(runs.bytes, 392);
}

static void a_vector_is_one_run(void **state)
{
    struct weft_datatype *vector;
    struct weft_where where = {NULL, 1, 8};
    struct weft_rma_runs runs;

    (void)state;
    weft_lock();
    assert_int_equal(weft_type_vector(MPI_COMBINER_VECTOR, false, 10, 2, 16,
                                      weft_datatype_from_handle(MPI_SHORT), &vector),
                     WEFT_OK);
    weft_unlock();
    where.type = commit(vector);
    weft_runs_take(&runs, &where, 0, 40, 4096, true, 2);
    assert_int_equal(runs.n, 1);
    assert_int_equal(runs.at[0].count, 10);
    assert_int_equal(runs.at[0].stride, 32);
    assert_int_equal(runs.at[0].length, 4);
    weft_lock();
    weft_datatype_free(vector);
    weft_unlock();
}

/* ---- arithmetic ---- */

static void packed_pairs_are_reduced(void **state)
{
    const struct weft_datatype *pair = weft_datatype_from_handle(MPI_DOUBLE_INT);
    struct {
        double value;
        int index;
    } __attribute__((packed)) ours[2] = {{1.0, 7}, {5.0, 8}},
                              theirs[2] = {{2.0, 1}, {4.0, 2}};

    (void)state;
    assert_int_equal(pair->size, sizeof(ours[0]));
    weft_rma_apply(MPI_MAXLOC, pair, ours, theirs, sizeof(ours));
    assert_int_equal(theirs[0].index, 1);
    assert_int_equal(theirs[1].index, 8);
    weft_rma_apply(MPI_NO_OP, pair, ours, theirs, sizeof(ours));
    assert_int_equal(theirs[0].index, 1);
    weft_rma_apply(MPI_REPLACE, pair, ours, theirs, sizeof(ours));
    assert_int_equal(theirs[0].index, 7);
}

static void more_than_a_block_is_reduced(void **state)
{
    const struct weft_datatype *type = weft_datatype_from_handle(MPI_INT);
    int ours[700];
    int theirs[700];

    (void)state;
    for (int i = 0; i < 700; i++) {
        ours[i] = i;
        theirs[i] = 1000;
    }
    weft_rma_apply(MPI_SUM, type, ours, theirs, sizeof(ours));
    for (int i = 0; i < 700; i++) {
        assert_int_equal(theirs[i], 1000 + i);
    }
}

static void only_an_equal_element_is_replaced(void **state)
{
    const struct weft_datatype *type = weft_datatype_from_handle(MPI_INT);
    int value = 3;

    (void)state;
    weft_rma_swap(type, &(int){4}, &(int){9}, &value);
    assert_int_equal(value, 3);
    weft_rma_swap(type, &(int){3}, &(int){9}, &value);
    assert_int_equal(value, 9);
}

/* ---- what short calls look at ---- */

/* Two that have the same place: the second is found the long way only. */
static void a_window_has_its_place_while_it_lives(void **state)
{
    struct weft_win *wins[WEFT_WIN_PLACES + 1];
    struct weft_win *found;
    MPI_Win old;

    (void)state;
    weft_lock();
    weft_win_open();
    for (int i = 0; i <= WEFT_WIN_PLACES; i++) {
        assert_int_equal(weft_win_take(&wins[i]), WEFT_OK);
    }
    for (int i = 0; i < WEFT_WIN_PLACES; i++) {
        assert_true(weft_win_from_place(wins[i]->handle, &found));
        assert_ptr_equal(found, wins[i]);
    }
    assert_false(weft_win_from_place(wins[WEFT_WIN_PLACES]->handle, &found));
    assert_ptr_equal(weft_win_from_handle(wins[WEFT_WIN_PLACES]->handle),
                     wins[WEFT_WIN_PLACES]);
    old = wins[0]->handle;
    for (int i = 0; i <= WEFT_WIN_PLACES; i++) {
        weft_win_give(wins[i]);
    }
    assert_false(weft_win_from_place(old, &found));
    assert_int_equal(weft_win_take(&wins[0]), WEFT_OK);
    assert_true(weft_win_from_place(wins[0]->handle, &found));
    weft_win_open(); /* of the next runtime: handles begin anew */
    assert_false(weft_win_from_place(wins[0]->handle, &found));
    weft_unlock();
}

static void an_empty_place_has_no_window(void **state)
{
    struct weft_win *found;

    (void)state;
    weft_lock();
    weft_win_open();
    weft_unlock();
    for (uintptr_t handle = 0; handle < 1024; handle++) {
        assert_false(weft_win_from_place((MPI_Win)handle, &found));
        assert_false(weft_win_from_place((MPI_Win)~handle, &found));
    }
}

static void a_member_has_room_while_an_epoch_is_open(void **state)
{
    char memory[64];
    struct weft_near near = {.memory = memory, .size = sizeof(memory)};

    (void)state;
    weft_lock();
    weft_near_set_access(&near, WEFT_NEAR_STARTED, true);
    assert_int_equal(near.room, sizeof(memory));
    assert_int_equal(near.access, WEFT_NEAR_STARTED); /* no flush in such an epoch */
    weft_near_set_access(&near, WEFT_NEAR_STARTED, false);
    assert_int_equal(near.room, 0);
    weft_near_set_access(&near, WEFT_NEAR_LOCKED, true);
    assert_int_equal(near.room, sizeof(memory));
    assert_true((near.access & WEFT_NEAR_SETTLED) != 0);
    weft_near_set_access(&near, WEFT_NEAR_LOCKED, false);
    assert_int_equal(near.room, 0);
    assert_int_equal(near.access, 0);
    near.memory = NULL; /* by messages: a flush waits for them */
    near.size = 0;
    weft_near_set_access(&near, WEFT_NEAR_LOCKED, true);
    assert_int_equal(near.access, WEFT_NEAR_LOCKED);
    weft_unlock();
}

/* docs/memory.md states these. */
static void a_window_costs_what_is_stated(void **state)
{
    (void)state;
    assert_true(sizeof(struct weft_win) <= 720);
    assert_int_equal(weft_win_parts_most(1), 64);
    assert_true(sizeof(struct weft_near) + sizeof(struct weft_target) <= 160);
    assert_int_equal(weft_words_bytes(2), 192);
    assert_int_equal(weft_words_bytes(64), 576);
    assert_int_equal(weft_words_bytes(1024), 6528);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_operation_needs_an_epoch),
        cmocka_unit_test(epochs_exclude_each_other),
        cmocka_unit_test(locks_are_granted_in_order),
        cmocka_unit_test(a_plain_block_is_one_run),
        cmocka_unit_test(a_vector_is_one_run),
        cmocka_unit_test(packed_pairs_are_reduced),
        cmocka_unit_test(more_than_a_block_is_reduced),
        cmocka_unit_test(only_an_equal_element_is_replaced),
        cmocka_unit_test(a_window_has_its_place_while_it_lives),
        cmocka_unit_test(an_empty_place_has_no_window),
        cmocka_unit_test(a_member_has_room_while_an_epoch_is_open),
        cmocka_unit_test(a_window_costs_what_is_stated),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
