/* rmafair: ranks contend for one exclusive lock; how often does each get it?
 * The lock is that of rank 0's part of a window. Whoever holds it adds one to a
 * counter there by get and put, which shows afterwards whether the lock kept the
 * others out. Each rank goes on for the seconds given (1) and counts.
 *   fair-others: rank 0 waits inside MPI_Barrier, all others contend
 *   fair-all:    rank 0 contends too
 * Rows: least, what the least served rank got in per cent of an equal share; rate,
 * locks per second of all together. "alloc" and "create" are as in rma.c. */
#include "bench.h"

static MPI_Win win;
static int64_t *base;

static int64_t contend(double seconds)
{
    int64_t mine = 0, value = 0, next;
    double end = wall() + seconds;
    while (wall() < end) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
        MPI_Get(&value, 1, MPI_LONG_LONG, 0, 0, 1, MPI_LONG_LONG, win);
        MPI_Win_flush(0, win);
        next = value + 1;
        MPI_Put(&next, 1, MPI_LONG_LONG, 0, 0, 1, MPI_LONG_LONG, win);
        MPI_Win_unlock(0, win);
        mine++;
    }
    return mine;
}

static void measure(const char *flavour, int is_all, double seconds)
{
    int64_t mine = 0, *counts = buffer((size_t)np * sizeof *counts), sum = 0, least;
    char name[64], p[64];
    snprintf(name, sizeof name, "rma.%s.fair-%s", flavour, is_all ? "all" : "others");
    snprintf(p, sizeof p, "n=%d", np);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, me, 0, win);
    *base = 0;
    MPI_Win_unlock(me, win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (is_all || me != 0)
        mine = contend(seconds);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Gather(&mine, 1, MPI_LONG_LONG, counts, 1, MPI_LONG_LONG, 0, MPI_COMM_WORLD);
    if (me == 0) {
        int first = is_all ? 0 : 1;
        least = counts[first];
        for (int r = first; r < np; r++) {
            sum += counts[r];
            if (counts[r] < least)
                least = counts[r];
        }
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
        check(*base == sum && sum > 0, name, p);
        MPI_Win_unlock(0, win);
        snprintf(p, sizeof p, "least,n=%d", np);
        row(name, p, 100.0 * (double)least * (np - first) / (double)sum, "%");
        snprintf(p, sizeof p, "rate,n=%d", np);
        row(name, p, (double)sum / seconds, "locks/s");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    free(counts);
}

int main(int argc, char **argv)
{
    bench_begin(&argc, &argv, 0);
    double seconds = argc > 1 ? atof(argv[1]) : 1;
    for (int create = 0; create < 2 && np > 1; create++) {
        base = create ? buffer(sizeof *base) : NULL;
        if (create)
            MPI_Win_create(base, sizeof *base, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
        else
            MPI_Win_allocate(sizeof *base, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
        for (int is_all = 0; is_all < 2; is_all++)
            measure(create ? "create" : "alloc", is_all, seconds);
        MPI_Win_free(&win);
        if (create)
            free(base);
    }
    MPI_Finalize();
    return 0;
}
