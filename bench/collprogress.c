/* collprogress: collectives that go on while the program computes: start - work - wait.
 * Every process measures itself; the figure is the slowest one's, median over the
 * repeats.
 *   collprogress.bare:    the blocking call.
 *   collprogress.small:   start and wait, without work between, in bare calls; 8 B only.
 *   collprogress.both:    all work twice as long as the bare call takes; what start,
 *                         work and wait take beyond the work, in bare calls.
 *   collprogress.long:    all work for 2 ms; the time inside the wait.
 *   collprogress.one:     process 0 works twice as long as the bare call takes, the
 *                         others wait inside MPI; process 0's overlap in per cent:
 *                         100 (t_comm + t_work - t_total) / min(t_comm, t_work).
 * Sizes are what a process has afterwards: alltoall and allgather divide them by the
 * number of processes, but for 8 B, which are one block.
 * Arguments, if any, choose among the collectives by name, and sizes by their number. */
#include "bench.h"
enum { REPS = 41, LOOP = 200, ALLREDUCE = 0, BCAST, ALLGATHER, ALLTOALL, KINDS };

static const char *name[] = {"allreduce", "bcast", "allgather", "alltoall"};
static char *out, *in;

static void start(int what, int n, MPI_Request *r)
{
    MPI_Comm c = MPI_COMM_WORLD;
    if (what == ALLREDUCE)
        MPI_Iallreduce(out, in, n / 8, MPI_UINT64_T, MPI_SUM, c, r);
    else if (what == BCAST)
        MPI_Ibcast(me == 0 ? out : in, n, MPI_BYTE, 0, c, r);
    else if (what == ALLGATHER)
        MPI_Iallgather(out, n, MPI_BYTE, in, n, MPI_BYTE, c, r);
    else
        MPI_Ialltoall(out, n, MPI_BYTE, in, n, MPI_BYTE, c, r);
}

static void call(int what, int n)
{
    MPI_Comm c = MPI_COMM_WORLD;
    if (what == ALLREDUCE)
        MPI_Allreduce(out, in, n / 8, MPI_UINT64_T, MPI_SUM, c);
    else if (what == BCAST)
        MPI_Bcast(me == 0 ? out : in, n, MPI_BYTE, 0, c);
    else if (what == ALLGATHER)
        MPI_Allgather(out, n, MPI_BYTE, in, n, MPI_BYTE, c);
    else
        MPI_Alltoall(out, n, MPI_BYTE, in, n, MPI_BYTE, c);
}

static void before(int what, int n, int i)
{
    size_t s = (size_t)n;
    if (what == ALLREDUCE)
        fill_small(out, s, i, 0);
    else
        for (int r = 0; r < (what == ALLTOALL ? np : 1); r++)
            fill(out + (size_t)r * s, s, i, me * np + r);
    spoil(in, what >= ALLGATHER ? (size_t)np * s : s);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void after(int what, int n, int i, const char *bench, const char *param)
{
    size_t s = (size_t)n;
    int ok = 1;
    MPI_Barrier(MPI_COMM_WORLD);
    if (what == ALLREDUCE)
        ok = right_sum(in, s, i, 0, 0, np - 1);
    else if (what == BCAST)
        ok = me == 0 || right(in, s, i, 0);
    else
        for (int r = 0; r < np; r++)
            ok &= right(in + (size_t)r * s, s, i, r * np + (what == ALLTOALL ? me : 0));
    check(ok, bench, param);
}

/* The slowest process's, median over the repeats. */
static double slowest(double *t)
{
    MPI_Allreduce(MPI_IN_PLACE, t, REPS, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return median(t, REPS);
}

static double bare(int what, int n, const char *param)
{
    double t[REPS];
    for (int i = -3; i < REPS; i++) {
        before(what, n, i);
        double t0 = MPI_Wtime();
        call(what, n);
        if (i >= 0)
            t[i] = MPI_Wtime() - t0;
        after(what, n, i, "collprogress.bare", param);
    }
    return slowest(t);
}

/* Small ones, in a loop long enough for the clock. */
static double small(int what, int n, int blocking, const char *bench, const char *param)
{
    double t[REPS];
    MPI_Request r;
    for (int i = -3; i < REPS; i++) {
        before(what, n, i);
        double t0 = MPI_Wtime();
        for (int k = 0; k < LOOP; k++) {
            if (blocking) {
                call(what, n);
            } else {
                start(what, n, &r);
                MPI_Wait(&r, MPI_STATUS_IGNORE);
            }
        }
        if (i >= 0)
            t[i] = (MPI_Wtime() - t0) / LOOP;
        after(what, n, i, bench, param);
    }
    return slowest(t);
}

/* Start, work, wait: all of it, or the time inside the wait. */
static double work_between(int what, int n, long turns, int all_work, int is_wait,
                           const char *bench, const char *param)
{
    double t[REPS];
    MPI_Request r;
    for (int i = -3; i < REPS; i++) {
        before(what, n, i);
        double t0 = MPI_Wtime();
        start(what, n, &r);
        if (all_work || me == 0)
            work(turns);
        if (is_wait)
            t0 = MPI_Wtime();
        MPI_Wait(&r, MPI_STATUS_IGNORE);
        if (i >= 0)
            t[i] = all_work || me == 0 ? MPI_Wtime() - t0 : 0;
        after(what, n, i, bench, param);
    }
    return slowest(t);
}

/* What so many turns take, while all work. */
static double work_time(long turns)
{
    double t[REPS];
    for (int i = 0; i < REPS; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        t[i] = MPI_Wtime();
        work(turns);
        t[i] = MPI_Wtime() - t[i];
    }
    return slowest(t);
}

static void show(const char *bench, const char *param, double value, const char *unit)
{
    if (me == 0)
        row(bench, param, value, unit);
}

static void measure(int what, int size, double rate)
{
    int n = what < ALLGATHER || size == 8 ? size : size / np;
    char p[64];
    snprintf(p, sizeof p, "%s,n=%d,%s", name[what], np, bytes_name((size_t)size));
    double comm =
        size == 8 ? small(what, n, 1, "collprogress.bare", p) : bare(what, n, p);
    show("collprogress.bare", p, comm * 1e6, "us");
    long turns = (long)(rate * comm * 2), long_turns = (long)(rate * 2e-3);
    double wk = work_time(turns);
    if (size == 8)
        show("collprogress.small", p, small(what, n, 0, "collprogress.small", p) / comm,
             "x");
    else
        show("collprogress.both", p,
             (work_between(what, n, turns, 1, 0, "collprogress.both", p) - wk) / comm,
             "x");
    show("collprogress.long", p,
         work_between(what, n, long_turns, 1, 1, "collprogress.long", p) * 1e6, "us");
    if (size == 8)
        return;
    double total = work_between(what, n, turns, 0, 0, "collprogress.one", p);
    show("collprogress.one", p, 100 * (comm + wk - total) / (comm < wk ? comm : wk), "%");
}

/* Arguments of one sort that are not given choose all. */
static int is_chosen(int argc, char **argv, const char *what, int size)
{
    int names = 0, sizes = 0, is_name = 0, is_size = 0;
    for (int a = 1; a < argc; a++) {
        int number = atoi(argv[a]);
        sizes += number > 0;
        names += number == 0;
        is_size |= number == size;
        is_name |= strcmp(argv[a], what) == 0;
    }
    return (names == 0 || is_name) && (sizes == 0 || is_size);
}

int main(int argc, char **argv)
{
    static const int size[] = {8, 65536, 1048576};
    bench_begin(&argc, &argv, 0);
    out = buffer(1048576 + (size_t)np * 8);
    in = buffer(1048576 + (size_t)np * 8);
    double rate = work_turns_per_second();
    MPI_Bcast(&rate, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);

    for (int what = 0; what < KINDS; what++)
        for (int s = 0; s < 3; s++)
            if (is_chosen(argc, argv, name[what], size[s]))
                measure(what, size[s], rate);
    free(out);
    free(in);
    MPI_Finalize();
    return 0;
}
