/*
 * monotone.c - a collective of less takes no longer than one of more: of fewer bytes, and
 * of fewer ranks. Both are timed in turn, and the least times are compared, because a
 * rank that yields to other load on the machine is in every median. Fewer ranks are the
 * first half of the world; the others wait meanwhile.
 *
 *     monotone [LIMIT [upside-down]]
 *
 * It prints a line for each pair, with the ratio. Where the ratio is above LIMIT, 2 by
 * default, the pair is timed again, up to TRIES times, and only if it is above it each
 * time it is a failure: other load on the machine seldom hits one of two in turn so
 * often. With "upside-down" the claim about bytes is turned round, and it is a failure if
 * no pair is above LIMIT: a collective that broke the claim would be found.
 */
#include "check.h"

#include <stdbool.h>

enum {
    TURNS = 61,
    CALLS = 2,
    BYTES_LEAST = 64,
    BYTES_MOST = 1 << 15,
    STEP = 8,
    TRIES = 3
};

struct call {
    MPI_Comm comm;
    int bytes; /* of a block, or of one rank's vector */
};

static char *in;
static char *out;
static int violations; /* the same on all ranks */

static void bcast(struct call c)
{
    MPI_Bcast(out, c.bytes, MPI_BYTE, 0, c.comm);
}

static void gather(struct call c)
{
    MPI_Gather(in, c.bytes, MPI_BYTE, out, c.bytes, MPI_BYTE, 0, c.comm);
}

static void scatter(struct call c)
{
    MPI_Scatter(in, c.bytes, MPI_BYTE, out, c.bytes, MPI_BYTE, 0, c.comm);
}

static void allgather(struct call c)
{
    MPI_Allgather(in, c.bytes, MPI_BYTE, out, c.bytes, MPI_BYTE, c.comm);
}

static void alltoall(struct call c)
{
    MPI_Alltoall(in, c.bytes, MPI_BYTE, out, c.bytes, MPI_BYTE, c.comm);
}

static void reduce(struct call c)
{
    MPI_Reduce(in, out, c.bytes / 8, MPI_DOUBLE, MPI_SUM, 0, c.comm);
}

static void allreduce(struct call c)
{
    MPI_Allreduce(in, out, c.bytes / 8, MPI_DOUBLE, MPI_SUM, c.comm);
}

static void reduce_scatter_block(struct call c)
{
    MPI_Reduce_scatter_block(in, out, c.bytes / 8, MPI_DOUBLE, MPI_SUM, c.comm);
}

static void scan(struct call c)
{
    MPI_Scan(in, out, c.bytes / 8, MPI_DOUBLE, MPI_SUM, c.comm);
}

static const struct row {
    const char *name;
    void (*act)(struct call c);
} rows[] = {
    {"bcast", bcast},         {"gather", gather},
    {"scatter", scatter},     {"allgather", allgather},
    {"alltoall", alltoall},   {"reduce", reduce},
    {"allreduce", allreduce}, {"reduce_scatter_block", reduce_scatter_block},
    {"scan", scan},
};

/* Of the slowest rank. */
static double time_of(const struct row *row, struct call c)
{
    double start;
    double time;

    MPI_Barrier(MPI_COMM_WORLD);
    start = MPI_Wtime();
    for (int i = 0; i < CALLS && c.comm != MPI_COMM_NULL; i++) {
        row->act(c);
    }
    time = MPI_Wtime() - start;
    MPI_Allreduce(MPI_IN_PLACE, &time, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return time;
}

/* Of the least times, the same on all ranks. */
static double ratio_of(const struct row *row, struct call less, struct call more)
{
    double one = time_of(row, less);
    double other = time_of(row, more);

    for (int i = 1; i < TURNS; i++) {
        const double one_more = time_of(row, less);
        const double other_more = time_of(row, more);

        one = one_more < one ? one_more : one;
        other = other_more < other ? other_more : other;
    }
    return one / other;
}

static void check_pair(const struct row *row, struct call less, struct call more,
                       double limit, const char *what)
{
    double ratio = ratio_of(row, less, more);
    int rank;

    for (int i = 1; i < TRIES && ratio > limit; i++) {
        const double again = ratio_of(row, less, more);

        ratio = again < ratio ? again : ratio;
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        printf("%.2f  %s of %d bytes: %s\n", ratio, row->name, less.bytes, what);
        fflush(stdout);
    }
    violations += ratio > limit;
}

static void check_row(const struct row *row, bool has_half, MPI_Comm half, double limit,
                      bool is_upside_down)
{
    for (int bytes = BYTES_LEAST; bytes <= BYTES_MOST; bytes *= STEP) {
        const struct call all = {MPI_COMM_WORLD, bytes};

        if (bytes * STEP <= BYTES_MOST) {
            const struct call more = {MPI_COMM_WORLD, bytes * STEP};

            check_pair(row, is_upside_down ? more : all, is_upside_down ? all : more,
                       limit, "8 times as many");
        }
        if (has_half) {
            check_pair(row, (struct call){half, bytes}, all, limit,
                       "twice as many ranks");
        }
    }
}

int main(int argc, char **argv)
{
    const double limit = argc > 1 ? strtod(argv[1], NULL) : 2;
    const bool is_upside_down = argc > 2 && strcmp(argv[2], "upside-down") == 0;
    MPI_Comm half;
    int rank;
    int size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    in = calloc((size_t)size, BYTES_MOST);
    out = calloc((size_t)size, BYTES_MOST);
    CHECK(in != NULL && out != NULL);
    MPI_Comm_split(MPI_COMM_WORLD, rank < (size + 1) / 2 ? 0 : MPI_UNDEFINED, rank,
                   &half);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        /* One rank alone does something else. */
        check_row(&rows[i], size > 2, half, limit, is_upside_down);
    }
    if (half != MPI_COMM_NULL) {
        MPI_Comm_free(&half);
    }
    CHECK(is_upside_down ? violations > 0 : violations == 0);
    free(in);
    free(out);
    MPI_Finalize();
    return 0;
}
