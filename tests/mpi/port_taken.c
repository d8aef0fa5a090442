/*
 * port_taken.c - the port that a rank has found free is taken when it listens there, the
 * first three times. What it has opened before is to be left whole: the library makes
 * its endpoint again, and then sleeps on the network. For rdm.
 */
#include "check.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { TAKEN = 3, MESSAGES = 20, PAUSE_NS = 20 * 1000 * 1000 };

static _Atomic int calls;

/* In the place of the C library's, for libfabric too. */
int listen(int fd, int backlog)
{
    if (atomic_fetch_add(&calls, 1) < TAKEN) {
        errno = EADDRINUSE;
        return -1;
    }
    return (int)syscall(SYS_listen, fd, backlog);
}

int main(int argc, char **argv)
{
    const struct timespec pause = {.tv_nsec = PAUSE_NS};
    int rank;
    int size;
    int value = 0;

    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank) == MPI_SUCCESS);
    CHECK(MPI_Comm_size(MPI_COMM_WORLD, &size) == MPI_SUCCESS);
    for (int i = 0; i < MESSAGES; i++) {
        if (rank == i % size) { /* the others sleep meanwhile */
            nanosleep(&pause, NULL);
            value = i;
        }
        CHECK(MPI_Bcast(&value, 1, MPI_INT, i % size, MPI_COMM_WORLD) == MPI_SUCCESS);
        CHECK(value == i);
    }
    CHECK(atomic_load(&calls) > TAKEN); /* it was called in our place */
    CHECK(MPI_Finalize() == MPI_SUCCESS);
    return 0;
}
