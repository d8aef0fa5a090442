/* rmaburst: many small one-sided operations in one epoch, rank 0 on rank 1.
 * The value is what an epoch of 1000 operations of 8 B takes at the origin, to
 * neighbouring places. Kinds of epochs, and windows, are those of rma.c:
 *   burst-flush: 1000 operations and one MPI_Win_flush
 *   burst-pscw:  start, 1000 operations, complete
 *   burst-fence: 1000 operations and one fence (both processes) */
#include "bench.h"
enum { BATCHES = 11, EPOCHS = 10, COUNT = 1000, FLUSH = 0, PSCW, FENCE, KINDS };

static MPI_Win win;
static MPI_Group peer_group;
static uint64_t *local, *base;

static void operations(int is_get)
{
    for (int i = 0; i < COUNT; i++)
        if (is_get)
            MPI_Get(local + i, 8, MPI_BYTE, 1, 8 * (MPI_Aint)i, 8, MPI_BYTE, win);
        else
            MPI_Put(local + i, 8, MPI_BYTE, 1, 8 * (MPI_Aint)i, 8, MPI_BYTE, win);
}

static void epoch(int kind, int is_get)
{
    if (kind == PSCW && me == 1) {
        MPI_Win_post(peer_group, 0, win);
        MPI_Win_wait(win);
        return;
    }
    if (kind == PSCW)
        MPI_Win_start(peer_group, 0, win);
    if (me == 0)
        operations(is_get);
    if (kind == PSCW)
        MPI_Win_complete(win);
    else if (kind == FENCE)
        MPI_Win_fence(0, win);
    else if (me == 0)
        MPI_Win_flush(1, win);
}

static double batch(int kind, int is_get, int b)
{
    size_t n = 8 * (size_t)COUNT;
    if (me == 1) {
        MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
        fill(base, n, b, 1);
        MPI_Win_unlock(1, win);
    } else if (is_get) {
        spoil(local, n);
    } else {
        fill(local, n, b, 0);
    }
    if (kind == FENCE)
        MPI_Win_fence(MPI_MODE_NOPRECEDE, win);
    MPI_Barrier(MPI_COMM_WORLD);
    double t0 = MPI_Wtime();
    for (int i = 0; i < EPOCHS; i++)
        epoch(kind, is_get);
    double t = (MPI_Wtime() - t0) / EPOCHS;
    MPI_Barrier(MPI_COMM_WORLD);
    if (kind == FENCE)
        MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    return t;
}

static int arrived(int is_get, int b)
{
    size_t n = 8 * (size_t)COUNT;
    int ok = 1;
    if (me == 0)
        return is_get ? right(local, n, b, 1) : 1;
    MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
    ok = right(base, n, b, is_get ? 1 : 0);
    MPI_Win_unlock(1, win);
    return ok;
}

static void measure(const char *flavour, int kind, int is_get)
{
    static const char *kind_name[] = {"flush", "pscw", "fence"};
    double t[BATCHES];
    char name[64], p[64];
    snprintf(name, sizeof name, "rma.%s.burst-%s", flavour, kind_name[kind]);
    snprintf(p, sizeof p, "%s,%dx8B", is_get ? "get" : "put", COUNT);
    if (kind == FLUSH && me == 0)
        MPI_Win_lock_all(0, win);
    for (int b = -1; b < BATCHES; b++) {
        double took = batch(kind, is_get, b);
        check(arrived(is_get, b), name, p);
        if (b >= 0)
            t[b] = took;
    }
    if (kind == FLUSH && me == 0)
        MPI_Win_unlock_all(win);
    if (me == 0)
        row(name, p, median(t, BATCHES) * 1e6, "us");
}

int main(int argc, char **argv)
{
    bench_begin(&argc, &argv, 2);
    MPI_Group all;
    int other = 1 - me;
    size_t n = 8 * (size_t)COUNT;
    local = buffer(n);
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 1, &other, &peer_group);

    for (int create = 0; create < 2; create++) {
        base = create ? buffer(n) : NULL;
        if (create)
            MPI_Win_create(base, (MPI_Aint)n, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
        else
            MPI_Win_allocate((MPI_Aint)n, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
        for (int kind = 0; kind < KINDS; kind++)
            for (int is_get = 0; is_get < 2; is_get++)
                measure(create ? "create" : "alloc", kind, is_get);
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
