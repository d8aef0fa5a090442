/*
 * guidelines.c - no collective takes longer than others that do the same together: an
 * allreduce no longer than a reduce and a bcast, and so on. Both are timed in turn, and
 * medians are compared.
 *
 *     guidelines [LIMIT [BYTES...]]
 *
 * It prints a line for each pair, with the ratio. Where the ratio is above LIMIT, 2 by
 * default, the pair is timed again, and only a second time above it is a failure: other
 * load on the machine seldom hits one of two in turn twice.
 */
#include "check.h"

enum { TURNS = 31, CALLS = 8, BYTES_MOST = 1 << 16, RANKS_MOST = 64 };

static char *in;
static char *out;
static int size;

static void allreduce(int n)
{
    MPI_Allreduce(in, out, n / 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void reduce(int n)
{
    MPI_Reduce(in, out, n / 8, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
}

static void bcast(int n)
{
    MPI_Bcast(out, n, MPI_BYTE, 0, MPI_COMM_WORLD);
}

static void gather(int n)
{
    MPI_Gather(in, n, MPI_BYTE, out, n, MPI_BYTE, 0, MPI_COMM_WORLD);
}

static void scatter(int n)
{
    MPI_Scatter(in, n, MPI_BYTE, out, n, MPI_BYTE, 0, MPI_COMM_WORLD);
}

static void allgather(int n)
{
    MPI_Allgather(in, n, MPI_BYTE, out, n, MPI_BYTE, MPI_COMM_WORLD);
}

static void alltoall(int n)
{
    MPI_Alltoall(in, n, MPI_BYTE, out, n, MPI_BYTE, MPI_COMM_WORLD);
}

static void alltoallv(int n)
{
    int counts[RANKS_MOST];
    int displs[RANKS_MOST];

    for (int i = 0; i < size; i++) {
        counts[i] = n;
        displs[i] = i * n;
    }
    MPI_Alltoallv(in, counts, displs, MPI_BYTE, out, counts, displs, MPI_BYTE,
                  MPI_COMM_WORLD);
}

static void reduce_scatter(int n)
{
    MPI_Reduce_scatter_block(in, out, n / 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void barrier(int n)
{
    (void)n;
    MPI_Barrier(MPI_COMM_WORLD);
}

/* ---- emulations ---- */

static void reduce_and_bcast(int n)
{
    reduce(n);
    bcast(n);
}

static void gather_and_bcast(int n)
{
    gather(n);
    bcast(n * size);
}

static void bcast_of_all(int n)
{
    bcast(n * size);
}

/* Of the bytes of a bcast, a part for each rank. */
static void scatter_and_allgather(int n)
{
    scatter(n / size);
    allgather(n / size);
}

static void reduce_and_scatter(int n)
{
    reduce(n * size);
    scatter(n);
}

static void allreduce_of_one(int n)
{
    (void)n;
    allreduce(8);
}

static const struct {
    const char *name;
    void (*one)(int n);
    void (*other)(int n);
} rows[] = {
    {"allreduce <= reduce + bcast", allreduce, reduce_and_bcast},
    {"allgather <= gather + bcast", allgather, gather_and_bcast},
    {"alltoall <= alltoallv", alltoall, alltoallv},
    {"scatter <= bcast of all", scatter, bcast_of_all},
    {"gather <= allgather", gather, allgather},
    {"reduce <= allreduce", reduce, allreduce},
    {"bcast <= scatter + allgather", bcast, scatter_and_allgather},
    {"reduce_scatter_block <= reduce + scatter", reduce_scatter, reduce_and_scatter},
    {"barrier <= allreduce of 8 bytes", barrier, allreduce_of_one},
};

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;

    return (x > y) - (x < y);
}

static double time_of(void (*act)(int n), int n)
{
    double start;
    double time;

    MPI_Barrier(MPI_COMM_WORLD);
    start = MPI_Wtime();
    for (int i = 0; i < CALLS; i++) {
        act(n);
    }
    time = MPI_Wtime() - start;
    MPI_Allreduce(MPI_IN_PLACE, &time, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return time;
}

/* Of medians, the same on all ranks. */
static double ratio_of(int row, int n)
{
    double one[TURNS];
    double other[TURNS];

    for (int i = 0; i < TURNS; i++) {
        one[i] = time_of(rows[row].one, n);
        other[i] = time_of(rows[row].other, n);
    }
    qsort(one, TURNS, sizeof(one[0]), compare);
    qsort(other, TURNS, sizeof(other[0]), compare);
    return one[TURNS / 2] / other[TURNS / 2];
}

static void check_row(int row, int n, double limit, int rank)
{
    double ratio = ratio_of(row, n);

    if (ratio > limit) {
        const double again = ratio_of(row, n);

        ratio = again < ratio ? again : ratio;
    }
    if (rank == 0) {
        printf("%.2f  %s, %d bytes, %d ranks\n", ratio, rows[row].name, n, size);
        fflush(stdout);
    }
    CHECK(ratio <= limit);
}

int main(int argc, char **argv)
{
    const double limit = argc > 1 ? strtod(argv[1], NULL) : 2;
    int rank;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(size <= RANKS_MOST);
    in = calloc((size_t)size, BYTES_MOST);
    out = calloc((size_t)size, BYTES_MOST);
    CHECK(in != NULL && out != NULL);
    for (int row = 0; row < (int)(sizeof(rows) / sizeof(rows[0])); row++) {
        for (int i = 2; i < argc; i++) {
            const int n = atoi(argv[i]);

            CHECK(n > 0 && n <= BYTES_MOST);
            check_row(row, n, limit, rank);
        }
        if (argc <= 2) {
            check_row(row, 64, limit, rank);
        }
    }
    free(in);
    free(out);
    MPI_Finalize();
    return 0;
}
