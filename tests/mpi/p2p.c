/* p2p.c - chapter 3: messages of every size, in every mode, between all ranks. */
#include "bytes.h"
#include "check.h"

static int rank;
static int size;

/* Around the edges of cells, packets and pieces. */
static const size_t sizes[] = {0,      1,      7,      8,       31,     32,    33,
                               95,     96,     97,     1000,    4064,   4095,  4096,
                               4097,   8192,   32767,  32768,   65535,  65536, 65537,
                               131072, 200000, 262145, 1048576, 5000001};
enum { SIZES = sizeof(sizes) / sizeof(sizes[0]), LARGEST = 5000001 };

static char *out;
static char *in;

static uint32_t seed_of(int from, int to, int step)
{
    return (uint32_t)(from * 1000003 + to * 997 + step);
}

/* Everyone sends to the next and receives from the one before, itself if alone. */
static void ring(void)
{
    const int next = (rank + 1) % size;
    const int before = (rank + size - 1) % size;

    for (int i = 0; i < SIZES; i++) {
        MPI_Request request;
        MPI_Status status;
        int n = (int)sizes[i];
        int count = -1;

        fill_bytes(out, sizes[i], seed_of(rank, next, i));
        memset(in, 0xa5, sizes[i] + 1);
        CHECK(MPI_Irecv(in, n + 1, MPI_BYTE, before, i, MPI_COMM_WORLD, &request) ==
              MPI_SUCCESS);
        CHECK(MPI_Send(out, n, MPI_BYTE, next, i, MPI_COMM_WORLD) == MPI_SUCCESS);
        CHECK(MPI_Wait(&request, &status) == MPI_SUCCESS);
        CHECK(request == MPI_REQUEST_NULL);
        CHECK(status.MPI_SOURCE == before && status.MPI_TAG == i);
        CHECK(MPI_Get_count(&status, MPI_BYTE, &count) == MPI_SUCCESS && count == n);
        CHECK(are_bytes(in, sizes[i], seed_of(before, rank, i)));
        CHECK(in[n] == (char)0xa5);
    }
}

/* The same without a receive posted first, and with the blocking receive. */
static void unexpected(void)
{
    const int next = (rank + 1) % size;
    const int before = (rank + size - 1) % size;

    for (int i = 0; i < SIZES; i++) {
        MPI_Request request;
        MPI_Status status;
        int n = (int)sizes[i];

        fill_bytes(out, sizes[i], seed_of(rank, next, i));
        CHECK(MPI_Isend(out, n, MPI_BYTE, next, i, MPI_COMM_WORLD, &request) ==
              MPI_SUCCESS);
        CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
        CHECK(MPI_Recv(in, n, MPI_BYTE, before, i, MPI_COMM_WORLD, &status) ==
              MPI_SUCCESS);
        CHECK(are_bytes(in, sizes[i], seed_of(before, rank, i)));
        CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    }
}

/* Messages between two ranks are matched in the order they were sent, whatever their way.
 */
static void order(void)
{
    enum { MANY = 300 };
    static MPI_Request sends[MANY];
    static int numbers[MANY][8192 / sizeof(int)];
    const int next = (rank + 1) % size;
    const int before = (rank + size - 1) % size;

    for (int i = 0; i < MANY; i++) {
        numbers[i][0] = i;
        CHECK(MPI_Isend(numbers[i],
                        i % 3 == 0   ? 1
                        : i % 3 == 1 ? 500
                                     : 2048,
                        MPI_INT, next, 5, MPI_COMM_WORLD, &sends[i]) == MPI_SUCCESS);
    }
    for (int i = 0; i < MANY; i++) {
        static int got[8192 / sizeof(int)];
        MPI_Status status;
        int source = i % 2 == 0 ? before : MPI_ANY_SOURCE;
        int tag = i % 5 < 2 ? 5 : MPI_ANY_TAG;

        CHECK(MPI_Recv(got, 2048, MPI_INT, source, tag, MPI_COMM_WORLD, &status) ==
              MPI_SUCCESS);
        CHECK(got[0] == i && status.MPI_SOURCE == before && status.MPI_TAG == 5);
    }
    CHECK(MPI_Waitall(MANY, sends, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
}

/* Everyone to everyone at once, in two sizes. */
static void everyone(void)
{
    enum { PART = 20000 };
    MPI_Request requests[64];
    int count = 0;

    for (int big = 0; big < 2; big++) {
        int n = big ? PART : 100;

        count = 0;
        for (int r = 0; r < size; r++) {
            CHECK(MPI_Irecv(in + r * PART, n, MPI_BYTE, r, big, MPI_COMM_WORLD,
                            &requests[count++]) == MPI_SUCCESS);
        }
        for (int r = 0; r < size; r++) {
            fill_bytes(out + r * PART, (size_t)n, seed_of(rank, r, big));
            CHECK(MPI_Isend(out + r * PART, n, MPI_BYTE, r, big, MPI_COMM_WORLD,
                            &requests[count++]) == MPI_SUCCESS);
        }
        CHECK(MPI_Waitall(count, requests, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
        for (int r = 0; r < size; r++) {
            CHECK(are_bytes(in + r * PART, (size_t)n, seed_of(r, rank, big)));
        }
    }
}

/* Synchronous: complete only when matched. Ready: with the receive posted. */
static void modes(void)
{
    const int partner = rank ^ 1;
    MPI_Request request;
    int flag = 1;
    int word = rank;
    int got = -1;

    if (partner >= size) {
        return;
    }
    CHECK(MPI_Issend(&word, 1, MPI_INT, partner, 1, MPI_COMM_WORLD, &request) ==
          MPI_SUCCESS);
    for (int i = 0; i < 100; i++) {
        CHECK(MPI_Test(&request, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS && flag == 0);
    }
    /* The other cannot post before it has our word that we have looked. */
    CHECK(MPI_Sendrecv(&word, 1, MPI_INT, partner, 2, &got, 1, MPI_INT, partner, 2,
                       MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(got == partner);
    CHECK(MPI_Recv(&got, 1, MPI_INT, partner, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE) ==
          MPI_SUCCESS);
    CHECK(got == partner);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);

    CHECK(MPI_Irecv(&got, 1, MPI_INT, partner, 3, MPI_COMM_WORLD, &request) ==
          MPI_SUCCESS);
    CHECK(MPI_Sendrecv(NULL, 0, MPI_INT, partner, 4, NULL, 0, MPI_INT, partner, 4,
                       MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    word = rank + 100;
    CHECK(MPI_Rsend(&word, 1, MPI_INT, partner, 3, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS && got == partner + 100);

    CHECK(MPI_Irecv(&got, 1, MPI_INT, partner, 6, MPI_COMM_WORLD, &request) ==
          MPI_SUCCESS);
    CHECK(MPI_Ssend(&word, 1, MPI_INT, partner, 6, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS && got == partner + 100);
}

static void nobody(void)
{
    MPI_Request requests[2];
    MPI_Status status;
    int count = -1;
    int word = 7;

    CHECK(MPI_Send(&word, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(MPI_Recv(&word, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &status) ==
          MPI_SUCCESS);
    CHECK(status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG);
    CHECK(MPI_Get_count(&status, MPI_INT, &count) == MPI_SUCCESS && count == 0);
    CHECK(MPI_Isend(&word, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &requests[0]) ==
          MPI_SUCCESS);
    CHECK(MPI_Irecv(&word, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &requests[1]) ==
          MPI_SUCCESS);
    CHECK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
    CHECK(word == 7);
    CHECK(MPI_Wait(&requests[0], &status) == MPI_SUCCESS); /* null: empty status */
    CHECK(status.MPI_SOURCE == MPI_ANY_SOURCE && status.MPI_TAG == MPI_ANY_TAG);
}

/* A message longer than the buffer fills it and fails that one receive. */
static void truncation(void)
{
    const size_t lengths[] = {100, 100000};
    const int next = (rank + 1) % size;
    const int before = (rank + size - 1) % size;

    for (int k = 0; k < 2; k++) {
        for (int posted = 0; posted < 2; posted++) {
            MPI_Request requests[3];
            MPI_Status statuses[3];
            int n = (int)lengths[k];

            fill_bytes(out, lengths[k], seed_of(rank, next, k));
            memset(in, 0x5a, 300);
            if (posted) {
                CHECK(MPI_Irecv(in, 40, MPI_BYTE, before, 9, MPI_COMM_WORLD,
                                &requests[0]) == MPI_SUCCESS);
                CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
            }
            CHECK(MPI_Isend(out, n, MPI_BYTE, next, 9, MPI_COMM_WORLD, &requests[1]) ==
                  MPI_SUCCESS);
            CHECK(MPI_Isend(out, 1, MPI_BYTE, next, 10, MPI_COMM_WORLD, &requests[2]) ==
                  MPI_SUCCESS);
            if (!posted) {
                CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
                CHECK(MPI_Irecv(in, 40, MPI_BYTE, before, 9, MPI_COMM_WORLD,
                                &requests[0]) == MPI_SUCCESS);
            }
            IS_ERROR(MPI_Waitall(3, requests, statuses), MPI_ERR_IN_STATUS);
            CHECK(statuses[0].MPI_ERROR == MPI_ERR_TRUNCATE);
            CHECK(statuses[1].MPI_ERROR == MPI_SUCCESS);
            CHECK(are_bytes(in, 40, seed_of(before, rank, k)) && in[40] == 0x5a);
            CHECK(MPI_Recv(in, 1, MPI_BYTE, before, 10, MPI_COMM_WORLD,
                           MPI_STATUS_IGNORE) == MPI_SUCCESS);
        }
    }
}

static void errors(void)
{
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Request stale;
    int word = 0;
    int flag;

    IS_ERROR(MPI_Send(&word, -1, MPI_INT, 0, 0, MPI_COMM_WORLD), MPI_ERR_COUNT);
    IS_ERROR(MPI_Send(NULL, 1, MPI_INT, 0, 0, MPI_COMM_WORLD), MPI_ERR_BUFFER);
    IS_ERROR(MPI_Send(&word, 1, MPI_DATATYPE_NULL, 0, 0, MPI_COMM_WORLD), MPI_ERR_TYPE);
    IS_ERROR(MPI_Send(&word, 1, MPI_INT, size, 0, MPI_COMM_WORLD), MPI_ERR_RANK);
    IS_ERROR(MPI_Send(&word, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD),
             MPI_ERR_RANK);
    IS_ERROR(MPI_Send(&word, 1, MPI_INT, 0, -1, MPI_COMM_WORLD), MPI_ERR_TAG);
    IS_ERROR(MPI_Send(&word, 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD), MPI_ERR_TAG);
    IS_ERROR(MPI_Send(&word, 1, MPI_INT, 0, 0, MPI_COMM_NULL), MPI_ERR_COMM);
    IS_ERROR(MPI_Recv(&word, 1, MPI_INT, size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
             MPI_ERR_RANK);
    IS_ERROR(MPI_Recv(&word, 1, MPI_INT, 0, -7, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
             MPI_ERR_TAG);
    IS_ERROR(MPI_Isend(&word, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, NULL), MPI_ERR_ARG);
    IS_ERROR(MPI_Irecv(&word, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, NULL), MPI_ERR_ARG);
    IS_ERROR(MPI_Wait(NULL, MPI_STATUS_IGNORE), MPI_ERR_ARG);
    IS_ERROR(MPI_Waitall(-1, &request, MPI_STATUSES_IGNORE), MPI_ERR_COUNT);
    CHECK(MPI_Waitall(0, NULL, MPI_STATUSES_IGNORE) == MPI_SUCCESS);

    CHECK(MPI_Irecv(&word, 1, MPI_INT, 0, 33, MPI_COMM_SELF, &request) == MPI_SUCCESS);
    stale = request;
    CHECK(MPI_Send(&rank, 1, MPI_INT, 0, 33, MPI_COMM_SELF) == MPI_SUCCESS);
    do { /* a network that matches may take a few looks */
        CHECK(MPI_Test(&request, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    } while (flag == 0);
    CHECK(word == rank && request == MPI_REQUEST_NULL);
    IS_ERROR(MPI_Wait(&stale, MPI_STATUS_IGNORE), MPI_ERR_REQUEST);
}

/* The twins with a wide count do the same. */
static void large_counts(void)
{
    const int next = (rank + 1) % size;
    const int before = (rank + size - 1) % size;
    MPI_Request requests[2];
    MPI_Status status;
    MPI_Count count = -1;
    long word = rank;
    long got = -1;

    CHECK(MPI_Irecv_c(&got, 1, MPI_LONG, before, 1, MPI_COMM_WORLD, &requests[0]) ==
          MPI_SUCCESS);
    CHECK(MPI_Isend_c(&word, 1, MPI_LONG, next, 1, MPI_COMM_WORLD, &requests[1]) ==
          MPI_SUCCESS);
    CHECK(MPI_Wait(&requests[0], &status) == MPI_SUCCESS && got == before);
    CHECK(MPI_Get_count_c(&status, MPI_LONG, &count) == MPI_SUCCESS && count == 1);
    CHECK(MPI_Get_count_c(&status, MPI_2INT, &count) == MPI_SUCCESS && count == 1);
    CHECK(MPI_Get_count_c(&status, MPI_LONG_DOUBLE, &count) == MPI_SUCCESS &&
          count == MPI_UNDEFINED);
    CHECK(MPI_Wait(&requests[1], MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_Sendrecv_c(&word, 1, MPI_LONG, next, 2, &got, 1, MPI_LONG, before, 2,
                         MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    if (size == 1) {
        return; /* nobody else to answer blocking sends */
    }
    if (rank % 2 == 0 && rank + 1 < size) {
        CHECK(MPI_Send_c(&word, 1, MPI_LONG, rank + 1, 3, MPI_COMM_WORLD) == MPI_SUCCESS);
        CHECK(MPI_Ssend_c(&word, 1, MPI_LONG, rank + 1, 3, MPI_COMM_WORLD) ==
              MPI_SUCCESS);
        CHECK(MPI_Issend_c(&word, 1, MPI_LONG, rank + 1, 3, MPI_COMM_WORLD, requests) ==
              MPI_SUCCESS);
        CHECK(MPI_Wait(requests, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(MPI_Recv_c(&got, 1, MPI_LONG, rank + 1, 4, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(MPI_Rsend_c(&word, 1, MPI_LONG, rank + 1, 5, MPI_COMM_WORLD) ==
              MPI_SUCCESS);
        CHECK(MPI_Irsend_c(&word, 1, MPI_LONG, rank + 1, 6, MPI_COMM_WORLD, requests) ==
              MPI_SUCCESS);
        CHECK(MPI_Wait(requests, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(MPI_Irsend(&word, 1, MPI_LONG, rank + 1, 7, MPI_COMM_WORLD, requests) ==
              MPI_SUCCESS);
        CHECK(MPI_Wait(requests, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    } else if (rank % 2 == 1) {
        MPI_Request ready[3];

        for (int i = 0; i < 3; i++) {
            CHECK(MPI_Recv(&got, 1, MPI_LONG, rank - 1, 3, MPI_COMM_WORLD,
                           MPI_STATUS_IGNORE) == MPI_SUCCESS);
            CHECK(got == rank - 1);
        }
        for (int i = 0; i < 3; i++) {
            CHECK(MPI_Irecv(&got, 1, MPI_LONG, rank - 1, 5 + i, MPI_COMM_WORLD,
                            &ready[i]) == MPI_SUCCESS);
        }
        CHECK(MPI_Send(&word, 1, MPI_LONG, rank - 1, 4, MPI_COMM_WORLD) == MPI_SUCCESS);
        CHECK(MPI_Waitall(3, ready, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
    }
}

int main(int argc, char **argv)
{
    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank) == MPI_SUCCESS);
    CHECK(MPI_Comm_size(MPI_COMM_WORLD, &size) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    out = malloc(LARGEST + 1);
    in = malloc(LARGEST + 1);
    CHECK(out != NULL && in != NULL && size <= 32);
    ring();
    unexpected();
    order();
    everyone();
    modes();
    nobody();
    truncation();
    errors();
    large_counts();
    free(out);
    free(in);
    return MPI_Finalize();
}
