/* coll: time per collective call, any number of processes.  Each batch is a
 * loop of calls long enough to measure (about 30 ms, at least 2 calls); the
 * figure is the slowest process's time per call, median over the batches.
 * The root of bcast moves by one each call, so a call cannot run far ahead of
 * the one before.  Sizes: bcast whole message; allreduce vector of doubles;
 * alltoall per pair; allgather per process.
 * Arguments, if any, choose among the collectives by name, and sizes by number; at most
 * 1 MiB, in place of 8, 1024, 65536 and 1048576. */
#include "bench.h"
enum { BATCHES = 9, BARRIER = 0, BCAST, ALLREDUCE, ALLTOALL, ALLGATHER, KINDS };

static const char *name[] = {"barrier", "bcast", "allreduce", "alltoall", "allgather"};
static char *out, *in;

/* Element i of a process's vector is (rank + 1) times this: an exact sum. */
static double element(int b, size_t i)
{
    return (double)((word(b, 0, i) >> 44) + 1);
}

static void before(int what, size_t n, int b)
{
    switch (what) {
    case ALLREDUCE:
        for (size_t i = 0; i < n / 8; i++)
            ((double *)out)[i] = (me + 1) * element(b, i);
        spoil(in, n);
        break;
    case ALLTOALL:
        for (int r = 0; r < np; r++)
            fill(out + (size_t)r * n, n, b, me * np + r);
        spoil(in, (size_t)np * n);
        break;
    case ALLGATHER:
        spoil(in, (size_t)np * n); /* fall through */
    case BCAST:
        fill(out, n, b, me);
    }
}

static int after(int what, size_t n, int b)
{
    int ok = 1;
    if (what == BCAST) /* root 0 was first; the others passed it on */
        ok = right(out, n, b, 0);
    for (size_t i = 0; what == ALLREDUCE && i < n / 8; i++)
        ok &= ((double *)in)[i] == 0.5 * np * (np + 1) * element(b, i);
    for (int r = 0; what == ALLTOALL && r < np; r++)
        ok &= right(in + (size_t)r * n, n, b, r * np + me);
    for (int r = 0; what == ALLGATHER && r < np; r++)
        ok &= right(in + (size_t)r * n, n, b, r);
    return ok;
}

static double loop(int what, int n, int calls, const char *bench, const char *param)
{
    static int batch;
    MPI_Comm c = MPI_COMM_WORLD;
    before(what, (size_t)n, ++batch);
    MPI_Barrier(c);
    double t = MPI_Wtime();
    for (int i = 0; i < calls; i++)
        switch (what) {
        case BARRIER:
            MPI_Barrier(c);
            break;
        case BCAST:
            MPI_Bcast(out, n, MPI_BYTE, i % np, c);
            break;
        case ALLREDUCE:
            MPI_Allreduce(out, in, n / 8, MPI_DOUBLE, MPI_SUM, c);
            break;
        case ALLTOALL:
            MPI_Alltoall(out, n, MPI_BYTE, in, n, MPI_BYTE, c);
            break;
        case ALLGATHER:
            MPI_Allgather(out, n, MPI_BYTE, in, n, MPI_BYTE, c);
        }
    t = MPI_Wtime() - t;
    MPI_Allreduce(MPI_IN_PLACE, &t, 1, MPI_DOUBLE, MPI_MAX, c);
    check(after(what, (size_t)n, batch), bench, param);
    return t / calls;
}

enum { SIZES = 32, LARGEST = 1048576 };

int main(int argc, char **argv)
{
    int size[SIZES] = {8, 1024, 65536, LARGEST}, sizes = 0, names = 0;
    bench_begin(&argc, &argv, 0);
    for (int i = 1; i < argc; i++) {
        int number = atoi(argv[i]);
        if (number > 0 && number <= LARGEST && sizes < SIZES)
            size[sizes++] = number;
        names += number == 0;
    }
    if (sizes == 0)
        sizes = 4;
    out = buffer((size_t)np * 1048576);
    in = buffer((size_t)np * 1048576);

    for (int what = 0; what < KINDS; what++) {
        int chosen = names == 0;
        for (int i = 1; i < argc; i++)
            chosen |= strcmp(argv[i], name[what]) == 0;
        for (int s = 0; chosen && s < (what == BARRIER ? 1 : sizes); s++) {
            double t[BATCHES];
            char bench[32], p[64];
            snprintf(bench, sizeof bench, "coll.%s", name[what]);
            if (what == BARRIER)
                snprintf(p, sizeof p, "n=%d", np);
            else
                snprintf(p, sizeof p, "n=%d,%s", np, bytes_name((size_t)size[s]));
            loop(what, size[s], 2, bench, p);
            double one = loop(what, size[s], 3, bench, p);
            int calls = one > 0.015 ? 2 : (int)(0.03 / one);
            if (calls > 5000)
                calls = 5000;
            for (int b = 0; b < BATCHES; b++)
                t[b] = loop(what, size[s], calls, bench, p);
            if (me == 0)
                row(bench, p, median(t, BATCHES) * 1e6, "us");
        }
    }
    free(out);
    free(in);
    MPI_Finalize();
    return 0;
}
