/* matchdepth: half-round-trip time of 8 bytes while each process holds D
 * other receives (posted) or D other messages nobody asked for (unexpected),
 * all from the same peer and older than the ping, each with its own tag.
 * After the ping-pong every one of them is matched, in the order given
 * (drain: oldest first; drain-rev: newest first) and timed per message.
 * wildcard: the same behind D receives from MPI_ANY_SOURCE with other tags.
 * What a message holds depends on its tag. */
#include "bench.h"
enum { BATCHES = 15, PING = 30000 };

static double ping(int iters, const char *bench, const char *param)
{
    double t[BATCHES];
    uint64_t c, d;
    for (int b = -1; b < BATCHES; b++) {
        fill(&c, 8, b, me);
        spoil(&d, 8);
        double t0 = MPI_Wtime();
        for (int i = 0; i < iters; i++) {
            if (me == 0)
                MPI_Send(&c, 8, MPI_BYTE, 1, PING, MPI_COMM_WORLD);
            MPI_Recv(&d, 8, MPI_BYTE, 1 - me, PING, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            if (me == 1)
                MPI_Send(&c, 8, MPI_BYTE, 0, PING, MPI_COMM_WORLD);
        }
        if (b >= 0)
            t[b] = (MPI_Wtime() - t0) / 2 / iters;
        check(right(&d, 8, b, 1 - me), bench, param);
    }
    return median(t, BATCHES);
}

int main(int argc, char **argv)
{
    static const int depth[] = {0, 10, 100, 1000, 10000};
    bench_begin(&argc, &argv, 2);
    char *out = buffer(8 * 10000), *in = buffer(8 * 10000), p[32];
    MPI_Request *q = buffer(10000 * sizeof *q), *r = buffer(10000 * sizeof *r);
    int peer = 1 - me;

    for (int k = 0; k < 5; k++) {
        int D = depth[k], iters = D > 1000 ? 40 : 400;
        size_t all = 8 * (size_t)D;
        snprintf(p, sizeof p, "%d", D);

        for (int i = 0; i < D; i++) { /* the word belongs to the tag */
            uint64_t w = word(3 * k, me, (size_t)(D - 1 - i));
            memcpy(out + 8 * i, &w, 8);
        }
        double t;
        for (int wild = 0; wild < 2; wild++) { /* posted */
            const char *bench = wild ? "match.wildcard" : "match.posted";
            const char *drain =
                wild ? "match.wildcard.drain-rev" : "match.posted.drain-rev";
            spoil(in, all);
            for (int i = 0; i < D; i++)
                MPI_Irecv(in + 8 * i, 8, MPI_BYTE, wild ? MPI_ANY_SOURCE : peer, i,
                          MPI_COMM_WORLD, &q[i]);
            MPI_Barrier(MPI_COMM_WORLD);
            t = ping(iters, bench, p);
            if (me == 0)
                row(bench, p, t * 1e6, "us");
            MPI_Barrier(MPI_COMM_WORLD);
            t = MPI_Wtime();
            for (int i = 0; i < D; i++) /* newest receive first */
                MPI_Isend(out + 8 * i, 8, MPI_BYTE, peer, D - 1 - i, MPI_COMM_WORLD,
                          &r[i]);
            MPI_Waitall(D, q, MPI_STATUSES_IGNORE);
            MPI_Waitall(D, r, MPI_STATUSES_IGNORE);
            t = MPI_Wtime() - t;
            MPI_Barrier(MPI_COMM_WORLD);
            check(right(in, all, 3 * k, peer), drain, p);
            if (me == 0 && D)
                row(drain, p, t / D * 1e6, "us/msg");
        }

        for (int rev = 0; rev < 2; rev++) { /* unexpected */
            const char *drain =
                rev ? "match.unexpected.drain-rev" : "match.unexpected.drain";
            fill(out, all, 3 * k + 1 + rev, me);
            spoil(in, all);
            MPI_Barrier(MPI_COMM_WORLD);
            for (int i = 0; i < D; i++)
                MPI_Isend(out + 8 * i, 8, MPI_BYTE, peer, i, MPI_COMM_WORLD, &q[i]);
            if (!rev) {
                t = ping(iters, "match.unexpected", p);
                if (me == 0)
                    row("match.unexpected", p, t * 1e6, "us");
            } else {
                ping(20, drain, p); /* lets them arrive */
            }
            MPI_Barrier(MPI_COMM_WORLD);
            t = MPI_Wtime();
            for (int i = 0; i < D; i++) {
                int tag = rev ? D - 1 - i : i;
                MPI_Recv(in + 8 * tag, 8, MPI_BYTE, peer, tag, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
            }
            t = MPI_Wtime() - t;
            MPI_Waitall(D, q, MPI_STATUSES_IGNORE);
            MPI_Barrier(MPI_COMM_WORLD);
            check(right(in, all, 3 * k + 1 + rev, peer), drain, p);
            if (me == 0 && D)
                row(drain, p, t / D * 1e6, "us/msg");
        }
    }
    MPI_Finalize();
    return 0;
}
