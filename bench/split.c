/* split: MPI_Comm_split of the world into parts of 16 and MPI_Comm_dup of it, each
 * followed by MPI_Comm_free: the time of the slowest process from a barrier on, the
 * median of the rounds (argument: how many, 30).  Each part is used once, outside
 * the time, and must hold the right processes. */
#include "bench.h"

static int is_right(MPI_Comm part, int first, int step)
{
    int rank, size, sum = 0, expected = 0;
    MPI_Comm_rank(part, &rank);
    MPI_Comm_size(part, &size);
    MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, part);
    for (int i = 0; i < size; i++)
        expected += first + i * step;
    return sum == expected && me == first + rank * step;
}

static double make(int is_split, int parts, int *ok)
{
    MPI_Comm made;
    MPI_Barrier(MPI_COMM_WORLD);
    double t = MPI_Wtime();
    if (is_split)
        MPI_Comm_split(MPI_COMM_WORLD, me % parts, me, &made);
    else
        MPI_Comm_dup(MPI_COMM_WORLD, &made);
    t = MPI_Wtime() - t;
    MPI_Allreduce(MPI_IN_PLACE, &t, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    *ok &= is_split ? is_right(made, me % parts, parts) : is_right(made, 0, 1);
    MPI_Comm_free(&made);
    return t;
}

int main(int argc, char **argv)
{
    char param[32];
    bench_begin(&argc, &argv, 0);
    int rounds = argc > 1 ? atoi(argv[1]) : 30, ok = 1;
    int parts = np >= 16 ? np / 16 : 1;
    double *t = buffer((size_t)rounds * sizeof *t);
    for (int is_split = 1; is_split >= 0; is_split--) {
        snprintf(param, sizeof param, "%s %d", is_split ? "split" : "dup", np);
        for (int i = -3; i < rounds; i++) {
            double one = make(is_split, parts, &ok);
            if (i >= 0)
                t[i] = one;
        }
        check(ok, "split", param);
        if (me == 0)
            row("split", param, median(t, rounds) * 1e6, "us");
    }
    free(t);
    return MPI_Finalize();
}
