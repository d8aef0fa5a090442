/* test_coll_force.c - the algorithms that WEFT_COLL names, and when they are taken. */
#include "unit.h"

#include "coll/force.h"
#include "sched/spread.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROOM = 512 };

static const struct weft_spread *spread; /* NULL: one node */

static struct weft_shape shape_of(int n, uint64_t bytes, bool commutes)
{
    return (struct weft_shape){.n = n,
                               .bytes = bytes,
                               .given = bytes,
                               .unit = 1,
                               .commutes = commutes,
                               .nodes = spread != NULL ? spread->nodes : 1,
                               .spread = spread};
}

static const char *chosen(enum weft_coll_kind kind, int n, uint64_t bytes, bool commutes)
{
    const struct weft_shape shape = shape_of(n, bytes, commutes);

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
    assert_string_equal(chosen(WEFT_COLL_BCAST, 64, 1 << 26, false), "binomial");
    assert_string_equal(chosen(WEFT_COLL_ALLREDUCE, 2, 8, true), "doubling");
    force("");
    assert_string_equal(chosen(WEFT_COLL_BCAST, 64, 1 << 26, false), "split");
}

static void a_call_that_it_does_not_fit_is_as_without_it(void **state)
{
    (void)state;
    force("allreduce=rabenseifner,reduce_scatter_block=pairwise,bcast=levels");
    assert_string_equal(chosen(WEFT_COLL_BCAST, 5, 8, false), "binomial");
    assert_string_equal(chosen(WEFT_COLL_ALLREDUCE, 5, 8, false), "doubling");
    assert_string_equal(chosen(WEFT_COLL_ALLREDUCE, 5, 1 << 20, false), "doubling");
    assert_string_equal(chosen(WEFT_COLL_REDUCE_SCATTER_BLOCK, 5, 8, false), "root");
    assert_string_equal(chosen(WEFT_COLL_REDUCE_SCATTER_BLOCK, 5, 8, true), "pairwise");
}

static void every_algorithm_can_be_forced(void **state)
{
    static const uint32_t node_of[] = {0, 0, 1, 1, 1};
    struct weft_spread *two = weft_spread_make(node_of, 5, 2);
    const struct weft_algorithm *at;

    (void)state;
    assert_non_null(two);
    spread = two;
    for (int i = 0; (at = weft_algorithm_at(i)) != NULL; i++) {
        const bool is_large = at->method == WEFT_BY_PIECES;
        struct weft_shape shape = shape_of(5, is_large ? 1 << 20 : 8, true);
        char text[64];

        shape.has_slots = shape.is_reached = at->build == NULL;
        shape.is_plain = true;
        snprintf(text, sizeof(text), "%s=%s", weft_coll_kind_name(at->kind), at->name);
        force(text);
        assert_string_equal(weft_force_choose(at->kind, &shape)->name, at->name);
    }
    spread = NULL;
    free(two);
}

/* Small data through slots, where a call has them and is not forced to something else. */
static void small_data_take_slots(void **state)
{
    struct weft_shape shape = shape_of(2, 8, true);

    (void)state;
    force("");
    shape.has_slots = true;
    shape.is_plain = true;
    for (int kind = 0; kind < WEFT_COLL_KINDS; kind++) {
        const struct weft_algorithm *at =
            weft_force_choose((enum weft_coll_kind)kind, &shape);

        assert_true(at->method != WEFT_BY_GRAPH || at->build != NULL);
    }
    assert_string_equal(weft_force_choose(WEFT_COLL_ALLREDUCE, &shape)->name, "flags");
    shape.is_plain = false; /* a function of the user */
    assert_string_equal(weft_force_choose(WEFT_COLL_ALLREDUCE, &shape)->name, "doubling");
    assert_string_equal(weft_force_choose(WEFT_COLL_BCAST, &shape)->name, "flags");
    shape.bytes = shape.given = 1 << 20;
    assert_string_equal(weft_force_choose(WEFT_COLL_BCAST, &shape)->name, "binomial");
    shape.is_reached = true;
    assert_string_equal(weft_force_choose(WEFT_COLL_BCAST, &shape)->name, "shared");
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
                           "flags, "},
        {"bcast=split,allreduce", "WEFT_COLL: allreduce has no algorithm \"\"; it has "
                                  "flags, "},
        {"bcast=split,bcast=binomial", "WEFT_COLL: bcast is there twice"},
        {"bcast=", "WEFT_COLL: bcast has no algorithm \"\"; it has "},
        {"bcast=split ", "WEFT_COLL: bcast has no algorithm \"split \"; it has "},
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
        cmocka_unit_test(small_data_take_slots),
        cmocka_unit_test(every_kind_has_a_name_and_an_algorithm),
        cmocka_unit_test(a_mistake_forces_nothing_and_lists_what_there_is),
        cmocka_unit_test(a_long_mistake_finds_no_more_room_than_there_is),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
