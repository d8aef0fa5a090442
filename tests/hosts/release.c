/*
 * release.c - a communicator that is freed last of all.
 *
 * Makes communicators whose members have never sent each other anything else, says
 * "ready", waits for a line of standard input, frees them and leaves. What members tell
 * each other then may need new connections, and nobody waits for it.
 */
#include "mpi.h"

#include <stdio.h>

enum { MADE = 4 };

int main(int argc, char **argv)
{
    MPI_Comm made[MADE];
    MPI_Comm half;
    int rank;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_dup(MPI_COMM_WORLD, &made[0]);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &made[1]);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &made[2]);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 0, &made[3]);
    MPI_Comm_free(&half);
    for (int i = 0; i < 2; i++) { /* over the connections that MPI_Finalize will use */
        MPI_Barrier(MPI_COMM_WORLD);
    }
    if (rank == 0) {
        printf("ready\n");
        fflush(stdout);
        (void)getchar();
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < MADE; i++) {
        MPI_Comm_free(&made[i]);
    }
    MPI_Finalize();
    return 0;
}
