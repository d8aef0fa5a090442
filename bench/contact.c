/* contact: what the first messages cost, connections included.
 *   contact AT: all ranks of the job begin at this time (seconds since 1970), so that
 *   none measures how long the others took to start; nobody has sent anything before.
 *   init:  MPI_Init
 *   first: 8 bytes to the rank of this place on the next host and from the one on the
 *          host before (ranks go by blocks to HOSTS hosts), less the same later
 *   all:   8 bytes to and from every rank, all at once, less the same once more
 * Each is the largest of all ranks. */
#include "bench.h"
#include <unistd.h>
enum { HOSTS = 4 };

static double exchange(int to, int from)
{
    uint64_t out = word(1, me, 0), in = 0;
    double t = MPI_Wtime();
    MPI_Sendrecv(&out, 8, MPI_BYTE, to, 1, &in, 8, MPI_BYTE, from, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    t = MPI_Wtime() - t;
    check(in == word(1, from, 0), "contact", "first");
    return t;
}

static double exchange_all(MPI_Request *q, uint64_t *in)
{
    uint64_t out = word(2, me, 0);
    int k = 0, ok = 1;
    double t = MPI_Wtime();
    for (int d = 1; d < np; d++)
        MPI_Irecv(&in[d], 8, MPI_BYTE, (me - d + np) % np, 2, MPI_COMM_WORLD, &q[k++]);
    for (int d = 1; d < np; d++)
        MPI_Isend(&out, 8, MPI_BYTE, (me + d) % np, 2, MPI_COMM_WORLD, &q[k++]);
    MPI_Waitall(k, q, MPI_STATUSES_IGNORE);
    t = MPI_Wtime() - t;
    for (int d = 1; d < np; d++)
        ok &= in[d] == word(2, (me - d + np) % np, 0);
    check(ok, "contact", "all");
    return t;
}

int main(int argc, char **argv)
{
    static const char *const name[] = {"init", "first", "all"};
    double begin = wall(), at = argc > 1 ? atof(argv[1]) : 0, t[3], most[3], again;
    MPI_Init(&argc, &argv);
    t[0] = wall() - begin;
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &np);
    if (np % HOSTS != 0 || wall() > at) {
        row("contact", "late", wall() - at, "WRONG");
        MPI_Abort(MPI_COMM_WORLD, 8);
    }
    usleep((useconds_t)(1e6 * (at - wall())));

    int step = np / HOSTS, next = (me + step) % np, before = (me - step + np) % np;
    MPI_Request *q = malloc(2 * (size_t)np * sizeof *q);
    uint64_t *in = buffer(8 * (size_t)np);
    t[1] = exchange(next, before);
    again = exchange(next, before);
    for (int i = 0; i < 20; i++) {
        double one = exchange(next, before);
        again = one < again ? one : again;
    }
    t[1] -= again;
    MPI_Barrier(MPI_COMM_WORLD);
    t[2] = exchange_all(q, in);
    MPI_Barrier(MPI_COMM_WORLD);
    t[2] -= exchange_all(q, in);
    MPI_Reduce(t, most, 3, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    for (int i = 0; i < 3 && me == 0; i++)
        row("contact", name[i], most[i] * 1e3, "ms");
    free(in);
    free(q);
    MPI_Finalize();
    return 0;
}
