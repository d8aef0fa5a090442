/* rmaaccumulate: accumulates by the target's process, which Weft does over networks,
 * against the two ways that leave it alone, rank 0 on rank 1, each with its flush:
 *   process   MPI_Accumulate (sum of 64-bit integers) and a flush
 *   fetch     MPI_Fetch_and_op, 8 B only
 *   lock      what the origin of the InfiniBand paper does: compare-and-swap of a lock
 *             word until it is free, get, add, put, and the word set back. Its
 *             compare-and-swap is the library's own.
 * The ways take turns; "lock/process" is the median of ratios of neighbours. */
#include "bench.h"
enum { BATCHES = 31, TIMES = 10, MOST = 1048576 };

static MPI_Win win;
static int64_t *local, *copy;

static void by_process(size_t n)
{
    int count = (int)(n / 8);
    MPI_Accumulate(local, count, MPI_INT64_T, 1, 64, count, MPI_INT64_T, MPI_SUM, win);
    MPI_Win_flush(1, win);
}

static void by_fetch(size_t n)
{
    int64_t old;
    (void)n;
    MPI_Fetch_and_op(local, &old, MPI_INT64_T, 1, 64, MPI_SUM, win);
    MPI_Win_flush(1, win);
}

static void swap_word(int64_t from, int64_t to)
{
    int64_t old = from + 1;
    while (old != from) {
        MPI_Compare_and_swap(&to, &from, &old, MPI_INT64_T, 1, 0, win);
        MPI_Win_flush(1, win);
    }
}

static void by_lock(size_t n)
{
    size_t count = n / 8;
    swap_word(0, 1);
    MPI_Get(copy, (int)n, MPI_BYTE, 1, 64, (int)n, MPI_BYTE, win);
    MPI_Win_flush(1, win);
    for (size_t i = 0; i < count; i++)
        copy[i] += local[i];
    MPI_Put(copy, (int)n, MPI_BYTE, 1, 64, (int)n, MPI_BYTE, win);
    MPI_Win_flush(1, win);
    swap_word(1, 0);
}

static double batch(void (*once)(size_t), size_t n)
{
    double t0 = MPI_Wtime();
    for (int i = 0; i < TIMES; i++)
        once(n);
    return (MPI_Wtime() - t0) / TIMES;
}

static void measure(size_t n)
{
    double process[BATCHES], lock[BATCHES], fetch[BATCHES], ratio[BATCHES];
    char p[64];
    batch(by_process, n);
    batch(by_lock, n);
    for (int i = 0; i < BATCHES; i++) {
        process[i] = batch(by_process, n);
        lock[i] = batch(by_lock, n);
        fetch[i] = n == 8 ? batch(by_fetch, n) : 0;
        ratio[i] = lock[i] / process[i];
    }
    snprintf(p, sizeof p, "%s,process", bytes_name(n));
    row("rmaaccumulate", p, median(process, BATCHES) * 1e6, "us");
    if (n == 8)
        row("rmaaccumulate", "8B,fetch", median(fetch, BATCHES) * 1e6, "us");
    snprintf(p, sizeof p, "%s,lock", bytes_name(n));
    row("rmaaccumulate", p, median(lock, BATCHES) * 1e6, "us");
    snprintf(p, sizeof p, "%s,lock/process", bytes_name(n));
    row("rmaaccumulate", p, median(ratio, BATCHES), "");
}

int main(int argc, char **argv)
{
    static const size_t sizes[] = {8, 1024, 65536, MOST};
    char *base;
    bench_begin(&argc, &argv, 2);
    local = buffer(MOST);
    copy = buffer(MOST);
    MPI_Win_allocate(MOST + 64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    memset(base, 0, MOST + 64);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    for (size_t i = 0; me == 0 && i < sizeof sizes / sizeof *sizes; i++)
        measure(sizes[i]);
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
