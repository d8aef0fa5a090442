/* rmaskew: one-sided operations on a process that is outside MPI for 50 ms.
 * The value is what the origin's epoch takes, begun 5 ms after the target
 * left; about 45000 us means that it had to wait for the target to come back.
 *   skew-flush: op + MPI_Win_flush inside a lock_all epoch
 *   skew-pscw:  start + op + complete; the target has posted before leaving
 *   skew-lock:  MPI_Win_lock (exclusive) + op + MPI_Win_unlock; "none" is no op
 * inside-flush, inside-pscw and inside-lock are the same with a target that
 * waits inside MPI instead.
 * "alloc" windows come from MPI_Win_allocate, "create" from MPI_Win_create.
 * The argument nocas leaves out compare-and-swap. */
#include "bench.h"
enum { BATCHES = 5, PUT = 0, GET, ACC, FOP, CAS, NONE, OPS, BIG = 1048576 };
enum { FLUSH, PSCW, LOCK, KINDS };

static MPI_Win win;
static MPI_Group peer_group;
static char *local, *base;
static int no_cas;
static uint64_t one, old, zero; /* operand, what was fetched, what is compared */
static const char *op_name[] = {"put", "get", "acc", "fetch_and_op", "cas", "none"};
static const char *kind_name[] = {"flush", "pscw", "lock"};

static void before(int what, size_t n, int b)
{
    if (me == 1) {
        MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
        if (what == CAS)
            memset(base, 0, n);
        else if (what == ACC || what == FOP)
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
    one = what == CAS ? word(b, 0, 0) : 1;
    spoil(&old, sizeof old);
    MPI_Barrier(MPI_COMM_WORLD);
}

static int fetched(int what, size_t n, int b)
{
    if (what == GET)
        return right(local, n, b, 1);
    if (what == FOP)
        return old == word(b, 1, 0) >> 24;
    return what == CAS ? old == 0 : 1;
}

static int after(int what, size_t n, int b)
{
    uint64_t now;
    int ok;
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == 0)
        return fetched(what, n, b);
    MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
    memcpy(&now, base, sizeof now);
    if (what == ACC)
        ok = right_sum(base, n, b, 1, 0, 1);
    else if (what == FOP)
        ok = now == (word(b, 1, 0) >> 24) + 1;
    else if (what == CAS)
        ok = now == word(b, 0, 0);
    else
        ok = right(base, n, b, what == PUT ? 0 : 1);
    MPI_Win_unlock(1, win);
    return ok;
}

static void op(int what, int n)
{
    switch (what) {
    case PUT:
        MPI_Put(local, n, MPI_BYTE, 1, 0, n, MPI_BYTE, win);
        break;
    case GET:
        MPI_Get(local, n, MPI_BYTE, 1, 0, n, MPI_BYTE, win);
        break;
    case ACC:
        MPI_Accumulate(local, n / 8, MPI_LONG_LONG, 1, 0, n / 8, MPI_LONG_LONG, MPI_SUM,
                       win);
        break;
    case FOP:
        MPI_Fetch_and_op(&one, &old, MPI_LONG_LONG, 1, 0, MPI_SUM, win);
        break;
    case CAS:
        MPI_Compare_and_swap(&one, &zero, &old, MPI_LONG_LONG, 1, 0, win);
    }
}

static double origin(int kind, int what, int n)
{
    away(0.005); /* the target has left by now */
    double t0 = MPI_Wtime();
    if (kind == PSCW)
        MPI_Win_start(peer_group, 0, win);
    else if (kind == LOCK)
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
    op(what, n);
    if (kind == PSCW)
        MPI_Win_complete(win);
    else if (kind == LOCK)
        MPI_Win_unlock(1, win);
    else
        MPI_Win_flush(1, win);
    return MPI_Wtime() - t0;
}

static double skew(int kind, int what, int n, double leave, const char *bench,
                   const char *param)
{
    double t[BATCHES] = {0};
    for (int b = 0; b < BATCHES; b++) {
        before(what, (size_t)n, b);
        if (me == 0) {
            t[b] = origin(kind, what, n);
        } else {
            if (kind == PSCW)
                MPI_Win_post(peer_group, 0, win);
            away(leave);
            if (kind == PSCW)
                MPI_Win_wait(win);
        }
        check(after(what, (size_t)n, b), bench, param);
    }
    return median(t, BATCHES);
}

static void both(const char *flavour, int kind, int what, int n)
{
    for (int inside = 0; inside < 2; inside++) {
        char b[64], p[64];
        snprintf(b, sizeof b, "rma.%s.%s-%s", flavour, inside ? "inside" : "skew",
                 kind_name[kind]);
        snprintf(p, sizeof p, "%s,%s", op_name[what], bytes_name((size_t)n));
        double t = skew(kind, what, n, inside ? 0 : 0.05, b, p);
        if (me == 0)
            row(b, p, t * 1e6, "us");
    }
}

static void all_of(const char *flavour, int kind)
{
    static const int size[] = {8, 65536, BIG};
    if (kind == FLUSH && me == 0)
        MPI_Win_lock_all(0, win);
    for (int w = PUT; w < OPS; w++)
        for (int s = 0; s < 3; s++)
            if ((w <= ACC || size[s] == 8) && (w != NONE || kind == LOCK) &&
                (w != CAS || !no_cas))
                both(flavour, kind, w, size[s]);
    if (kind == FLUSH && me == 0)
        MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    bench_begin(&argc, &argv, 2);
    MPI_Group all;
    int other = 1 - me;
    no_cas = argc > 1 && strcmp(argv[1], "nocas") == 0;
    local = buffer(BIG);
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 1, &other, &peer_group);

    for (int create = 0; create < 2; create++) {
        base = create ? buffer(BIG) : NULL;
        if (create)
            MPI_Win_create(base, BIG, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
        else
            MPI_Win_allocate(BIG, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
        for (int kind = 0; kind < KINDS; kind++)
            all_of(create ? "create" : "alloc", kind);
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
