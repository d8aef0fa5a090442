/* test_environment.c - variables are added while other threads read the environment. */
#include "unit.h"

#include "base/environment.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { MANY = 2000, READERS = 2 };

static _Atomic bool is_over;

static void a_variable_is_added_and_changed(void **state)
{
    char **before = environ;

    (void)state;
    assert_true(weft_environment_set("WEFT_TEST_ONE", "1"));
    assert_string_equal(getenv("WEFT_TEST_ONE"), "1");
    assert_ptr_not_equal(environ, before);
    assert_true(weft_environment_set("WEFT_TEST_ONE", "two"));
    assert_string_equal(getenv("WEFT_TEST_ONE"), "two");
    assert_true(weft_environment_set("WEFT_TEST_ONE", ""));
    assert_string_equal(getenv("WEFT_TEST_ONE"), "");
}

static void what_is_there_costs_nothing(void **state)
{
    char **list;

    (void)state;
    assert_true(weft_environment_set("WEFT_TEST_TWO", "2"));
    list = environ;
    assert_true(weft_environment_set("WEFT_TEST_TWO", "2"));
    assert_true(weft_environment_offer("WEFT_TEST_TWO", "3"));
    assert_ptr_equal(environ, list);
    assert_string_equal(getenv("WEFT_TEST_TWO"), "2");
}

static void a_name_is_not_taken_for_its_beginning(void **state)
{
    (void)state;
    assert_true(weft_environment_set("WEFT_TEST_LONGER", "1"));
    assert_true(weft_environment_offer("WEFT_TEST_LONG", "2"));
    assert_string_equal(getenv("WEFT_TEST_LONGER"), "1");
    assert_string_equal(getenv("WEFT_TEST_LONG"), "2");
}

static void the_program_may_go_on_with_its_own_functions(void **state)
{
    (void)state;
    assert_int_equal(setenv("WEFT_TEST_OWN", "1", 1), 0);
    assert_true(weft_environment_set("WEFT_TEST_OURS", "2"));
    assert_int_equal(setenv("WEFT_TEST_OWN", "3", 1), 0);
    assert_int_equal(setenv("WEFT_TEST_NEXT", "4", 1), 0);
    assert_string_equal(getenv("WEFT_TEST_OURS"), "2");
    assert_string_equal(getenv("WEFT_TEST_OWN"), "3");
    assert_int_equal(unsetenv("WEFT_TEST_OURS"), 0);
    assert_null(getenv("WEFT_TEST_OURS"));
    assert_string_equal(getenv("WEFT_TEST_NEXT"), "4");
}

static void an_empty_environment_gets_its_first(void **state)
{
    char **kept = environ;

    (void)state;
    environ = NULL;
    assert_true(weft_environment_set("WEFT_TEST_FIRST", "1"));
    assert_string_equal(getenv("WEFT_TEST_FIRST"), "1");
    assert_null(environ[1]);
    environ = kept;
}

static void *read_all(void *arg)
{
    (void)arg;
    while (!atomic_load(&is_over)) {
        assert_null(getenv("WEFT_TEST_NOBODY"));
        assert_non_null(getenv("WEFT_TEST_ONE"));
    }
    return NULL;
}

/* With setenv() in their place the readers end in a segmentation fault. */
static void threads_read_while_variables_are_added(void **state)
{
    pthread_t readers[READERS];
    char name[32];

    (void)state;
    for (int i = 0; i < READERS; i++) {
        assert_int_equal(pthread_create(&readers[i], NULL, read_all, NULL), 0);
    }
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof(name), "WEFT_TEST_MANY_%d", i);
        assert_true(weft_environment_set(name, "1"));
    }
    atomic_store(&is_over, true);
    for (int i = 0; i < READERS; i++) {
        assert_int_equal(pthread_join(readers[i], NULL), 0);
    }
    assert_string_equal(getenv("WEFT_TEST_MANY_0"), "1");
    assert_string_equal(getenv(name), "1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_variable_is_added_and_changed),
        cmocka_unit_test(what_is_there_costs_nothing),
        cmocka_unit_test(a_name_is_not_taken_for_its_beginning),
        cmocka_unit_test(the_program_may_go_on_with_its_own_functions),
        cmocka_unit_test(an_empty_environment_gets_its_first),
        cmocka_unit_test(threads_read_while_variables_are_added),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
