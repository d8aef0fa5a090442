/* test_table.c - items found by their key, beside a plain list of them. */
#include "unit.h"

#include "base/process.h"
#include "base/table.h"

#include <stdlib.h>

enum { JOBS = 3, RANKS = 1000, ROUNDS = 200000, MOST = JOBS * 64, SAMPLE = 10 };

struct item {
    uint64_t key;
    uint32_t mark;
};

static const uint32_t jobs[JOBS] = {0, 0x80000000, 0xfffffffe};

static uint32_t count_items(const struct weft_table *table)
{
    uint32_t at = 0;
    uint32_t count = 0;

    while (weft_table_next(table, &at) != NULL) {
        count++;
    }
    return count;
}

static void an_empty_table_takes_no_memory_and_finds_nothing(void **state)
{
    struct weft_table table;

    (void)state;
    weft_table_open(&table);
    assert_int_equal(table.mask, 0);
    assert_null(weft_table_find(&table, 0));
    assert_null(weft_table_find(&table, weft_process(7, 7)));
    assert_int_equal(count_items(&table), 0);
    weft_table_close(&table);
}

static void equal_ranks_of_several_jobs_are_told_apart(void **state)
{
    struct weft_table table;

    (void)state;
    weft_table_open(&table);
    for (uint32_t i = 0; i < JOBS * RANKS; i++) {
        const uint64_t key = weft_process(jobs[i % JOBS], i / JOBS);
        struct item *item;

        assert_null(weft_table_find(&table, key));
        item = weft_table_add(&table, key, sizeof(*item));
        assert_non_null(item);
        assert_true(item->key == key && item->mark == 0);
        item->mark = i;
    }
    for (uint32_t i = 0; i < JOBS * RANKS; i++) {
        const struct item *item =
            weft_table_find(&table, weft_process(jobs[i % JOBS], i / JOBS));

        assert_non_null(item);
        assert_int_equal(item->mark, i);
    }
    assert_int_equal(count_items(&table), JOBS * RANKS);
    weft_table_close(&table);
    assert_null(weft_table_find(&table, weft_process(jobs[0], 0)));
}

/* How many slots a search passes: without one of them it would end too early. */
static uint32_t passed_by(const struct weft_table *table, uint64_t key)
{
    uint32_t passed = 0;

    for (uint32_t at = 0; at <= table->mask; at++) {
        uint64_t *kept = table->slots[at];

        table->slots[at] = NULL;
        passed += kept != NULL && *kept != key && weft_table_find(table, key) == NULL;
        table->slots[at] = kept;
    }
    return passed;
}

static void add_job(struct weft_table *table, uint32_t job)
{
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        assert_non_null(
            weft_table_add(table, weft_process(job, rank), sizeof(struct item)));
    }
}

static uint32_t passed_by_job(const struct weft_table *table, uint32_t job)
{
    uint32_t passed = 0;

    for (uint32_t rank = 0; rank < RANKS; rank += SAMPLE) {
        passed += passed_by(table, weft_process(job, rank));
    }
    return passed;
}

static void a_search_is_short_where_two_jobs_meet(void **state)
{
    struct weft_table table;

    (void)state;
    weft_table_open(&table);
    add_job(&table, jobs[0]);
    assert_int_equal(passed_by_job(&table, jobs[0]), 0); /* found at the first look */
    add_job(&table, jobs[1]);
    assert_in_range(passed_by_job(&table, jobs[0]) + passed_by_job(&table, jobs[1]),
                    RANKS / SAMPLE, 4 * RANKS / SAMPLE);
    weft_table_close(&table);
}

/* Keys come and go; the list has the item of each, or NULL. */
static void what_was_removed_is_gone_and_all_else_stays(void **state)
{
    static struct item *list[MOST];
    struct weft_table table;
    uint32_t count = 0;

    (void)state;
    srand(1);
    weft_table_open(&table);
    for (int round = 0; round < ROUNDS; round++) {
        const uint32_t i = (uint32_t)rand() % MOST;
        const uint64_t key = weft_process(jobs[i % JOBS], i / JOBS * 8);

        assert_ptr_equal(weft_table_find(&table, key), list[i]);
        if (list[i] != NULL) {
            assert_int_equal(list[i]->mark, i);
            weft_table_remove(&table, list[i]);
            list[i] = NULL;
            count--;
        } else {
            list[i] = weft_table_add(&table, key, sizeof(struct item));
            assert_non_null(list[i]);
            list[i]->mark = i;
            count++;
        }
        assert_int_equal(table.count, count);
    }
    assert_int_equal(count_items(&table), count);
    assert_in_range(table.mask + 1, 2 * count, 4 * MOST); /* removals let it not grow */
    for (uint32_t i = 0; i < MOST; i++) {
        if (list[i] != NULL) {
            weft_table_remove(&table, list[i]);
            list[i] = NULL;
        }
    }
    assert_int_equal(count_items(&table), 0);
    weft_table_close(&table);
}

static void items_may_be_removed_while_one_goes_through_them(void **state)
{
    struct weft_table table;
    struct item *item;
    uint32_t at = 0;
    uint32_t seen = 0;

    (void)state;
    weft_table_open(&table);
    for (uint32_t i = 0; i < RANKS; i++) {
        item = weft_table_add(&table, weft_process(jobs[1], i), sizeof(*item));
        assert_non_null(item);
    }
    while ((item = weft_table_next(&table, &at)) != NULL) {
        weft_table_remove(&table, item);
        seen++;
    }
    assert_int_equal(seen, RANKS);
    assert_int_equal(table.count, 0);
    weft_table_close(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_table_takes_no_memory_and_finds_nothing),
        cmocka_unit_test(equal_ranks_of_several_jobs_are_told_apart),
        cmocka_unit_test(a_search_is_short_where_two_jobs_meet),
        cmocka_unit_test(what_was_removed_is_gone_and_all_else_stays),
        cmocka_unit_test(items_may_be_removed_while_one_goes_through_them),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
