/* pingpong: half-round-trip time and bandwidth of one message between two
 * processes.  Value = median over batches of (batch time / 2 / iterations);
 * the fastest batch is reported too, for a noisy machine. */
#include "bench.h"
enum { BATCHES = 41 };

static void bounce(char *out, char *in, int n, int iters)
{
    int peer = 1 - me;
    for (int i = 0; i < iters; i++) {
        if (me == 0) {
            MPI_Send(out, n, MPI_BYTE, peer, 1, MPI_COMM_WORLD);
            MPI_Recv(in, n, MPI_BYTE, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(in, n, MPI_BYTE, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(out, n, MPI_BYTE, peer, 1, MPI_COMM_WORLD);
        }
    }
}

int main(int argc, char **argv)
{
    static const size_t size[] = {0,     8,     64,     1024,    4096,
                                  16384, 65536, 262144, 1048576, 4194304};
    bench_begin(&argc, &argv, 2);
    char *out = buffer(4194304), *in = buffer(4194304);

    for (size_t s = 0; s < sizeof size / sizeof *size; s++) {
        int n = (int)size[s];
        int iters = n <= 4096 ? 400 : n <= 65536 ? 100 : n <= 1048576 ? 12 : 4;
        double t[BATCHES];
        for (int b = -1; b < BATCHES; b++) { /* batch -1 warms up */
            fill(out, size[s], b, me);
            bounce(out, in, n, 1); /* caches as sending leaves them */
            spoil(in, size[s]);
            MPI_Barrier(MPI_COMM_WORLD);
            double t0 = MPI_Wtime();
            bounce(out, in, n, iters);
            if (b >= 0)
                t[b] = (MPI_Wtime() - t0) / 2 / iters;
            MPI_Barrier(MPI_COMM_WORLD);
            check(right(in, size[s], b, 1 - me), "pingpong", bytes_name(size[s]));
        }
        if (me == 0) {
            const char *p = bytes_name(size[s]);
            double m = median(t, BATCHES);
            row("pingpong", p, m * 1e6, "us");
            row("pingpong.min", p, t[0] * 1e6, "us");
            if (n)
                row("pingpong.bw", p, n / m / 1e6, "MB/s");
        }
    }
    free(out);
    free(in);
    MPI_Finalize();
    return 0;
}
