/* test_spelling.c - how far names are from each other. */
#include "unit.h"

#include "base/spelling.h"

static void distance_counts_letters_that_differ(void **state)
{
    (void)state;
    assert_int_equal(weft_edit_distance("", ""), 0);
    assert_int_equal(weft_edit_distance("hosts", "HOSTS"), 0);
    assert_int_equal(weft_edit_distance("bindto", "bind-to"), 1);
    assert_int_equal(weft_edit_distance("hostfiel", "hostfile"), 1);
    assert_int_equal(weft_edit_distance("WEFT_NETT", "WEFT_NET"), 1);
    assert_int_equal(weft_edit_distance("WEFT_LGO", "WEFT_LOG"), 1);
    assert_int_equal(weft_edit_distance("abcd", "badc"), 2);
    assert_int_equal(weft_edit_distance("", "abc"), 3);
    assert_int_equal(weft_edit_distance("abc", ""), 3);
    assert_int_equal(weft_edit_distance("kitten", "sitting"), 3);
}

static void very_long_names_are_far_away(void **state)
{
    char name[80];

    (void)state;
    memset(name, 'a', sizeof(name));
    name[63] = '\0';
    assert_int_equal(weft_edit_distance(name, name), 0);
    name[63] = 'a';
    name[79] = '\0';
    assert_true(weft_edit_distance(name, name) > 60);
    assert_true(weft_edit_distance(name, "a") > 60);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(distance_counts_letters_that_differ),
        cmocka_unit_test(very_long_names_are_far_away),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
