/* test_spread.c - which ranks share a node, in every way they can be spread. */
#include "unit.h"

#include "sched/spread.h"

#include <stdlib.h>

enum { MOST = 40, NODES = 9 };

/* Every rank is a member of its node once; lower members are lower ranks. */
static void check_spread(const struct weft_spread *spread, const uint32_t *node_of, int n)
{
    int seen = 0;

    assert_int_equal(spread->ranks, n);
    assert_int_equal(spread->begin[0], 0);
    assert_int_equal(spread->begin[spread->nodes], n);
    for (int node = 0; node < spread->nodes; node++) {
        const int size = weft_spread_size(spread, node);

        assert_true(size >= spread->least && size <= spread->most && size > 0);
        for (int member = 0; member < size; member++) {
            const int rank = weft_spread_rank(spread, node, member);

            assert_int_equal(weft_spread_node(spread, rank), node);
            assert_int_equal(weft_spread_member(spread, rank), member);
            assert_int_equal(node_of[rank], node_of[weft_spread_rank(spread, node, 0)]);
            assert_true(member == 0 || weft_spread_rank(spread, node, member - 1) < rank);
            seen++;
        }
        assert_true(node == 0 || weft_spread_rank(spread, node, 0) >
                                     weft_spread_rank(spread, node - 1, 0));
    }
    assert_int_equal(seen, n);
}

static struct weft_spread *spread_of(const uint32_t *node_of, int n)
{
    struct weft_spread *spread = weft_spread_make(node_of, n, NODES);

    assert_non_null(spread);
    check_spread(spread, node_of, n);
    return spread;
}

static void neighbours_need_no_table(void **state)
{
    static const uint32_t node_of[] = {4, 4, 4, 0, 8, 8};
    struct weft_spread *spread = spread_of(node_of, 6);

    (void)state;
    assert_true(spread->is_in_order && spread->order == NULL && spread->node == NULL);
    assert_int_equal(spread->nodes, 3);
    assert_int_equal(spread->least, 1);
    assert_int_equal(spread->most, 3);
    free(spread);
}

static void ranks_in_turn_are_not_in_order(void **state)
{
    static const uint32_t node_of[] = {1, 2, 1, 2, 1};
    struct weft_spread *spread = spread_of(node_of, 5);

    (void)state;
    assert_false(spread->is_in_order);
    assert_int_equal(spread->nodes, 2);
    assert_int_equal(weft_spread_rank(spread, 0, 2), 4);
    assert_int_equal(weft_spread_rank(spread, 1, 1), 3);
    free(spread);
}

/* Also a node that comes back: its ranks are no neighbours. */
static void any_spread_is_sorted(void **state)
{
    uint32_t random = 1;

    (void)state;
    for (int turn = 0; turn < 500; turn++) {
        const int n = 1 + turn % MOST;
        uint32_t node_of[MOST];
        bool is_in_order = true;
        struct weft_spread *spread;

        for (int rank = 0; rank < n; rank++) {
            random = random * 1664525u + 1013904223u;
            node_of[rank] = rank > 0 && (random >> 28) < 11 ? node_of[rank - 1]
                                                            : (random >> 20) % NODES;
        }
        for (int rank = 1; rank < n; rank++) {
            for (int lower = 0; lower < rank - 1; lower++) {
                is_in_order &=
                    node_of[lower] != node_of[rank] || node_of[rank - 1] == node_of[rank];
            }
        }
        spread = spread_of(node_of, n);
        assert_int_equal(spread->is_in_order, is_in_order);
        free(spread);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(neighbours_need_no_table),
        cmocka_unit_test(ranks_in_turn_are_not_in_order),
        cmocka_unit_test(any_spread_is_sorted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
