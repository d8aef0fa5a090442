/*
 * ship_program.c - an MPI program with a library of its own. With an argument it does
 * what that says once all ranks are there: "abort", or "wait", which is for ever.
 */
#include <mpi.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

int ship_answer(void);

int main(int argc, char **argv)
{
    char host[MPI_MAX_PROCESSOR_NAME];
    int sum = 0;
    int one = 1;
    int length;
    int rank;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Get_processor_name(host, &length);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    printf("rank %d of %d on %s: %d\n", rank, sum, host, ship_answer());
    fflush(stdout);
    if (argc > 1 && strcmp(argv[1], "abort") == 0 && rank == sum - 1) {
        MPI_Abort(MPI_COMM_WORLD, 7);
    }
    while (argc > 1) {
        pause();
    }
    MPI_Finalize();
    return 0;
}
