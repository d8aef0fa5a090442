/*
 * datatype_messages.c - chapters 3, 5 and 6: messages between different types that match,
 * of every size, what a shorter or longer message does, and collectives.
 */
#include "check.h"

#include <stdbool.h>
#include <stddef.h>

#define OK(call) CHECK((call) == MPI_SUCCESS)

static int rank;
static int size;
static int next;
static int before;

enum { LARGEST = 200000, LAYOUTS = 5 };

/* `n` ints, laid out in one of several ways; `span` is what to allocate. */
struct layout {
    MPI_Datatype type;
    int count;
    size_t span;
};

static struct layout make(int how, int n)
{
    struct layout l = {MPI_INT, n, (size_t)n};
    MPI_Datatype old;
    int *places;

    switch (how) {
    case 0:
        return l;
    case 1: /* every third */
        OK(MPI_Type_vector(n, 1, 3, MPI_INT, &l.type));
        l.count = 1;
        l.span = (size_t)n * 3;
        break;
    case 2: /* elements with a gap */
        OK(MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &l.type));
        l.span = (size_t)n * 2;
        break;
    case 3: /* from the last to the first */
        OK(MPI_Type_vector(n, 1, -1, MPI_INT, &old));
        OK(MPI_Type_create_hindexed(
            1, (int[]){1}, (MPI_Aint[]){(MPI_Aint)(n - 1) * (MPI_Aint)sizeof(int)}, old,
            &l.type));
        OK(MPI_Type_free(&old));
        l.count = 1;
        break;
    default: /* pairs at irregular places */
        places = malloc(((size_t)n / 2 + 1) * sizeof(*places));
        for (int i = 0; i < n / 2; i++) {
            places[i] = 5 * i + (i % 7 == 0);
        }
        OK(MPI_Type_create_indexed_block(n / 2, 2, places, MPI_INT, &l.type));
        free(places);
        l.count = 1;
        l.span = (size_t)n * 5 / 2 + 3;
        break;
    }
    OK(MPI_Type_commit(&l.type));
    return l;
}

static void drop(struct layout *l)
{
    if (l->type != MPI_INT) {
        OK(MPI_Type_free(&l->type));
    }
}

/* The i-th int of a layout. */
static int *element(const struct layout *l, int how, int n, int *buffer, int i)
{
    static const int steps[] = {1, 3, 2};

    (void)l;
    return how < 3    ? &buffer[i * steps[how]]
           : how == 3 ? &buffer[n - 1 - i]
                      : &buffer[5 * (i / 2) + (i / 2 % 7 == 0) + i % 2];
}

static int value(int from, int i)
{
    return from * 1000003 + i * 7 + 1;
}

static int *filled(const struct layout *l, int how, int n)
{
    int *buffer = malloc((l->span + 1) * sizeof(int));

    memset(buffer, 0x11, (l->span + 1) * sizeof(int));
    for (int i = 0; i < n; i++) {
        *element(l, how, n, buffer, i) = value(rank, i);
    }
    return buffer;
}

/* The first `n` of the layout's `all` are there, and nothing else has changed. */
static bool has_arrived(const struct layout *l, int how, int all, int n, int *buffer,
                        int from)
{
    bool is_good = true;

    for (int i = 0; i < n; i++) {
        int *at = element(l, how, all, buffer, i);

        is_good = is_good && *at == value(from, i);
        *at = 0x22222222;
    }
    for (size_t i = 0; i <= l->span; i++) {
        is_good = is_good && buffer[i] == 0x22222222;
    }
    return is_good;
}

static void ring(int from_how, int to_how, int n)
{
    struct layout out = make(from_how, n);
    struct layout in = make(to_how, n);
    int *sent = filled(&out, from_how, n);
    int *got = malloc((in.span + 1) * sizeof(int));
    MPI_Request requests[2];
    MPI_Status status;
    int count = -1;

    for (int mode = 0; mode < 3; mode++) {
        memset(got, 0x22, (in.span + 1) * sizeof(int));
        if (mode == 0) {
            OK(MPI_Irecv(got, in.count, in.type, before, n % 1000, MPI_COMM_WORLD,
                         &requests[0]));
            OK(MPI_Send(sent, out.count, out.type, next, n % 1000, MPI_COMM_WORLD));
            OK(MPI_Wait(&requests[0], &status));
        } else if (mode == 1) {
            OK(MPI_Issend(sent, out.count, out.type, next, 5, MPI_COMM_WORLD,
                          &requests[0]));
            OK(MPI_Recv(got, in.count, in.type, before, 5, MPI_COMM_WORLD, &status));
            OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
        } else {
            OK(MPI_Sendrecv(sent, out.count, out.type, next, 6, got, in.count, in.type,
                            before, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
        }
        CHECK(has_arrived(&in, to_how, n, n, got, before));
        OK(MPI_Get_count(&status, in.type, &count));
        CHECK(count == in.count);
        OK(MPI_Get_elements(&status, in.type, &count));
        CHECK(count == n);
    }
    free(sent);
    free(got);
    drop(&out);
    drop(&in);
}

/* The type may go as soon as the operation has begun. */
static void freed_early(void)
{
    enum { N = 50000 };
    struct layout out = make(1, N);
    struct layout in = make(4, N);
    const struct layout kept = in;
    int *sent = filled(&out, 1, N);
    int *got = malloc((in.span + 1) * sizeof(int));
    MPI_Request requests[2];

    memset(got, 0x22, (in.span + 1) * sizeof(int));
    OK(MPI_Irecv(got, in.count, in.type, before, 1, MPI_COMM_WORLD, &requests[0]));
    drop(&in);
    OK(MPI_Isend(sent, out.count, out.type, next, 1, MPI_COMM_WORLD, &requests[1]));
    drop(&out);
    OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    CHECK(has_arrived(&kept, 4, N, N, got, before));
    free(sent);
    free(got);
}

/* A receive that is taken back leaves its type, and its buffer, alone. */
static void cancelled(int n)
{
    struct layout in = make(1, n);
    int *got = malloc((in.span + 1) * sizeof(int));
    MPI_Request request;
    MPI_Status status;
    int is_cancelled = -1;

    memset(got, 0x22, (in.span + 1) * sizeof(int));
    OK(MPI_Irecv(got, in.count, in.type, before, 999, MPI_COMM_WORLD, &request));
    OK(MPI_Cancel(&request));
    drop(&in);
    OK(MPI_Wait(&request, &status));
    OK(MPI_Test_cancelled(&status, &is_cancelled));
    CHECK(is_cancelled == 1);
    in = make(1, n);
    CHECK(has_arrived(&in, 1, n, 0, got, before));
    free(got);
    drop(&in);
}

/* Nobody has the requests any more; an answer tells that both are over. */
static void freed_requests(int n)
{
    struct layout out = make(2, n);
    struct layout in = make(1, n);
    int *sent = filled(&out, 2, n);
    int *got = malloc((in.span + 1) * sizeof(int));
    MPI_Request request;
    MPI_Request answered;
    MPI_Request never; /* until we send it: testing it lets the others go on */
    int *last = element(&in, 1, n, got, n - 1);

    memset(got, 0x22, (in.span + 1) * sizeof(int));
    OK(MPI_Irecv(NULL, 0, MPI_INT, next, 8, MPI_COMM_WORLD, &answered));
    OK(MPI_Irecv(NULL, 0, MPI_INT, rank, 9, MPI_COMM_WORLD, &never));
    OK(MPI_Irecv(got, in.count, in.type, before, 7, MPI_COMM_WORLD, &request));
    OK(MPI_Request_free(&request));
    drop(&in);
    OK(MPI_Isend(sent, out.count, out.type, next, 7, MPI_COMM_WORLD, &request));
    OK(MPI_Request_free(&request));
    drop(&out);
    while (*(volatile int *)last != value(before, n - 1)) { /* the bytes come in order */
        int flag;

        OK(MPI_Test(&never, &flag, MPI_STATUS_IGNORE));
    }
    OK(MPI_Send(NULL, 0, MPI_INT, rank, 9, MPI_COMM_WORLD));
    OK(MPI_Wait(&never, MPI_STATUS_IGNORE));
    OK(MPI_Send(NULL, 0, MPI_INT, before, 8, MPI_COMM_WORLD));
    OK(MPI_Wait(&answered, MPI_STATUS_IGNORE));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    in = make(1, n);
    CHECK(has_arrived(&in, 1, n, n, got, before));
    free(sent);
    free(got);
    drop(&in);
}

/* Fewer than the receive has room for: also a part of an element. */
static void partial(int n)
{
    struct layout out = make(2, n);
    struct layout in = make(4, 2 * n);
    int *sent = filled(&out, 2, n);
    int *got = malloc((in.span + 1) * sizeof(int));
    MPI_Status status;
    MPI_Count large = -1;
    int count = -1;

    memset(got, 0x22, (in.span + 1) * sizeof(int));
    OK(MPI_Sendrecv(sent, n, out.type, next, 2, got, 1, in.type, before, 2,
                    MPI_COMM_WORLD, &status));
    CHECK(has_arrived(&in, 4, 2 * n, n, got, before));
    OK(MPI_Get_count(&status, in.type, &count));
    CHECK(count == MPI_UNDEFINED);
    OK(MPI_Get_elements(&status, in.type, &count));
    CHECK(count == n);
    OK(MPI_Get_elements_c(&status, in.type, &large));
    CHECK(large == n);
    OK(MPI_Get_elements_x(&status, in.type, &large));
    CHECK(large == n);
    free(sent);
    free(got);
    drop(&out);
    drop(&in);
}

/* More than there is room for. */
static void truncated(int n)
{
    struct layout out = make(1, 2 * n);
    struct layout in = make(2, n);
    int *sent = filled(&out, 1, 2 * n);
    int *got = malloc((in.span + 1) * sizeof(int));
    MPI_Request request;
    MPI_Status status;

    memset(got, 0x22, (in.span + 1) * sizeof(int));
    OK(MPI_Isend(sent, 1, out.type, next, 3, MPI_COMM_WORLD, &request));
    IS_ERROR(MPI_Recv(got, n, in.type, before, 3, MPI_COMM_WORLD, &status),
             MPI_ERR_TRUNCATE);
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(has_arrived(&in, 2, n, n, got, before));
    free(sent);
    free(got);
    drop(&out);
    drop(&in);
}

/* A pair has a gap that does not travel, and matches a struct of the two. */
static void pairs(void)
{
    enum { N = 300 };
    struct pair {
        double value;
        int index;
    } out[N];
    struct apart {
        int index;
        double value;
    } in[N];
    const MPI_Aint places[] = {offsetof(struct apart, value),
                               offsetof(struct apart, index)};
    const MPI_Datatype types[] = {MPI_DOUBLE, MPI_INT};
    MPI_Datatype type;
    MPI_Status status;
    int count = -1;

    for (int i = 0; i < N; i++) {
        out[i] = (struct pair){i + rank * 0.5, i - rank};
    }
    OK(MPI_Type_create_struct(2, (int[]){1, 1}, places, types, &type));
    OK(MPI_Type_commit(&type));
    OK(MPI_Sendrecv(out, N, MPI_DOUBLE_INT, next, 4, in, N, type, before, 4,
                    MPI_COMM_WORLD, &status));
    for (int i = 0; i < N; i++) {
        CHECK(in[i].value == i + before * 0.5 && in[i].index == i - before);
    }
    OK(MPI_Get_count(&status, MPI_DOUBLE_INT, &count));
    CHECK(count == N);
    OK(MPI_Get_elements(&status, MPI_DOUBLE_INT, &count));
    CHECK(count == 2 * N);
    OK(MPI_Type_free(&type));
}

static void collectives(int n)
{
    struct layout l = make(2, n);
    MPI_Datatype part = l.type;
    int *mine = malloc((size_t)n * 2 * sizeof(int));
    int *all = malloc((size_t)n * 2 * sizeof(int) * (size_t)size);
    int *dense = malloc((size_t)n * sizeof(int) * (size_t)size);

    for (int i = 0; i < n; i++) {
        mine[2 * i] = value(rank, i);
        mine[2 * i + 1] = -9;
    }
    OK(MPI_Allgather(mine, n, part, dense, n, MPI_INT, MPI_COMM_WORLD));
    memset(all, 0, (size_t)n * 2 * sizeof(int) * (size_t)size);
    OK(MPI_Allgather(mine, n, part, all, n, part, MPI_COMM_WORLD));
    for (int i = 0; i < n * size; i++) {
        CHECK(dense[i] == value(i / n, i % n));
        CHECK(all[2 * i] == dense[i] && all[2 * i + 1] == 0);
    }
    OK(MPI_Gather(mine, n, part, rank == 0 ? all : NULL, n, part, 0, MPI_COMM_WORLD));
    OK(MPI_Bcast(mine, n, part, size - 1, MPI_COMM_WORLD));
    for (int i = 0; i < n; i++) {
        CHECK(mine[2 * i] == value(size - 1, i) && mine[2 * i + 1] == -9);
    }
    for (int i = 0; i < n * size; i++) {
        all[2 * i] = rank * 100 + i / n;
        all[2 * i + 1] = -8;
    }
    OK(MPI_Alltoall(all, n, part, dense, n, MPI_INT, MPI_COMM_WORLD));
    OK(MPI_Alltoall(MPI_IN_PLACE, 0, MPI_INT, all, n, part, MPI_COMM_WORLD));
    for (int i = 0; i < n * size; i++) {
        CHECK(dense[i] == i / n * 100 + rank);
        CHECK(all[2 * i] == dense[i] && all[2 * i + 1] == -8);
    }
    free(mine);
    free(all);
    free(dense);
    drop(&l);
}

int main(int argc, char **argv)
{
    static const int sizes[] = {2, 6, 100, 1022, 1024, 1026, 5000, 20000, LARGEST};

    OK(MPI_Init(&argc, &argv));
    OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    next = (rank + 1) % size;
    before = (rank + size - 1) % size;
    for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
        for (int from = 0; from < LAYOUTS; from++) {
            for (int to = 0; to < LAYOUTS; to++) {
                if (sizes[s] < LARGEST || (from + to) % 3 == 1) {
                    ring(from, to, sizes[s]);
                }
            }
        }
    }
    freed_early();
    cancelled(100);
    cancelled(LARGEST);
    freed_requests(100);
    freed_requests(30000);
    freed_requests(LARGEST);
    partial(101);
    partial(30001);
    truncated(100);
    truncated(30000);
    pairs();
    collectives(3);
    collectives(5000);
    OK(MPI_Finalize());
    return 0;
}
