/*
 * partitioned_threads.c - chapter 4: several threads fill and release the partitions of
 * one send, others wait for those of one receive, while a third waits for both requests.
 */
#include "check.h"

#include <pthread.h>
#include <sched.h>

enum { THREADS = 4, EACH = 8, PARTS = THREADS * EACH, TURNS = 30, MOST = 20000 };

static int rank;
static int size;
static int to;
static int from;
static MPI_Request pair[2];
static int *out;
static int *in;
static int ints; /* in a partition */
static int turn;

static int value(int who, int i)
{
    return who * 1000003 + turn * 10007 + i;
}

static void *release(void *arg)
{
    const int me = (int)(intptr_t)arg;

    for (int k = 0; k < EACH; k++) {
        const int part = k * THREADS + me;

        for (int i = part * ints; i < (part + 1) * ints; i++) {
            out[i] = value(rank, i);
        }
        CHECK(MPI_Pready(part, pair[1]) == MPI_SUCCESS);
    }
    return NULL;
}

static void *collect(void *arg)
{
    const int me = (int)(intptr_t)arg;

    for (int part = me * EACH; part < (me + 1) * EACH; part++) {
        int flag = 0;

        while (!flag) {
            CHECK(MPI_Parrived(pair[0], part, &flag) == MPI_SUCCESS);
            sched_yield(); /* there are more threads than processors */
        }
        for (int i = part * ints; i < (part + 1) * ints; i++) {
            CHECK(in[i] == value(from, i));
        }
    }
    return NULL;
}

static void *wait_for_send(void *arg)
{
    (void)arg;
    CHECK(MPI_Wait(&pair[1], MPI_STATUS_IGNORE) == MPI_SUCCESS);
    return NULL;
}

static void one_turn(void)
{
    pthread_t threads[2 * THREADS + 1];
    int n = 0;

    CHECK(MPI_Startall(2, pair) == MPI_SUCCESS);
    CHECK(pthread_create(&threads[n++], NULL, wait_for_send, NULL) == 0);
    for (int t = 0; t < THREADS; t++) {
        void *arg = (void *)(intptr_t)t;

        CHECK(pthread_create(&threads[n++], NULL, collect, arg) == 0);
        CHECK(pthread_create(&threads[n++], NULL, release, arg) == 0);
    }
    while (n > 0) {
        CHECK(pthread_join(threads[--n], NULL) == 0);
    }
    CHECK(MPI_Wait(&pair[0], MPI_STATUS_IGNORE) == MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    static const int lengths[] = {1, 300, MOST};
    int provided;

    CHECK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided) == MPI_SUCCESS);
    CHECK(provided == MPI_THREAD_MULTIPLE);
    CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank) == MPI_SUCCESS);
    CHECK(MPI_Comm_size(MPI_COMM_WORLD, &size) == MPI_SUCCESS);
    to = (rank + 1) % size;
    from = (rank + size - 1) % size;
    out = malloc(sizeof(int) * PARTS * MOST);
    in = malloc(sizeof(int) * PARTS * MOST);
    CHECK(out != NULL && in != NULL);
    for (int l = 0; l < 3; l++) {
        ints = lengths[l];
        CHECK(MPI_Precv_init(in, PARTS, ints, MPI_INT, from, 1, MPI_COMM_WORLD,
                             MPI_INFO_NULL, &pair[0]) == MPI_SUCCESS);
        CHECK(MPI_Psend_init(out, PARTS, ints, MPI_INT, to, 1, MPI_COMM_WORLD,
                             MPI_INFO_NULL, &pair[1]) == MPI_SUCCESS);
        for (turn = 0; turn < (ints == MOST ? TURNS / 10 : TURNS); turn++) {
            one_turn();
        }
        CHECK(MPI_Request_free(&pair[0]) == MPI_SUCCESS);
        CHECK(MPI_Request_free(&pair[1]) == MPI_SUCCESS);
    }
    free(out);
    free(in);
    CHECK(MPI_Finalize() == MPI_SUCCESS);
    return 0;
}
