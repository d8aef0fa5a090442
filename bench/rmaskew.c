/* rmaskew: one-sided operations on a process that is outside MPI for 50 ms.
 * The value is what the origin's epoch takes, begun 5 ms after the target
 * left; about 45000 us means that it had to wait for the target to come back.
 *   skew-flush: op + MPI_Win_flush inside a lock_all epoch
 *   skew-pscw:  start + op + complete; the target has posted before leaving
 * "alloc" windows come from MPI_Win_allocate, "create" from MPI_Win_create. */
#include "bench.h"
enum { BATCHES = 5, PUT = 0, GET, ACC, OPS, BIG = 1048576 };

static MPI_Win win;
static MPI_Group peer_group;
static char *local, *base;

static void before(int what, size_t n, int b)
{
    if (me == 1) {
        MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
        if (what == ACC)
            fill_small(base, n, b, 1);
        else
            fill(base, n, b, 1);
        MPI_Win_unlock(1, win);
    } else if (what == ACC) {
        fill_small(local, n, b, 0);
    } else if (what == PUT) {
        fill(local, n, b, 0);
    } else {
        spoil(local, n);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static int after(int what, size_t n, int b)
{
    int ok;
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == 0)
        return what == GET ? right(local, n, b, 1) : 1;
    MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
    if (what == ACC)
        ok = right_sum(base, n, b, 1, 0, 1);
    else
        ok = right(base, n, b, what == PUT ? 0 : 1);
    MPI_Win_unlock(1, win);
    return ok;
}

static double origin(int pscw, int what, int n)
{
    away(0.005); /* the target has left by now */
    double t0 = MPI_Wtime();
    if (pscw)
        MPI_Win_start(peer_group, 0, win);
    if (what == PUT)
        MPI_Put(local, n, MPI_BYTE, 1, 0, n, MPI_BYTE, win);
    else if (what == GET)
        MPI_Get(local, n, MPI_BYTE, 1, 0, n, MPI_BYTE, win);
    else
        MPI_Accumulate(local, n / 8, MPI_LONG_LONG, 1, 0, n / 8, MPI_LONG_LONG, MPI_SUM,
                       win);
    if (pscw)
        MPI_Win_complete(win);
    else
        MPI_Win_flush(1, win);
    return MPI_Wtime() - t0;
}

static double skew(int pscw, int what, int n, const char *bench, const char *param)
{
    double t[BATCHES] = {0};
    for (int b = 0; b < BATCHES; b++) {
        before(what, (size_t)n, b);
        if (me == 0) {
            t[b] = origin(pscw, what, n);
        } else {
            if (pscw)
                MPI_Win_post(peer_group, 0, win);
            away(0.05);
            if (pscw)
                MPI_Win_wait(win);
        }
        check(after(what, (size_t)n, b), bench, param);
    }
    return median(t, BATCHES);
}

int main(int argc, char **argv)
{
    static const int size[] = {8, 65536, BIG};
    static const char *op_name[] = {"put", "get", "acc"};
    bench_begin(&argc, &argv, 2);
    MPI_Group all;
    int other = 1 - me;
    local = buffer(BIG);
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 1, &other, &peer_group);

    for (int create = 0; create < 2; create++) {
        base = create ? buffer(BIG) : NULL;
        if (create)
            MPI_Win_create(base, BIG, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
        else
            MPI_Win_allocate(BIG, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
        for (int pscw = 0; pscw < 2; pscw++) {
            if (!pscw && me == 0)
                MPI_Win_lock_all(0, win);
            for (int w = PUT; w < OPS; w++)
                for (int s = 0; s < 3; s++) {
                    char b[64], p[64];
                    snprintf(b, sizeof b, "rma.%s.skew-%s", create ? "create" : "alloc",
                             pscw ? "pscw" : "flush");
                    snprintf(p, sizeof p, "%s,%s", op_name[w],
                             bytes_name((size_t)size[s]));
                    double t = skew(pscw, w, size[s], b, p);
                    if (me == 0)
                        row(b, p, t * 1e6, "us");
                }
            if (!pscw && me == 0)
                MPI_Win_unlock_all(win);
            MPI_Barrier(MPI_COMM_WORLD);
        }
        MPI_Win_free(&win);
        if (create)
            free(base);
    }
    MPI_Group_free(&peer_group);
    MPI_Group_free(&all);
    free(local);
    MPI_Finalize();
    return 0;
}
