/*
 * threads_idle.c - chapter 11.6: threads of a process that wait in MPI at the same time
 * sleep until what each waits for has come, and none of them wakes up before.
 *
 * The threads of rank 0 wait in MPI_Recv, in MPI_Barrier and in MPI_Ssend, each on a
 * communicator of its own. The other rank lets them wait, and then ends
 * one wait after the other, in an order in which the thread that sleeps on the process's
 * doorbell is now among the first and now among the last. A wait that nobody ends hangs.
 */
#include "check.h"

#include <pthread.h>
#include <stdint.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
    THREADS = 9,
    ROUNDS = 12,
    QUIET_US = 600000,
    /* Each wait has a few wake-ups. A clock of a millisecond in each would make several
       thousand. */
    MOST_WAKEUPS = 1000,
};

static int rank;
static MPI_Comm comms[THREADS];

/* What thread number i waits for, or what ends that. */
static void meet(int i)
{
    const int other = 1 - rank;
    int word = i;

    switch (i % 3) {
    case 0:
        if (rank == 0) {
            CHECK(MPI_Recv(&word, 1, MPI_INT, other, i, comms[i], MPI_STATUS_IGNORE) ==
                  MPI_SUCCESS);
        } else {
            CHECK(MPI_Send(&word, 1, MPI_INT, other, i, comms[i]) == MPI_SUCCESS);
        }
        break;
    case 1:
        CHECK(MPI_Barrier(comms[i]) == MPI_SUCCESS);
        break;
    default:
        if (rank == 0) {
            CHECK(MPI_Ssend(&word, 1, MPI_INT, other, i, comms[i]) == MPI_SUCCESS);
        } else {
            CHECK(MPI_Recv(&word, 1, MPI_INT, other, i, comms[i], MPI_STATUS_IGNORE) ==
                  MPI_SUCCESS);
        }
        break;
    }
    CHECK(word == i);
}

static void *wait_for_peer(void *number)
{
    meet((int)(intptr_t)number);
    return NULL;
}

static void wait_with_threads(void)
{
    pthread_t threads[THREADS];

    for (int i = 0; i < THREADS; i++) {
        CHECK(pthread_create(&threads[i], NULL, wait_for_peer, (void *)(intptr_t)i) == 0);
    }
    for (int i = 0; i < THREADS; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
    }
}

static void end_waits(int round)
{
    if (round == 0) {
        usleep(QUIET_US);
    }
    for (int i = 0; i < THREADS; i++) {
        meet((i * (round % 2 == 0 ? 2 : 5) + round) % THREADS);
        usleep(round % 4 == 1 ? 1000 : 0);
    }
}

static long wakeups(void)
{
    struct rusage usage;

    CHECK(getrusage(RUSAGE_SELF, &usage) == 0);
    return usage.ru_nvcsw;
}

int main(int argc, char **argv)
{
    int provided;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    CHECK(provided == MPI_THREAD_MULTIPLE);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < THREADS; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
        MPI_Barrier(comms[i]);
    }
    for (int round = 0; round < ROUNDS; round++) {
        const long before = wakeups();

        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0) {
            wait_with_threads();
        } else {
            end_waits(round);
        }
        CHECK(round > 0 || wakeups() - before < MOST_WAKEUPS);
    }
    for (int i = 0; i < THREADS; i++) {
        MPI_Comm_free(&comms[i]);
    }
    return MPI_Finalize() == MPI_SUCCESS ? 0 : 1;
}
