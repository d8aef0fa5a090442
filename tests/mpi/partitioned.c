/*
 * partitioned.c - chapter 4: messages that become ready and arrive in parts, in a ring of
 * all ranks; partitions that differ between the two sides, in any order, start after
 * start.
 */
#include "check.h"

#include <sched.h>

enum { TAG = 5 };

static int rank;
static int size;
static int to;
static int from;

static int value(int who, int turn, int i)
{
    return who * 1000003 + turn * 10007 + i;
}

/* ---- all partitions of both sides, in every order ---- */

enum order { FORWARDS, BACKWARDS, RANGE, LIST, MIXED, ORDERS };

static void make_all_ready(MPI_Request send, int n, enum order order)
{
    int *list = malloc((size_t)n * sizeof(int));

    for (int i = 0; i < n; i++) { /* odd ones first */
        list[i] = i < n / 2 ? 2 * i + 1 : 2 * (i - n / 2);
    }
    if (order == FORWARDS || order == BACKWARDS) {
        for (int i = 0; i < n; i++) {
            CHECK(MPI_Pready(order == FORWARDS ? i : n - 1 - i, send) == MPI_SUCCESS);
        }
    } else if (order == RANGE) {
        CHECK(MPI_Pready_range(0, n - 1, send) == MPI_SUCCESS);
    } else if (order == LIST) {
        CHECK(MPI_Pready_list(n, list, send) == MPI_SUCCESS);
        CHECK(MPI_Pready_list(0, NULL, send) == MPI_SUCCESS);
    } else {
        CHECK(MPI_Pready_range(n / 2, n - 1, send) == MPI_SUCCESS);
        for (int i = 0; i < n / 2; i++) {
            CHECK(MPI_Pready(i, send) == MPI_SUCCESS);
        }
    }
    free(list);
}

static void wait_by_partition(MPI_Request recv, int n, const int *in, int each, int turn)
{
    for (int i = n - 1; i >= 0; i--) {
        int flag = 0;

        while (!flag) {
            CHECK(MPI_Parrived(recv, i, &flag) == MPI_SUCCESS);
            sched_yield(); /* there may be more ranks than processors */
        }
        for (int k = i * each; k < (i + 1) * each; k++) {
            CHECK(in[k] == value(from, turn, k));
        }
    }
}

/* So many partitions there and here, of a message of so many ints. */
static void cut(int sends, int receives, int total)
{
    int *out = malloc((size_t)total * sizeof(int) + 1);
    int *in = malloc((size_t)total * sizeof(int) + 1);
    MPI_Request pair[2];
    MPI_Request kept[2];
    MPI_Status statuses[2];
    int count = -1;
    int flag = -1;

    CHECK(MPI_Precv_init(in, receives, total / receives, MPI_INT, from, TAG,
                         MPI_COMM_WORLD, MPI_INFO_NULL, &pair[0]) == MPI_SUCCESS);
    CHECK(MPI_Psend_init(out, sends, total / sends, MPI_INT, to, TAG, MPI_COMM_WORLD,
                         MPI_INFO_NULL, &pair[1]) == MPI_SUCCESS);
    memcpy(kept, pair, sizeof(kept));
    for (int turn = 0; turn < 2 * ORDERS; turn++) {
        for (int i = 0; i < total; i++) {
            out[i] = value(rank, turn, i);
            in[i] = -1;
        }
        CHECK(MPI_Parrived(pair[0], 0, &flag) == MPI_SUCCESS && flag == 1); /* inactive */
        CHECK(MPI_Startall(2, pair) == MPI_SUCCESS);
        make_all_ready(pair[1], sends, (enum order)(turn % ORDERS));
        if (turn % 2 == 0) {
            wait_by_partition(pair[0], receives, in, total / receives, turn);
        }
        CHECK(MPI_Waitall(2, pair, statuses) == MPI_SUCCESS);
        CHECK(memcmp(pair, kept, sizeof(kept)) == 0);
        CHECK(statuses[0].MPI_SOURCE == from && statuses[0].MPI_TAG == TAG);
        CHECK(MPI_Get_count(&statuses[0], MPI_INT, &count) == MPI_SUCCESS);
        CHECK(count == total);
        for (int i = 0; i < total; i++) {
            CHECK(in[i] == value(from, turn, i));
        }
    }
    CHECK(MPI_Request_free(&pair[0]) == MPI_SUCCESS);
    CHECK(MPI_Request_free(&pair[1]) == MPI_SUCCESS);
    free(out);
    free(in);
}

static void cuts(void)
{
    cut(1, 1, 1);
    cut(4, 4, 64);
    cut(6, 4, 12);
    cut(4, 6, 12);
    cut(1, 8, 4000);
    cut(8, 1, 4000);
    cut(3, 5, 150000); /* long ones */
    cut(16, 16, 400000);
    cut(3000, 2, 6000); /* more partitions than units */
    cut(7, 3500, 7000);
}

/* ---- what is ready arrives before the rest is ---- */

static void early_bird(void)
{
    enum { N = 8 };
    int out[N] = {0};
    int in[N];
    MPI_Request pair[2];
    int flag = 0;

    CHECK(MPI_Psend_init(out, N, 1, MPI_INT, to, TAG, MPI_COMM_WORLD, MPI_INFO_NULL,
                         &pair[1]) == MPI_SUCCESS);
    CHECK(MPI_Precv_init(in, N, 1, MPI_INT, from, TAG, MPI_COMM_WORLD, MPI_INFO_NULL,
                         &pair[0]) == MPI_SUCCESS);
    for (int turn = 0; turn < 3; turn++) {
        CHECK(MPI_Startall(2, pair) == MPI_SUCCESS);
        for (int i = 0; i < N; i++) {
            const int part = (i * 3 + turn) % N;

            out[part] = value(rank, turn, part);
            CHECK(MPI_Parrived(pair[0], part, &flag) == MPI_SUCCESS && !flag);
            CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
            CHECK(MPI_Pready(part, pair[1]) == MPI_SUCCESS);
            while (!flag) {
                CHECK(MPI_Parrived(pair[0], part, &flag) == MPI_SUCCESS);
                sched_yield();
            }
            CHECK(in[part] == value(from, turn, part));
            CHECK(MPI_Test(&pair[0], &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS);
            CHECK(flag == (i == N - 1));
        }
        CHECK(MPI_Wait(&pair[1], MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
    }
    CHECK(MPI_Request_free(&pair[0]) == MPI_SUCCESS);
    CHECK(MPI_Request_free(&pair[1]) == MPI_SUCCESS);
}

/* ---- what meets what ---- */

/* In the order of the calls; never a message of another kind with the same tag. */
static void matching(void)
{
    enum { PAIRS = 6 };
    int out[PAIRS][2];
    int in[PAIRS][2];
    int word = -1;
    MPI_Request requests[2 * PAIRS + 2];
    MPI_Comm comm;

    CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &comm) == MPI_SUCCESS);
    CHECK(MPI_Recv_init(&word, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
                        &requests[2 * PAIRS]) == MPI_SUCCESS);
    CHECK(MPI_Send_init(&rank, 1, MPI_INT, to, TAG, MPI_COMM_WORLD,
                        &requests[2 * PAIRS + 1]) == MPI_SUCCESS);
    for (int i = 0; i < PAIRS; i++) {
        CHECK(MPI_Psend_init(out[i], 2, 1, MPI_INT, to, TAG,
                             i % 2 == 0 ? MPI_COMM_WORLD : comm, MPI_INFO_NULL,
                             &requests[i]) == MPI_SUCCESS);
    }
    for (int k = 0; k < PAIRS; k++) { /* those of the other communicator first */
        const int i = k < PAIRS / 2 ? 2 * k + 1 : 2 * (k - PAIRS / 2);

        CHECK(MPI_Precv_init(in[i], 1, 2, MPI_INT, from, TAG,
                             i % 2 == 0 ? MPI_COMM_WORLD : comm, MPI_INFO_NULL,
                             &requests[PAIRS + i]) == MPI_SUCCESS);
    }
    CHECK(MPI_Comm_free(&comm) == MPI_SUCCESS);
    for (int turn = 0; turn < 4; turn++) {
        CHECK(MPI_Startall(2 * PAIRS + 2, requests) == MPI_SUCCESS);
        for (int i = PAIRS - 1; i >= 0; i--) {
            out[i][0] = value(rank, turn, 2 * i);
            out[i][1] = value(rank, turn, 2 * i + 1);
            CHECK(MPI_Pready_range(0, 1, requests[i]) == MPI_SUCCESS);
        }
        CHECK(MPI_Waitall(2 * PAIRS + 2, requests, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
        CHECK(word == from);
        for (int i = 0; i < PAIRS; i++) {
            CHECK(in[i][0] == value(from, turn, 2 * i));
            CHECK(in[i][1] == value(from, turn, 2 * i + 1));
        }
    }
    for (int i = 0; i < 2 * PAIRS + 2; i++) {
        CHECK(MPI_Request_free(&requests[i]) == MPI_SUCCESS);
    }
}

/* Requests that were never started have met all the same. */
static void freed_before_it_was_started(void)
{
    int data[2] = {-1, -1};
    int word = rank;
    MPI_Request pair[2];

    for (int turn = 0; turn < 3; turn++) {
        CHECK(MPI_Precv_init(data, 2, 1, MPI_INT, from, TAG, MPI_COMM_WORLD,
                             MPI_INFO_NULL, &pair[0]) == MPI_SUCCESS);
        CHECK(MPI_Request_free(&pair[0]) == MPI_SUCCESS);
        CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
        CHECK(MPI_Psend_init(data, 1, 2, MPI_INT, to, TAG, MPI_COMM_WORLD, MPI_INFO_NULL,
                             &pair[1]) == MPI_SUCCESS);
        CHECK(MPI_Request_free(&pair[1]) == MPI_SUCCESS);
    }
    CHECK(MPI_Precv_init(data, 1, 1, MPI_INT, from, TAG, MPI_COMM_WORLD, MPI_INFO_NULL,
                         &pair[0]) == MPI_SUCCESS);
    CHECK(MPI_Psend_init(&word, 1, 1, MPI_INT, to, TAG, MPI_COMM_WORLD, MPI_INFO_NULL,
                         &pair[1]) == MPI_SUCCESS);
    CHECK(MPI_Startall(2, pair) == MPI_SUCCESS);
    CHECK(MPI_Pready(0, pair[1]) == MPI_SUCCESS);
    CHECK(MPI_Waitall(2, pair, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
    CHECK(data[0] == from && data[1] == -1);
    CHECK(MPI_Request_free(&pair[0]) == MPI_SUCCESS);
    CHECK(MPI_Request_free(&pair[1]) == MPI_SUCCESS);
}

/* A sender may be several starts ahead of its receiver. */
static void ahead(void)
{
    enum { AHEAD = 50, N = 4 };
    int out[N] = {0};
    int in[N];
    MPI_Request pair[2];

    CHECK(MPI_Psend_init(out, N, 1, MPI_INT, to, TAG, MPI_COMM_WORLD, MPI_INFO_NULL,
                         &pair[1]) == MPI_SUCCESS);
    for (int turn = 0; turn < AHEAD; turn++) {
        for (int i = 0; i < N; i++) {
            out[i] = value(rank, turn, i);
        }
        CHECK(MPI_Start(&pair[1]) == MPI_SUCCESS);
        make_all_ready(pair[1], N, (enum order)(turn % ORDERS));
        CHECK(MPI_Wait(&pair[1], MPI_STATUS_IGNORE) == MPI_SUCCESS);
    }
    CHECK(MPI_Request_free(&pair[1]) == MPI_SUCCESS);
    CHECK(MPI_Precv_init(in, 2, 2, MPI_INT, from, TAG, MPI_COMM_WORLD, MPI_INFO_NULL,
                         &pair[0]) == MPI_SUCCESS);
    for (int turn = 0; turn < AHEAD; turn++) {
        CHECK(MPI_Start(&pair[0]) == MPI_SUCCESS);
        CHECK(MPI_Wait(&pair[0], MPI_STATUS_IGNORE) == MPI_SUCCESS);
        for (int i = 0; i < N; i++) {
            CHECK(in[i] == value(from, turn, i));
        }
    }
    CHECK(MPI_Request_free(&pair[0]) == MPI_SUCCESS);
}

/* ---- data that are not contiguous ---- */

/* Pairs of ints with a gap leave; threes with a gap arrive: no boundary is the same. */
static void derived_types(int pairs)
{
    const int ints = 2 * pairs;
    int *out = malloc((size_t)pairs * 3 * sizeof(int));
    int *in = malloc((size_t)ints / 3 * 4 * sizeof(int));
    MPI_Datatype plain;
    MPI_Datatype two;
    MPI_Datatype three;
    MPI_Request pair[2];

    CHECK(ints % 3 == 0);
    CHECK(MPI_Type_contiguous(2, MPI_INT, &plain) == MPI_SUCCESS);
    CHECK(MPI_Type_create_resized(plain, 0, 3 * (MPI_Aint)sizeof(int), &two) ==
          MPI_SUCCESS);
    CHECK(MPI_Type_free(&plain) == MPI_SUCCESS);
    CHECK(MPI_Type_contiguous(3, MPI_INT, &plain) == MPI_SUCCESS);
    CHECK(MPI_Type_create_resized(plain, 0, 4 * (MPI_Aint)sizeof(int), &three) ==
          MPI_SUCCESS);
    CHECK(MPI_Type_free(&plain) == MPI_SUCCESS);
    CHECK(MPI_Type_commit(&two) == MPI_SUCCESS && MPI_Type_commit(&three) == MPI_SUCCESS);
    CHECK(MPI_Psend_init(out, pairs / 4, 4, two, to, TAG, MPI_COMM_WORLD, MPI_INFO_NULL,
                         &pair[1]) == MPI_SUCCESS);
    CHECK(MPI_Precv_init(in, 2, ints / 6, three, from, TAG, MPI_COMM_WORLD, MPI_INFO_NULL,
                         &pair[0]) == MPI_SUCCESS);
    CHECK(MPI_Type_free(&two) == MPI_SUCCESS && MPI_Type_free(&three) == MPI_SUCCESS);
    for (int turn = 0; turn < 4; turn++) {
        for (int i = 0; i < ints; i++) {
            out[i / 2 * 3 + i % 2] = value(rank, turn, i);
        }
        memset(in, -1, (size_t)ints / 3 * 4 * sizeof(int));
        CHECK(MPI_Startall(2, pair) == MPI_SUCCESS);
        make_all_ready(pair[1], pairs / 4, turn % 2 == 0 ? BACKWARDS : LIST);
        CHECK(MPI_Waitall(2, pair, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
        for (int i = 0; i < ints; i++) {
            CHECK(in[i / 3 * 4 + i % 3] == value(from, turn, i));
            CHECK(in[i / 3 * 4 + 3] == -1);
        }
    }
    CHECK(MPI_Request_free(&pair[0]) == MPI_SUCCESS);
    CHECK(MPI_Request_free(&pair[1]) == MPI_SUCCESS);
    free(out);
    free(in);
}

/* The same with partitions that are long themselves. */
static void long_derived_types(void)
{
    enum { PARTS = 3, BLOCKS = 40000 };
    const int ints = PARTS * BLOCKS;
    int *out = malloc((size_t)ints * 2 * sizeof(int));
    int *in = malloc((size_t)ints * sizeof(int));
    MPI_Datatype every_other;
    MPI_Request pair[2];

    CHECK(MPI_Type_create_resized(MPI_INT, 0, 2 * (MPI_Aint)sizeof(int), &every_other) ==
          MPI_SUCCESS);
    CHECK(MPI_Type_commit(&every_other) == MPI_SUCCESS);
    CHECK(MPI_Psend_init(out, PARTS, BLOCKS, every_other, to, TAG, MPI_COMM_WORLD,
                         MPI_INFO_NULL, &pair[1]) == MPI_SUCCESS);
    CHECK(MPI_Precv_init(in, 2 * PARTS, BLOCKS / 2, MPI_INT, from, TAG, MPI_COMM_WORLD,
                         MPI_INFO_NULL, &pair[0]) == MPI_SUCCESS);
    CHECK(MPI_Type_free(&every_other) == MPI_SUCCESS);
    for (int turn = 0; turn < 3; turn++) {
        for (int i = 0; i < ints; i++) {
            out[2 * i] = value(rank, turn, i);
        }
        CHECK(MPI_Startall(2, pair) == MPI_SUCCESS);
        make_all_ready(pair[1], PARTS, BACKWARDS);
        wait_by_partition(pair[0], 2 * PARTS, in, BLOCKS / 2, turn);
        CHECK(MPI_Waitall(2, pair, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
    }
    CHECK(MPI_Request_free(&pair[0]) == MPI_SUCCESS);
    CHECK(MPI_Request_free(&pair[1]) == MPI_SUCCESS);
    free(out);
    free(in);
}

/* ---- nobody, nothing, too much, wrong ---- */

static void nobody_and_nothing(void)
{
    static const struct {
        int partitions;
        MPI_Count count;
    } cases[] = {{4, 1}, {4, 0}, {0, 3}, {0, 0}};

    for (int c = 0; c < 8; c++) {
        const int is_null = c < 4;
        const int n = cases[c % 4].partitions;
        int data[2][4] = {{0}};
        MPI_Request pair[2];
        MPI_Status statuses[2];
        int count = -1;
        int flag = -1;

        CHECK(MPI_Precv_init(data[0], n, cases[c % 4].count, MPI_INT,
                             is_null ? MPI_PROC_NULL : from, TAG, MPI_COMM_WORLD,
                             MPI_INFO_NULL, &pair[0]) == MPI_SUCCESS);
        CHECK(MPI_Psend_init(data[1], n, cases[c % 4].count, MPI_INT,
                             is_null ? MPI_PROC_NULL : to, TAG, MPI_COMM_WORLD,
                             MPI_INFO_NULL, &pair[1]) == MPI_SUCCESS);
        for (int turn = 0; turn < 3; turn++) {
            CHECK(MPI_Startall(2, pair) == MPI_SUCCESS);
            if (n > 0) {
                make_all_ready(pair[1], n, (enum order)turn);
            }
            if (n > 0 && is_null) {
                CHECK(MPI_Parrived(pair[0], n - 1, &flag) == MPI_SUCCESS && flag == 1);
            }
            CHECK(MPI_Waitall(2, pair, statuses) == MPI_SUCCESS);
            CHECK(statuses[0].MPI_SOURCE == (is_null ? MPI_PROC_NULL : from));
            CHECK(statuses[0].MPI_TAG == (is_null ? MPI_ANY_TAG : TAG));
            CHECK(MPI_Get_count(&statuses[0], MPI_INT, &count) == MPI_SUCCESS);
            CHECK(count == (is_null ? 0 : n * (int)cases[c % 4].count));
        }
        CHECK(MPI_Request_free(&pair[0]) == MPI_SUCCESS);
        CHECK(MPI_Request_free(&pair[1]) == MPI_SUCCESS);
    }
}

static void truncation(void)
{
    int out[6] = {1, 2, 3, 4, 5, 6};
    int in[5] = {0, 0, 0, 0, 77};
    MPI_Request pair[2];

    CHECK(MPI_Precv_init(in, 2, 2, MPI_INT, from, TAG, MPI_COMM_WORLD, MPI_INFO_NULL,
                         &pair[0]) == MPI_SUCCESS);
    CHECK(MPI_Psend_init(out, 6, 1, MPI_INT, to, TAG, MPI_COMM_WORLD, MPI_INFO_NULL,
                         &pair[1]) == MPI_SUCCESS);
    CHECK(MPI_Startall(2, pair) == MPI_SUCCESS);
    CHECK(MPI_Pready_range(0, 5, pair[1]) == MPI_SUCCESS);
    IS_ERROR(MPI_Wait(&pair[0], MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
    CHECK(MPI_Wait(&pair[1], MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(in[0] == 1 && in[3] == 4 && in[4] == 77);
    CHECK(MPI_Request_free(&pair[0]) == MPI_SUCCESS);
    CHECK(MPI_Request_free(&pair[1]) == MPI_SUCCESS);
}

static void wrong_inits(void)
{
    int data[4] = {0};
    MPI_Request r = MPI_REQUEST_NULL;

    IS_ERROR(
        MPI_Psend_init(data, -1, 1, MPI_INT, to, TAG, MPI_COMM_WORLD, MPI_INFO_NULL, &r),
        MPI_ERR_ARG);
    IS_ERROR(
        MPI_Psend_init(data, 2, -1, MPI_INT, to, TAG, MPI_COMM_WORLD, MPI_INFO_NULL, &r),
        MPI_ERR_COUNT);
    IS_ERROR(MPI_Psend_init(data, 0x7fffffff, (MPI_Count)1 << 60, MPI_BYTE, to, TAG,
                            MPI_COMM_WORLD, MPI_INFO_NULL, &r),
             MPI_ERR_COUNT);
    IS_ERROR(MPI_Psend_init(data, 2, 1, MPI_DATATYPE_NULL, to, TAG, MPI_COMM_WORLD,
                            MPI_INFO_NULL, &r),
             MPI_ERR_TYPE);
    IS_ERROR(
        MPI_Psend_init(data, 2, 1, MPI_INT, size, TAG, MPI_COMM_WORLD, MPI_INFO_NULL, &r),
        MPI_ERR_RANK);
    IS_ERROR(
        MPI_Psend_init(data, 2, 1, MPI_INT, to, -1, MPI_COMM_WORLD, MPI_INFO_NULL, &r),
        MPI_ERR_TAG);
    IS_ERROR(MPI_Precv_init(data, 2, 1, MPI_INT, MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD,
                            MPI_INFO_NULL, &r),
             MPI_ERR_RANK);
    IS_ERROR(MPI_Precv_init(data, 2, 1, MPI_INT, from, MPI_ANY_TAG, MPI_COMM_WORLD,
                            MPI_INFO_NULL, &r),
             MPI_ERR_TAG);
    IS_ERROR(
        MPI_Precv_init(data, 2, 1, MPI_INT, from, TAG, MPI_COMM_NULL, MPI_INFO_NULL, &r),
        MPI_ERR_COMM);
}

static void wrong_partitions(void)
{
    const int list[3] = {0, 1, 7};
    int data[4] = {0};
    MPI_Request pair[2];
    MPI_Request plain;
    int flag = -1;

    CHECK(MPI_Precv_init(data, 2, 1, MPI_INT, 0, TAG, MPI_COMM_SELF, MPI_INFO_NULL,
                         &pair[0]) == MPI_SUCCESS);
    CHECK(MPI_Psend_init(data + 2, 2, 1, MPI_INT, 0, TAG, MPI_COMM_SELF, MPI_INFO_NULL,
                         &pair[1]) == MPI_SUCCESS);
    CHECK(MPI_Recv_init(data, 1, MPI_INT, 0, TAG, MPI_COMM_SELF, &plain) == MPI_SUCCESS);
    IS_ERROR(MPI_Pready(0, MPI_REQUEST_NULL), MPI_ERR_REQUEST);
    IS_ERROR(MPI_Pready(0, pair[1]), MPI_ERR_REQUEST); /* inactive */
    CHECK(MPI_Startall(2, pair) == MPI_SUCCESS);
    IS_ERROR(MPI_Start(&pair[1]), MPI_ERR_REQUEST);
    IS_ERROR(MPI_Pready(0, pair[0]), MPI_ERR_REQUEST); /* a receive */
    IS_ERROR(MPI_Pready(0, plain), MPI_ERR_REQUEST);
    IS_ERROR(MPI_Parrived(pair[1], 0, &flag), MPI_ERR_REQUEST); /* a send */
    IS_ERROR(MPI_Parrived(plain, 0, &flag), MPI_ERR_REQUEST);
    IS_ERROR(MPI_Parrived(pair[0], 2, &flag), MPI_ERR_ARG);
    IS_ERROR(MPI_Parrived(pair[0], -1, &flag), MPI_ERR_ARG);
    CHECK(MPI_Parrived(MPI_REQUEST_NULL, 0, &flag) == MPI_SUCCESS && flag == 1);
    IS_ERROR(MPI_Pready(2, pair[1]), MPI_ERR_ARG);
    IS_ERROR(MPI_Pready(-1, pair[1]), MPI_ERR_ARG);
    IS_ERROR(MPI_Pready_range(1, 0, pair[1]), MPI_ERR_ARG);
    IS_ERROR(MPI_Pready_list(-1, list, pair[1]), MPI_ERR_ARG);
    CHECK(MPI_Pready(0, pair[1]) == MPI_SUCCESS);
    IS_ERROR(MPI_Pready(0, pair[1]), MPI_ERR_ARG); /* twice */
    IS_ERROR(MPI_Pready_list(2, list + 1, pair[1]), MPI_ERR_ARG);
    CHECK(MPI_Waitall(2, pair, MPI_STATUSES_IGNORE) == MPI_SUCCESS); /* 1 was ready */
    CHECK(MPI_Request_free(&pair[0]) == MPI_SUCCESS);
    CHECK(MPI_Request_free(&pair[1]) == MPI_SUCCESS);
    CHECK(MPI_Request_free(&plain) == MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank) == MPI_SUCCESS);
    CHECK(MPI_Comm_size(MPI_COMM_WORLD, &size) == MPI_SUCCESS);
    to = (rank + 1) % size;
    from = (rank + size - 1) % size;
    cuts();
    early_bird();
    matching();
    freed_before_it_was_started();
    ahead();
    derived_types(12);
    derived_types(6000);
    long_derived_types();
    nobody_and_nothing();
    truncation();
    wrong_inits();
    wrong_partitions();
    CHECK(MPI_Finalize() == MPI_SUCCESS);
    return 0;
}
