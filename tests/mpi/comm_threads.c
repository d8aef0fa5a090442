/*
 * comm_threads.c - chapter 7 with threads: each of four threads of every rank makes, uses
 * and frees communicators on groups that overlap with those of the others, all at once.
 * The argument is for how many seconds; without one, for a fraction of one.
 */
#include "comm.h"

#include <pthread.h>

enum { THREADS = 4, TAGS = 100 };

static int rank;
static int size;
static double seconds = 0.3;
static MPI_Comm parents[THREADS];

/* Rank 0 of the parent says whether there is another round. */
static int goes_on(MPI_Comm parent, double end)
{
    int more = MPI_Wtime() < end;

    CHECK(MPI_Bcast(&more, 1, MPI_INT, 0, parent) == MPI_SUCCESS);
    return more;
}

/* Some ranks, from another one in each round: they overlap between threads. */
static void make_by_group(int thread, int round)
{
    MPI_Group group = every((round + thread) % size, 1 + round % 2);
    MPI_Comm made;
    char text[32];
    int place;

    CHECK(MPI_Group_rank(group, &place) == MPI_SUCCESS);
    if (place != MPI_UNDEFINED) {
        CHECK(MPI_Comm_create_group(MPI_COMM_WORLD, group, thread, &made) == MPI_SUCCESS);
        use_comm(made, thread * TAGS + round % TAGS);
        free_comm(&made);
        snprintf(text, sizeof(text), "thread %d", thread);
        CHECK(MPI_Comm_create_from_group(group, text, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL,
                                         &made) == MPI_SUCCESS);
        use_comm(made, thread * TAGS + round % TAGS + 1);
        free_comm(&made);
    }
    if (group != MPI_GROUP_EMPTY) {
        CHECK(MPI_Group_free(&group) == MPI_SUCCESS);
    }
}

static void *work(void *arg)
{
    const int thread = (int)(intptr_t)arg;
    const double end = MPI_Wtime() + seconds;
    MPI_Comm parent = parents[thread];
    MPI_Comm kept = MPI_COMM_NULL;

    for (int round = 0; goes_on(parent, end); round++) {
        const int value = thread * TAGS + round % TAGS;
        MPI_Comm dup;
        MPI_Comm part;
        MPI_Comm later;
        MPI_Request request;

        CHECK(MPI_Comm_dup(parent, &dup) == MPI_SUCCESS);
        CHECK(MPI_Comm_idup(dup, &later, &request) == MPI_SUCCESS);
        CHECK(MPI_Comm_split(parent, rank / (1 + round % 3), -rank, &part) ==
              MPI_SUCCESS);
        use_comm(part, rank / (1 + round % 3) * 1000 + value);
        free_comm(&part);
        make_by_group(thread, round);
        use_comm(dup, value);
        CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        use_comm(later, value + 1);
        free_comm(&dup);
        if (kept != MPI_COMM_NULL) {
            use_comm(kept, value + 2);
            free_comm(&kept);
        }
        kept = later; /* lives while others come and go */
    }
    if (kept != MPI_COMM_NULL) {
        free_comm(&kept);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    int provided;

    CHECK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided) == MPI_SUCCESS);
    CHECK(provided == MPI_THREAD_MULTIPLE);
    if (argc > 1) {
        seconds = atof(argv[1]);
    }
    CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank) == MPI_SUCCESS);
    CHECK(MPI_Comm_size(MPI_COMM_WORLD, &size) == MPI_SUCCESS);
    for (int i = 0; i < THREADS; i++) {
        CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &parents[i]) == MPI_SUCCESS);
    }
    for (int i = 0; i < THREADS; i++) {
        CHECK(pthread_create(&threads[i], NULL, work, (void *)(intptr_t)i) == 0);
    }
    for (int i = 0; i < THREADS; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
        free_comm(&parents[i]);
    }
    return MPI_Finalize();
}
