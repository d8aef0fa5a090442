/* abort.c - chapter 11: one rank ends the job; tests/launch looks at how it ends. */
#include "check.h"

#include <unistd.h>

int main(int argc, char **argv)
{
    int rank;
    int size;

    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank) == MPI_SUCCESS);
    CHECK(MPI_Comm_size(MPI_COMM_WORLD, &size) == MPI_SUCCESS);
    if (rank == size - 1) {
        MPI_Abort(MPI_COMM_WORLD, 7);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    return 0;
}
