/*
 * abort.c - chapter 11: one rank ends the job; tests/launch looks at how it ends.
 * "outstanding": while a receive is, and the library's thread sleeps.
 */
#include "check.h"

#include <unistd.h>

int main(int argc, char **argv)
{
    static char buffer[100 * 1024];
    const int is_outstanding = argc > 1;
    MPI_Request request;
    int rank;
    int size;

    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank) == MPI_SUCCESS);
    CHECK(MPI_Comm_size(MPI_COMM_WORLD, &size) == MPI_SUCCESS);
    if (is_outstanding) {
        CHECK(MPI_Irecv(buffer, (int)sizeof(buffer), MPI_BYTE, (rank + 1) % size, 1,
                        MPI_COMM_WORLD, &request) == MPI_SUCCESS);
        usleep(100000);
    }
    if (rank == size - 1) {
        MPI_Abort(MPI_COMM_WORLD, 7);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    return 0;
}
