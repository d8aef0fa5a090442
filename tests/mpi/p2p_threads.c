/*
 * p2p_threads.c - chapter 3: several threads of each rank send and receive at once, small
 * and large, while one thread sleeps in a receive that is answered last.
 */
#include "bytes.h"
#include "check.h"

#include <pthread.h>

enum { THREADS = 4, ROUNDS = 300, LARGE = 100000 };

static int rank;
static int size;
static int partner;

static void *talk(void *arg)
{
    const int tag = (int)(intptr_t)arg;
    char *out = malloc(LARGE);
    char *in = malloc(LARGE);

    CHECK(out != NULL && in != NULL);
    for (int i = 0; i < ROUNDS; i++) {
        const int n = i % 10 == 9 ? LARGE : i % 7 * 100;
        MPI_Request request;

        fill_bytes(out, (size_t)n, (uint32_t)(rank * 7919 + tag * 31 + i));
        CHECK(MPI_Irecv(in, LARGE, MPI_BYTE, partner, tag, MPI_COMM_WORLD, &request) ==
              MPI_SUCCESS);
        CHECK(MPI_Send(out, n, MPI_BYTE, partner, tag, MPI_COMM_WORLD) == MPI_SUCCESS);
        CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(are_bytes(in, (size_t)n, (uint32_t)(partner * 7919 + tag * 31 + i)));
    }
    free(out);
    free(in);
    return NULL;
}

static void *sleep_in_recv(void *arg)
{
    int *word = arg;

    CHECK(MPI_Recv(word, 1, MPI_INT, partner, 1000, MPI_COMM_WORLD, MPI_STATUS_IGNORE) ==
          MPI_SUCCESS);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    pthread_t sleeper;
    int provided;
    int word = -1;

    CHECK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided) == MPI_SUCCESS);
    CHECK(provided == MPI_THREAD_MULTIPLE);
    CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank) == MPI_SUCCESS);
    CHECK(MPI_Comm_size(MPI_COMM_WORLD, &size) == MPI_SUCCESS);
    partner = (rank ^ 1) < size ? rank ^ 1 : rank;
    CHECK(pthread_create(&sleeper, NULL, sleep_in_recv, &word) == 0);
    for (int i = 0; i < THREADS; i++) {
        CHECK(pthread_create(&threads[i], NULL, talk, (void *)(intptr_t)i) == 0);
    }
    for (int i = 0; i < THREADS; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
    }
    CHECK(MPI_Send(&rank, 1, MPI_INT, partner, 1000, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(pthread_join(sleeper, NULL) == 0);
    CHECK(word == partner);
    return MPI_Finalize();
}
