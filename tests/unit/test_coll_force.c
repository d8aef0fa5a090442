/* test_coll_force.c - the algorithms that WEFT_COLL names, and when they are taken. */
#include "unit.h"

#include "coll/force.h"

#include <stdbool.h>
#include <stdio.h>

enum { ROOM = 512 };

static const char *chosen(enum weft_coll_kind kind, int n, uint64_t bytes, bool commutes)
{
    const struct weft_shape shape = {
        .n = n, .bytes = bytes, .given = bytes, .unit = 1, .commutes = commutes};

    return weft_force_choose(kind, &shape)->name;
}

static void force(const char *text)
{
    char why[ROOM] = "";

    assert_int_equal(weft_force_read(text, why, sizeof(why)), WEFT_OK);
    assert_string_equal(why, "");
}

static void a_forced_algorithm_is_taken_whatever_the_size(void **state)
{
    (void)state;
    force("allreduce=rabenseifner,bcast=split");
    assert_string_equal(chosen(WEFT_COLL_ALLREDUCE, 2, 8, true), "rabenseifner");
    assert_string_equal(chosen(WEFT_COLL_BCAST, 2, 0, false), "split");
    assert_string_equal(chosen(WEFT_COLL_GATHER, 2, 8, false), "direct");
    force("bcast=binomial");
    assert_string_equal(chosen(WEFT_COLL_BCAST, 64, 1 << 20, false), "binomial");
    assert_string_equal(chosen(WEFT_COLL_ALLREDUCE, 2, 8, true), "doubling");
    force("");
    assert_string_equal(chosen(WEFT_COLL_BCAST, 64, 1 << 20, false), "split");
}

static void a_call_that_it_does_not_fit_is_as_without_it(void **state)
{
    (void)state;
    force("allreduce=rabenseifner,reduce_scatter_block=pairwise");
    assert_string_equal(chosen(WEFT_COLL_ALLREDUCE, 5, 8, false), "doubling");
    assert_string_equal(chosen(WEFT_COLL_ALLREDUCE, 5, 1 << 20, false), "binomial");
    assert_string_equal(chosen(WEFT_COLL_REDUCE_SCATTER_BLOCK, 5, 8, false), "root");
    assert_string_equal(chosen(WEFT_COLL_REDUCE_SCATTER_BLOCK, 5, 8, true), "pairwise");
}

static void every_algorithm_can_be_forced(void **state)
{
    const struct weft_algorithm *at;

    (void)state;
    for (int i = 0; (at = weft_algorithm_at(i)) != NULL; i++) {
        char text[64];

        snprintf(text, sizeof(text), "%s=%s", weft_coll_kind_name(at->kind), at->name);
        force(text);
        assert_string_equal(chosen(at->kind, 5, 8, true), at->name);
    }
}

/* One table has the names of kinds, another the algorithms. */
static void every_kind_has_a_name_and_an_algorithm(void **state)
{
    (void)state;
    force("");
    for (int kind = 0; kind < WEFT_COLL_KINDS; kind++) {
        assert_non_null(weft_coll_kind_name((enum weft_coll_kind)kind));
        assert_non_null(chosen((enum weft_coll_kind)kind, 5, 8, false));
    }
}

static void a_mistake_forces_nothing_and_lists_what_there_is(void **state)
{
    static const struct {
        const char *text;
        const char *why;
    } rows[] = {
        {"allreduce=ring", "WEFT_COLL: allreduce has no algorithm \"ring\"; it has "
                           "doubling, rabenseifner, binomial"},
        {"bcast=split,allreduce", "WEFT_COLL: allreduce has no algorithm \"\"; it has "
                                  "doubling, rabenseifner, binomial"},
        {"bcast=split,bcast=binomial", "WEFT_COLL: bcast is there twice"},
        {"bcast=", "WEFT_COLL: bcast has no algorithm \"\"; it has split, binomial"},
        {"bcast=split ", "WEFT_COLL: bcast has no algorithm \"split \"; it has split, "
                         "binomial"},
        {"bcas=split", "WEFT_COLL: \"bcas\" is no collective; they are barrier, bcast, "},
        {",bcast=split", "WEFT_COLL: \"\" is no collective; they are barrier, bcast, "},
        {"BCAST=split", "WEFT_COLL: \"BCAST\" is no collective; they are barrier, "},
        {"=split", "WEFT_COLL: \"\" is no collective; they are barrier, bcast, gather, "},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char why[ROOM] = "";

        force("bcast=split");
        assert_int_equal(weft_force_read(rows[i].text, why, sizeof(why)),
                         WEFT_ERR_ARGUMENT);
        assert_memory_equal(why, rows[i].why, strlen(rows[i].why));
        assert_string_equal(chosen(WEFT_COLL_BCAST, 2, 8, false), "binomial");
    }
}

static void a_long_mistake_finds_no_more_room_than_there_is(void **state)
{
    char text[2 * ROOM];
    char why[ROOM];

    (void)state;
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    assert_int_equal(weft_force_read(text, why, sizeof(why)), WEFT_ERR_ARGUMENT);
    assert_true(strlen(why) < sizeof(why));
    text[0] = '\0';
    assert_int_equal(weft_force_read("bcast", why, 16), WEFT_ERR_ARGUMENT);
    assert_int_equal(strlen(why), 15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_forced_algorithm_is_taken_whatever_the_size),
        cmocka_unit_test(a_call_that_it_does_not_fit_is_as_without_it),
        cmocka_unit_test(every_algorithm_can_be_forced),
        cmocka_unit_test(every_kind_has_a_name_and_an_algorithm),
        cmocka_unit_test(a_mistake_forces_nothing_and_lists_what_there_is),
        cmocka_unit_test(a_long_mistake_finds_no_more_room_than_there_is),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
