/* test_handle.c - what users hold: found while it lives, diagnosed afterwards. */
#include "unit.h"

#include "core/handle.h"

static struct weft_pool pool;

static int open_pool(void **state)
{
    (void)state;
    weft_pool_init(&pool, 8, 4, 1u << 27);
    weft_handle_register(WEFT_KIND_INFO, &pool);
    return 0;
}

static int close_pool(void **state)
{
    (void)state;
    weft_pool_fini(&pool);
    return 0;
}

static void a_live_handle_finds_its_object(void **state)
{
    void *object;
    uintptr_t handle;

    (void)state;
    assert_int_equal(weft_handle_take(WEFT_KIND_INFO, &object, &handle), WEFT_OK);
    assert_ptr_equal(weft_handle_find(WEFT_KIND_INFO, handle), object);
    assert_true(handle > WEFT_HANDLE_PREDEFINED_MAX);
    weft_handle_give(WEFT_KIND_INFO, handle);
    assert_null(weft_handle_find(WEFT_KIND_INFO, handle));
}

static void a_handle_of_another_kind_finds_nothing(void **state)
{
    void *object;
    uintptr_t handle;

    (void)state;
    assert_int_equal(weft_handle_take(WEFT_KIND_INFO, &object, &handle), WEFT_OK);
    assert_null(weft_handle_find(WEFT_KIND_COMM, handle));
    assert_null(weft_handle_find(WEFT_KIND_REQUEST, handle));
}

static void made_up_values_find_nothing(void **state)
{
    const uintptr_t values[] = {0, 1, 257, 4095, 4096, (uintptr_t)&pool, UINTPTR_MAX};

    (void)state;
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        for (int kind = WEFT_KIND_OP; kind < WEFT_KIND_END; kind++) {
            assert_null(weft_handle_find((enum weft_kind)kind, values[i]));
        }
    }
}

static void an_integer_leads_back_to_the_whole_handle(void **state)
{
    void *object;
    uintptr_t first;
    uintptr_t second;

    (void)state;
    assert_int_equal(weft_handle_take(WEFT_KIND_INFO, &object, &first), WEFT_OK);
    weft_handle_give(WEFT_KIND_INFO, first);
    assert_int_equal(weft_handle_take(WEFT_KIND_INFO, &object, &second), WEFT_OK);
    assert_true(first != second); /* same place, later generation */
    assert_int_equal(weft_handle_toint(first), weft_handle_toint(second));
    assert_true(weft_handle_toint(second) > WEFT_HANDLE_PREDEFINED_MAX);
    assert_true(weft_handle_fromint(WEFT_KIND_INFO, weft_handle_toint(second)) == second);
    assert_true(weft_handle_fromint(WEFT_KIND_COMM, weft_handle_toint(second)) == 0);
    weft_handle_give(WEFT_KIND_INFO, second);
    assert_true(weft_handle_fromint(WEFT_KIND_INFO, weft_handle_toint(second)) == 0);
}

static void a_renewed_handle_takes_the_place_of_the_one_before(void **state)
{
    void *object;
    uintptr_t first;
    uintptr_t second;

    (void)state;
    assert_int_equal(weft_handle_take(WEFT_KIND_INFO, &object, &first), WEFT_OK);
    second = weft_handle_renew(first, object);
    assert_true(first != second);
    assert_int_equal(weft_handle_toint(first), weft_handle_toint(second));
    assert_null(weft_handle_find(WEFT_KIND_INFO, first));
    assert_ptr_equal(weft_handle_find(WEFT_KIND_INFO, second), object);
    assert_true(weft_handle_fromint(WEFT_KIND_INFO, weft_handle_toint(first)) == second);
    weft_handle_give(WEFT_KIND_INFO, second);
    assert_null(weft_handle_find(WEFT_KIND_INFO, second));
}

static void predefined_handles_pass_unchanged(void **state)
{
    (void)state;
    assert_int_equal(weft_handle_toint(257), 257);
    assert_true(weft_handle_fromint(WEFT_KIND_COMM, 257) == 257);
    assert_true(weft_handle_fromint(WEFT_KIND_COMM, 0) == 0);
    assert_true(weft_handle_fromint(WEFT_KIND_COMM, -1) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_live_handle_finds_its_object),
        cmocka_unit_test(a_handle_of_another_kind_finds_nothing),
        cmocka_unit_test(made_up_values_find_nothing),
        cmocka_unit_test(an_integer_leads_back_to_the_whole_handle),
        cmocka_unit_test(a_renewed_handle_takes_the_place_of_the_one_before),
        cmocka_unit_test(predefined_handles_pass_unchanged),
    };

    return cmocka_run_group_tests(tests, open_pool, close_pool);
}
