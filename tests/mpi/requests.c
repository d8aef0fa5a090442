/*
 * requests.c - chapters 3.7 and 3.8: one, some or all of several requests; which error
 * handler runs, and what the statuses say; requests looked at, freed and cancelled.
 */
#include "check.h"

enum { N = 100, TAG = 7 };

static int rank;
static int size;
static int to;
static int from;

static MPI_Request requests[2 * N];
static MPI_Status statuses[2 * N];
static int indices[2 * N];
static int in[N];
static int out[N];

/* A ring: N receives and N sends; tags go down, so that nothing arrives in order. */
static void start_ring(void)
{
    for (int i = 0; i < N; i++) {
        in[i] = -1;
        out[i] = rank * 1000 + i;
        CHECK(MPI_Irecv(&in[i], 1, MPI_INT, from, i, MPI_COMM_WORLD, &requests[i]) ==
              MPI_SUCCESS);
    }
    for (int i = N - 1; i >= 0; i--) {
        CHECK(MPI_Isend(&out[i], 1, MPI_INT, to, i, MPI_COMM_WORLD, &requests[N + i]) ==
              MPI_SUCCESS);
    }
}

static void check_one(int i, const MPI_Status *status)
{
    int count = -1;

    CHECK(requests[i] == MPI_REQUEST_NULL);
    if (i < N) {
        CHECK(in[i] == from * 1000 + i);
        CHECK(status->MPI_SOURCE == from && status->MPI_TAG == i);
        CHECK(MPI_Get_count(status, MPI_INT, &count) == MPI_SUCCESS && count == 1);
    }
}

static void one_after_the_other(void)
{
    MPI_Status status;
    int index = -2;
    int flag = -1;

    start_ring();
    for (int k = 0; k < 2 * N; k += 2) {
        CHECK(MPI_Waitany(2 * N, requests, &index, &status) == MPI_SUCCESS);
        CHECK(index >= 0 && index < 2 * N);
        check_one(index, &status);
        do {
            CHECK(MPI_Testany(2 * N, requests, &index, &flag, &status) == MPI_SUCCESS);
            CHECK(flag || index == MPI_UNDEFINED);
        } while (!flag);
        check_one(index, &status);
    }
    CHECK(MPI_Waitany(2 * N, requests, &index, &status) == MPI_SUCCESS);
    CHECK(index == MPI_UNDEFINED && status.MPI_SOURCE == MPI_ANY_SOURCE &&
          status.MPI_TAG == MPI_ANY_TAG && status.MPI_ERROR == MPI_SUCCESS);
    CHECK(MPI_Testany(0, NULL, &index, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(flag == 1 && index == MPI_UNDEFINED);
}

static void some_at_a_time(void)
{
    int count = 0;
    int left = 2 * N;

    start_ring();
    for (int turn = 0; left > 0; turn++) {
        if (turn % 2 == 0) {
            CHECK(MPI_Waitsome(2 * N, requests, &count, indices, statuses) ==
                  MPI_SUCCESS);
            CHECK(count > 0);
        } else {
            CHECK(MPI_Testsome(2 * N, requests, &count, indices, statuses) ==
                  MPI_SUCCESS);
            CHECK(count >= 0);
        }
        for (int i = 0; i < count; i++) {
            check_one(indices[i], &statuses[i]);
        }
        left -= count;
    }
    CHECK(MPI_Waitsome(2 * N, requests, &count, indices, MPI_STATUSES_IGNORE) ==
          MPI_SUCCESS);
    CHECK(count == MPI_UNDEFINED);
    CHECK(MPI_Testsome(0, NULL, &count, NULL, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
    CHECK(count == MPI_UNDEFINED);
}

static void all_at_once(void)
{
    int flag = 0;

    start_ring();
    while (!flag) {
        CHECK(MPI_Testall(2 * N, requests, &flag, statuses) == MPI_SUCCESS);
    }
    for (int i = 0; i < 2 * N; i++) {
        check_one(i, &statuses[i]);
    }
    flag = 0;
    CHECK(MPI_Testall(2 * N, requests, &flag, statuses) == MPI_SUCCESS && flag == 1);
    CHECK(statuses[0].MPI_SOURCE == MPI_ANY_SOURCE);
    CHECK(MPI_Testall(0, NULL, &flag, NULL) == MPI_SUCCESS && flag == 1);
}

/* Looking changes nothing: the same can be seen again, and completed then. */
static void looked_at(void)
{
    MPI_Status status;
    int flag = 0;
    int index = -2;
    int count = 0;

    start_ring();
    while (!flag) {
        CHECK(MPI_Request_get_status(requests[0], &flag, &status) == MPI_SUCCESS);
    }
    CHECK(requests[0] != MPI_REQUEST_NULL && status.MPI_SOURCE == from);
    CHECK(MPI_Request_get_status_any(2 * N, requests, &index, &flag, &status) ==
          MPI_SUCCESS);
    CHECK(flag == 1 && index == 0 && status.MPI_TAG == 0);
    CHECK(MPI_Request_get_status_some(2 * N, requests, &count, indices, statuses) ==
          MPI_SUCCESS);
    CHECK(count >= 1 && indices[0] == 0 && statuses[0].MPI_TAG == 0);
    flag = 0;
    while (!flag) {
        CHECK(MPI_Request_get_status_all(2 * N, requests, &flag, statuses) ==
              MPI_SUCCESS);
    }
    CHECK(statuses[N - 1].MPI_TAG == N - 1 && statuses[N - 1].MPI_SOURCE == from);
    CHECK(MPI_Waitall(2 * N, requests, statuses) == MPI_SUCCESS);
    check_one(0, &statuses[0]);

    CHECK(MPI_Request_get_status(MPI_REQUEST_NULL, &flag, &status) == MPI_SUCCESS);
    CHECK(flag == 1 && status.MPI_SOURCE == MPI_ANY_SOURCE);
    CHECK(MPI_Request_get_status_any(2 * N, requests, &index, &flag, &status) ==
          MPI_SUCCESS);
    CHECK(flag == 1 && index == MPI_UNDEFINED);
    CHECK(MPI_Request_get_status_some(2 * N, requests, &count, indices, statuses) ==
          MPI_SUCCESS);
    CHECK(count == MPI_UNDEFINED);
}

/* ---- what fails ---- */

static struct {
    int calls;
    int code;
    MPI_Comm comm;
} seen;

static void note_error(MPI_Comm *comm, int *code, ...)
{
    seen.calls++;
    seen.code = *code;
    seen.comm = *comm;
}

/* To ourselves: 0 is well, 1 is cut off, 2 is well and on MPI_COMM_WORLD. */
static void start_failing(void)
{
    static int buffer[3][2];
    static const int data[2] = {1, 2};

    for (int i = 0; i < 3; i++) {
        MPI_Comm comm = i == 1 ? MPI_COMM_SELF : MPI_COMM_WORLD;
        int me = i == 1 ? 0 : rank;

        CHECK(MPI_Irecv(buffer[i], i == 1 ? 1 : 2, MPI_INT, me, TAG + i, comm,
                        &requests[i]) == MPI_SUCCESS);
        CHECK(MPI_Send(data, 2, MPI_INT, me, TAG + i, comm) == MPI_SUCCESS);
        statuses[i].MPI_ERROR = 12345;
    }
    seen.calls = 0;
}

static void failed_on_self(int code)
{
    CHECK(seen.calls == 1 && seen.code == code && seen.comm == MPI_COMM_SELF);
}

static void each_status_tells(void)
{
    CHECK(statuses[0].MPI_ERROR == MPI_SUCCESS);
    CHECK(statuses[1].MPI_ERROR == MPI_ERR_TRUNCATE);
    CHECK(statuses[2].MPI_ERROR == MPI_SUCCESS);
    failed_on_self(MPI_ERR_IN_STATUS);
    for (int i = 0; i < 3; i++) {
        CHECK(requests[i] == MPI_REQUEST_NULL);
    }
}

static void failures(void)
{
    MPI_Status status = {.MPI_ERROR = 12345};
    int count = 0;
    int index = -1;
    int flag = 0;

    start_failing();
    IS_ERROR(MPI_Waitall(3, requests, statuses), MPI_ERR_IN_STATUS);
    each_status_tells();
    start_failing();
    IS_ERROR(MPI_Testall(3, requests, &flag, statuses), MPI_ERR_IN_STATUS);
    CHECK(flag == 1);
    each_status_tells();
    start_failing();
    IS_ERROR(MPI_Waitsome(3, requests, &count, indices, statuses), MPI_ERR_IN_STATUS);
    CHECK(count == 3 && indices[1] == 1);
    each_status_tells();
    start_failing();
    IS_ERROR(MPI_Testsome(3, requests, &count, indices, statuses), MPI_ERR_IN_STATUS);
    each_status_tells();
    start_failing();
    IS_ERROR(MPI_Request_get_status_all(3, requests, &flag, statuses), MPI_ERR_IN_STATUS);
    CHECK(statuses[1].MPI_ERROR == MPI_ERR_TRUNCATE && requests[1] != MPI_REQUEST_NULL);
    IS_ERROR(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE), MPI_ERR_IN_STATUS);

    /* One at a time returns the error itself, and leaves MPI_ERROR alone. */
    start_failing();
    CHECK(MPI_Waitany(3, requests, &index, &status) == MPI_SUCCESS && index == 0);
    IS_ERROR(MPI_Waitany(3, requests, &index, &status), MPI_ERR_TRUNCATE);
    failed_on_self(MPI_ERR_TRUNCATE);
    CHECK(index == 1 && status.MPI_ERROR == 12345 && status.MPI_TAG == TAG + 1);
    CHECK(MPI_Testany(3, requests, &index, &flag, &status) == MPI_SUCCESS);
    CHECK(flag == 1 && index == 2 && status.MPI_ERROR == 12345);
    CHECK(seen.calls == 1);
}

static void wrong_arguments(void)
{
    MPI_Request bad = (MPI_Request)&seen;
    MPI_Request null = MPI_REQUEST_NULL;
    int index;
    int flag;
    int count;

    IS_ERROR(MPI_Waitany(-1, requests, &index, MPI_STATUS_IGNORE), MPI_ERR_COUNT);
    IS_ERROR(MPI_Waitany(1, NULL, &index, MPI_STATUS_IGNORE), MPI_ERR_ARG);
    IS_ERROR(MPI_Waitany(1, requests, NULL, MPI_STATUS_IGNORE), MPI_ERR_ARG);
    IS_ERROR(MPI_Waitany(1, &bad, &index, MPI_STATUS_IGNORE), MPI_ERR_REQUEST);
    IS_ERROR(MPI_Testany(1, &bad, &index, &flag, MPI_STATUS_IGNORE), MPI_ERR_REQUEST);
    IS_ERROR(MPI_Testall(1, &bad, &flag, MPI_STATUSES_IGNORE), MPI_ERR_REQUEST);
    IS_ERROR(MPI_Waitsome(1, &bad, &count, &index, MPI_STATUSES_IGNORE), MPI_ERR_REQUEST);
    IS_ERROR(MPI_Testsome(1, &bad, &count, NULL, MPI_STATUSES_IGNORE), MPI_ERR_ARG);
    IS_ERROR(MPI_Request_get_status(bad, &flag, MPI_STATUS_IGNORE), MPI_ERR_REQUEST);
    IS_ERROR(MPI_Request_free(&null), MPI_ERR_REQUEST);
    IS_ERROR(MPI_Request_free(&bad), MPI_ERR_REQUEST);
    IS_ERROR(MPI_Cancel(&null), MPI_ERR_REQUEST);
    IS_ERROR(MPI_Cancel(NULL), MPI_ERR_ARG);
}

/* ---- freed and cancelled ---- */

static void freed(void)
{
    static int kept;
    static int large[50000];
    MPI_Request request;
    int answer = 0;

    /* The receive goes on; that it has ended is learnt from a later message. */
    kept = -1;
    CHECK(MPI_Irecv(&kept, 1, MPI_INT, from, TAG, MPI_COMM_WORLD, &request) ==
          MPI_SUCCESS);
    CHECK(MPI_Request_free(&request) == MPI_SUCCESS && request == MPI_REQUEST_NULL);
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(MPI_Send(&rank, 1, MPI_INT, to, TAG, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(MPI_Sendrecv(&rank, 1, MPI_INT, to, TAG + 1, &answer, 1, MPI_INT, from, TAG + 1,
                       MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(kept == from && answer == from);

    /* So does a long send; one that is over already is simply forgotten. */
    CHECK(MPI_Isend(large, 50000, MPI_INT, to, TAG, MPI_COMM_WORLD, &request) ==
          MPI_SUCCESS);
    CHECK(MPI_Request_free(&request) == MPI_SUCCESS && request == MPI_REQUEST_NULL);
    CHECK(MPI_Isend(&rank, 1, MPI_INT, to, TAG + 2, MPI_COMM_WORLD, &request) ==
          MPI_SUCCESS);
    CHECK(MPI_Request_free(&request) == MPI_SUCCESS);
    {
        static int received[50000];

        CHECK(MPI_Recv(received, 50000, MPI_INT, from, TAG, MPI_COMM_WORLD,
                       MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(MPI_Recv(&answer, 1, MPI_INT, from, TAG + 2, MPI_COMM_WORLD,
                       MPI_STATUS_IGNORE) == MPI_SUCCESS);
    }
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
}

static void cancelled(void)
{
    MPI_Request request;
    MPI_Status status;
    int value = -1;
    int flag = -1;

    CHECK(MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, TAG + 9, MPI_COMM_WORLD,
                    &request) == MPI_SUCCESS);
    CHECK(MPI_Cancel(&request) == MPI_SUCCESS && request != MPI_REQUEST_NULL);
    CHECK(MPI_Wait(&request, &status) == MPI_SUCCESS && request == MPI_REQUEST_NULL);
    CHECK(MPI_Test_cancelled(&status, &flag) == MPI_SUCCESS && flag == 1);

    /* The message goes to the next receive; that one is too late to be cancelled. */
    CHECK(MPI_Irecv(&value, 1, MPI_INT, rank, TAG + 9, MPI_COMM_WORLD, &request) ==
          MPI_SUCCESS);
    CHECK(MPI_Send(&rank, 1, MPI_INT, rank, TAG + 9, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(MPI_Cancel(&request) == MPI_SUCCESS);
    CHECK(MPI_Wait(&request, &status) == MPI_SUCCESS && value == rank);
    CHECK(MPI_Test_cancelled(&status, &flag) == MPI_SUCCESS && flag == 0);

    /* Sends are not cancelled, they complete. */
    CHECK(MPI_Isend(&rank, 1, MPI_INT, rank, TAG + 9, MPI_COMM_WORLD, &request) ==
          MPI_SUCCESS);
    CHECK(MPI_Cancel(&request) == MPI_SUCCESS);
    CHECK(MPI_Recv(&value, 1, MPI_INT, rank, TAG + 9, MPI_COMM_WORLD,
                   MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_Wait(&request, &status) == MPI_SUCCESS);
    CHECK(MPI_Test_cancelled(&status, &flag) == MPI_SUCCESS && flag == 0);
}

static void statuses_set_and_read(void)
{
    MPI_Datatype type;
    MPI_Status status;
    int value = -1;
    MPI_Count count = -1;

    memset(&status, 0, sizeof(status));
    CHECK(MPI_Status_set_source(&status, 3) == MPI_SUCCESS);
    CHECK(MPI_Status_set_tag(&status, 44) == MPI_SUCCESS);
    CHECK(MPI_Status_set_error(&status, MPI_ERR_IO) == MPI_SUCCESS);
    CHECK(status.MPI_SOURCE == 3 && status.MPI_TAG == 44);
    CHECK(MPI_Status_get_source(&status, &value) == MPI_SUCCESS && value == 3);
    CHECK(MPI_Status_get_tag(&status, &value) == MPI_SUCCESS && value == 44);
    CHECK(MPI_Status_get_error(&status, &value) == MPI_SUCCESS && value == MPI_ERR_IO);
    CHECK(MPI_Status_set_cancelled(&status, 5) == MPI_SUCCESS);
    CHECK(MPI_Test_cancelled(&status, &value) == MPI_SUCCESS && value == 1);
    CHECK(MPI_Status_set_cancelled(&status, 0) == MPI_SUCCESS);
    CHECK(MPI_Test_cancelled(&status, &value) == MPI_SUCCESS && value == 0);

    CHECK(MPI_Status_set_elements(&status, MPI_DOUBLE, 7) == MPI_SUCCESS);
    CHECK(MPI_Get_count(&status, MPI_DOUBLE, &value) == MPI_SUCCESS && value == 7);
    CHECK(MPI_Get_count(&status, MPI_BYTE, &value) == MPI_SUCCESS && value == 56);
    CHECK(MPI_Status_set_elements_c(&status, MPI_INT, (MPI_Count)1 << 33) == MPI_SUCCESS);
    CHECK(MPI_Get_count_c(&status, MPI_INT, &count) == MPI_SUCCESS);
    CHECK(count == (MPI_Count)1 << 33);
    CHECK(MPI_Get_count(&status, MPI_INT, &value) == MPI_SUCCESS);
    CHECK(value == MPI_UNDEFINED);
    CHECK(MPI_Status_set_elements_x(&status, MPI_DOUBLE_INT, 6) == MPI_SUCCESS);
    CHECK(MPI_Get_count(&status, MPI_DOUBLE_INT, &value) == MPI_SUCCESS && value == 3);
    CHECK(MPI_Type_create_struct(2, (int[]){1, 1}, (MPI_Aint[]){0, 8},
                                 (MPI_Datatype[]){MPI_CHAR, MPI_DOUBLE},
                                 &type) == MPI_SUCCESS);
    CHECK(MPI_Status_set_elements(&status, type, 5) == MPI_SUCCESS);
    CHECK(MPI_Get_count(&status, MPI_BYTE, &value) == MPI_SUCCESS && value == 19);
    CHECK(MPI_Get_elements(&status, type, &value) == MPI_SUCCESS && value == 5);
    CHECK(MPI_Get_count(&status, type, &value) == MPI_SUCCESS && value == MPI_UNDEFINED);
    CHECK(MPI_Type_free(&type) == MPI_SUCCESS);
    IS_ERROR(MPI_Status_set_elements(&status, MPI_INT, -1), MPI_ERR_COUNT);
    IS_ERROR(MPI_Status_set_elements(&status, MPI_DATATYPE_NULL, 1), MPI_ERR_TYPE);
    IS_ERROR(MPI_Status_set_source(NULL, 1), MPI_ERR_ARG);
    IS_ERROR(MPI_Status_get_tag(&status, NULL), MPI_ERR_ARG);
}

int main(int argc, char **argv)
{
    MPI_Errhandler handler;

    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank) == MPI_SUCCESS);
    CHECK(MPI_Comm_size(MPI_COMM_WORLD, &size) == MPI_SUCCESS);
    to = (rank + 1) % size;
    from = (rank + size - 1) % size;
    CHECK(MPI_Comm_create_errhandler(note_error, &handler) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_SELF, handler) == MPI_SUCCESS);
    CHECK(MPI_Errhandler_free(&handler) == MPI_SUCCESS);
    one_after_the_other();
    some_at_a_time();
    all_at_once();
    looked_at();
    CHECK(seen.calls == 0);
    failures();
    wrong_arguments();
    freed();
    cancelled();
    statuses_set_and_read();
    return MPI_Finalize();
}
