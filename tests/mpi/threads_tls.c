/*
 * threads_tls.c - chapter 3.7.4: messages advance while the program computes, also in a
 * program with much thread-local data, which the C library takes out of the stack of each
 * thread, of the library's own too. Threadprivate data of Fortran and OpenMP are such.
 */
#include "check.h"

#include <stdint.h>
#include <time.h>

enum { TLS_BYTES = 1 << 20, LONG = 1000000, PATIENCE_SECONDS = 30 };

static _Thread_local volatile char large[TLS_BYTES];

static double seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Computes until the last byte is there; the receive is for any tag, so that the sender
 * cannot store it by itself. */
static void receive(int from)
{
    const double start = seconds();
    volatile char *buffer = calloc(1, LONG);
    MPI_Request request;

    CHECK(buffer != NULL);
    CHECK(MPI_Irecv((void *)(uintptr_t)buffer, LONG, MPI_BYTE, from, MPI_ANY_TAG,
                    MPI_COMM_WORLD, &request) == MPI_SUCCESS);
    CHECK(MPI_Send(NULL, 0, MPI_BYTE, from, 1, MPI_COMM_WORLD) == MPI_SUCCESS);
    while (buffer[LONG - 1] != 1 && seconds() - start < PATIENCE_SECONDS) {
        large[TLS_BYTES - 1]++;
    }
    CHECK(buffer[LONG - 1] == 1);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    free((void *)(uintptr_t)buffer);
}

static void send(int to)
{
    char *buffer = malloc(LONG);

    CHECK(buffer != NULL);
    memset(buffer, 1, LONG);
    CHECK(MPI_Recv(NULL, 0, MPI_BYTE, to, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE) ==
          MPI_SUCCESS);
    CHECK(MPI_Send(buffer, LONG, MPI_BYTE, to, 2, MPI_COMM_WORLD) == MPI_SUCCESS);
    free(buffer);
}

int main(int argc, char **argv)
{
    int rank;
    int size;

    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank) == MPI_SUCCESS);
    CHECK(MPI_Comm_size(MPI_COMM_WORLD, &size) == MPI_SUCCESS);
    if (rank % 2 == 0 && rank + 1 < size) {
        receive(rank + 1);
    } else if (rank % 2 == 1) {
        send(rank - 1);
    }
    return MPI_Finalize();
}
