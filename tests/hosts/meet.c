/*
 * meet.c - ranks that start, meet and end; or speak with each other.
 *
 *   meet [ROUNDS]   as many barriers, then "met 3 of 4"
 *   meet send       rank 0 sends a message to the last rank
 */
#include "mpi.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "1";
    int rank;
    int size;
    int word = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (strcmp(how, "send") == 0 && rank == 0) {
        MPI_Send(&word, 1, MPI_INT, size - 1, 7, MPI_COMM_WORLD);
    }
    for (int i = 0; i < atoi(how); i++) {
        MPI_Barrier(MPI_COMM_WORLD);
    }
    printf("met %d of %d\n", rank, size);
    MPI_Finalize();
    return 0;
}
