/*
 * threads.c - two ranks, several threads each (MPI_THREAD_MULTIPLE).
 *   alone:   half round trip of 8 bytes between two main threads
 *   blocked: the same while a second thread of each rank waits in MPI_Recv
 *   rate:    messages of 8 bytes per second, 1 and 4 threads sending to 4 that receive
 */
#include "bench.h"
#include <pthread.h>
enum { BATCHES = 15, TURNS = 2000, WINDOW = 32, RATE_TURNS = 200 };

static double pingpong(void)
{
    double t[BATCHES];
    uint64_t out = 0, in = 0;
    for (int b = -1; b < BATCHES; b++) {
        double t0 = MPI_Wtime();
        for (int i = 0; i < TURNS; i++) {
            if (me == 0)
                MPI_Send(&out, 8, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
            MPI_Recv(&in, 8, MPI_BYTE, 1 - me, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            if (me == 1)
                MPI_Send(&out, 8, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
        }
        if (b >= 0)
            t[b] = (MPI_Wtime() - t0) / 2 / TURNS;
    }
    return median(t, BATCHES) * 1e6;
}

static void *blocked(void *arg)
{
    int word;
    (void)arg;
    MPI_Recv(&word, 1, MPI_INT, 1 - me, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return NULL;
}

static void *stream(void *arg)
{
    int tag = (int)(intptr_t)arg;
    MPI_Request q[WINDOW];
    uint64_t buf[WINDOW] = {0};
    for (int i = 0; i < RATE_TURNS; i++) {
        for (int k = 0; k < WINDOW; k++)
            if (me == 0)
                MPI_Isend(&buf[k], 8, MPI_BYTE, 1, tag, MPI_COMM_WORLD, &q[k]);
            else
                MPI_Irecv(&buf[k], 8, MPI_BYTE, 0, tag, MPI_COMM_WORLD, &q[k]);
        MPI_Waitall(WINDOW, q, MPI_STATUSES_IGNORE);
    }
    return NULL;
}

static double rate(int threads)
{
    double r[BATCHES];
    for (int b = -1; b < BATCHES; b++) {
        pthread_t t[4];
        MPI_Barrier(MPI_COMM_WORLD);
        double t0 = MPI_Wtime();
        for (int k = 0; k < threads; k++)
            pthread_create(&t[k], NULL, stream, (void *)(intptr_t)(10 + k));
        for (int k = 0; k < threads; k++)
            pthread_join(t[k], NULL);
        MPI_Barrier(MPI_COMM_WORLD);
        if (b >= 0)
            r[b] = (double)threads * RATE_TURNS * WINDOW / (MPI_Wtime() - t0);
    }
    return median(r, BATCHES);
}

int main(int argc, char **argv)
{
    int provided, word = 1;
    pthread_t t;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &np);
    double alone = pingpong();
    MPI_Barrier(MPI_COMM_WORLD);
    pthread_create(&t, NULL, blocked, NULL);
    double with = pingpong();
    MPI_Send(&word, 1, MPI_INT, 1 - me, 99, MPI_COMM_WORLD);
    pthread_join(t, NULL);
    double one = rate(1), four = rate(4);
    if (me == 0) {
        row("threads.alone", "8B", alone, "us");
        row("threads.blocked", "8B", with, "us");
        row("threads.rate", "1", one, "msg/s");
        row("threads.rate", "4", four, "msg/s");
    }
    MPI_Finalize();
    return 0;
}
