/* rma: one-sided operations of rank 0 on rank 1, per kind of epoch.
 *   flush:  one lock_all epoch, each operation followed by MPI_Win_flush
 *   pscw:   post/wait at the target, start/op/complete at the origin
 *   fence:  op and one fence (both processes)
 *   bw:     16 operations per flush, to distinct places
 * "alloc" windows come from MPI_Win_allocate, "create" from MPI_Win_create.
 * In flush and bw rank 1 is inside MPI_Barrier (rmaskew.c has it away).
 * Before each timed batch the operations are done once with other bytes, so
 * that caches are as the operation leaves them.
 * Arguments, if any, choose among: alloc create flush pscw fence bw; nocas
 * leaves out compare-and-swap. */
#include "bench.h"
enum { BATCHES = 11, PUT, GET, ACC, FOP, CAS, BIG = 1048576, OPS = 16 };

static const char *op_name[] = {
    [PUT] = "put", [GET] = "get", [ACC] = "acc", [FOP] = "fetch_and_op", [CAS] = "cas"};
static const char *kind[] = {"flush", "bw", "pscw", "fence"};
static MPI_Win win;
static char *local, *base, *flavour;
static MPI_Group peer_group;
static uint64_t one, old, zero; /* operand, what was fetched, what is compared */

static void op(int what, int n, MPI_Aint at)
{
    switch (what) {
    case PUT:
        MPI_Put(local + at, n, MPI_BYTE, 1, at, n, MPI_BYTE, win);
        break;
    case GET:
        MPI_Get(local + at, n, MPI_BYTE, 1, at, n, MPI_BYTE, win);
        break;
    case ACC:
        MPI_Accumulate(local + at, n / 8, MPI_LONG_LONG, 1, at, n / 8, MPI_LONG_LONG,
                       MPI_SUM, win);
        break;
    case FOP:
        MPI_Fetch_and_op(&one, &old, MPI_LONG_LONG, 1, at, MPI_SUM, win);
        break;
    case CAS:
        MPI_Compare_and_swap(&one, &zero, &old, MPI_LONG_LONG, 1, at, win);
    }
}

static double passive(int what, int n, int ops, int iters)
{
    double t0 = MPI_Wtime();
    for (int i = 0; me == 0 && i < iters; i++) {
        for (int k = 0; k < ops; k++)
            op(what, n, (MPI_Aint)k * n);
        MPI_Win_flush(1, win);
    }
    return (MPI_Wtime() - t0) / iters;
}

static double active(int fence, int what, int n, int iters)
{
    double t0 = MPI_Wtime();
    for (int i = 0; i < iters; i++) {
        if (me == 1 && !fence)
            MPI_Win_post(peer_group, 0, win);
        if (me == 0 && !fence)
            MPI_Win_start(peer_group, 0, win);
        if (me == 0)
            op(what, n, 0);
        if (fence)
            MPI_Win_fence(0, win);
        else if (me == 0)
            MPI_Win_complete(win);
        else
            MPI_Win_wait(win);
    }
    return (MPI_Wtime() - t0) / iters;
}

static double batch(int pass, int what, int n, int ops, int iters)
{
    double t;
    if (pass == 3)
        MPI_Win_fence(MPI_MODE_NOPRECEDE, win);
    MPI_Barrier(MPI_COMM_WORLD);
    t = pass < 2 ? passive(what, n, ops, iters) : active(pass == 3, what, n, iters);
    MPI_Barrier(MPI_COMM_WORLD);
    if (pass == 3)
        MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    return t;
}

/* What both sides hold before the untimed operation (turn 0) and, but for what
 * the target must keep, before the timed ones (turn 1). */
static void before(int what, size_t n, int b, int turn)
{
    if (me == 1 && turn == 0) {
        MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
        if (what == CAS)
            memset(base, 0, n);
        else if (what == ACC || what == FOP)
            fill_small(base, n, b, 1);
        else
            fill(base, n, b, 1);
        MPI_Win_unlock(1, win);
    }
    if (me == 0) {
        one = what == CAS ? word(b, 0, 0) : 1;
        spoil(&old, sizeof old);
        if (what == PUT)
            fill(local, n, b, turn ? 0 : 2);
        else if (what == ACC)
            fill_small(local, n, b, 0);
        else
            spoil(local, n);
    }
}

static int after(int what, size_t n, int b, int iters)
{
    uint64_t first = word(b, 1, 0) >> 24, swapped = word(b, 0, 0), now;
    int ok = 1;
    if (me == 0)
        switch (what) {
        case GET:
            return right(local, n, b, 1);
        case FOP:
            return old == first + (uint64_t)iters;
        case CAS:
            return old == swapped;
        default:
            return 1;
        }
    MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
    memcpy(&now, base, sizeof now);
    switch (what) {
    case PUT:
        ok = right(base, n, b, 0);
        break;
    case GET:
        ok = right(base, n, b, 1);
        break;
    case ACC:
        ok = right_sum(base, n, b, 1, 0, 1 + iters);
        break;
    case FOP:
        ok = now == first + 1 + (uint64_t)iters;
        break;
    case CAS:
        ok = now == swapped;
    }
    MPI_Win_unlock(1, win);
    return ok;
}

static void measure(int pass, int what, int n, int ops, int iters)
{
    double t[BATCHES];
    char name[64], p[64];
    snprintf(name, sizeof name, "rma.%s.%s", flavour, kind[pass]);
    snprintf(p, sizeof p, "%s,%s", op_name[what], bytes_name((size_t)n));
    for (int b = -1; b < BATCHES; b++) {
        size_t all = (size_t)ops * (size_t)n;
        before(what, all, b, 0);
        batch(pass, what, n, ops, 1);
        before(what, all, b, 1);
        double took = batch(pass, what, n, ops, iters);
        check(after(what, all, b, iters), name, p);
        if (b >= 0)
            t[b] = took;
    }
    double m = median(t, BATCHES);
    if (me == 0 && pass == 1)
        row(name, p, (double)OPS * n / m / 1e6, "MB/s");
    else if (me == 0)
        row(name, p, m * 1e6, "us");
}

static int named(int argc, char **argv, const char *what)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], what) == 0)
            return 1;
    return 0;
}

static int wanted(int argc, char **argv, const char *what, const char *of)
{
    for (int i = 1; i < argc; i++)
        if (strstr(of, argv[i]) && !named(argc, argv, what))
            return 0;
    return 1;
}

int main(int argc, char **argv)
{
    static const int size[] = {8, 1024, 65536, BIG};
    const size_t whole = (size_t)OPS * BIG;
    bench_begin(&argc, &argv, 2);
    MPI_Group all;
    int other = 1 - me;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 1, &other, &peer_group);
    local = buffer(whole);

    for (int f = 0; f < 2; f++) {
        base = f ? buffer(whole) : NULL;
        flavour = f ? "create" : "alloc";
        if (!wanted(argc, argv, flavour, "alloc create"))
            continue;
        if (f)
            MPI_Win_create(base, (MPI_Aint)whole, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
        else
            MPI_Win_allocate((MPI_Aint)whole, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base,
                             &win);
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, me, 0, win);
        memset(base, 0, whole);
        MPI_Win_unlock(me, win);
        MPI_Barrier(MPI_COMM_WORLD);
        for (int pass = 0; pass < 4; pass++) {
            if (!wanted(argc, argv, kind[pass], "flush bw pscw fence"))
                continue;
            if (pass < 2 && me == 0)
                MPI_Win_lock_all(0, win);
            for (int s = 0; s < 4; s++)
                for (int w = PUT; w <= CAS; w++) {
                    int n = size[s], it = n <= 1024 ? 200 : n <= 65536 ? 40 : 6;
                    if ((w >= FOP && n > 8) || (w == CAS && named(argc, argv, "nocas")))
                        continue;
                    if (pass != 1)
                        measure(pass, w, n, 1, it);
                    else if (w <= GET)
                        measure(pass, w, n, OPS, n > 65536 ? 1 : it / 4);
                }
            if (pass < 2 && me == 0)
                MPI_Win_unlock_all(win);
        }
        MPI_Win_free(&win);
        if (f)
            free(base);
    }
    MPI_Group_free(&peer_group);
    MPI_Group_free(&all);
    free(local);
    MPI_Finalize();
    return 0;
}
