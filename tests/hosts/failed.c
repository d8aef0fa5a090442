/*
 * failed.c - ranks are killed that nobody has spoken to: who waits for one of them is
 * told.
 *
 *     mpiexec --keep-going ... failed FIRST LAST [later]
 *
 * Ranks FIRST to LAST end by a signal: at once, or `later`, when the others may be asleep
 * in MPI. Every other rank receives from each of them, and prints "told" and its own
 * rank.
 */
#include "mpi.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { LATER_US = 300 * 1000 };

static void expect_error(int from, int rank)
{
    int word;
    int class = MPI_SUCCESS;
    const int rc =
        MPI_Recv(&word, 1, MPI_INT, from, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);

    MPI_Error_class(rc, &class);
    if (class != MPI_ERR_PROC_ABORTED) {
        fprintf(stderr, "rank %d: a receive from %d gave class %d\n", rank, from, class);
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
}

int main(int argc, char **argv)
{
    int rank;
    int first;
    int last;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    first = argc > 2 ? atoi(argv[1]) : 0;
    last = argc > 2 ? atoi(argv[2]) : 0;
    if (rank >= first && rank <= last) {
        usleep(argc > 3 ? LATER_US : 0);
        raise(SIGKILL);
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int from = first; from <= last; from++) {
        expect_error(from, rank);
    }
    printf("told %d\n", rank);
    fflush(stdout);
    MPI_Finalize();
    return 0;
}
