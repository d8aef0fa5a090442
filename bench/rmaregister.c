/* rmaregister: what it costs to register memory, rank 0 on rank 1.
 * A put and its flush, from memory of malloc (registered for each operation where
 * the network wants that) and of MPI_Alloc_mem (which may stay registered), in turn;
 * and the same two for messages that are answered by one byte. The value is the
 * median of batches; "ratio" is the median of the ratios of neighbouring batches. */
#include "bench.h"
enum { BATCHES = 41, TIMES = 10 };

static MPI_Win win;

static void put_once(char *from, size_t n)
{
    if (me == 0) {
        MPI_Put(from, (int)n, MPI_BYTE, 1, 0, (int)n, MPI_BYTE, win);
        MPI_Win_flush(1, win);
    }
}

static void send_once(char *memory, size_t n)
{
    char byte = 0;
    if (me == 0) {
        MPI_Send(memory, (int)n, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        MPI_Recv(&byte, 1, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(memory, (int)n, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(&byte, 1, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
    }
}

static double batch(void (*once)(char *, size_t), char *memory, size_t n)
{
    MPI_Barrier(MPI_COMM_WORLD);
    double t0 = MPI_Wtime();
    for (int i = 0; i < TIMES; i++)
        once(memory, n);
    return (MPI_Wtime() - t0) / TIMES;
}

static void measure(const char *name, void (*once)(char *, size_t), size_t n)
{
    double heap[BATCHES], kept[BATCHES], ratio[BATCHES];
    char *a = buffer(n), *b;
    MPI_Alloc_mem((MPI_Aint)n, MPI_INFO_NULL, &b);
    memset(b, 1, n);
    batch(once, a, n);
    batch(once, b, n);
    for (int i = 0; i < BATCHES; i++) {
        heap[i] = batch(once, a, n);
        kept[i] = batch(once, b, n);
        ratio[i] = kept[i] / heap[i];
    }
    if (me == 0) {
        char p[64];
        snprintf(p, sizeof p, "%s,malloc", bytes_name(n));
        row(name, p, median(heap, BATCHES) * 1e6, "us");
        snprintf(p, sizeof p, "%s,alloc_mem", bytes_name(n));
        row(name, p, median(kept, BATCHES) * 1e6, "us");
        snprintf(p, sizeof p, "%s,ratio", bytes_name(n));
        row(name, p, median(ratio, BATCHES), "");
    }
    MPI_Free_mem(b);
    free(a);
}

int main(int argc, char **argv)
{
    static const size_t sizes[] = {65536, 1048576};
    char *base;
    bench_begin(&argc, &argv, 2);
    MPI_Win_allocate(1048576, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    MPI_Win_lock_all(0, win);
    for (int i = 0; i < 2; i++) {
        measure("rmaregister.put", put_once, sizes[i]);
        measure("rmaregister.send", send_once, sizes[i]);
    }
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
