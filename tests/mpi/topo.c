/* topo.c - chapter 8: Cartesian topologies. */
#include "check.h"

static int rank;
static int size;

static void balanced_dimensions(void)
{
    int dims[3] = {0, 0, 0};
    int given[2] = {0, 3};
    int bad[2] = {0, -1};
    int wrong[2] = {5, 0};

    CHECK(MPI_Dims_create(24, 3, dims) == MPI_SUCCESS);
    CHECK(dims[0] == 4 && dims[1] == 3 && dims[2] == 2);
    CHECK(MPI_Dims_create(12, 2, given) == MPI_SUCCESS);
    CHECK(given[0] == 4 && given[1] == 3);
    CHECK(MPI_Dims_create(1, 0, NULL) == MPI_SUCCESS);
    IS_ERROR(MPI_Dims_create(0, 3, dims), MPI_ERR_ARG);
    IS_ERROR(MPI_Dims_create(4, -1, dims), MPI_ERR_DIMS);
    IS_ERROR(MPI_Dims_create(4, 2, bad), MPI_ERR_DIMS);
    IS_ERROR(MPI_Dims_create(4, 2, wrong), MPI_ERR_DIMS);
    IS_ERROR(MPI_Dims_create(4, 2, NULL), MPI_ERR_ARG);
}

/* A message along every dimension arrives from where the shift says. */
static void talk_to_neighbours(MPI_Comm cart, int ndims)
{
    int me = -1;

    CHECK(MPI_Comm_rank(cart, &me) == MPI_SUCCESS);
    for (int d = 0; d < ndims; d++) {
        int source = -1;
        int dest = -1;
        int got = -7;

        CHECK(MPI_Cart_shift(cart, d, 1, &source, &dest) == MPI_SUCCESS);
        CHECK(MPI_Sendrecv(&me, 1, MPI_INT, dest, d, &got, 1, MPI_INT, source, d, cart,
                           MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(got == (source == MPI_PROC_NULL ? -7 : source));
    }
}

static void what_a_grid_tells(MPI_Comm cart, const int *dims, const int *periods)
{
    int got_dims[2] = {-1, -1};
    int got_periods[2] = {-1, -1};
    int coords[2] = {-1, -1};
    int outside[2] = {0, dims[1]};
    int me = -1;
    int other = -1;
    int source = -1;
    int dest = -1;
    int kind = -1;
    int ndims = -1;

    CHECK(MPI_Topo_test(cart, &kind) == MPI_SUCCESS && kind == MPI_CART);
    CHECK(MPI_Cartdim_get(cart, &ndims) == MPI_SUCCESS && ndims == 2);
    CHECK(MPI_Comm_rank(cart, &me) == MPI_SUCCESS);
    CHECK(MPI_Cart_get(cart, 2, got_dims, got_periods, coords) == MPI_SUCCESS);
    CHECK(got_dims[0] == dims[0] && got_dims[1] == dims[1]);
    CHECK(got_periods[0] == periods[0] && got_periods[1] == periods[1]);
    CHECK(me == coords[0] * dims[1] + coords[1]);
    for (int r = 0; r < dims[0] * dims[1]; r++) {
        CHECK(MPI_Cart_coords(cart, r, 2, coords) == MPI_SUCCESS);
        CHECK(coords[0] == r / dims[1] && coords[1] == r % dims[1]);
        CHECK(MPI_Cart_rank(cart, coords, &other) == MPI_SUCCESS && other == r);
    }
    CHECK(MPI_Cart_coords(cart, me, 2, coords) == MPI_SUCCESS);
    CHECK(MPI_Cart_shift(cart, 1, 1, &source, &dest) == MPI_SUCCESS); /* no period */
    CHECK(dest == (coords[1] + 1 < dims[1] ? me + 1 : MPI_PROC_NULL));
    CHECK(source == (coords[1] > 0 ? me - 1 : MPI_PROC_NULL));
    CHECK(MPI_Cart_shift(cart, 0, -2 * dims[0], &source, &dest) == MPI_SUCCESS);
    CHECK(source == me && dest == me);
    talk_to_neighbours(cart, 2);

    IS_ERROR(MPI_Cart_rank(cart, outside, &other), MPI_ERR_ARG);
    IS_ERROR(MPI_Cart_rank(cart, NULL, &other), MPI_ERR_ARG);
    IS_ERROR(MPI_Cart_coords(cart, dims[0] * dims[1], 2, coords), MPI_ERR_RANK);
    IS_ERROR(MPI_Cart_coords(cart, 0, 1, coords), MPI_ERR_ARG);
    IS_ERROR(MPI_Cart_get(cart, 1, got_dims, got_periods, coords), MPI_ERR_ARG);
    IS_ERROR(MPI_Cart_shift(cart, 2, 1, &source, &dest), MPI_ERR_ARG);
    IS_ERROR(MPI_Cart_shift(cart, -1, 1, &source, &dest), MPI_ERR_ARG);
    IS_ERROR(MPI_Graphdims_get(cart, &source, &dest), MPI_ERR_TOPOLOGY);
}

static void parts_of_a_grid(MPI_Comm cart, const int *dims)
{
    const int rows[2] = {0, 1};
    const int none[2] = {0, 0};
    MPI_Comm row = MPI_COMM_NULL;
    MPI_Comm point = MPI_COMM_NULL;
    int coords[2];
    int me = -1;
    int in_row = -1;
    int members = -1;
    int ndims = -1;
    int period = -1;
    int sum;

    CHECK(MPI_Comm_rank(cart, &me) == MPI_SUCCESS);
    CHECK(MPI_Cart_sub(cart, rows, &row) == MPI_SUCCESS);
    CHECK(MPI_Comm_size(row, &members) == MPI_SUCCESS && members == dims[1]);
    CHECK(MPI_Comm_rank(row, &in_row) == MPI_SUCCESS && in_row == me % dims[1]);
    CHECK(MPI_Cartdim_get(row, &ndims) == MPI_SUCCESS && ndims == 1);
    CHECK(MPI_Cart_get(row, 1, &members, &period, coords) == MPI_SUCCESS);
    CHECK(members == dims[1] && period == 0 && coords[0] == in_row);
    sum = me;
    CHECK(MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_MIN, row) == MPI_SUCCESS);
    CHECK(sum == me - in_row); /* the row's first */
    CHECK(MPI_Cart_sub(cart, none, &point) == MPI_SUCCESS);
    CHECK(MPI_Comm_size(point, &members) == MPI_SUCCESS && members == 1);
    CHECK(MPI_Cartdim_get(point, &ndims) == MPI_SUCCESS && ndims == 0);
    CHECK(MPI_Cart_coords(point, 0, 0, NULL) == MPI_SUCCESS);
    CHECK(MPI_Cart_rank(point, NULL, &members) == MPI_SUCCESS && members == 0);
    IS_ERROR(MPI_Cart_sub(cart, NULL, &point), MPI_ERR_ARG);
    CHECK(MPI_Comm_free(&row) == MPI_SUCCESS);
    CHECK(MPI_Comm_free(&point) == MPI_SUCCESS);
}

static void a_duplicate_has_the_grid(MPI_Comm cart, const int *dims, const int *periods)
{
    MPI_Comm copy = MPI_COMM_NULL;
    MPI_Comm split = MPI_COMM_NULL;
    int kind = -1;

    CHECK(MPI_Comm_dup(cart, &copy) == MPI_SUCCESS);
    CHECK(MPI_Comm_split(cart, 0, 0, &split) == MPI_SUCCESS);
    CHECK(MPI_Topo_test(split, &kind) == MPI_SUCCESS && kind == MPI_UNDEFINED);
    CHECK(MPI_Comm_free(&cart) == MPI_SUCCESS);
    what_a_grid_tells(copy, dims, periods); /* it outlives the first */
    CHECK(MPI_Comm_free(&copy) == MPI_SUCCESS);
    CHECK(MPI_Comm_free(&split) == MPI_SUCCESS);
}

static void grids(int reorder)
{
    int dims[2] = {0, 0};
    const int periods[2] = {1, 0};
    MPI_Comm cart = MPI_COMM_NULL;

    CHECK(MPI_Dims_create(size, 2, dims) == MPI_SUCCESS);
    CHECK(MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, reorder, &cart) ==
          MPI_SUCCESS);
    CHECK(cart != MPI_COMM_NULL);
    what_a_grid_tells(cart, dims, periods);
    parts_of_a_grid(cart, dims);
    a_duplicate_has_the_grid(cart, dims, periods);
}

static void smaller_grids(void)
{
    const int dim = size > 1 ? size - 1 : 1;
    const int period = 7; /* true */
    MPI_Comm cart = MPI_COMM_NULL;
    MPI_Comm point = MPI_COMM_NULL;
    int place = -5;
    int got_dim = 0;
    int got_period = 0;
    int coord = 0;

    CHECK(MPI_Cart_create(MPI_COMM_WORLD, 1, &dim, &period, 1, &cart) == MPI_SUCCESS);
    CHECK(MPI_Cart_map(MPI_COMM_WORLD, 1, &dim, &period, &place) == MPI_SUCCESS);
    CHECK((cart == MPI_COMM_NULL) == (place == MPI_UNDEFINED));
    if (cart != MPI_COMM_NULL) {
        CHECK(MPI_Cart_get(cart, 1, &got_dim, &got_period, &coord) == MPI_SUCCESS);
        CHECK(got_dim == dim && got_period == 1 && coord == place);
        talk_to_neighbours(cart, 1);
        CHECK(MPI_Comm_free(&cart) == MPI_SUCCESS);
    }
    CHECK(MPI_Cart_create(MPI_COMM_WORLD, 0, NULL, NULL, 0, &point) == MPI_SUCCESS);
    CHECK((point != MPI_COMM_NULL) == (rank == 0));
    if (point != MPI_COMM_NULL) {
        CHECK(MPI_Comm_free(&point) == MPI_SUCCESS);
    }
}

static void wrong_grids(void)
{
    const int large = size + 1;
    const int negative = -1;
    const int zero = 0;
    MPI_Comm cart = MPI_COMM_NULL;
    int place = -1;

    CHECK(MPI_Topo_test(MPI_COMM_WORLD, &place) == MPI_SUCCESS);
    CHECK(place == MPI_UNDEFINED);
    IS_ERROR(MPI_Cart_create(MPI_COMM_WORLD, 1, &large, &zero, 0, &cart), MPI_ERR_DIMS);
    IS_ERROR(MPI_Cart_create(MPI_COMM_WORLD, 1, &negative, &zero, 0, &cart),
             MPI_ERR_DIMS);
    IS_ERROR(MPI_Cart_create(MPI_COMM_WORLD, 1, &zero, &zero, 0, &cart), MPI_ERR_DIMS);
    IS_ERROR(MPI_Cart_create(MPI_COMM_WORLD, -1, &zero, &zero, 0, &cart), MPI_ERR_DIMS);
    IS_ERROR(MPI_Cart_create(MPI_COMM_WORLD, 1, NULL, &zero, 0, &cart), MPI_ERR_ARG);
    IS_ERROR(MPI_Cart_create(MPI_COMM_WORLD, 1, &size, NULL, 0, &cart), MPI_ERR_ARG);
    IS_ERROR(MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &zero, 0, NULL), MPI_ERR_ARG);
    IS_ERROR(MPI_Cart_map(MPI_COMM_WORLD, 1, &large, &zero, &place), MPI_ERR_DIMS);
    IS_ERROR(MPI_Cartdim_get(MPI_COMM_WORLD, &place), MPI_ERR_TOPOLOGY);
    IS_ERROR(MPI_Cart_sub(MPI_COMM_WORLD, &zero, &cart), MPI_ERR_TOPOLOGY);
    IS_ERROR(MPI_Cart_rank(MPI_COMM_WORLD, &zero, &place), MPI_ERR_TOPOLOGY);
    IS_ERROR(MPI_Topo_test(MPI_COMM_NULL, &place), MPI_ERR_COMM);
    IS_ERROR(MPI_Topo_test(MPI_COMM_WORLD, NULL), MPI_ERR_ARG);
}

int main(int argc, char **argv)
{
    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank) == MPI_SUCCESS);
    CHECK(MPI_Comm_size(MPI_COMM_WORLD, &size) == MPI_SUCCESS);
    balanced_dimensions();
    grids(0);
    grids(1);
    smaller_grids();
    wrong_grids();
    CHECK(MPI_Finalize() == MPI_SUCCESS);
    return 0;
}
