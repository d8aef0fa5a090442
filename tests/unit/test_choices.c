/* test_choices.c - which algorithm a call on a communicator gets, again and again, and
 * what it knows of where the job runs. */
#include "unit.h"

#include "coll/choices.h"
#include "coll/force.h"
#include "coll/surroundings.h"

#include <stdlib.h>

enum { RANKS = 8, ROOM = 512 };

static struct weft_comm comm;
static struct weft_comm other;

static int open_comms(void **state)
{
    (void)state;
    comm = other = (struct weft_comm){.size = RANKS, .peers = RANKS, .name = ""};
    return 0;
}

static void force(const char *text)
{
    char why[ROOM];

    assert_int_equal(weft_force_read(text, why, sizeof(why)), WEFT_OK);
}

static int close_comms(void **state)
{
    (void)state;
    free(comm.choices);
    free(other.choices);
    force("");
    weft_algorithm_be_reproducible(false);
    return 0;
}

static struct weft_shape shape_of(uint64_t bytes)
{
    return (struct weft_shape){
        .n = RANKS, .bytes = bytes, .given = bytes, .nodes = 1, .processors = RANKS};
}

static const char *found(struct weft_comm *on, uint64_t bytes)
{
    const struct weft_shape shape = shape_of(bytes);

    return weft_choices_find(on, WEFT_COLL_BCAST, &shape)->name;
}

/* ---- what is kept ---- */

static void a_choice_is_kept_by_its_communicator(void **state)
{
    (void)state;
    assert_string_equal(found(&comm, 8), "binomial");
    force("bcast=split"); /* a change that nobody makes, to see who chooses anew */
    assert_string_equal(found(&comm, 8), "binomial");
    assert_string_equal(found(&other, 8), "split");
    assert_string_equal(found(&comm, 16), "split");
}

static void another_call_at_the_same_place_is_chosen_anew(void **state)
{
    (void)state;
    assert_string_equal(found(&comm, 64), "binomial");
    force("bcast=split");
    assert_string_equal(found(&comm, 65), "split");
    assert_string_equal(found(&comm, 64), "split");
}

static void all_that_a_choice_depends_on_is_compared(void **state)
{
    const struct weft_shape base = shape_of(4096);
    struct weft_shape shapes[5];

    (void)state;
    for (int i = 0; i < 5; i++) {
        shapes[i] = base;
    }
    shapes[0].unit = 8;
    shapes[1].commutes = true;
    shapes[2].has_slots = true;
    shapes[3].is_reached = true;
    shapes[4].is_plain = true;
    for (int i = 0; i < 5; i++) {
        force("");
        assert_string_not_equal(weft_choices_find(&comm, WEFT_COLL_BCAST, &base)->name,
                                "split");
        force("bcast=split");
        assert_string_equal(weft_choices_find(&comm, WEFT_COLL_BCAST, &shapes[i])->name,
                            "split");
    }
}

static void calls_whose_blocks_differ_are_not_kept(void **state)
{
    const uint64_t sizes[RANKS] = {0};
    struct weft_shape shape = shape_of(8);

    (void)state;
    shape.from = sizes;
    assert_string_not_equal(weft_choices_find(&comm, WEFT_COLL_ALLGATHERV, &shape)->name,
                            "ring");
    force("allgatherv=ring");
    assert_string_equal(weft_choices_find(&comm, WEFT_COLL_ALLGATHERV, &shape)->name,
                        "ring");
}

static void calls_are_counted_by_algorithm(void **state)
{
    const struct weft_algorithm *first = weft_algorithm_at(0);
    const struct weft_algorithm *second = weft_algorithm_at(1);
    const uint64_t before = weft_choices_counted(weft_algorithm_number(first));

    (void)state;
    weft_choices_count(first);
    weft_choices_count(second);
    weft_choices_count(first);
    assert_int_equal(weft_choices_counted(weft_algorithm_number(first)), before + 2);
}

/* ---- reproducible results ---- */

static void reproducible_reductions_do_not_depend_on_where_ranks_run(void **state)
{
    static const enum weft_coll_kind kinds[] = {WEFT_COLL_REDUCE, WEFT_COLL_ALLREDUCE,
                                                WEFT_COLL_REDUCE_SCATTER_BLOCK,
                                                WEFT_COLL_SCAN, WEFT_COLL_EXSCAN};

    (void)state;
    weft_algorithm_be_reproducible(true);
    for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
        for (uint64_t bytes = 8; bytes <= 1 << 22; bytes *= 8) {
            const struct weft_algorithm *first = NULL;

            for (int where = 0; where < 16; where++) {
                struct weft_shape shape = shape_of(bytes);
                const struct weft_algorithm *at;

                shape.unit = 8;
                shape.commutes = true;
                shape.processors = where % 2 != 0 ? 1 : RANKS;
                shape.nodes = where % 4 >= 2 ? RANKS : 1;
                shape.has_slots = shape.is_plain = where % 8 >= 4;
                shape.is_reached = where >= 8;
                at = weft_algorithm_choose(kinds[k], &shape);
                assert_true(at->is_reproducible);
                assert_true(first == NULL || at == first);
                first = at;
            }
        }
    }
}

static void calls_that_reduce_nothing_need_not_be_reproducible(void **state)
{
    struct weft_shape shape = shape_of(8);

    (void)state;
    shape.has_slots = true;
    weft_algorithm_be_reproducible(true);
    assert_string_equal(weft_algorithm_choose(WEFT_COLL_BCAST, &shape)->name, "flags");
}

/* ---- surroundings ---- */

static struct weft_shape filled(int n, struct weft_surroundings of_job)
{
    struct weft_shape shape = {.n = n};

    weft_surroundings_set(&of_job);
    weft_surroundings_fill(&shape);
    return shape;
}

static void a_communicator_has_its_share_of_the_processors(void **state)
{
    const struct weft_surroundings crowded = {.ranks = 8, .processors = 4};
    const struct weft_surroundings roomy = {.ranks = 8, .processors = 64};

    (void)state;
    assert_int_equal(filled(8, crowded).processors, 4);
    assert_int_equal(filled(4, crowded).processors, 2);
    assert_int_equal(filled(3, crowded).processors, 1);
    assert_int_equal(filled(1, crowded).processors, 1); /* at least */
    assert_int_equal(filled(8, roomy).processors, 8);
    assert_int_equal(filled(2, roomy).processors, 2);
}

static void the_share_of_many_ranks_does_not_overflow(void **state)
{
    const struct weft_surroundings many = {.ranks = INT32_MAX, .processors = 1 << 20};

    (void)state;
    assert_int_equal(filled(INT32_MAX, many).processors, 1 << 20);
}

static void over_a_network_each_rank_is_as_if_alone(void **state)
{
    const struct weft_surroundings network = {
        .is_network = true, .ranks = 8, .processors = 8};
    const struct weft_surroundings node = {.ranks = 8, .processors = 8};

    (void)state;
    assert_int_equal(filled(5, network).nodes, 5);
    assert_int_equal(filled(5, node).nodes, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_choice_is_kept_by_its_communicator, open_comms,
                                        close_comms),
        cmocka_unit_test_setup_teardown(another_call_at_the_same_place_is_chosen_anew,
                                        open_comms, close_comms),
        cmocka_unit_test_setup_teardown(all_that_a_choice_depends_on_is_compared,
                                        open_comms, close_comms),
        cmocka_unit_test_setup_teardown(calls_whose_blocks_differ_are_not_kept,
                                        open_comms, close_comms),
        cmocka_unit_test(calls_are_counted_by_algorithm),
        cmocka_unit_test_setup_teardown(
            reproducible_reductions_do_not_depend_on_where_ranks_run, open_comms,
            close_comms),
        cmocka_unit_test_setup_teardown(
            calls_that_reduce_nothing_need_not_be_reproducible, open_comms, close_comms),
        cmocka_unit_test(a_communicator_has_its_share_of_the_processors),
        cmocka_unit_test(the_share_of_many_ranks_does_not_overflow),
        cmocka_unit_test(over_a_network_each_rank_is_as_if_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
