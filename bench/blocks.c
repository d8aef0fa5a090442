/* blocks: a ping-pong of data in blocks with gaps of their own length, 64 KiB and 1 MiB
 * of them, by the length of a block: from where on is moving them as they lie worth more
 * than packing them?  Value = median over batches of half a round trip. */
#include "bench.h"
enum { BATCHES = 31, ITERS = 20 };

static char *memory;

static void bounce(MPI_Datatype type)
{
    for (int turn = 0; turn < 2; turn++)
        if (turn == me)
            MPI_Send(memory, 1, type, 1 - me, 0, MPI_COMM_WORLD);
        else
            MPI_Recv(memory, 1, type, 1 - me, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void measure(size_t bytes, size_t block)
{
    double t[BATCHES];
    char param[64];
    MPI_Datatype type;
    MPI_Type_vector((int)(bytes / block), (int)block, (int)(2 * block), MPI_BYTE, &type);
    MPI_Type_commit(&type);
    snprintf(param, sizeof param, "%s in blocks of %zu", bytes_name(bytes), block);
    for (int b = -1; b < BATCHES; b++) { /* batch -1 warms up */
        fill(memory, 2 * bytes, b, 0);
        if (me == 1)
            spoil(memory, 2 * bytes);
        MPI_Barrier(MPI_COMM_WORLD);
        double t0 = MPI_Wtime();
        for (int i = 0; i < ITERS; i++)
            bounce(type);
        if (b >= 0)
            t[b] = (MPI_Wtime() - t0) / ITERS / 2;
        for (size_t at = 0; at < 2 * bytes; at += 2 * block) { /* gaps differ */
            char expected[32 << 10];
            memcpy(expected, memory + at, block);
            MPI_Bcast(expected, (int)block, MPI_BYTE, 0, MPI_COMM_WORLD);
            check(memcmp(expected, memory + at, block) == 0, "blocks", param);
        }
    }
    if (me == 0)
        row("blocks", param, median(t, BATCHES) * 1e6, "us");
    MPI_Type_free(&type);
}

int main(int argc, char **argv)
{
    bench_begin(&argc, &argv, 2);
    for (size_t bytes = 64 << 10; bytes <= 1 << 20; bytes *= 16) {
        memory = buffer(2 * bytes);
        for (size_t block = 256; block <= 32 << 10; block *= 2)
            measure(bytes, block);
        free(memory);
    }
    MPI_Finalize();
    return 0;
}
