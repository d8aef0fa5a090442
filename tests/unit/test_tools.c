/* test_tools.c - settings, counts and categories as tools see them. */
#include "unit.h"

#include "tools/category.h"
#include "tools/control.h"
#include "tools/performance.h"
#include "tools/token.h"

static void a_setting_is_found_by_its_name(void **state)
{
    (void)state;
    assert_int_equal(weft_control_find("WEFT_LOG"), WEFT_SET_LOG);
    assert_int_equal(weft_control_find("WEFT_LO"), -1);
    assert_int_equal(weft_control_find(""), -1);
}

static void words_are_told_apart(void **state)
{
    size_t length;

    (void)state;
    assert_int_equal(weft_control_word_count(WEFT_SET_LOG), 5);
    assert_memory_equal(weft_control_word(WEFT_SET_LOG, 0, &length), "none", 4);
    assert_int_equal(length, 4);
    assert_memory_equal(weft_control_word(WEFT_SET_LOG, 4, &length), "debug", 5);
    assert_int_equal(length, 5);
}

static void a_written_setting_is_in_force(void **state)
{
    (void)state;
    assert_int_equal(weft_control_write(WEFT_SET_CHECKSUM, 2), WEFT_ERR_ARGUMENT);
    assert_int_equal(weft_control_write(WEFT_SET_CHECKSUM, UINT64_MAX),
                     WEFT_ERR_ARGUMENT);
    assert_int_equal(weft_control_write(WEFT_SET_CHECKSUM, 1), WEFT_OK);
    assert_int_equal(weft_setting(WEFT_SET_CHECKSUM), 1);
    assert_int_equal(weft_control_write(WEFT_SET_CHECKSUM, 0), WEFT_OK);
    assert_int_equal(weft_setting(WEFT_SET_CHECKSUM), 0);
}

static void a_token_is_stale_after_it_was_given_back(void **state)
{
    struct weft_pool pool = {.limit = 0};
    void *object;
    uintptr_t first;
    uintptr_t second;

    (void)state;
    assert_null(weft_token_find(&pool, 2));
    assert_int_equal(weft_token_take(&pool, 8, &object, &first), WEFT_OK);
    assert_true(first > 1); /* 0 and 1 mean something else */
    assert_ptr_equal(weft_token_find(&pool, first), object);
    assert_null(weft_token_find(&pool, 0));
    assert_null(weft_token_find(&pool, 1));
    assert_null(weft_token_find(&pool, first + 1));
    weft_token_give(&pool, first);
    assert_null(weft_token_find(&pool, first));
    assert_int_equal(weft_token_take(&pool, 8, &object, &second), WEFT_OK);
    assert_true(second != first);
    weft_pool_fini(&pool);
}

static void every_variable_is_in_one_category_and_has_one_name(void **state)
{
    (void)state;
    for (int v = 0; v < weft_performance_count(); v++) {
        const struct weft_performance_row *row = weft_performance_row(v);
        int seen = 0;

        assert_int_equal(weft_performance_find(row->name, row->class), v);
        for (int c = 0; c < weft_category_count(); c++) {
            int indices[256];
            int n = weft_category_members(c, WEFT_MEMBER_PERFORMANCE, 256, indices);

            for (int i = 0; i < n; i++) {
                seen += indices[i] == v;
            }
        }
        assert_int_equal(seen, 1);
    }
}

static void a_category_gives_no_more_than_asked_for(void **state)
{
    int indices[2] = {-1, -1};
    int counts = weft_category_find("counts");

    (void)state;
    assert_true(counts >= 0);
    assert_true(weft_category_members(counts, WEFT_MEMBER_CATEGORY, 1, indices) > 1);
    assert_true(indices[0] > 0);
    assert_int_equal(indices[1], -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_setting_is_found_by_its_name),
        cmocka_unit_test(words_are_told_apart),
        cmocka_unit_test(a_written_setting_is_in_force),
        cmocka_unit_test(a_token_is_stale_after_it_was_given_back),
        cmocka_unit_test(every_variable_is_in_one_category_and_has_one_name),
        cmocka_unit_test(a_category_gives_no_more_than_asked_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
