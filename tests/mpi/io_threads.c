/*
 * io_threads.c - several threads of every rank use one file handle at once: at offsets of
 * their own, in atomic mode at the same ones, and by the shared file pointer.
 */
#include "io.h"

#include <pthread.h>

enum { THREADS = 4, ROUNDS = 50, N = 100 };

static MPI_File fh;

static void run(void *(*function)(void *))
{
    pthread_t threads[THREADS];

    for (intptr_t i = 0; i < THREADS; i++) {
        CHECK(pthread_create(&threads[i], NULL, function, (void *)i) == 0);
    }
    for (int i = 0; i < THREADS; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
    }
    DONE(MPI_Barrier(MPI_COMM_WORLD));
}

/* Blocking and nonblocking, each thread in a part of its own. */
static void *at_own_offsets(void *argument)
{
    const int me = rank * THREADS + (int)(intptr_t)argument;
    MPI_Request request;
    int out[N];
    int in[N];

    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < N; i++) {
            out[i] = me * 100000 + round * 1000 + i;
        }
        if (round % 2 == 0) {
            DONE(MPI_File_write_at(fh, me * N, out, N, MPI_INT, MPI_STATUS_IGNORE));
            DONE(MPI_File_iread_at(fh, me * N, in, N, MPI_INT, &request));
        } else {
            DONE(MPI_File_iwrite_at(fh, me * N, out, N, MPI_INT, &request));
            DONE(MPI_Wait(&request, MPI_STATUS_IGNORE));
            DONE(MPI_File_iread_at(fh, me * N, in, N, MPI_INT, &request));
        }
        DONE(MPI_Wait(&request, MPI_STATUS_IGNORE));
        CHECK(memcmp(in, out, sizeof(in)) == 0);
    }
    return NULL;
}

/* All write the same places: what a thread reads is one thread's. */
static void *at_the_same_offsets(void *argument)
{
    const int me = rank * THREADS + (int)(intptr_t)argument;
    MPI_Request request;
    int numbers[N];

    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < N; i++) {
            numbers[i] = me;
        }
        DONE(MPI_File_iwrite_at(fh, 0, numbers, N, MPI_INT, &request));
        DONE(MPI_Wait(&request, MPI_STATUS_IGNORE));
        DONE(MPI_File_read_at(fh, 0, numbers, N, MPI_INT, MPI_STATUS_IGNORE));
        for (int i = 0; i < N; i++) {
            CHECK(numbers[i] == numbers[0]);
        }
    }
    return NULL;
}

static void *by_the_shared_pointer(void *argument)
{
    const int me = rank * THREADS + (int)(intptr_t)argument;

    for (int round = 0; round < ROUNDS; round++) {
        DONE(MPI_File_write_shared(fh, &me, 1, MPI_INT, MPI_STATUS_IGNORE));
    }
    return NULL;
}

static void every_number_is_there(void)
{
    const int count = size * THREADS * ROUNDS;
    int *numbers = calloc((size_t)count + 1, sizeof(int));
    int *seen = calloc((size_t)size * THREADS, sizeof(int));
    MPI_Status status;

    CHECK(numbers != NULL && seen != NULL);
    sync_all(fh);
    DONE(MPI_File_read_at(fh, 0, numbers, count + 1, MPI_INT, &status));
    CHECK(count_of(&status, MPI_INT) == count);
    for (int i = 0; i < count; i++) {
        CHECK(numbers[i] >= 0 && numbers[i] < size * THREADS);
        seen[numbers[i]]++;
    }
    for (int i = 0; i < size * THREADS; i++) {
        CHECK(seen[i] == ROUNDS);
    }
    free(numbers);
    free(seen);
}

int main(int argc, char **argv)
{
    MPI_Datatype type;
    int provided;

    DONE(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
    CHECK(provided == MPI_THREAD_MULTIPLE);
    begin_with(argc, argv);
    fh = new_file(MPI_MODE_RDWR);
    DONE(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    run(at_own_offsets);
    DONE(MPI_File_set_size(fh, 0));
    run(by_the_shared_pointer);
    every_number_is_there();
    DONE(MPI_Type_vector(N, 1, 2, MPI_INT, &type));
    DONE(MPI_Type_commit(&type));
    DONE(MPI_File_set_atomicity(fh, 1));
    DONE(MPI_File_set_view(fh, 0, MPI_INT, type, "native", MPI_INFO_NULL));
    run(at_the_same_offsets);
    DONE(MPI_Type_free(&type));
    DONE(MPI_File_close(&fh));
    DONE(MPI_Finalize());
    return 0;
}
