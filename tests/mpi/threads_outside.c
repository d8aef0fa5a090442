/*
 * threads_outside.c - chapter 11.6: a thread starts an operation and waits outside MPI,
 * while another thread of its rank sleeps in MPI: the operation goes on all the same.
 *
 *   threads_outside        every ordered pair of ranks in turn, first contacts included;
 *                          then MPI_Comm_idup of all
 *   threads_outside inbox  many ranks fill rank 0's inbox before rank 1 sends to it
 *
 * The sleeping thread waits for an answer to what its rank sends, so that a message that
 * does not go out hangs the job.
 */
#include "bytes.h"
#include "check.h"

#include <pthread.h>
#include <stdint.h>
#include <unistd.h>

enum {
    TAG_DATA = 5,
    TAG_ANSWER = 99,
    MOST = 300000,
    FALL_ASLEEP_US = 5000, /* the cases of interest begin when it sleeps */
    INBOX_BYTES = 4000,
};

static int rank;
static int size;
static char *buffer;
static char *second;
static MPI_Request request;

/* ---- the thread that sleeps ---- */

static void *sleep_in_recv(void *from)
{
    int word = -1;

    CHECK(MPI_Recv(&word, 1, MPI_INT, (int)(intptr_t)from, TAG_ANSWER, MPI_COMM_WORLD,
                   MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(word == (int)(intptr_t)from);
    return NULL;
}

static pthread_t start_sleeper(int from)
{
    pthread_t thread;

    CHECK(pthread_create(&thread, NULL, sleep_in_recv, (void *)(intptr_t)from) == 0);
    usleep(FALL_ASLEEP_US);
    return thread;
}

static void answer_to(int to)
{
    CHECK(MPI_Send(&rank, 1, MPI_INT, to, TAG_ANSWER, MPI_COMM_WORLD) == MPI_SUCCESS);
}

/* ---- what is sent; `begin` sets `request`, whose end comes behind the answer ---- */

static void recv_bytes(int from, int bytes)
{
    CHECK(MPI_Recv(second, MOST, MPI_BYTE, from, TAG_DATA, MPI_COMM_WORLD,
                   MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(are_bytes(second, (size_t)bytes, (uint32_t)from));
}

static void begin_isend(int to, int bytes)
{
    CHECK(MPI_Isend(buffer, bytes, MPI_BYTE, to, TAG_DATA, MPI_COMM_WORLD, &request) ==
          MPI_SUCCESS);
}

static void begin_issend(int to, int bytes)
{
    CHECK(MPI_Issend(buffer, bytes, MPI_BYTE, to, TAG_DATA, MPI_COMM_WORLD, &request) ==
          MPI_SUCCESS);
}

static void begin_start(int to, int bytes)
{
    CHECK(MPI_Send_init(buffer, bytes, MPI_BYTE, to, TAG_DATA, MPI_COMM_WORLD,
                        &request) == MPI_SUCCESS);
    CHECK(MPI_Start(&request) == MPI_SUCCESS);
}

static void begin_isendrecv(int to, int bytes)
{
    CHECK(MPI_Isendrecv(buffer, bytes, MPI_BYTE, to, TAG_DATA, second, 0, MPI_BYTE, to,
                        TAG_DATA, MPI_COMM_WORLD, &request) == MPI_SUCCESS);
}

static void recv_and_send(int from, int bytes)
{
    recv_bytes(from, bytes);
    CHECK(MPI_Send(NULL, 0, MPI_BYTE, from, TAG_DATA, MPI_COMM_WORLD) == MPI_SUCCESS);
}

static void begin_partitioned(int to, int bytes)
{
    CHECK(MPI_Psend_init(buffer, 2, bytes / 2, MPI_BYTE, to, TAG_DATA, MPI_COMM_WORLD,
                         MPI_INFO_NULL, &request) == MPI_SUCCESS);
    CHECK(MPI_Start(&request) == MPI_SUCCESS);
    CHECK(MPI_Pready_range(0, 1, request) == MPI_SUCCESS);
}

static void recv_partitioned(int from, int bytes)
{
    MPI_Request parts;

    CHECK(MPI_Precv_init(second, 1, bytes, MPI_BYTE, from, TAG_DATA, MPI_COMM_WORLD,
                         MPI_INFO_NULL, &parts) == MPI_SUCCESS);
    CHECK(MPI_Start(&parts) == MPI_SUCCESS);
    CHECK(MPI_Wait(&parts, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(are_bytes(second, (size_t)bytes, (uint32_t)from));
    CHECK(MPI_Request_free(&parts) == MPI_SUCCESS);
}

static const struct {
    void (*begin)(int to, int bytes);
    void (*meet)(int from, int bytes);
    int bytes;
    int is_kept; /* persistent */
} kinds[] = {
    {begin_isend, recv_bytes, 4, 0},
    {begin_isend, recv_bytes, 20000, 0},
    {begin_isend, recv_bytes, MOST, 0},
    {begin_issend, recv_bytes, 0, 0},
    {begin_start, recv_bytes, 100000, 1},
    {begin_isendrecv, recv_and_send, 2000, 0},
    {begin_partitioned, recv_partitioned, 100000, 1},
};

static void end_request(int is_kept)
{
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    if (is_kept) {
        CHECK(MPI_Request_free(&request) == MPI_SUCCESS);
    }
}

static void send_outside(int to, size_t k)
{
    const pthread_t sleeper = start_sleeper(to);

    kinds[k].begin(to, kinds[k].bytes);
    CHECK(pthread_join(sleeper, NULL) == 0);
    end_request(kinds[k].is_kept);
}

/* Nobody but the two takes part, so that each pair's first message is its first contact.
 */
static void try_pair(int from, int to)
{
    for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
        if (rank == from) {
            send_outside(to, k);
        } else if (rank == to) {
            kinds[k].meet(from, kinds[k].bytes);
            answer_to(from);
        }
    }
}

/* ---- an operation of several steps ---- */

static void try_idup(int outside)
{
    const int next = (outside + 1) % size;
    MPI_Comm copy;

    if (rank == outside) {
        const pthread_t sleeper = start_sleeper(next);

        CHECK(MPI_Comm_idup(MPI_COMM_WORLD, &copy, &request) == MPI_SUCCESS);
        CHECK(pthread_join(sleeper, NULL) == 0);
    } else {
        CHECK(MPI_Comm_idup(MPI_COMM_WORLD, &copy, &request) == MPI_SUCCESS);
    }
    end_request(0);
    if (rank == next) {
        answer_to(outside);
    }
    CHECK(MPI_Comm_free(&copy) == MPI_SUCCESS);
}

/* ---- a full inbox ---- */

static void send_two(void)
{
    MPI_Request two[2];

    for (int i = 0; i < 2; i++) {
        CHECK(MPI_Isend(buffer, INBOX_BYTES, MPI_BYTE, 0, TAG_DATA, MPI_COMM_WORLD,
                        &two[i]) == MPI_SUCCESS);
    }
    CHECK(MPI_Waitall(2, two, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
}

static void try_inbox(void)
{
    if (rank == 0) {
        usleep(1000000); /* outside MPI, so that the inbox fills */
        for (int i = 0; i < 2 * (size - 2) + 1; i++) {
            CHECK(MPI_Recv(second, MOST, MPI_BYTE, MPI_ANY_SOURCE, TAG_DATA,
                           MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        }
        answer_to(1);
    } else if (rank == 1) {
        const pthread_t sleeper = start_sleeper(0);

        usleep(500000); /* the others have filled it */
        begin_isend(0, INBOX_BYTES);
        CHECK(pthread_join(sleeper, NULL) == 0);
        end_request(0);
    } else {
        send_two();
    }
}

static void try_all(void)
{
    for (int from = 0; from < size; from++) {
        for (int to = 0; to < size; to++) {
            if (from != to) {
                try_pair(from, to);
            }
        }
    }
    for (int outside = 0; outside < size && size > 1; outside++) {
        try_idup(outside);
    }
}

int main(int argc, char **argv)
{
    int provided;

    CHECK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided) == MPI_SUCCESS);
    CHECK(provided == MPI_THREAD_MULTIPLE);
    CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank) == MPI_SUCCESS);
    CHECK(MPI_Comm_size(MPI_COMM_WORLD, &size) == MPI_SUCCESS);
    buffer = malloc(MOST);
    second = malloc(MOST);
    CHECK(buffer != NULL && second != NULL);
    fill_bytes(buffer, MOST, (uint32_t)rank);
    if (argc > 1) {
        try_inbox();
    } else {
        try_all();
    }
    free(buffer);
    free(second);
    return MPI_Finalize();
}
