/*
 * persistent.c - chapter 3.9: requests that are started again and again, in a ring of all
 * ranks; what the calls of chapter 3.7 make of inactive ones.
 */
#include "check.h"

enum { N = 32, TURNS = 20, TAG = 5 };

static int rank;
static int size;
static int to;
static int from;

static unsigned char pattern(int who, int turn, size_t i)
{
    return (unsigned char)((size_t)who * 31 + (size_t)turn * 7 + i * 13 + (i >> 8));
}

static int is_empty(const MPI_Status *status)
{
    int count = -1;
    int flag = -1;

    CHECK(MPI_Get_count(status, MPI_BYTE, &count) == MPI_SUCCESS);
    CHECK(MPI_Test_cancelled(status, &flag) == MPI_SUCCESS);
    return status->MPI_SOURCE == MPI_ANY_SOURCE && status->MPI_TAG == MPI_ANY_TAG &&
           count == 0 && flag == 0;
}

/* ---- messages of every length and mode ---- */

enum mode { STANDARD, SYNCHRONOUS, READY, BUFFERED, MODES };

static void make_send(enum mode mode, int is_large, const void *buffer, int count,
                      MPI_Datatype type, MPI_Request *request)
{
    static int (*const small[MODES])(const void *, int, MPI_Datatype, int, int, MPI_Comm,
                                     MPI_Request *) = {MPI_Send_init, MPI_Ssend_init,
                                                       MPI_Rsend_init, MPI_Bsend_init};
    static int (*const large[MODES])(const void *, MPI_Count, MPI_Datatype, int, int,
                                     MPI_Comm, MPI_Request *) = {
        MPI_Send_init_c, MPI_Ssend_init_c, MPI_Rsend_init_c, MPI_Bsend_init_c};

    if (is_large) {
        CHECK(large[mode](buffer, count, type, to, TAG, MPI_COMM_WORLD, request) ==
              MPI_SUCCESS);
    } else {
        CHECK(small[mode](buffer, count, type, to, TAG, MPI_COMM_WORLD, request) ==
              MPI_SUCCESS);
    }
}

static void check_turn(enum mode mode, MPI_Request pair[2], unsigned char *in,
                       unsigned char *out, size_t bytes, int turn)
{
    const MPI_Request kept[2] = {pair[0], pair[1]};
    MPI_Status statuses[2];
    int count = -1;

    for (size_t i = 0; i < bytes; i++) {
        out[i] = pattern(rank, turn, i);
        in[i] = 0;
    }
    if (mode == READY) { /* the receive is there before the send is started */
        CHECK(MPI_Start(&pair[0]) == MPI_SUCCESS);
        CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
        CHECK(MPI_Start(&pair[1]) == MPI_SUCCESS);
    } else {
        CHECK(MPI_Startall(2, pair) == MPI_SUCCESS);
    }
    CHECK(MPI_Waitall(2, pair, statuses) == MPI_SUCCESS);
    CHECK(pair[0] == kept[0] && pair[1] == kept[1]);
    CHECK(statuses[0].MPI_SOURCE == from && statuses[0].MPI_TAG == TAG);
    CHECK(MPI_Get_count(&statuses[0], MPI_BYTE, &count) == MPI_SUCCESS);
    CHECK(count == (int)bytes);
    for (size_t i = 0; i < bytes; i++) {
        CHECK(in[i] == pattern(from, turn, i));
    }
}

static void lengths_and_modes(void)
{
    static const size_t lengths[] = {0, 1, 64, 4096, 4097, 40000, 300000};

    for (size_t l = 0; l < sizeof(lengths) / sizeof(lengths[0]); l++) {
        const size_t bytes = lengths[l];
        unsigned char *in = malloc(bytes + 1);
        unsigned char *out = malloc(bytes + 1);

        for (int m = 0; m < 2 * MODES; m++) {
            MPI_Request pair[2];

            if (m % 2 == 0) {
                CHECK(MPI_Recv_init(in, (int)bytes, MPI_BYTE, from, TAG, MPI_COMM_WORLD,
                                    &pair[0]) == MPI_SUCCESS);
            } else {
                CHECK(MPI_Recv_init_c(in, (MPI_Count)bytes, MPI_BYTE, MPI_ANY_SOURCE,
                                      MPI_ANY_TAG, MPI_COMM_WORLD,
                                      &pair[0]) == MPI_SUCCESS);
            }
            make_send((enum mode)(m / 2), m % 2, out, (int)bytes, MPI_BYTE, &pair[1]);
            for (int turn = 0; turn < 5; turn++) {
                check_turn((enum mode)(m / 2), pair, in, out, bytes, turn);
            }
            CHECK(MPI_Request_free(&pair[0]) == MPI_SUCCESS);
            CHECK(MPI_Request_free(&pair[1]) == MPI_SUCCESS);
            CHECK(pair[0] == MPI_REQUEST_NULL && pair[1] == MPI_REQUEST_NULL);
        }
        free(in);
        free(out);
    }
}

/* The type and the communicator are freed, and the requests go on. */
static void derived_types(int blocks)
{
    const size_t ints = (size_t)blocks * 3;
    int *in = malloc(ints * sizeof(int));
    int *out = malloc(ints * sizeof(int));
    MPI_Request pair[2];
    MPI_Datatype type;
    MPI_Comm comm;

    CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &comm) == MPI_SUCCESS);
    CHECK(MPI_Type_vector(blocks, 2, 3, MPI_INT, &type) == MPI_SUCCESS);
    CHECK(MPI_Type_commit(&type) == MPI_SUCCESS);
    CHECK(MPI_Recv_init(in, 1, type, from, TAG, comm, &pair[0]) == MPI_SUCCESS);
    CHECK(MPI_Send_init(out, 1, type, to, TAG, comm, &pair[1]) == MPI_SUCCESS);
    CHECK(MPI_Type_free(&type) == MPI_SUCCESS);
    CHECK(MPI_Comm_free(&comm) == MPI_SUCCESS);
    for (int turn = 0; turn < 3; turn++) {
        for (size_t i = 0; i < ints; i++) {
            out[i] = rank * 1000000 + turn * 100000 + (int)i;
            in[i] = -1;
        }
        CHECK(MPI_Startall(2, pair) == MPI_SUCCESS);
        CHECK(MPI_Waitall(2, pair, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
        for (size_t i = 0; i < ints; i++) {
            CHECK(in[i] == (i % 3 == 2 ? -1 : from * 1000000 + turn * 100000 + (int)i));
        }
    }
    CHECK(MPI_Request_free(&pair[0]) == MPI_SUCCESS);
    CHECK(MPI_Request_free(&pair[1]) == MPI_SUCCESS);
    free(in);
    free(out);
}

/* ---- inactive requests in every call ---- */

static void check_inactive(MPI_Request *requests, int count)
{
    MPI_Request kept[N];
    MPI_Status statuses[N];
    int indices[N];
    int index = -1;
    int flag = -1;
    int done = -1;

    memcpy(kept, requests, (size_t)count * sizeof(kept[0]));
    CHECK(MPI_Wait(&requests[0], &statuses[0]) == MPI_SUCCESS && is_empty(&statuses[0]));
    CHECK(MPI_Test(&requests[0], &flag, &statuses[0]) == MPI_SUCCESS);
    CHECK(flag == 1 && is_empty(&statuses[0]));
    flag = -1;
    CHECK(MPI_Request_get_status(requests[0], &flag, &statuses[0]) == MPI_SUCCESS);
    CHECK(flag == 1 && is_empty(&statuses[0]));
    CHECK(MPI_Waitany(count, requests, &index, &statuses[0]) == MPI_SUCCESS);
    CHECK(index == MPI_UNDEFINED && is_empty(&statuses[0]));
    flag = index = -1;
    CHECK(MPI_Testany(count, requests, &index, &flag, &statuses[0]) == MPI_SUCCESS);
    CHECK(flag == 1 && index == MPI_UNDEFINED && is_empty(&statuses[0]));
    flag = index = -1;
    CHECK(MPI_Request_get_status_any(count, requests, &index, &flag, &statuses[0]) ==
          MPI_SUCCESS);
    CHECK(flag == 1 && index == MPI_UNDEFINED && is_empty(&statuses[0]));
    CHECK(MPI_Waitsome(count, requests, &done, indices, statuses) == MPI_SUCCESS);
    CHECK(done == MPI_UNDEFINED);
    done = -1;
    CHECK(MPI_Testsome(count, requests, &done, indices, statuses) == MPI_SUCCESS);
    CHECK(done == MPI_UNDEFINED);
    done = -1;
    CHECK(MPI_Request_get_status_some(count, requests, &done, indices, statuses) ==
          MPI_SUCCESS);
    CHECK(done == MPI_UNDEFINED);
    CHECK(MPI_Waitall(count, requests, statuses) == MPI_SUCCESS);
    CHECK(is_empty(&statuses[0]) && is_empty(&statuses[count - 1]));
    flag = -1;
    CHECK(MPI_Testall(count, requests, &flag, statuses) == MPI_SUCCESS);
    CHECK(flag == 1 && is_empty(&statuses[0]) && is_empty(&statuses[count - 1]));
    flag = -1;
    CHECK(MPI_Request_get_status_all(count, requests, &flag, statuses) == MPI_SUCCESS);
    CHECK(flag == 1 && is_empty(&statuses[0]) && is_empty(&statuses[count - 1]));
    CHECK(memcmp(kept, requests, (size_t)count * sizeof(kept[0])) == 0);
}

static MPI_Request ring[N];
static int in[N / 2];
static int out[N / 2];

/* Receives and sends in turn; one in four is never started. */
static void make_ring(void)
{
    for (int i = 0; i < N / 2; i++) {
        CHECK(MPI_Recv_init(&in[i], 1, MPI_INT, from, i, MPI_COMM_WORLD, &ring[2 * i]) ==
              MPI_SUCCESS);
        CHECK(MPI_Send_init(&out[i], 1, MPI_INT, to, i, MPI_COMM_WORLD,
                            &ring[2 * i + 1]) == MPI_SUCCESS);
    }
}

static int start_half(int turn)
{
    for (int i = 0; i < N / 2; i++) {
        in[i] = -1;
        out[i] = rank * 1000 + turn * 100 + i;
        if (i % 2 == 0) {
            CHECK(MPI_Startall(2, &ring[2 * i]) == MPI_SUCCESS);
        }
    }
    return N / 2;
}

static void check_half(int turn)
{
    for (int i = 0; i < N / 2; i++) {
        CHECK(in[i] == (i % 2 == 0 ? from * 1000 + turn * 100 + i : -1));
    }
    check_inactive(ring, N);
}

/* What is complete stays so for those that only look, and is inactive for all others. */
static void look_at(int index, const MPI_Status *status)
{
    MPI_Status again;
    int flag = -1;

    CHECK(index >= 0 && index < N && index % 4 < 2);
    if (index % 4 == 0) {
        CHECK(status->MPI_SOURCE == from && status->MPI_TAG == index / 2);
    }
    CHECK(MPI_Test(&ring[index], &flag, &again) == MPI_SUCCESS);
    CHECK(flag == 1 && is_empty(&again));
}

static void choosing_calls(void)
{
    MPI_Status statuses[N];
    int indices[N];
    int index = -1;
    int flag = 0;
    int done = 0;

    for (int turn = 0; turn < TURNS; turn++) {
        int left = start_half(turn);

        while (left > 0) {
            switch ((turn + left) % 5) {
            case 0:
                CHECK(MPI_Waitany(N, ring, &index, statuses) == MPI_SUCCESS);
                look_at(index, statuses);
                left--;
                break;
            case 1:
                CHECK(MPI_Testany(N, ring, &index, &flag, statuses) == MPI_SUCCESS);
                if (flag) {
                    look_at(index, statuses);
                    left--;
                }
                break;
            case 2:
                CHECK(MPI_Request_get_status_any(N, ring, &index, &flag, statuses) ==
                      MPI_SUCCESS);
                if (flag) {
                    CHECK(MPI_Wait(&ring[index], statuses) == MPI_SUCCESS);
                    look_at(index, statuses);
                    left--;
                }
                break;
            default:
                CHECK((left % 2 == 0 ? MPI_Waitsome(N, ring, &done, indices, statuses)
                                     : MPI_Testsome(N, ring, &done, indices, statuses)) ==
                      MPI_SUCCESS);
                for (int k = 0; k < done; k++) {
                    look_at(indices[k], &statuses[k]);
                }
                left -= done;
                break;
            }
        }
        check_half(turn);
    }
}

static void all_and_some(void)
{
    MPI_Status statuses[N];
    int indices[N];
    int flag = 0;
    int done = 0;

    for (int turn = 0; turn < TURNS; turn++) {
        start_half(turn);
        do {
            CHECK(MPI_Request_get_status_all(N, ring, &flag, statuses) == MPI_SUCCESS);
        } while (!flag);
        CHECK(statuses[0].MPI_SOURCE == from && is_empty(&statuses[2]));
        CHECK(MPI_Request_get_status_some(N, ring, &done, indices, statuses) ==
              MPI_SUCCESS);
        CHECK(done == N / 2);
        CHECK(MPI_Testall(N, ring, &flag, statuses) == MPI_SUCCESS && flag == 1);
        CHECK(statuses[0].MPI_SOURCE == from && is_empty(&statuses[2]));
        check_half(turn);
    }
    for (int i = 0; i < N; i++) {
        CHECK(MPI_Request_free(&ring[i]) == MPI_SUCCESS);
    }
}

/* ---- cancelled, freed, nobody, wrong ---- */

static void cancelling(void)
{
    MPI_Request pair[2];
    MPI_Status status;
    int got = -1;
    const int sent = rank + 77;
    int flag = 0;

    CHECK(MPI_Recv_init(&got, 1, MPI_INT, from, TAG, MPI_COMM_WORLD, &pair[0]) ==
          MPI_SUCCESS);
    CHECK(MPI_Send_init(&sent, 1, MPI_INT, to, TAG, MPI_COMM_WORLD, &pair[1]) ==
          MPI_SUCCESS);
    for (int turn = 0; turn < 3; turn++) {
        CHECK(MPI_Start(&pair[0]) == MPI_SUCCESS);
        CHECK(MPI_Cancel(&pair[0]) == MPI_SUCCESS);
        CHECK(MPI_Wait(&pair[0], &status) == MPI_SUCCESS);
        CHECK(MPI_Test_cancelled(&status, &flag) == MPI_SUCCESS && flag == 1);
        CHECK(pair[0] != MPI_REQUEST_NULL);
        check_inactive(pair, 2);
        CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS); /* no message meets it */

        CHECK(MPI_Startall(2, pair) == MPI_SUCCESS);
        CHECK(MPI_Wait(&pair[0], &status) == MPI_SUCCESS && got == from + 77);
        CHECK(MPI_Test_cancelled(&status, &flag) == MPI_SUCCESS && flag == 0);
        CHECK(MPI_Wait(&pair[1], MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
    }
    CHECK(MPI_Request_free(&pair[0]) == MPI_SUCCESS);
    CHECK(MPI_Request_free(&pair[1]) == MPI_SUCCESS);
}

static int is_filled(const volatile int *data, int count, int first)
{
    for (int i = 0; i < count; i++) {
        if (data[i] != first + i) {
            return 0;
        }
    }
    return 1;
}

/* What is under way when its request is freed goes on to its end. */
static void freeing_active_ones(void)
{
    enum { LONG = 100000 };
    static int data[2][LONG];
    MPI_Request pair[2];
    MPI_Request told;
    int flag = 0;

    for (int i = 0; i < LONG; i++) {
        data[0][i] = -1;
        data[1][i] = rank + i;
    }
    CHECK(MPI_Irecv(NULL, 0, MPI_INT, to, TAG + 1, MPI_COMM_WORLD, &told) == MPI_SUCCESS);
    CHECK(MPI_Recv_init(data[0], LONG, MPI_INT, from, TAG, MPI_COMM_WORLD, &pair[0]) ==
          MPI_SUCCESS);
    CHECK(MPI_Send_init(data[1], LONG, MPI_INT, to, TAG, MPI_COMM_WORLD, &pair[1]) ==
          MPI_SUCCESS);
    CHECK(MPI_Start(&pair[0]) == MPI_SUCCESS);
    CHECK(MPI_Request_free(&pair[0]) == MPI_SUCCESS);
    CHECK(MPI_Start(&pair[1]) == MPI_SUCCESS);
    CHECK(MPI_Request_free(&pair[1]) == MPI_SUCCESS);
    CHECK(pair[0] == MPI_REQUEST_NULL && pair[1] == MPI_REQUEST_NULL);
    while (!is_filled(data[0], LONG, from)) {
        CHECK(MPI_Request_get_status(told, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    }
    CHECK(MPI_Send(NULL, 0, MPI_INT, from, TAG + 1, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(MPI_Wait(&told, MPI_STATUS_IGNORE) == MPI_SUCCESS);
}

static void nobody(void)
{
    MPI_Request pair[2];
    MPI_Status statuses[2];
    int word = 4711;

    CHECK(MPI_Recv_init(&word, 1, MPI_INT, MPI_PROC_NULL, TAG, MPI_COMM_WORLD,
                        &pair[0]) == MPI_SUCCESS);
    CHECK(MPI_Ssend_init(&word, 1, MPI_INT, MPI_PROC_NULL, TAG, MPI_COMM_WORLD,
                         &pair[1]) == MPI_SUCCESS);
    check_inactive(pair, 2);
    for (int turn = 0; turn < 3; turn++) {
        CHECK(MPI_Startall(2, pair) == MPI_SUCCESS);
        CHECK(MPI_Waitall(2, pair, statuses) == MPI_SUCCESS);
        CHECK(statuses[0].MPI_SOURCE == MPI_PROC_NULL);
        CHECK(statuses[0].MPI_TAG == MPI_ANY_TAG && word == 4711);
    }
    CHECK(MPI_Request_free(&pair[0]) == MPI_SUCCESS);
    CHECK(MPI_Request_free(&pair[1]) == MPI_SUCCESS);
}

static void truncation(void)
{
    MPI_Request pair[2];
    MPI_Status statuses[2];
    int word[2] = {1, 2};
    int got[2] = {0, 0};

    CHECK(MPI_Recv_init(got, 1, MPI_INT, from, TAG, MPI_COMM_WORLD, &pair[0]) ==
          MPI_SUCCESS);
    CHECK(MPI_Send_init(word, 2, MPI_INT, to, TAG, MPI_COMM_WORLD, &pair[1]) ==
          MPI_SUCCESS);
    CHECK(MPI_Startall(2, pair) == MPI_SUCCESS);
    IS_ERROR(MPI_Waitall(2, pair, statuses), MPI_ERR_IN_STATUS);
    CHECK(statuses[0].MPI_ERROR == MPI_ERR_TRUNCATE);
    CHECK(statuses[1].MPI_ERROR == MPI_SUCCESS);
    check_inactive(pair, 2);
    CHECK(MPI_Startall(2, pair) == MPI_SUCCESS);
    IS_ERROR(MPI_Wait(&pair[0], statuses), MPI_ERR_TRUNCATE);
    CHECK(pair[0] != MPI_REQUEST_NULL);
    CHECK(MPI_Wait(&pair[1], statuses) == MPI_SUCCESS);
    check_inactive(pair, 2);
    CHECK(MPI_Request_free(&pair[0]) == MPI_SUCCESS);
    CHECK(MPI_Request_free(&pair[1]) == MPI_SUCCESS);
}

static void wrong_arguments(void)
{
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Request other;
    int word = 0;

    IS_ERROR(MPI_Send_init(&word, -1, MPI_INT, to, TAG, MPI_COMM_WORLD, &request),
             MPI_ERR_COUNT);
    IS_ERROR(
        MPI_Ssend_init(&word, 1, MPI_DATATYPE_NULL, to, TAG, MPI_COMM_WORLD, &request),
        MPI_ERR_TYPE);
    IS_ERROR(MPI_Rsend_init(&word, 1, MPI_INT, size, TAG, MPI_COMM_WORLD, &request),
             MPI_ERR_RANK);
    IS_ERROR(MPI_Send_init_c(&word, 1, MPI_INT, to, -5, MPI_COMM_WORLD, &request),
             MPI_ERR_TAG);
    IS_ERROR(MPI_Recv_init(&word, 1, MPI_INT, -7, TAG, MPI_COMM_WORLD, &request),
             MPI_ERR_RANK);
    IS_ERROR(MPI_Recv_init_c(&word, 1, MPI_INT, from, TAG, MPI_COMM_NULL, &request),
             MPI_ERR_COMM);
    IS_ERROR(MPI_Start(&request), MPI_ERR_REQUEST);
    IS_ERROR(MPI_Startall(1, &request), MPI_ERR_REQUEST);
    IS_ERROR(MPI_Startall(-1, &request), MPI_ERR_COUNT);
    CHECK(MPI_Startall(0, NULL) == MPI_SUCCESS);

    /* One that is no persistent one, one that is active, one that is not. */
    CHECK(MPI_Irecv(&word, 1, MPI_INT, from, TAG, MPI_COMM_WORLD, &request) ==
          MPI_SUCCESS);
    IS_ERROR(MPI_Start(&request), MPI_ERR_REQUEST);
    CHECK(MPI_Cancel(&request) == MPI_SUCCESS);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_Recv_init(&word, 1, MPI_INT, from, TAG, MPI_COMM_WORLD, &request) ==
          MPI_SUCCESS);
    IS_ERROR(MPI_Cancel(&request), MPI_ERR_REQUEST);
    CHECK(MPI_Start(&request) == MPI_SUCCESS);
    IS_ERROR(MPI_Start(&request), MPI_ERR_REQUEST);
    CHECK(MPI_Cancel(&request) == MPI_SUCCESS);
    IS_ERROR(MPI_Start(&request), MPI_ERR_REQUEST); /* complete, but nobody has waited */
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    other = request;
    CHECK(MPI_Request_free(&request) == MPI_SUCCESS);
    IS_ERROR(MPI_Start(&other), MPI_ERR_REQUEST);
}

/* The copy is made, or finds no room, when the request is started. */
static void buffered_ones(void)
{
    static char sent[20000];
    static char got[20000];
    static char room[20000 + MPI_BSEND_OVERHEAD];
    MPI_Request request;
    void *memory;
    int bytes;

    CHECK(MPI_Bsend_init(sent, sizeof(sent), MPI_BYTE, to, TAG, MPI_COMM_WORLD,
                         &request) == MPI_SUCCESS);
    IS_ERROR(MPI_Start(&request), MPI_ERR_BUFFER);
    CHECK(MPI_Buffer_attach(room, sizeof(room)) == MPI_SUCCESS);
    for (int turn = 0; turn < 3; turn++) {
        memset(sent, 'a' + turn, sizeof(sent));
        CHECK(MPI_Start(&request) == MPI_SUCCESS);
        CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        memset(sent, 'z', sizeof(sent));
        CHECK(MPI_Recv(got, sizeof(got), MPI_BYTE, from, TAG, MPI_COMM_WORLD,
                       MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(got[0] == 'a' + turn && got[sizeof(got) - 1] == 'a' + turn);
        CHECK(MPI_Buffer_flush() == MPI_SUCCESS);
    }
    CHECK(MPI_Request_free(&request) == MPI_SUCCESS);
    CHECK(MPI_Buffer_detach(&memory, &bytes) == MPI_SUCCESS);
    CHECK(memory == room && bytes == sizeof(room));
}

int main(int argc, char **argv)
{
    void *memory;
    int bytes;

    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank) == MPI_SUCCESS);
    CHECK(MPI_Comm_size(MPI_COMM_WORLD, &size) == MPI_SUCCESS);
    to = (rank + 1) % size;
    from = (rank + size - 1) % size;
    buffered_ones();
    CHECK(MPI_Buffer_attach(MPI_BUFFER_AUTOMATIC, 0) == MPI_SUCCESS);
    lengths_and_modes();
    CHECK(MPI_Buffer_detach(&memory, &bytes) == MPI_SUCCESS);
    derived_types(100);
    derived_types(2000);
    derived_types(50000);
    make_ring();
    check_inactive(ring, N);
    choosing_calls();
    all_and_some();
    cancelling();
    freeing_active_ones();
    nobody();
    truncation();
    wrong_arguments();
    CHECK(MPI_Finalize() == MPI_SUCCESS);
    return 0;
}
