/*
 * context_again: the context of a communicator that is freed is given again to another
 * one, which a late member does not know yet when the others wait for it there.
 *
 *     context_again     at 3 ranks and more
 *
 * Rank 0 owns the contexts and has as many as it gives before one comes again. Rank 2
 * stops before the new communicator is complete for it, so that the others ask it about a
 * context by which it knows only the communicator that it has freed.
 */
#include "check.h"

#include <signal.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FREED = 40, ROUND = 65500, LATE = 2, PAUSE_S = 2 };

static int rank;

static void use_contexts(void)
{
    MPI_Comm freed[FREED];

    for (int i = 0; i < FREED; i++) {
        CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &freed[i]) == MPI_SUCCESS);
    }
    for (int i = 0; i < FREED; i++) {
        CHECK(MPI_Comm_free(&freed[i]) == MPI_SUCCESS);
    }
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
    for (int i = 0; rank == 0 && i < ROUND; i++) {
        MPI_Comm own;

        CHECK(MPI_Comm_dup(MPI_COMM_SELF, &own) == MPI_SUCCESS);
        CHECK(MPI_Comm_free(&own) == MPI_SUCCESS);
    }
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
}

static void stop_for_a_while(void)
{
    const pid_t self = getpid();
    const pid_t child = fork();

    CHECK(child >= 0);
    if (child == 0) {
        sleep(PAUSE_S);
        kill(self, SIGCONT);
        _exit(0);
    }
    CHECK(raise(SIGSTOP) == 0);
    CHECK(waitpid(child, NULL, 0) == child);
}

int main(int argc, char **argv)
{
    MPI_Comm again;
    MPI_Request request;
    int sum = 0;
    int size;

    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank) == MPI_SUCCESS);
    CHECK(MPI_Comm_size(MPI_COMM_WORLD, &size) == MPI_SUCCESS);
    CHECK(size > LATE);
    use_contexts();
    CHECK(MPI_Comm_idup(MPI_COMM_WORLD, &again, &request) == MPI_SUCCESS);
    if (rank == LATE) {
        stop_for_a_while();
    }
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, again) == MPI_SUCCESS);
    CHECK(sum == size * (size - 1) / 2);
    CHECK(MPI_Comm_free(&again) == MPI_SUCCESS);
    CHECK(MPI_Finalize() == MPI_SUCCESS);
    return 0;
}
