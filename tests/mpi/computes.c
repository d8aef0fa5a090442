/*
 * computes.c - chapter 3: a rank that is not in MPI for long is not taken for lost.
 *
 *   computes SECONDS [cold]
 *
 * Rank 0 sends a message to each other rank, and then calls nothing of MPI for SECONDS;
 * with "cold" it has called MPI_Init alone before.
 * Meanwhile the others send to it: short messages, which go at once, and a long one,
 * which waits for it. A transport that repeats what is not acknowledged hears of rank 0
 * only through the library's own threads. Half of the time is computed, half is slept.
 */
#include "check.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SHORT = 20, LONG_BYTES = 1 << 20, TAG_SHORT = 1, TAG_LONG };

static char bytes[LONG_BYTES];

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void stay_outside(double seconds)
{
    const struct timespec half = {(time_t)(seconds / 2), 0};
    const double begin = now();
    volatile unsigned count = 0;

    (void)nanosleep(&half, NULL);
    while (now() < begin + seconds) {
        count++;
    }
}

static void compute(int size, double seconds, bool is_cold)
{
    if (is_cold) {
        stay_outside(seconds);
    }
    for (int i = 1; i < size; i++) {
        CHECK(MPI_Send(&i, 1, MPI_INT, i, TAG_SHORT, MPI_COMM_WORLD) == MPI_SUCCESS);
    }
    if (!is_cold) {
        stay_outside(seconds);
    }
    for (int i = 1; i < size; i++) {
        for (int k = 0; k < SHORT; k++) {
            int got = -1;

            CHECK(MPI_Recv(&got, 1, MPI_INT, i, TAG_SHORT, MPI_COMM_WORLD,
                           MPI_STATUS_IGNORE) == MPI_SUCCESS);
            CHECK(got == k);
        }
        CHECK(MPI_Recv(bytes, LONG_BYTES, MPI_CHAR, i, TAG_LONG, MPI_COMM_WORLD,
                       MPI_STATUS_IGNORE) == MPI_SUCCESS);
        for (int k = 0; k < LONG_BYTES; k++) {
            CHECK(bytes[k] == (char)i);
        }
    }
}

static void send_all(int rank)
{
    const struct timespec pause = {1, 0};
    int got = -1;

    (void)nanosleep(&pause, NULL);
    for (int k = 0; k < SHORT; k++) {
        CHECK(MPI_Send(&k, 1, MPI_INT, 0, TAG_SHORT, MPI_COMM_WORLD) == MPI_SUCCESS);
    }
    memset(bytes, rank, sizeof(bytes));
    CHECK(MPI_Send(bytes, LONG_BYTES, MPI_CHAR, 0, TAG_LONG, MPI_COMM_WORLD) ==
          MPI_SUCCESS);
    CHECK(MPI_Recv(&got, 1, MPI_INT, 0, TAG_SHORT, MPI_COMM_WORLD, MPI_STATUS_IGNORE) ==
          MPI_SUCCESS);
    CHECK(got == rank);
}

int main(int argc, char **argv)
{
    int rank = -1;
    int size = 0;
    bool is_cold;

    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    CHECK(argc == 2 || argc == 3);
    is_cold = argc == 3 && strcmp(argv[2], "cold") == 0;
    CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank) == MPI_SUCCESS);
    CHECK(MPI_Comm_size(MPI_COMM_WORLD, &size) == MPI_SUCCESS);
    if (!is_cold) {
        CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
    }
    if (rank == 0) {
        compute(size, atof(argv[1]), is_cold);
    } else {
        send_all(rank);
    }
    return MPI_Finalize();
}
