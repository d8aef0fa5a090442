/* msgrate: messages per second with 64 requests in flight.
 * uni: rank 0 sends a window, rank 1 receives it and answers with 0 bytes.
 * bi:  both post a window of receives, then of sends, and wait for all;
 *      the rate counts the messages of both directions. */
#include "bench.h"
enum { BATCHES = 41, WINDOW = 64, TURNS = 50 };

static MPI_Request req[2 * WINDOW];

static void uni(char *buf, int n)
{
    for (int k = 0; k < WINDOW; k++)
        if (me == 0)
            MPI_Isend(buf + k * n, n, MPI_BYTE, 1, 5, MPI_COMM_WORLD, &req[k]);
        else
            MPI_Irecv(buf + k * n, n, MPI_BYTE, 0, 5, MPI_COMM_WORLD, &req[k]);
    MPI_Waitall(WINDOW, req, MPI_STATUSES_IGNORE);
    if (me == 0)
        MPI_Recv(NULL, 0, MPI_BYTE, 1, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
        MPI_Send(NULL, 0, MPI_BYTE, 0, 6, MPI_COMM_WORLD);
}

static void bi(char *out, char *in, int n)
{
    for (int k = 0; k < WINDOW; k++)
        MPI_Irecv(in + k * n, n, MPI_BYTE, 1 - me, 7, MPI_COMM_WORLD, &req[k]);
    for (int k = 0; k < WINDOW; k++)
        MPI_Isend(out + k * n, n, MPI_BYTE, 1 - me, 7, MPI_COMM_WORLD, &req[WINDOW + k]);
    MPI_Waitall(2 * WINDOW, req, MPI_STATUSES_IGNORE);
}

int main(int argc, char **argv)
{
    static const int size[] = {8, 1024};
    bench_begin(&argc, &argv, 2);
    char *out = buffer(WINDOW * 1024), *in = buffer(WINDOW * 1024);

    for (int s = 0; s < 2; s++)
        for (int both = 0; both < 2; both++) {
            double r[BATCHES];
            size_t all = (size_t)(WINDOW * size[s]);
            for (int b = -1; b < BATCHES; b++) {
                fill(out, all, b, me);
                spoil(in, all);
                MPI_Barrier(MPI_COMM_WORLD);
                double t0 = MPI_Wtime();
                for (int i = 0; i < TURNS; i++)
                    if (both)
                        bi(out, in, size[s]);
                    else
                        uni(me ? in : out, size[s]);
                if (b >= 0)
                    r[b] = (both + 1.0) * WINDOW * TURNS / (MPI_Wtime() - t0);
                MPI_Barrier(MPI_COMM_WORLD);
                if (both || me == 1)
                    check(right(in, all, b, 1 - me), both ? "msgrate.bi" : "msgrate.uni",
                          bytes_name((size_t)size[s]));
            }
            if (me == 0) {
                char name[32];
                double m = median(r, BATCHES);
                snprintf(name, sizeof name, "msgrate.%s", both ? "bi" : "uni");
                row(name, bytes_name((size_t)size[s]), m, "msg/s");
                strcat(name, ".max");
                row(name, bytes_name((size_t)size[s]), r[BATCHES - 1], "msg/s");
            }
        }
    free(out);
    free(in);
    MPI_Finalize();
    return 0;
}
