/* test_topo.c - balanced dimensions, the arithmetic of grids, places near each other. */
#include "unit.h"

#include "topo/cart.h"
#include "topo/dims.h"
#include "topo/order.h"

#include <limits.h>
#include <stdlib.h>

enum { NONE = -2, MOST = 64 };

/* ---- dims ---- */

/* The smallest difference between largest and smallest of `left` factors of n. */
static int best_range(int n, int left, int largest, int most)
{
    int best = INT_MAX;

    if (left == 1) {
        return n <= most ? (largest > n ? largest : n) - n : INT_MAX;
    }
    for (int d = 1; d <= n && d <= most; d++) {
        if (n % d == 0) {
            int range = best_range(n / d, left - 1, largest == 0 ? d : largest, d);

            best = range < best ? range : best;
        }
    }
    return best;
}

static void assert_dims(int nodes, int ndims, const int *expected)
{
    int dims[MOST] = {0};

    assert_true(weft_dims_create(nodes, ndims, dims));
    for (int i = 0; i < ndims; i++) {
        assert_int_equal(dims[i], expected[i]);
    }
}

static void dims_are_balanced_and_do_not_increase(void **state)
{
    (void)state;
    for (int n = 1; n <= 400; n++) {
        for (int k = 1; k <= 5; k++) {
            int dims[5] = {0};
            int product = 1;

            assert_true(weft_dims_create(n, k, dims));
            for (int i = 0; i < k; i++) {
                product *= dims[i];
                assert_true(i == 0 || dims[i] <= dims[i - 1]);
            }
            assert_int_equal(product, n);
            assert_int_equal(dims[0] - dims[k - 1], best_range(n, k, 0, n));
        }
    }
}

static void dims_of_known_numbers(void **state)
{
    int thirty_twos[30];

    (void)state;
    for (int i = 0; i < 30; i++) {
        thirty_twos[i] = 2;
    }
    assert_dims(6, 2, (int[]){3, 2});
    assert_dims(7, 2, (int[]){7, 1});
    assert_dims(12, 3, (int[]){3, 2, 2});
    assert_dims(16, 3, (int[]){4, 2, 2});
    assert_dims(5040, 3, (int[]){21, 16, 15});       /* not 20, 18, 14 */
    assert_dims(98784, 5, (int[]){14, 14, 9, 8, 7}); /* not 14, 12, 12, 7, 7 */
    assert_dims(1000000, 3, (int[]){100, 100, 100});
    assert_dims(1 << 30, 30, thirty_twos);
    assert_dims(1, 4, (int[]){1, 1, 1, 1});
    assert_dims(INT_MAX, 2, (int[]){INT_MAX, 1});      /* a prime */
    assert_dims(1396755360, 2, (int[]){37620, 37128}); /* many divisors */
}

/* The numbers below 2^31 with the most divisors, in as many dimensions as matter. */
static void the_search_ends_soon(void **state)
{
    static const int numbers[] = {1396755360, 2095133040, 1102701600, 698377680};

    (void)state;
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        for (int k = 1; k <= 12; k++) {
            int dims[12] = {0};
            long long product = 1;

            assert_true(weft_dims_create(numbers[i], k, dims));
            for (int d = 0; d < k; d++) {
                product *= dims[d];
            }
            assert_int_equal(product, numbers[i]);
        }
    }
}

static void given_dims_are_kept(void **state)
{
    int one[3] = {0, 3, 0};
    int whole[2] = {2, 3};
    int wrong[2] = {4, 0};
    int short_of[2] = {2, 2};

    (void)state;
    assert_true(weft_dims_create(12, 3, one));
    assert_int_equal(one[0], 2);
    assert_int_equal(one[1], 3);
    assert_int_equal(one[2], 2);
    assert_true(weft_dims_create(6, 2, whole));
    assert_false(weft_dims_create(6, 2, wrong));
    assert_int_equal(wrong[1], 0);
    assert_false(weft_dims_create(8, 2, short_of));
    assert_true(weft_dims_create(1, 0, NULL));
}

static void more_dims_than_factors(void **state)
{
    int dims[MOST] = {0};

    (void)state;
    assert_true(weft_dims_create(12, MOST, dims));
    assert_int_equal(dims[0] * dims[1] * dims[2], 12);
    assert_int_equal(dims[0], 3);
    assert_int_equal(dims[3], 1);
    assert_int_equal(dims[MOST - 1], 1);
}

/* ---- grids ---- */

static const struct weft_grid grid = {
    .ndims = 3,
    .dims = (const int[]){2, 3, 4},
    .periods = (const int[]){1, 0, 1},
};

static void ranks_and_coordinates_belong_together(void **state)
{
    (void)state;
    assert_int_equal(weft_grid_size(&grid), 24);
    for (int rank = 0; rank < 24; rank++) {
        int coords[3];

        weft_grid_coords(&grid, rank, coords);
        assert_int_equal(rank, (coords[0] * 3 + coords[1]) * 4 + coords[2]);
        assert_int_equal(weft_grid_rank(&grid, coords), rank);
    }
}

static void only_periods_lead_back_into_the_grid(void **state)
{
    (void)state;
    assert_int_equal(weft_grid_rank(&grid, (const int[]){2, 0, 0}), 0);
    assert_int_equal(weft_grid_rank(&grid, (const int[]){-1, 0, -1}), 15);
    assert_int_equal(weft_grid_rank(&grid, (const int[]){INT_MIN, 1, INT_MAX}), 7);
    assert_int_equal(weft_grid_rank(&grid, (const int[]){0, 3, 0}), -1);
    assert_int_equal(weft_grid_rank(&grid, (const int[]){0, -1, 0}), -1);
}

static void a_shift_ends_at_a_border_or_comes_around(void **state)
{
    (void)state;
    assert_int_equal(weft_grid_shift(&grid, 0, 2, 1, NONE), 1);
    assert_int_equal(weft_grid_shift(&grid, 0, 2, -1, NONE), 3);
    assert_int_equal(weft_grid_shift(&grid, 0, 2, 4, NONE), 0);
    assert_int_equal(weft_grid_shift(&grid, 0, 1, 1, NONE), 4);
    assert_int_equal(weft_grid_shift(&grid, 0, 1, 3, NONE), NONE);
    assert_int_equal(weft_grid_shift(&grid, 0, 1, -1, NONE), NONE);
    assert_int_equal(weft_grid_shift(&grid, 23, 0, 1, NONE), 11);
    assert_int_equal(weft_grid_shift(&grid, 23, 0, -(long long)INT_MIN, NONE), 23);
}

static void a_part_has_the_dimensions_that_remain(void **state)
{
    int ranks[24];

    (void)state;
    assert_int_equal(weft_grid_part(&grid, 17, (const int[]){1, 0, 0}, ranks), 2);
    assert_int_equal(ranks[0], 5);
    assert_int_equal(ranks[1], 17);
    assert_int_equal(weft_grid_part(&grid, 17, (const int[]){0, 1, 1}, ranks), 12);
    for (int i = 0; i < 12; i++) {
        assert_int_equal(ranks[i], 12 + i);
    }
    assert_int_equal(weft_grid_part(&grid, 17, (const int[]){0, 0, 0}, ranks), 1);
    assert_int_equal(ranks[0], 17);
    assert_int_equal(weft_grid_part(&grid, 17, (const int[]){1, 1, 1}, NULL), 24);
}

static void a_grid_can_be_a_point_or_too_large(void **state)
{
    const struct weft_grid point = {.ndims = 0};
    const struct weft_grid large = {
        .ndims = 2, .dims = (const int[]){65536, 65536}, .periods = (const int[]){0, 0}};

    (void)state;
    assert_int_equal(weft_grid_size(&point), 1);
    assert_int_equal(weft_grid_rank(&point, NULL), 0);
    assert_int_equal(weft_grid_size(&large), -1);
}

/* ---- order ---- */

static void assert_permutation(int count, const int *place)
{
    bool *is_seen = calloc((size_t)count, sizeof(*is_seen));

    assert_non_null(is_seen);
    for (int i = 0; i < count; i++) {
        assert_true(place[i] >= 0 && place[i] < count && !is_seen[place[i]]);
        is_seen[place[i]] = true;
    }
    free(is_seen);
}

static void on_one_node_everyone_stays(void **state)
{
    uint32_t nodes[24] = {0};
    int place[24];

    (void)state;
    assert_int_equal(weft_order_grid(&grid, nodes, place), WEFT_OK);
    for (int i = 0; i < 24; i++) {
        assert_int_equal(place[i], i);
    }
}

/* 4 nodes of 16 in an 8 x 8 grid: squares of 4 x 4 have half the surface of two rows. */
static void nodes_get_blocks_of_a_grid(void **state)
{
    const struct weft_grid square = {
        .ndims = 2, .dims = (const int[]){8, 8}, .periods = (const int[]){1, 1}};
    uint32_t nodes[64];
    int place[64];
    int kept[64];

    (void)state;
    for (int r = 0; r < 64; r++) {
        nodes[r] = (uint32_t)r / 16;
        kept[r] = r;
    }
    assert_int_equal(weft_order_grid_cut(&square, nodes, kept), 4 * 8);
    assert_int_equal(weft_order_grid(&square, nodes, place), WEFT_OK);
    assert_permutation(64, place);
    assert_int_equal(weft_order_grid_cut(&square, nodes, place), 4 * 8);

    /* Dealt out one by one, every neighbour in a row is elsewhere. */
    for (int r = 0; r < 64; r++) {
        nodes[r] = (uint32_t)r % 4;
    }
    assert_int_equal(weft_order_grid_cut(&square, nodes, kept), 64);
    assert_int_equal(weft_order_grid(&square, nodes, place), WEFT_OK);
    assert_permutation(64, place);
    assert_int_equal(weft_order_grid_cut(&square, nodes, place), 4 * 8);
}

static void uneven_nodes_fill_rows(void **state)
{
    const struct weft_grid row = {
        .ndims = 1, .dims = (const int[]){7}, .periods = (const int[]){0}};
    const uint32_t nodes[7] = {5, 9, 5, 9, 5, 9, 5};
    int place[7];

    (void)state;
    assert_int_equal(weft_order_grid(&row, nodes, place), WEFT_OK);
    assert_permutation(7, place);
    assert_int_equal(weft_order_grid_cut(&row, nodes, place), 1);
}

/* Two triangles, tied together by one edge, over two nodes that take turns. */
static void near_vertices_go_to_one_node(void **state)
{
    const int index[6] = {2, 4, 7, 10, 12, 14};
    const int edges[14] = {2, 4, 3, 5, 0, 4, 3, 1, 5, 2, 0, 2, 1, 3};
    const uint32_t nodes[6] = {0, 0, 1, 0, 1, 1};
    int place[6];

    (void)state;
    assert_int_equal(weft_order_graph(6, index, edges, nodes, place), WEFT_OK);
    assert_permutation(6, place);
    assert_int_equal(weft_order_graph_cut(6, index, edges, nodes, place), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dims_are_balanced_and_do_not_increase),
        cmocka_unit_test(dims_of_known_numbers),
        cmocka_unit_test(the_search_ends_soon),
        cmocka_unit_test(given_dims_are_kept),
        cmocka_unit_test(more_dims_than_factors),
        cmocka_unit_test(ranks_and_coordinates_belong_together),
        cmocka_unit_test(only_periods_lead_back_into_the_grid),
        cmocka_unit_test(a_shift_ends_at_a_border_or_comes_around),
        cmocka_unit_test(a_part_has_the_dimensions_that_remain),
        cmocka_unit_test(a_grid_can_be_a_point_or_too_large),
        cmocka_unit_test(on_one_node_everyone_stays),
        cmocka_unit_test(nodes_get_blocks_of_a_grid),
        cmocka_unit_test(uneven_nodes_fill_rows),
        cmocka_unit_test(near_vertices_go_to_one_node),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
