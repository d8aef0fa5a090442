/*
 * probe.c - chapter 3.8: messages looked at before they are received, matched for one
 * receive alone, by one thread or several, behind a flood, and from nobody.
 */
#include "bytes.h"
#include "check.h"

#include "mpi_legacy.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

static int rank;
static int size;
static int next;
static int before;

/* Around the edges of packets and pieces. */
static const int sizes[] = {0, 1, 100, 4096, 4097, 40000, 300000, 2000001};
enum { SIZES = sizeof(sizes) / sizeof(sizes[0]), LARGEST = 2000001 };

static char *out;
static char *in;

static void check_status(const MPI_Status *status, int source, int tag, int bytes)
{
    int count = -1;

    CHECK(status->MPI_SOURCE == source && status->MPI_TAG == tag);
    CHECK(MPI_Get_count(status, MPI_BYTE, &count) == MPI_SUCCESS && count == bytes);
    CHECK(MPI_Get_elements(status, MPI_BYTE, &count) == MPI_SUCCESS && count == bytes);
}

static void check_bytes(int from, int i)
{
    CHECK(are_bytes(in, (size_t)sizes[i], (uint32_t)(from * 1000 + i)));
    memset(in, 0, (size_t)sizes[i]);
}

static void start_send(int i, MPI_Request *request)
{
    fill_bytes(out, (size_t)sizes[i], (uint32_t)(rank * 1000 + i));
    CHECK(MPI_Isend(out, sizes[i], MPI_BYTE, next, i, MPI_COMM_WORLD, request) ==
          MPI_SUCCESS);
}

/* The blocking calls, then those that look, in a ring. */
static void wait_for_each(void)
{
    for (int i = 0; i < SIZES; i++) {
        MPI_Request request;
        MPI_Message message;
        MPI_Status status;

        start_send(i, &request);
        CHECK(MPI_Probe(before, i, MPI_COMM_WORLD, &status) == MPI_SUCCESS);
        check_status(&status, before, i, sizes[i]);
        CHECK(MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status) ==
              MPI_SUCCESS);
        check_status(&status, before, i, sizes[i]);
        CHECK(MPI_Recv(in, sizes[i], MPI_BYTE, before, i, MPI_COMM_WORLD, &status) ==
              MPI_SUCCESS);
        check_bytes(before, i);
        CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);

        start_send(i, &request);
        CHECK(MPI_Mprobe(MPI_ANY_SOURCE, i, MPI_COMM_WORLD, &message, &status) ==
              MPI_SUCCESS);
        check_status(&status, before, i, sizes[i]);
        CHECK(message != MPI_MESSAGE_NULL && message != MPI_MESSAGE_NO_PROC);
        memset(&status, 0xff, sizeof(status));
        if (i % 2 == 0) {
            CHECK(MPI_Mrecv(in, sizes[i], MPI_BYTE, &message, &status) == MPI_SUCCESS);
        } else {
            CHECK(MPI_Mrecv_c(in, sizes[i], MPI_BYTE, &message, &status) == MPI_SUCCESS);
        }
        check_status(&status, before, i, sizes[i]);
        CHECK(message == MPI_MESSAGE_NULL);
        check_bytes(before, i);
        CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    }
}

static void look_for_each(void)
{
    for (int i = 0; i < SIZES; i++) {
        MPI_Request requests[2];
        MPI_Message message = MPI_MESSAGE_NULL;
        MPI_Status statuses[2];
        int flag = 0;

        start_send(i, &requests[0]);
        while (!flag) {
            CHECK(MPI_Iprobe(MPI_ANY_SOURCE, i, MPI_COMM_WORLD, &flag, &statuses[1]) ==
                  MPI_SUCCESS);
        }
        check_status(&statuses[1], before, i, sizes[i]);
        flag = 0;
        while (!flag) {
            CHECK(MPI_Improbe(before, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &message,
                              &statuses[1]) == MPI_SUCCESS);
            CHECK(flag || message == MPI_MESSAGE_NULL);
        }
        check_status(&statuses[1], before, i, sizes[i]);
        CHECK(MPI_Iprobe(before, i, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE) ==
                  MPI_SUCCESS &&
              !flag);
        if (i % 2 == 0) {
            CHECK(MPI_Imrecv(in, sizes[i], MPI_BYTE, &message, &requests[1]) ==
                  MPI_SUCCESS);
        } else {
            CHECK(MPI_Imrecv_c(in, sizes[i], MPI_BYTE, &message, &requests[1]) ==
                  MPI_SUCCESS);
        }
        CHECK(message == MPI_MESSAGE_NULL);
        CHECK(MPI_Waitall(2, requests, statuses) == MPI_SUCCESS);
        check_status(&statuses[1], before, i, sizes[i]);
        check_bytes(before, i);
    }
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
}

/* Three messages are matched in order, and received in another. */
static void order(void)
{
    MPI_Message messages[3];
    MPI_Request request;
    int word;

    for (int i = 0; i < 3; i++) {
        word = 10 * rank + i;
        CHECK(MPI_Send(&word, 1, MPI_INT, next, 7, MPI_COMM_WORLD) == MPI_SUCCESS);
    }
    word = 10 * rank + 3;
    CHECK(MPI_Isend(&word, 1, MPI_INT, next, 7, MPI_COMM_WORLD, &request) == MPI_SUCCESS);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    for (int i = 0; i < 3; i++) {
        CHECK(MPI_Mprobe(before, 7, MPI_COMM_WORLD, &messages[i], MPI_STATUS_IGNORE) ==
              MPI_SUCCESS);
        CHECK(MPI_Message_fromint(MPI_Message_toint(messages[i])) == messages[i]);
        CHECK(MPI_Message_f2c(MPI_Message_c2f(messages[i])) == messages[i]);
        CHECK(PMPI_Message_f2c(PMPI_Message_c2f(messages[i])) == messages[i]);
    }
    CHECK(MPI_Recv(&word, 1, MPI_INT, before, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE) ==
              MPI_SUCCESS &&
          word == 10 * before + 3);
    for (int i = 2; i >= 0; i--) {
        CHECK(MPI_Mrecv(&word, 1, MPI_INT, &messages[i], MPI_STATUS_IGNORE) ==
                  MPI_SUCCESS &&
              word == 10 * before + i);
    }
}

/* Every second int, long and short; sent as ints, and what does not fit is cut off. */
static void typed(void)
{
    enum { INTS = 50000 };
    int *numbers = (int *)(void *)out;
    int *spread = (int *)(void *)in;

    for (int n = 10; n <= INTS; n *= 5000) {
        MPI_Datatype every_second;
        MPI_Request request;
        MPI_Message message;
        MPI_Status status;
        int count = -1;

        for (int i = 0; i < n; i++) {
            numbers[i] = rank + 3 * i;
            spread[2 * i] = spread[2 * i + 1] = -1;
        }
        CHECK(MPI_Type_vector(n, 1, 2, MPI_INT, &every_second) == MPI_SUCCESS);
        CHECK(MPI_Type_commit(&every_second) == MPI_SUCCESS);
        CHECK(MPI_Isend(numbers, n, MPI_INT, next, 8, MPI_COMM_WORLD, &request) ==
              MPI_SUCCESS);
        CHECK(MPI_Mprobe(before, 8, MPI_COMM_WORLD, &message, &status) == MPI_SUCCESS);
        CHECK(MPI_Get_count(&status, every_second, &count) == MPI_SUCCESS && count == 1);
        CHECK(MPI_Get_elements(&status, every_second, &count) == MPI_SUCCESS &&
              count == n);
        CHECK(MPI_Mrecv(spread, 1, every_second, &message, &status) == MPI_SUCCESS);
        CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        for (int i = 0; i < n; i++) {
            CHECK(spread[2 * i] == before + 3 * i && spread[2 * i + 1] == -1);
        }
        CHECK(MPI_Type_free(&every_second) == MPI_SUCCESS);

        CHECK(MPI_Isend(numbers, n, MPI_INT, next, 8, MPI_COMM_WORLD, &request) ==
              MPI_SUCCESS);
        CHECK(MPI_Mprobe(before, 8, MPI_COMM_WORLD, &message, &status) == MPI_SUCCESS);
        spread[n - 1] = -1;
        IS_ERROR(MPI_Mrecv(spread, n - 1, MPI_INT, &message, &status), MPI_ERR_TRUNCATE);
        CHECK(spread[n - 2] == before + 3 * (n - 2) && spread[n - 1] == -1);
        CHECK(message == MPI_MESSAGE_NULL);
        CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    }
}

/* The communicator may be freed while a message of it is held. */
static void freed_communicator(void)
{
    MPI_Message message;
    MPI_Comm comm;
    int word = rank;

    CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &comm) == MPI_SUCCESS);
    CHECK(MPI_Send(&word, 1, MPI_INT, next, 9, comm) == MPI_SUCCESS);
    CHECK(MPI_Mprobe(before, 9, comm, &message, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_Comm_free(&comm) == MPI_SUCCESS);
    word = -1;
    CHECK(MPI_Mrecv(&word, 1, MPI_INT, &message, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(word == before);
}

static void check_nobody(const MPI_Status *status)
{
    check_status(status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
}

static void nobody(void)
{
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Request request;
    MPI_Status status;
    int flag = 0;

    CHECK(MPI_Probe(MPI_PROC_NULL, 1, MPI_COMM_WORLD, &status) == MPI_SUCCESS);
    check_nobody(&status);
    CHECK(MPI_Iprobe(MPI_PROC_NULL, 1, MPI_COMM_WORLD, &flag, &status) == MPI_SUCCESS);
    CHECK(flag == 1);
    check_nobody(&status);
    CHECK(MPI_Mprobe(MPI_PROC_NULL, 1, MPI_COMM_WORLD, &message, &status) == MPI_SUCCESS);
    CHECK(message == MPI_MESSAGE_NO_PROC);
    check_nobody(&status);
    CHECK(MPI_Message_fromint(MPI_Message_toint(message)) == MPI_MESSAGE_NO_PROC);
    memset(&status, 0xff, sizeof(status));
    CHECK(MPI_Mrecv(NULL, 0, MPI_BYTE, &message, &status) == MPI_SUCCESS);
    CHECK(message == MPI_MESSAGE_NULL);
    check_nobody(&status);
    flag = 0;
    CHECK(MPI_Improbe(MPI_PROC_NULL, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &message,
                      &status) == MPI_SUCCESS);
    CHECK(flag == 1 && message == MPI_MESSAGE_NO_PROC);
    check_nobody(&status);
    CHECK(MPI_Imrecv(in, 10, MPI_BYTE, &message, &request) == MPI_SUCCESS);
    CHECK(message == MPI_MESSAGE_NULL);
    memset(&status, 0xff, sizeof(status));
    CHECK(MPI_Wait(&request, &status) == MPI_SUCCESS);
    check_nobody(&status);
}

static void errors(void)
{
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Message other;
    MPI_Request request;
    MPI_Status status;
    int word = rank;
    int flag;

    IS_ERROR(MPI_Probe(size, 1, MPI_COMM_WORLD, &status), MPI_ERR_RANK);
    IS_ERROR(MPI_Iprobe(0, -5, MPI_COMM_WORLD, &flag, &status), MPI_ERR_TAG);
    IS_ERROR(MPI_Iprobe(0, 1, MPI_COMM_WORLD, NULL, &status), MPI_ERR_ARG);
    IS_ERROR(MPI_Mprobe(0, 1, MPI_COMM_NULL, &message, &status), MPI_ERR_COMM);
    IS_ERROR(MPI_Mprobe(0, 1, MPI_COMM_WORLD, NULL, &status), MPI_ERR_ARG);
    IS_ERROR(MPI_Improbe(0, 1, MPI_COMM_WORLD, NULL, &message, &status), MPI_ERR_ARG);
    IS_ERROR(MPI_Improbe(0, 1, MPI_COMM_WORLD, &flag, NULL, &status), MPI_ERR_ARG);
    IS_ERROR(MPI_Mrecv(in, 1, MPI_BYTE, &message, &status), MPI_ERR_ARG);
    IS_ERROR(MPI_Mrecv(in, 1, MPI_BYTE, NULL, &status), MPI_ERR_ARG);

    CHECK(MPI_Send(&word, 1, MPI_INT, rank, 3, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(MPI_Mprobe(rank, 3, MPI_COMM_WORLD, &message, &status) == MPI_SUCCESS);
    other = message;
    IS_ERROR(MPI_Mrecv(in, -1, MPI_BYTE, &message, &status), MPI_ERR_COUNT);
    IS_ERROR(MPI_Imrecv(NULL, 1, MPI_BYTE, &message, &request), MPI_ERR_BUFFER);
    IS_ERROR(MPI_Imrecv(in, 1, MPI_DATATYPE_NULL, &message, &request), MPI_ERR_TYPE);
    IS_ERROR(MPI_Imrecv(in, 1, MPI_BYTE, &message, NULL), MPI_ERR_ARG);
    CHECK(message == other); /* and it can still be received */
    word = -1;
    CHECK(MPI_Mrecv(&word, 1, MPI_INT, &message, &status) == MPI_SUCCESS && word == rank);
    IS_ERROR(MPI_Mrecv(&word, 1, MPI_INT, &other, &status), MPI_ERR_ARG);
}

/* A receive that was matched is not taken back, and completes. */
static void cancelled(void)
{
    MPI_Request requests[2];
    MPI_Message message;
    MPI_Status statuses[2];
    int flag = -1;

    start_send(SIZES - 1, &requests[0]);
    CHECK(MPI_Mprobe(before, SIZES - 1, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE) ==
          MPI_SUCCESS);
    CHECK(MPI_Imrecv(in, LARGEST, MPI_BYTE, &message, &requests[1]) == MPI_SUCCESS);
    CHECK(MPI_Cancel(&requests[1]) == MPI_SUCCESS);
    CHECK(MPI_Waitall(2, requests, statuses) == MPI_SUCCESS);
    CHECK(MPI_Test_cancelled(&statuses[1], &flag) == MPI_SUCCESS && flag == 0);
    check_bytes(before, SIZES - 1);
}

/* What is looked for stands behind more messages than are kept. */
static void behind_a_flood(void)
{
    enum { MANY = 12000, BYTES = 1024 };
    const int sender = size - 1;

    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
    for (int turn = 0; turn < 2; turn++) {
        if (rank == sender && sender != 0) {
            for (int i = 0; i < MANY; i++) {
                CHECK(MPI_Send(out, BYTES, MPI_BYTE, 0, 1, MPI_COMM_WORLD) ==
                      MPI_SUCCESS);
            }
            CHECK(MPI_Send(&rank, 1, MPI_INT, 0, 2, MPI_COMM_WORLD) == MPI_SUCCESS);
        } else if (rank == 0 && sender != 0) {
            MPI_Status status;
            int word = -1;
            int flag = 0;

            if (turn == 0) {
                CHECK(MPI_Probe(sender, 2, MPI_COMM_WORLD, &status) == MPI_SUCCESS);
            } else {
                while (!flag) {
                    CHECK(MPI_Iprobe(MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &flag, &status) ==
                          MPI_SUCCESS);
                }
            }
            check_status(&status, sender, 2, (int)sizeof(int));
            CHECK(MPI_Recv(&word, 1, MPI_INT, sender, 2, MPI_COMM_WORLD,
                           MPI_STATUS_IGNORE) == MPI_SUCCESS &&
                  word == sender);
            for (int i = 0; i < MANY; i++) {
                CHECK(MPI_Recv(in, BYTES, MPI_BYTE, sender, 1, MPI_COMM_WORLD,
                               MPI_STATUS_IGNORE) == MPI_SUCCESS);
            }
        }
        CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
    }
}

/* ---- threads ---- */

enum { THREADS = 4, ROUNDS = 200, WORDS = 3000 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *seen; /* which of the messages of each rank have come */

/* All threads ask for the same; each message goes to one of them, whole. */
static void *take_some(void *arg)
{
    int *words = malloc(WORDS * sizeof(int));
    const int number = (int)(intptr_t)arg;

    CHECK(words != NULL);
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Message message = MPI_MESSAGE_NULL;
        MPI_Request request;
        MPI_Status status;
        int count = -1;
        int flag = 0;

        if (number % 2 == 0) {
            CHECK(MPI_Mprobe(before, 4, MPI_COMM_WORLD, &message, &status) ==
                  MPI_SUCCESS);
        } else {
            while (!flag) {
                CHECK(MPI_Improbe(MPI_ANY_SOURCE, 4, MPI_COMM_WORLD, &flag, &message,
                                  &status) == MPI_SUCCESS);
                if (!flag) {
                    sched_yield();
                }
            }
        }
        CHECK(MPI_Get_count(&status, MPI_INT, &count) == MPI_SUCCESS);
        CHECK(MPI_Imrecv(words, count, MPI_INT, &message, &request) == MPI_SUCCESS);
        CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(words[0] >= 0 && words[0] < THREADS * ROUNDS);
        CHECK(count == (words[0] % 10 == 9 ? WORDS : 1 + words[0] % 10));
        CHECK(words[count - 1] == (count == 1 ? words[0] : before));
        CHECK(pthread_mutex_lock(&lock) == 0);
        CHECK(seen[words[0]]++ == 0);
        CHECK(pthread_mutex_unlock(&lock) == 0);
    }
    free(words);
    return NULL;
}

/* Waits in a probe all the time, for what comes last. */
static void *wait_for_the_end(void *arg)
{
    MPI_Status status;

    (void)arg;
    CHECK(MPI_Probe(before, 5, MPI_COMM_WORLD, &status) == MPI_SUCCESS);
    check_status(&status, before, 5, (int)sizeof(int));
    return NULL;
}

static void threads(void)
{
    static int words[WORDS];
    pthread_t takers[THREADS];
    pthread_t watchers[2];

    seen = calloc(THREADS * ROUNDS, 1);
    CHECK(seen != NULL);
    for (int i = 0; i < 2; i++) {
        CHECK(pthread_create(&watchers[i], NULL, wait_for_the_end, NULL) == 0);
    }
    for (int i = 0; i < THREADS; i++) {
        CHECK(pthread_create(&takers[i], NULL, take_some, (void *)(intptr_t)i) == 0);
    }
    for (int i = 0; i < THREADS * ROUNDS; i++) {
        const int count = i % 10 == 9 ? WORDS : 1 + i % 10;

        words[count - 1] = rank;
        words[0] = i;
        CHECK(MPI_Send(words, count, MPI_INT, next, 4, MPI_COMM_WORLD) == MPI_SUCCESS);
    }
    for (int i = 0; i < THREADS; i++) {
        CHECK(pthread_join(takers[i], NULL) == 0);
    }
    usleep(20000); /* the watchers sleep by now, with nobody who polls for them */
    CHECK(MPI_Send(&rank, 1, MPI_INT, next, 5, MPI_COMM_WORLD) == MPI_SUCCESS);
    for (int i = 0; i < 2; i++) {
        CHECK(pthread_join(watchers[i], NULL) == 0);
    }
    CHECK(MPI_Recv(words, 1, MPI_INT, before, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE) ==
          MPI_SUCCESS);
    free(seen);
}

/* A message for a probe that sleeps, from a rank that comes late. */
static void late(void)
{
    MPI_Status status;
    int word = rank;

    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
    if (rank == 0) {
        usleep(100000);
        CHECK(MPI_Send(&word, 1, MPI_INT, next, 6, MPI_COMM_WORLD) == MPI_SUCCESS);
    }
    CHECK(MPI_Probe(before, 6, MPI_COMM_WORLD, &status) == MPI_SUCCESS);
    CHECK(MPI_Recv(&word, 1, MPI_INT, before, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE) ==
          MPI_SUCCESS);
    if (rank != 0) {
        CHECK(MPI_Send(&word, 1, MPI_INT, next, 6, MPI_COMM_WORLD) == MPI_SUCCESS);
    }
}

/* Matched and never received: MPI_Finalize copes with it. */
static void forgotten(void)
{
    MPI_Message message;

    CHECK(MPI_Send(out, 100, MPI_BYTE, rank, 11, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(MPI_Mprobe(rank, 11, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE) ==
          MPI_SUCCESS);
}

/* A short synchronous message to oneself is copied when it is received, so that a program
 * that gives both buffers back too early damages nothing. */
static void to_oneself(void)
{
    const char *transport = getenv("WEFT_TRANSPORT");
    MPI_Request requests[2];
    MPI_Message message;

    /* Checksums come behind a message, and where the network matches, it delivers. */
    if (getenv("WEFT_CHECKSUM") != NULL ||
        (transport != NULL && strstr(transport, "tagged") != NULL)) {
        return;
    }
    for (int size_sent = 1; size_sent <= 4096; size_sent *= 8) {
        memset(out, size_sent % 251 + 1, (size_t)size_sent);
        memset(in, 0, (size_t)size_sent);
        CHECK(MPI_Issend(out, size_sent, MPI_BYTE, 0, 5, MPI_COMM_SELF, &requests[0]) ==
              MPI_SUCCESS);
        CHECK(MPI_Mprobe(MPI_ANY_SOURCE, 5, MPI_COMM_SELF, &message, MPI_STATUS_IGNORE) ==
              MPI_SUCCESS);
        CHECK(MPI_Imrecv(in, size_sent, MPI_BYTE, &message, &requests[1]) == MPI_SUCCESS);
        CHECK(memcmp(in, out, (size_t)size_sent) == 0);
        memset(out, 0, (size_t)size_sent);
        CHECK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
        CHECK(in[0] == (char)(size_sent % 251 + 1) &&
              memchr(in, 0, (size_t)size_sent) == NULL);
    }
}

int main(int argc, char **argv)
{
    int provided;

    CHECK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided) == MPI_SUCCESS);
    CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank) == MPI_SUCCESS);
    CHECK(MPI_Comm_size(MPI_COMM_WORLD, &size) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    next = (rank + 1) % size;
    before = (rank + size - 1) % size;
    out = malloc(LARGEST);
    in = malloc(LARGEST);
    CHECK(out != NULL && in != NULL);
    wait_for_each();
    look_for_each();
    order();
    typed();
    to_oneself();
    freed_communicator();
    nobody();
    errors();
    cancelled();
    behind_a_flood();
    late();
    threads();
    forgotten();
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
    free(out);
    free(in);
    return MPI_Finalize();
}
