/*
 * sendrecv.c - chapter 3.10: a send and a receive in one call or one request, from two
 * buffers or one, of every size and of types with gaps, with nobody, and by threads. The
 * argument names a file that a rank leaves when it is done.
 */
#include "bytes.h"
#include "check.h"

#include <pthread.h>
#include <unistd.h>

static int rank;
static int size;
static int next;
static int before;

static const int sizes[] = {0, 1, 100, 4096, 4097, 40000, 300000, 2000001};
enum { SIZES = sizeof(sizes) / sizeof(sizes[0]), LARGEST = 2000001 };

static char *out;
static char *in;

static uint32_t seed_of(int from, int i)
{
    return (uint32_t)(from * 1000 + i);
}

static void check_status(const MPI_Status *status, int source, int tag, int bytes)
{
    int count = -1;

    CHECK(status->MPI_SOURCE == source && status->MPI_TAG == tag);
    CHECK(MPI_Get_count(status, MPI_BYTE, &count) == MPI_SUCCESS && count == bytes);
}

/* Around the ring; what comes may be shorter than its room. */
static void two_buffers(void)
{
    for (int i = 0; i < 2 * SIZES; i++) {
        const int n = sizes[i / 2];
        MPI_Request request;
        MPI_Status status;

        fill_bytes(out, (size_t)n, seed_of(rank, i));
        memset(in, 0, (size_t)n);
        if (i % 2 == 0) {
            CHECK(MPI_Isendrecv(out, n, MPI_BYTE, next, i, in, LARGEST, MPI_BYTE, before,
                                i, MPI_COMM_WORLD, &request) == MPI_SUCCESS);
        } else {
            CHECK(MPI_Isendrecv_c(out, n, MPI_BYTE, next, i, in, LARGEST, MPI_BYTE,
                                  MPI_ANY_SOURCE, i, MPI_COMM_WORLD,
                                  &request) == MPI_SUCCESS);
        }
        CHECK(MPI_Wait(&request, &status) == MPI_SUCCESS);
        CHECK(request == MPI_REQUEST_NULL);
        check_status(&status, before, i, n);
        CHECK(are_bytes(in, (size_t)n, seed_of(before, i)));
    }
}

static void one_buffer(void)
{
    for (int i = 0; i < 4 * SIZES; i++) {
        const int n = sizes[i / 4];
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Status status;

        fill_bytes(out, (size_t)n, seed_of(rank, i));
        if (i % 4 == 0) {
            CHECK(MPI_Sendrecv_replace(out, n, MPI_BYTE, next, i, before, i,
                                       MPI_COMM_WORLD, &status) == MPI_SUCCESS);
        } else if (i % 4 == 1) {
            CHECK(MPI_Sendrecv_replace_c(out, n, MPI_BYTE, next, i, before, i,
                                         MPI_COMM_WORLD, &status) == MPI_SUCCESS);
        } else if (i % 4 == 2) {
            CHECK(MPI_Isendrecv_replace(out, n, MPI_BYTE, next, i, before, i,
                                        MPI_COMM_WORLD, &request) == MPI_SUCCESS);
        } else {
            CHECK(MPI_Isendrecv_replace_c(out, n, MPI_BYTE, next, i, before, i,
                                          MPI_COMM_WORLD, &request) == MPI_SUCCESS);
        }
        if (i % 4 > 1) {
            CHECK(MPI_Wait(&request, &status) == MPI_SUCCESS);
        }
        check_status(&status, before, i, n);
        CHECK(are_bytes(out, (size_t)n, seed_of(before, i)));
    }
}

/* Every second int; the gaps stay as they are, also of a type with absolute addresses. */
static void with_gaps(void)
{
    int *words = (int *)(void *)out;

    for (int n = 5; n <= 200000; n *= 200) {
        MPI_Datatype every_second;
        MPI_Datatype there;
        MPI_Aint address;
        MPI_Status status;
        MPI_Request request;
        int count = -1;

        CHECK(MPI_Type_vector(n, 1, 2, MPI_INT, &every_second) == MPI_SUCCESS);
        CHECK(MPI_Type_commit(&every_second) == MPI_SUCCESS);
        CHECK(MPI_Get_address(words, &address) == MPI_SUCCESS);
        CHECK(MPI_Type_create_hindexed_block(1, 1, &address, every_second, &there) ==
              MPI_SUCCESS);
        CHECK(MPI_Type_commit(&there) == MPI_SUCCESS);
        for (int i = 0; i < 2 * n; i++) {
            words[i] = rank + 7 * i;
        }
        CHECK(MPI_Sendrecv_replace(words, 1, every_second, next, 1, before, 1,
                                   MPI_COMM_WORLD, &status) == MPI_SUCCESS);
        CHECK(MPI_Get_count(&status, every_second, &count) == MPI_SUCCESS && count == 1);
        CHECK(MPI_Isendrecv_replace(MPI_BOTTOM, 1, there, before, 2, next, 2,
                                    MPI_COMM_WORLD, &request) == MPI_SUCCESS);
        CHECK(MPI_Type_free(&there) == MPI_SUCCESS);
        CHECK(MPI_Wait(&request, &status) == MPI_SUCCESS);
        for (int i = 0; i < 2 * n; i++) { /* there and back again */
            CHECK(words[i] == rank + 7 * i);
        }
        CHECK(MPI_Sendrecv_replace(words, 1, every_second, next, 3, before, 3,
                                   MPI_COMM_WORLD, &status) == MPI_SUCCESS);
        for (int i = 0; i < 2 * n - 1; i++) {
            CHECK(words[i] == (i % 2 == 0 ? before : rank) + 7 * i);
        }
        CHECK(MPI_Isendrecv(words, 1, every_second, before, 4, in, n, MPI_INT, next, 4,
                            MPI_COMM_WORLD, &request) == MPI_SUCCESS);
        CHECK(MPI_Type_free(&every_second) == MPI_SUCCESS);
        CHECK(MPI_Wait(&request, &status) == MPI_SUCCESS);
        for (int i = 0; i < n; i++) {
            CHECK(((int *)(void *)in)[i] == rank + 14 * i);
        }
    }
}

static void nobody(void)
{
    MPI_Request request;
    MPI_Status status;
    int word = rank;
    int other = -1;

    CHECK(MPI_Sendrecv_replace(&word, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_PROC_NULL, 1,
                               MPI_COMM_WORLD, &status) == MPI_SUCCESS);
    check_status(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
    CHECK(word == rank);
    CHECK(MPI_Isendrecv(&word, 1, MPI_INT, next, 2, &other, 1, MPI_INT, MPI_PROC_NULL, 2,
                        MPI_COMM_WORLD, &request) == MPI_SUCCESS);
    CHECK(MPI_Wait(&request, &status) == MPI_SUCCESS);
    check_status(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
    CHECK(MPI_Isendrecv_replace(&other, 1, MPI_INT, MPI_PROC_NULL, 2, before, 2,
                                MPI_COMM_WORLD, &request) == MPI_SUCCESS);
    CHECK(MPI_Wait(&request, &status) == MPI_SUCCESS);
    check_status(&status, before, 2, (int)sizeof(int));
    CHECK(other == before);
}

static void errors(void)
{
    MPI_Request request;
    MPI_Status status;
    int words[2] = {rank, rank};
    int word = -1;
    int flag = -1;

    IS_ERROR(MPI_Isendrecv(words, -1, MPI_INT, next, 1, &word, 1, MPI_INT, before, 1,
                           MPI_COMM_WORLD, &request),
             MPI_ERR_COUNT);
    IS_ERROR(MPI_Isendrecv(words, 1, MPI_INT, next, 1, NULL, 1, MPI_INT, before, 1,
                           MPI_COMM_WORLD, &request),
             MPI_ERR_BUFFER);
    IS_ERROR(MPI_Isendrecv(words, 1, MPI_INT, MPI_ANY_SOURCE, 1, &word, 1, MPI_INT,
                           before, 1, MPI_COMM_WORLD, &request),
             MPI_ERR_RANK);
    IS_ERROR(MPI_Isendrecv(words, 1, MPI_INT, next, 1, &word, 1, MPI_INT, before, 1,
                           MPI_COMM_WORLD, NULL),
             MPI_ERR_ARG);
    IS_ERROR(MPI_Sendrecv_replace(words, 1, MPI_INT, next, MPI_ANY_TAG, before, 1,
                                  MPI_COMM_WORLD, &status),
             MPI_ERR_TAG);
    IS_ERROR(MPI_Sendrecv_replace(words, 1, MPI_INT, next, 1, size, 1, MPI_COMM_WORLD,
                                  &status),
             MPI_ERR_RANK);
    IS_ERROR(MPI_Isendrecv_replace(words, 1, MPI_DATATYPE_NULL, next, 1, before, 1,
                                   MPI_COMM_WORLD, &request),
             MPI_ERR_TYPE);

    /* What does not fit is cut off, and the error is the request's. */
    CHECK(MPI_Isendrecv(words, 2, MPI_INT, next, 1, &word, 1, MPI_INT, before, 1,
                        MPI_COMM_WORLD, &request) == MPI_SUCCESS);
    IS_ERROR(MPI_Wait(&request, &status), MPI_ERR_TRUNCATE);
    CHECK(request == MPI_REQUEST_NULL && word == before);

    /* It is not taken back. */
    CHECK(MPI_Isendrecv(words, 1, MPI_INT, next, 1, &word, 1, MPI_INT, before, 1,
                        MPI_COMM_WORLD, &request) == MPI_SUCCESS);
    CHECK(MPI_Cancel(&request) == MPI_SUCCESS);
    CHECK(MPI_Wait(&request, &status) == MPI_SUCCESS);
    CHECK(MPI_Test_cancelled(&status, &flag) == MPI_SUCCESS && flag == 0);
}

/* Freed at once, they end all the same: short ones, in the order of what comes last. */
static void freed(void)
{
    enum { MANY = 20, PART = 1000 };
    MPI_Request request;

    memset(in, 0, MANY * PART);
    for (int i = 0; i < MANY; i++) {
        fill_bytes(out + i * PART, PART, seed_of(rank, i));
        CHECK(MPI_Isendrecv(out + i * PART, PART, MPI_BYTE, next, 1, in + i * PART, PART,
                            MPI_BYTE, before, 1, MPI_COMM_WORLD,
                            &request) == MPI_SUCCESS);
        CHECK(MPI_Request_free(&request) == MPI_SUCCESS && request == MPI_REQUEST_NULL);
    }
    CHECK(MPI_Sendrecv_replace(out + MANY * PART, 1, MPI_BYTE, next, 1, before, 1,
                               MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    for (int i = 0; i < MANY; i++) {
        CHECK(are_bytes(in + i * PART, PART, seed_of(before, i)));
    }
}

/* Many at once, in all calls that complete several. */
static void many(void)
{
    enum { MANY = 200 };
    static int words[MANY];
    static MPI_Request requests[MANY];
    static MPI_Status statuses[MANY];
    int index = -1;

    for (int i = 0; i < MANY; i++) {
        words[i] = rank * MANY + i;
        CHECK(MPI_Isendrecv_replace(&words[i], 1, MPI_INT, next, i, before, i,
                                    MPI_COMM_WORLD, &requests[i]) == MPI_SUCCESS);
    }
    CHECK(MPI_Waitany(MANY, requests, &index, statuses) == MPI_SUCCESS);
    CHECK(index >= 0 && statuses[0].MPI_TAG == index);
    CHECK(MPI_Waitall(MANY, requests, statuses) == MPI_SUCCESS);
    for (int i = 0; i < MANY; i++) {
        CHECK(words[i] == before * MANY + i);
        CHECK(i == index ||
              (statuses[i].MPI_TAG == i && statuses[i].MPI_SOURCE == before));
    }
}

/* Rank 0 is away until its partner is done: both messages move without it. */
static void away(const char *file)
{
    MPI_Request request;

    if (rank == 0) {
        CHECK(unlink(file) == 0 || access(file, F_OK) != 0);
    }
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
    if (size < 2 || rank > 1) {
        return;
    }
    fill_bytes(out, LARGEST, seed_of(rank, 1));
    memset(in, 0, LARGEST);
    if (rank == 1) {
        CHECK(MPI_Recv(NULL, 0, MPI_BYTE, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE) ==
              MPI_SUCCESS);
    }
    CHECK(MPI_Isendrecv(out, LARGEST, MPI_BYTE, 1 - rank, 1, in, LARGEST, MPI_BYTE,
                        1 - rank, 1, MPI_COMM_WORLD, &request) == MPI_SUCCESS);
    if (rank == 0) {
        CHECK(MPI_Send(NULL, 0, MPI_BYTE, 1, 2, MPI_COMM_WORLD) == MPI_SUCCESS);
        for (int i = 0; access(file, F_OK) != 0; i++) {
            CHECK(i < 60000);
            usleep(1000);
        }
    }
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(are_bytes(in, LARGEST, seed_of(1 - rank, 1)));
    if (rank == 1) {
        FILE *done = fopen(file, "w");

        CHECK(done != NULL && fclose(done) == 0);
    }
}

/* ---- threads ---- */

enum { THREADS = 4, ROUNDS = 40, LARGE = 100000 };

static void *exchange(void *arg)
{
    const int tag = 100 + (int)(intptr_t)arg;
    char *bytes = malloc(LARGE);

    CHECK(bytes != NULL);
    for (int i = 0; i < ROUNDS; i++) {
        const int n = i % 10 == 9 ? LARGE : i % 7 * 100;
        MPI_Request request;
        int flag = 0;

        fill_bytes(bytes, (size_t)n, seed_of(rank, tag + i));
        if (i % 2 == 0) {
            CHECK(MPI_Sendrecv_replace(bytes, n, MPI_BYTE, next, tag, before, tag,
                                       MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        } else {
            CHECK(MPI_Isendrecv_replace(bytes, n, MPI_BYTE, next, tag, before, tag,
                                        MPI_COMM_WORLD, &request) == MPI_SUCCESS);
            while (!flag) {
                CHECK(MPI_Test(&request, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS);
            }
        }
        CHECK(are_bytes(bytes, (size_t)n, seed_of(before, tag + i)));
    }
    free(bytes);
    return NULL;
}

static void *wait_for_oneself(void *arg)
{
    MPI_Request request;
    int word = -1;

    (void)arg;
    CHECK(MPI_Isendrecv(NULL, 0, MPI_INT, MPI_PROC_NULL, 0, &word, 1, MPI_INT, rank, 200,
                        MPI_COMM_WORLD, &request) == MPI_SUCCESS);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(word == rank);
    return NULL;
}

static void threads(void)
{
    pthread_t ids[THREADS];
    pthread_t sleeper;

    for (int i = 0; i < THREADS; i++) {
        CHECK(pthread_create(&ids[i], NULL, exchange, (void *)(intptr_t)i) == 0);
    }
    for (int i = 0; i < THREADS; i++) {
        CHECK(pthread_join(ids[i], NULL) == 0);
    }
    /* One sleeps; a message from another thread of its own process has to wake it. */
    CHECK(pthread_create(&sleeper, NULL, wait_for_oneself, NULL) == 0);
    usleep(50000);
    CHECK(MPI_Send(&rank, 1, MPI_INT, rank, 200, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(pthread_join(sleeper, NULL) == 0);
}

int main(int argc, char **argv)
{
    int provided;

    CHECK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided) == MPI_SUCCESS);
    CHECK(argc == 2);
    CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank) == MPI_SUCCESS);
    CHECK(MPI_Comm_size(MPI_COMM_WORLD, &size) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    next = (rank + 1) % size;
    before = (rank + size - 1) % size;
    out = malloc(LARGEST);
    in = malloc(LARGEST);
    CHECK(out != NULL && in != NULL);
    two_buffers();
    one_buffer();
    with_gaps();
    nobody();
    errors();
    freed();
    many();
    away(argv[1]);
    threads();
    free(out);
    free(in);
    return MPI_Finalize();
}
