/*
 * queues.c - three ranks with known message queues, for a debugger (debugger.py).
 *
 * Rank 0 has receives and sends that nobody meets, and messages that it does not receive,
 * on three communicators; then it waits in MPI_Recv for ever. The others sleep.
 */
#include <mpi.h>

#include <stdio.h>
#include <unistd.h>

enum { LONG = 200000 };

static char buffers[12][LONG];

static void post(MPI_Comm second)
{
    MPI_Request r[4];

    MPI_Irecv(buffers[0], 16, MPI_BYTE, 1, 5, MPI_COMM_WORLD, &r[0]);
    MPI_Irecv(buffers[1], 32, MPI_BYTE, MPI_ANY_SOURCE, 6, MPI_COMM_WORLD, &r[1]);
    MPI_Irecv(buffers[2], 64, MPI_BYTE, 2, MPI_ANY_TAG, second, &r[2]);
    MPI_Irecv(buffers[3], 128, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, second, &r[3]);
}

int main(int argc, char **argv)
{
    MPI_Request r;
    MPI_Comm second;
    MPI_Comm reversed;
    int rank;
    int size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_dup(MPI_COMM_WORLD, &second);
    MPI_Comm_set_name(second, "second");
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &reversed);
    MPI_Comm_set_name(reversed, "reversed");
    if (rank == 0) {
        post(second);
        MPI_Isend(buffers[4], LONG, MPI_BYTE, 2, 80, MPI_COMM_WORLD, &r);
        MPI_Issend(buffers[5], 4, MPI_BYTE, 1, 81, reversed, &r);
    } else if (rank == 1) {
        MPI_Send(buffers[6], 8, MPI_BYTE, 0, 70, MPI_COMM_WORLD);
        MPI_Isend(buffers[7], LONG / 2, MPI_BYTE, 0, 71, MPI_COMM_WORLD, &r);
    } else if (rank == 2) {
        MPI_Send(buffers[8], 12, MPI_BYTE, size - 1, 72, reversed);
    }
    MPI_Barrier(MPI_COMM_WORLD); /* what was sent has arrived */
    printf("rank %d is process %d\n", rank, (int)getpid());
    fflush(stdout);
    if (rank == 0) {
        MPI_Recv(buffers[9], 4, MPI_BYTE, 1, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    for (;;) {
        pause();
    }
}
