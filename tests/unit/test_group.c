/* test_group.c - groups: every operation beside a plain list, and what a group costs. */
#include "unit.h"

#include "core/comm.h"

#include <stdlib.h>

/* The second one is as far from the first as one can be. */
#define JOB       UINT32_C(0x92345678)
#define OTHER_JOB UINT32_C(0x12345678)
#define MY(rank)  ((uint64_t)JOB << 32 | (rank))

enum { ME = 5, MILLION = 1000000, ROUNDS = 2000, UNIVERSE = 24 };

/* A group as anyone would write it down. */
struct list {
    int size;
    uint64_t process[2 * UNIVERSE];
};

static int open_groups(void **state)
{
    (void)state;
    weft_group_open(weft_process(JOB, ME));
    return 0;
}

static int close_groups(void **state)
{
    (void)state;
    weft_group_close();
    return 0;
}

static struct weft_group *make(struct weft_group_draft *draft)
{
    struct weft_group *group = NULL;

    assert_int_equal(weft_group_make(draft, &group), WEFT_OK);
    assert_int_equal(draft->size, 0);
    return group;
}

static struct weft_group *make_list(const struct list *list)
{
    struct weft_group_draft draft = {0};

    for (int i = 0; i < list->size; i++) {
        assert_int_equal(weft_group_add(&draft, list->process[i]), WEFT_OK);
    }
    return make(&draft);
}

static int find(const struct list *list, uint64_t process)
{
    for (int i = 0; i < list->size; i++) {
        if (list->process[i] == process) {
            return i;
        }
    }
    return MPI_UNDEFINED;
}

/* Is there a formula for it? Then the group must have found it. */
static bool has_formula(const struct list *list)
{
    for (int i = 1; i < list->size; i++) {
        if (list->process[i] >> 32 != list->process[0] >> 32 ||
            (uint32_t)(list->process[i] - list->process[i - 1]) !=
                (uint32_t)(list->process[1] - list->process[0])) {
            return false;
        }
    }
    return true;
}

static void assert_is(const struct weft_group *group, const struct list *list)
{
    assert_int_equal(group->size, list->size);
    for (int i = 0; i < list->size; i++) {
        assert_true(weft_group_process(group, i) == list->process[i]);
        assert_int_equal(weft_group_rank_of(group, list->process[i]), i);
    }
    assert_int_equal(group->rank, find(list, weft_process(JOB, ME)));
    assert_int_equal(group->map.table == NULL, has_formula(list));
}

/* Few processes, of two jobs at times, often in a row: so that all forms come up. */
static struct list random_list(void)
{
    const int kind = rand() % 4;
    const uint32_t first = (uint32_t)(rand() % UNIVERSE);
    struct list list = {0};
    uint64_t process;

    if (kind < 2) {
        const int stride = rand() % 7 - 3;
        const int count = 1 + rand() % 8;

        for (int i = 0; i < count; i++) {
            int64_t at = (int64_t)first + (int64_t)stride * i;

            if (at >= 0 && at < UNIVERSE && (stride != 0 || i == 0)) {
                list.process[list.size++] = weft_process(JOB, (uint32_t)at);
            }
        }
        return list;
    }
    for (int i = rand() % UNIVERSE; i > 0; i--) {
        process = weft_process(kind == 3 && rand() % 2 == 0 ? OTHER_JOB : JOB,
                               (uint32_t)(rand() % UNIVERSE));
        if (find(&list, process) == MPI_UNDEFINED) {
            list.process[list.size++] = process;
        }
    }
    return list;
}

/* The members of `a` that are in `b`, or that are not, appended. */
static void append(struct list *to, const struct list *a, const struct list *b,
                   bool is_in)
{
    for (int i = 0; i < a->size; i++) {
        if ((find(b, a->process[i]) != MPI_UNDEFINED) == is_in) {
            to->process[to->size++] = a->process[i];
        }
    }
}

static void two_groups_make_what_two_lists_make(void **state)
{
    static const struct list none = {0};

    (void)state;
    srand(1);
    for (int round = 0; round < ROUNDS; round++) {
        struct list list[2] = {random_list(), random_list()};
        struct weft_group *group[2] = {make_list(&list[0]), make_list(&list[1])};
        struct weft_group_draft draft = {0};
        struct weft_group *made;
        struct list expected = {0};

        assert_is(group[0], &list[0]);
        append(&expected, &list[0], &none, false);
        append(&expected, &list[1], &list[0], false);
        assert_int_equal(weft_group_union(group[0], group[1], &draft), WEFT_OK);
        made = make(&draft);
        assert_is(made, &expected);
        weft_group_release(made);

        expected.size = 0;
        append(&expected, &list[0], &list[1], true);
        assert_int_equal(weft_group_intersection(group[0], group[1], &draft), WEFT_OK);
        made = make(&draft);
        assert_is(made, &expected);
        weft_group_release(made);

        expected.size = 0;
        append(&expected, &list[0], &list[1], false);
        assert_int_equal(weft_group_difference(group[0], group[1], &draft), WEFT_OK);
        made = make(&draft);
        assert_is(made, &expected);
        weft_group_release(made);
        weft_group_release(group[0]);
        weft_group_release(group[1]);
    }
}

static void groups_compare_as_lists_do(void **state)
{
    (void)state;
    srand(2);
    for (int round = 0; round < ROUNDS; round++) {
        struct list list[2] = {random_list(), random_list()};
        struct weft_group *group[2];
        bool is_similar;
        int expected;
        int result = -1;

        if (round % 2 == 0) { /* the same members, often in another order */
            list[1] = list[0];
            if (list[1].size > 1) {
                uint64_t kept = list[1].process[0];
                int other = rand() % list[1].size;

                list[1].process[0] = list[1].process[other];
                list[1].process[other] = kept;
            }
        }
        is_similar = list[0].size == list[1].size;
        for (int i = 0; i < list[0].size && is_similar; i++) {
            is_similar = find(&list[1], list[0].process[i]) != MPI_UNDEFINED;
        }
        expected = is_similar ? MPI_SIMILAR : MPI_UNEQUAL;
        if (is_similar && memcmp(list[0].process, list[1].process,
                                 (size_t)list[0].size * sizeof(uint64_t)) == 0) {
            expected = MPI_IDENT;
        }
        for (int i = 0; i < 2; i++) {
            group[i] = make_list(&list[i]);
        }
        assert_int_equal(weft_group_compare(group[0], group[1], &result), WEFT_OK);
        assert_int_equal(result, expected);
        weft_group_release(group[0]);
        weft_group_release(group[1]);
    }
}

static void some_ranks_are_taken_or_left_out(void **state)
{
    (void)state;
    srand(3);
    for (int round = 0; round < ROUNDS; round++) {
        struct list list = random_list();
        struct weft_group *group = make_list(&list);
        struct weft_group_draft draft = {0};
        struct weft_group *made;
        struct list chosen = {0};
        struct list others = {0};
        int ranks[2 * UNIVERSE];
        int translated[2 * UNIVERSE];

        for (int i = 0; i < list.size; i++) {
            if (rand() % 3 > 0) {
                ranks[chosen.size] = i;
                chosen.process[chosen.size++] = list.process[i];
            } else {
                others.process[others.size++] = list.process[i];
            }
        }
        assert_int_equal(weft_group_excl(group, chosen.size, ranks, &draft), WEFT_OK);
        made = make(&draft);
        assert_is(made, &others);
        weft_group_release(made);
        assert_int_equal(weft_group_incl(group, chosen.size, ranks, &draft), WEFT_OK);
        made = make(&draft);
        assert_is(made, &chosen);
        for (int i = 0; i < list.size; i++) {
            ranks[i] = i;
        }
        assert_int_equal(weft_group_translate(group, list.size, ranks, made, translated),
                         WEFT_OK);
        for (int i = 0; i < list.size; i++) {
            assert_int_equal(translated[i], find(&chosen, list.process[i]));
        }
        weft_group_release(made);
        weft_group_release(group);
    }
}

static void ranges_go_up_and_down(void **state)
{
    int ranges[3][3] = {{9, 1, -4}, {2, 4, 2}, {0, 0, 5}};
    const struct list taken = {6, {MY(9), MY(5), MY(1), MY(2), MY(4), MY(0)}};
    const struct list left = {4, {MY(3), MY(6), MY(7), MY(8)}};
    struct weft_group_draft draft = {0};
    struct weft_group *ten;
    struct weft_group *made;

    (void)state;
    assert_int_equal(weft_group_make_range(0, 10, &ten), WEFT_OK);
    assert_int_equal(weft_group_range_length(ranges[0]), 3);
    assert_int_equal(weft_group_range_length((const int[]){3, 2, 1}), 0);
    assert_int_equal(weft_group_range_incl(ten, 3, ranges, &draft), WEFT_OK);
    made = make(&draft);
    assert_is(made, &taken);
    weft_group_release(made);
    assert_int_equal(weft_group_range_excl(ten, 3, ranges, &draft), WEFT_OK);
    made = make(&draft);
    assert_is(made, &left);
    weft_group_release(made);
    weft_group_release(ten);
}

static void a_million_ranks_cost_no_table(void **state)
{
    int evens[1][3] = {{0, MILLION - 2, 2}};
    struct weft_group_draft draft = {0};
    struct weft_group *all;
    struct weft_group *even;
    struct weft_group *odd;
    struct weft_group *back;

    (void)state;
    assert_true(sizeof(struct weft_group) <= 64);
    assert_int_equal(weft_group_make_range(0, MILLION, &all), WEFT_OK);
    assert_null(all->map.table);
    assert_int_equal(weft_group_range_incl(all, 1, evens, &draft), WEFT_OK);
    assert_null(draft.table);
    even = make(&draft);
    assert_int_equal(even->size, MILLION / 2);
    assert_int_equal(weft_group_difference(all, even, &draft), WEFT_OK);
    assert_null(draft.table);
    odd = make(&draft);
    assert_true(weft_group_process(odd, 499999) == MY(MILLION - 1));
    assert_int_equal(odd->rank, 2);
    evens[0][0] = MILLION - 1;
    evens[0][1] = 0;
    evens[0][2] = -1;
    assert_int_equal(weft_group_range_incl(all, 1, evens, &draft), WEFT_OK);
    back = make(&draft);
    assert_null(back->map.table);
    assert_int_equal(back->rank, MILLION - 1 - ME);
    weft_group_release(back);
    weft_group_release(odd);
    weft_group_release(even);
    weft_group_release(all);
}

static void a_duplicate_shares_the_group(void **state)
{
    struct weft_comm *dup;

    (void)state;
    weft_group_close(); /* weft_comm_open() opens it */
    weft_comm_open(MY(ME));
    assert_int_equal(weft_comm_open_predefined(ME, MILLION), WEFT_OK);
    assert_int_equal(weft_comm_take(weft_comm_world.group, NULL, &dup), WEFT_OK);
    assert_ptr_equal(dup->group, weft_comm_world.group);
    assert_int_equal(dup->size, MILLION);
    assert_true(weft_comm_process(dup, 777777) == MY(777777));
    assert_true(sizeof(*dup) < 240);
    weft_comm_give(dup);
    weft_comm_close();
    weft_group_open(weft_process(JOB, ME));
}

/* A request that the user has freed ends when its last packet comes, which may be later.
 */
static void a_reference_to_the_world_comes_back_after_its_end(void **state)
{
    (void)state;
    weft_group_close(); /* weft_comm_open() opens it */
    weft_comm_open(MY(ME));
    assert_int_equal(weft_comm_open_predefined(ME, MILLION), WEFT_OK);
    weft_comm_use(&weft_comm_world);
    weft_comm_close_predefined();
    assert_null(weft_comm_world.group);
    weft_comm_release(&weft_comm_world); /* nobody is to take it over as unused */
    assert_int_equal(weft_comm_world.references, 1);
    weft_comm_close();
    weft_group_open(weft_process(JOB, ME));
}

static void a_handle_lives_as_long_as_the_user_holds_it(void **state)
{
    const struct list list = {3, {MY(1), MY(2), MY(9)}};
    struct weft_group *group = make_list(&list);
    MPI_Group handle = group->handle;

    (void)state;
    assert_null(weft_group_from_handle(handle));
    weft_group_hold(group);
    assert_ptr_equal(weft_group_from_handle(handle), group);
    weft_group_release(group);
    assert_ptr_equal(weft_group_from_handle(handle), group);
    weft_group_hold(group);
    weft_group_let_go(group);
    assert_ptr_equal(weft_group_from_handle(handle), group);
    weft_group_let_go(group);
    assert_null(weft_group_from_handle(handle));
    assert_ptr_equal(weft_group_from_handle(MPI_GROUP_EMPTY), &weft_group_empty);
    weft_group_hold(&weft_group_empty);
    weft_group_let_go(&weft_group_empty);
    weft_group_release(weft_group_use(&weft_group_empty));
    assert_null(weft_group_from_handle(MPI_GROUP_NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_groups_make_what_two_lists_make),
        cmocka_unit_test(groups_compare_as_lists_do),
        cmocka_unit_test(some_ranks_are_taken_or_left_out),
        cmocka_unit_test(ranges_go_up_and_down),
        cmocka_unit_test(a_million_ranks_cost_no_table),
        cmocka_unit_test(a_duplicate_shares_the_group),
        cmocka_unit_test(a_reference_to_the_world_comes_back_after_its_end),
        cmocka_unit_test(a_handle_lives_as_long_as_the_user_holds_it),
    };

    return cmocka_run_group_tests(tests, open_groups, close_groups);
}
