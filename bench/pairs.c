/*
 * pairs.c - ping-pong of 8 bytes in size/2 pairs at once (rank r with r + size/2): round
 * trips of all pairs together per second. With more ranks than cores it measures waiting.
 */
#include "bench.h"
enum { BATCHES = 9, TURNS = 2000 };

int main(int argc, char **argv)
{
    bench_begin(&argc, &argv, 0);
    int half = np / 2, peer = me < half ? me + half : me - half;
    double r[BATCHES];
    uint64_t out, in;
    char p[32];

    snprintf(p, sizeof p, "n=%d", np);
    for (int b = -1; b < BATCHES; b++) {
        fill(&out, 8, b, me);
        MPI_Barrier(MPI_COMM_WORLD);
        double t = MPI_Wtime();
        for (int i = 0; i < TURNS; i++) {
            if (me < half)
                MPI_Send(&out, 8, MPI_BYTE, peer, 1, MPI_COMM_WORLD);
            MPI_Recv(&in, 8, MPI_BYTE, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            if (me >= half)
                MPI_Send(&out, 8, MPI_BYTE, peer, 1, MPI_COMM_WORLD);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        if (b >= 0)
            r[b] = (double)half * TURNS / (MPI_Wtime() - t);
        check(right(&in, 8, b, peer), "pairs", p);
    }
    if (me == 0)
        row("pairs", p, median(r, BATCHES), "rounds/s");
    MPI_Finalize();
    return 0;
}
