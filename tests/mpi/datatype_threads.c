/*
 * datatype_threads.c - chapters 3 and 5: several threads of each rank send and receive
 * messages that are not contiguous, on one side or both, short and in windows.
 */
#include "check.h"

#include <pthread.h>

enum { THREADS = 3, ROUNDS = 24, LARGEST = 150000 };

static int rank;
static int size;
static int partner;
static MPI_Datatype spread; /* ints with a gap behind each */

static int value(int from, int tag, int round, int i)
{
    return from * 7919 + tag * 131 + round * 17 + i;
}

static void *talk(void *arg)
{
    const int tag = (int)(intptr_t)arg;
    int *out = malloc(2 * LARGEST * sizeof(int));
    int *in = malloc(2 * LARGEST * sizeof(int));

    CHECK(out != NULL && in != NULL);
    for (int k = 0; k < ROUNDS; k++) {
        static const int counts[] = {10, 5000, 40000, LARGEST};
        const int n = counts[k % 4];
        const int from_step = k % 3 == 0 ? 1 : 2; /* the partner's step is the same */
        const int to_step = k % 3 == 1 ? 1 : 2;
        MPI_Request request;

        for (int i = 0; i < n; i++) {
            out[i * from_step] = value(rank, tag, k, i);
        }
        CHECK(MPI_Irecv(in, n, to_step == 1 ? MPI_INT : spread, partner, tag,
                        MPI_COMM_WORLD, &request) == MPI_SUCCESS);
        CHECK(MPI_Send(out, n, from_step == 1 ? MPI_INT : spread, partner, tag,
                       MPI_COMM_WORLD) == MPI_SUCCESS);
        CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        for (int i = 0; i < n; i++) {
            CHECK(in[i * to_step] == value(partner, tag, k, i));
        }
    }
    free(out);
    free(in);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    int provided;

    CHECK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided) == MPI_SUCCESS);
    CHECK(provided == MPI_THREAD_MULTIPLE);
    CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank) == MPI_SUCCESS);
    CHECK(MPI_Comm_size(MPI_COMM_WORLD, &size) == MPI_SUCCESS);
    partner = (rank ^ 1) < size ? rank ^ 1 : rank;
    CHECK(MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &spread) == MPI_SUCCESS);
    CHECK(MPI_Type_commit(&spread) == MPI_SUCCESS);
    for (int i = 0; i < THREADS; i++) {
        CHECK(pthread_create(&threads[i], NULL, talk, (void *)(intptr_t)(i + 1)) == 0);
    }
    for (int i = 0; i < THREADS; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
    }
    CHECK(MPI_Type_free(&spread) == MPI_SUCCESS);
    CHECK(MPI_Finalize() == MPI_SUCCESS);
    return 0;
}
