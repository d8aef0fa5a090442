/* test_pool.c - objects found by index, and told from those that lived there before. */
#include "unit.h"

#include "base/pool.h"

enum { MANY = 5000 };

static void an_unused_pool_costs_no_memory(void **state)
{
    struct weft_pool pool;

    (void)state;
    weft_pool_init(&pool, 100, 8, 1u << 27);
    for (int i = 0; i < WEFT_POOL_CHUNKS; i++) {
        assert_null(pool.chunk[i]);
    }
    weft_pool_fini(&pool);
}

static void objects_stay_where_they_are_while_the_pool_grows(void **state)
{
    struct weft_pool pool;
    void *object[MANY];
    uint32_t index[MANY];
    uint32_t generation[MANY];

    (void)state;
    weft_pool_init(&pool, sizeof(int), 8, 1u << 27);
    for (int i = 0; i < MANY; i++) {
        assert_int_equal(weft_pool_take(&pool, &object[i], &index[i], &generation[i]),
                         WEFT_OK);
        assert_int_equal(*(int *)object[i], 0);
        *(int *)object[i] = i;
    }
    for (int i = 0; i < MANY; i++) {
        assert_ptr_equal(weft_pool_find(&pool, index[i], generation[i]), object[i]);
        assert_int_equal(*(int *)object[i], i);
    }
    assert_int_equal(pool.in_use, MANY);
    weft_pool_fini(&pool);
}

static void an_object_given_back_is_not_found_again(void **state)
{
    struct weft_pool pool;
    void *first;
    void *second;
    uint32_t index[2];
    uint32_t generation[2];

    (void)state;
    weft_pool_init(&pool, 16, 8, 1u << 27);
    assert_int_equal(weft_pool_take(&pool, &first, &index[0], &generation[0]), WEFT_OK);
    memset(first, 0xff, 16);
    weft_pool_give(&pool, index[0]);
    assert_null(weft_pool_find(&pool, index[0], generation[0]));
    assert_null(weft_pool_find(&pool, index[0], generation[0] + 1));
    assert_int_equal(weft_pool_generation(&pool, index[0]), 0);

    assert_int_equal(weft_pool_take(&pool, &second, &index[1], &generation[1]), WEFT_OK);
    assert_int_equal(index[1], index[0]);
    assert_int_not_equal(generation[1], generation[0]);
    assert_null(weft_pool_find(&pool, index[0], generation[0]));
    assert_ptr_equal(weft_pool_find(&pool, index[1], generation[1]), second);
    assert_int_equal(((unsigned char *)second)[15], 0);
    weft_pool_fini(&pool);
}

static void a_renewed_object_stays_and_is_found_by_its_new_generation_only(void **state)
{
    struct weft_pool pool;
    void *object;
    uint32_t index;
    uint32_t generation;
    uint32_t renewed;

    (void)state;
    weft_pool_init(&pool, 16, 8, 1u << 27);
    assert_int_equal(weft_pool_take(&pool, &object, &index, &generation), WEFT_OK);
    memset(object, 0x55, 16);
    renewed = weft_pool_renew(object);
    assert_int_not_equal(renewed, generation);
    assert_null(weft_pool_find(&pool, index, generation));
    assert_ptr_equal(weft_pool_find(&pool, index, renewed), object);
    assert_int_equal(weft_pool_generation(&pool, index), renewed);
    assert_int_equal(((unsigned char *)object)[15], 0x55); /* as its owner left it */
    assert_int_equal(pool.in_use, 1);

    weft_pool_give(&pool, index); /* and can be given back as any other */
    assert_null(weft_pool_find(&pool, index, renewed));
    assert_int_equal(weft_pool_take(&pool, &object, &index, &generation), WEFT_OK);
    assert_int_not_equal(generation, renewed);
    assert_int_equal(pool.in_use, 1);
    weft_pool_fini(&pool);
}

static void what_was_given_back_is_told_from_what_never_was(void **state)
{
    struct weft_pool pool;
    void *object;
    uint32_t index;
    uint32_t generation;

    (void)state;
    weft_pool_init(&pool, 8, 4, 8);
    assert_false(weft_pool_was(&pool, 0, 1));
    for (int turn = 0; turn < 3; turn++) {
        assert_int_equal(weft_pool_take(&pool, &object, &index, &generation), WEFT_OK);
        assert_false(weft_pool_was(&pool, index, generation)); /* it is */
        assert_false(weft_pool_was(&pool, index, generation + 1));
        assert_int_equal(weft_pool_was(&pool, index, generation - 1), turn > 0);
        weft_pool_give(&pool, index);
        assert_true(weft_pool_was(&pool, index, generation));
        assert_false(weft_pool_was(&pool, index, generation + 1));
    }
    assert_false(weft_pool_was(&pool, index, 0));
    assert_false(weft_pool_was(&pool, index, UINT32_MAX));
    assert_false(weft_pool_was(&pool, index + 1, 1));
    weft_pool_fini(&pool);
}

static void an_index_never_made_is_not_found(void **state)
{
    struct weft_pool pool;

    (void)state;
    weft_pool_init(&pool, 16, 8, 1u << 27);
    assert_null(weft_pool_find(&pool, 0, 1));
    assert_null(weft_pool_find(&pool, (1u << 27) - 1, 1));
    assert_int_equal(weft_pool_generation(&pool, 3), 0);
    weft_pool_fini(&pool);
}

static void a_full_pool_says_so_and_goes_on_after_a_give(void **state)
{
    struct weft_pool pool;
    void *object;
    uint32_t index;
    uint32_t generation;

    (void)state;
    weft_pool_init(&pool, 16, 4, 10);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(weft_pool_take(&pool, &object, &index, &generation), WEFT_OK);
    }
    assert_int_equal(weft_pool_take(&pool, &object, &index, &generation), WEFT_ERR_NOMEM);
    weft_pool_give(&pool, 7);
    assert_int_equal(weft_pool_take(&pool, &object, &index, &generation), WEFT_OK);
    assert_int_equal(index, 7);
    weft_pool_fini(&pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_unused_pool_costs_no_memory),
        cmocka_unit_test(objects_stay_where_they_are_while_the_pool_grows),
        cmocka_unit_test(an_object_given_back_is_not_found_again),
        cmocka_unit_test(a_renewed_object_stays_and_is_found_by_its_new_generation_only),
        cmocka_unit_test(what_was_given_back_is_told_from_what_never_was),
        cmocka_unit_test(an_index_never_made_is_not_found),
        cmocka_unit_test(a_full_pool_says_so_and_goes_on_after_a_give),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
