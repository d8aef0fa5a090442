/* pingpong: half-round-trip time and bandwidth of one message between two
 * processes.  Value = median over batches of (batch time / 2 / iterations);
 * the fastest batch is reported too, for a noisy machine.
 * rewrite: each side writes its whole buffer anew before every send, so that no
 * cache holds it already; the time includes that. */
#include "bench.h"
enum { BATCHES = 41 };

static void bounce(char *out, char *in, int n, int iters, int rewrite)
{
    int peer = 1 - me;
    for (int i = 0; i < iters; i++) {
        if (me == 0) {
            if (rewrite)
                memset(out, iters - i + me, (size_t)n);
            MPI_Send(out, n, MPI_BYTE, peer, 1, MPI_COMM_WORLD);
            MPI_Recv(in, n, MPI_BYTE, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(in, n, MPI_BYTE, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            if (rewrite)
                memset(out, iters - i + me, (size_t)n);
            MPI_Send(out, n, MPI_BYTE, peer, 1, MPI_COMM_WORLD);
        }
    }
}

/* A process writes its last round's bytes: 1 and its rank. */
static int rewritten(const char *in, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (in[i] != 1 + (1 - me))
            return 0;
    return 1;
}

/* Rows "name", "name.min" and "name.bw" for one size. */
static void measure(char *out, char *in, size_t size, int rewrite, const char *name)
{
    int n = (int)size;
    int iters = n <= 4096 ? 400 : n <= 65536 ? 100 : n <= 1048576 ? 12 : 4;
    double t[BATCHES];
    char bench[32];
    for (int b = -1; b < BATCHES; b++) { /* batch -1 warms up */
        fill(out, size, b, me);
        bounce(out, in, n, 1, 0); /* caches as sending leaves them */
        spoil(in, size);
        MPI_Barrier(MPI_COMM_WORLD);
        double t0 = MPI_Wtime();
        bounce(out, in, n, iters, rewrite);
        if (b >= 0)
            t[b] = (MPI_Wtime() - t0) / 2 / iters;
        MPI_Barrier(MPI_COMM_WORLD);
        check(rewrite ? rewritten(in, size) : right(in, size, b, 1 - me), name,
              bytes_name(size));
    }
    if (me == 0) {
        const char *p = bytes_name(size);
        double m = median(t, BATCHES);
        row(name, p, m * 1e6, "us");
        snprintf(bench, sizeof bench, "%s.min", name);
        row(bench, p, t[0] * 1e6, "us");
        snprintf(bench, sizeof bench, "%s.bw", name);
        if (n)
            row(bench, p, n / m / 1e6, "MB/s");
    }
}

int main(int argc, char **argv)
{
    static const size_t size[] = {0,     8,     64,     1024,    4096,
                                  16384, 65536, 262144, 1048576, 4194304};
    bench_begin(&argc, &argv, 2);
    char *out = buffer(4194304), *in = buffer(4194304);

    for (size_t s = 0; s < sizeof size / sizeof *size; s++)
        measure(out, in, size[s], 0, "pingpong");
    for (size_t s = 0; s < sizeof size / sizeof *size; s++)
        if (size[s] >= 65536)
            measure(out, in, size[s], 1, "pingpong.rewrite");
    free(out);
    free(in);
    MPI_Finalize();
    return 0;
}
