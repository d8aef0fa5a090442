/*
 * operation.c - operations of the user: on types with gaps, with large counts, freed
 * while they are used; MPI_Reduce_local; what is refused.
 */
#include "check.h"

enum { COUNT = 100, LONG = 3000 };

static int rank;
static int size;
static int calls;

/* Numbers lie at every second place; the first operand is the lower rank's. Its digits
 * are put before the others: this is associative, as MPI demands, but does not commute.
 */
static void join_digits(void *in, void *inout, int *length, MPI_Datatype *type)
{
    const int *a = in;
    int *b = inout;
    int bytes;

    calls++;
    CHECK(MPI_Type_size(*type, &bytes) == MPI_SUCCESS && bytes == (int)sizeof(int));
    for (int i = 0; i < *length; i++) {
        int scale = 10;

        while (scale <= b[2 * i]) {
            scale *= 10;
        }
        b[2 * i] += scale * a[2 * i];
    }
}

static void add_large(void *in, void *inout, MPI_Count *length, MPI_Datatype *type)
{
    const long long *a = in;
    long long *b = inout;

    calls++;
    CHECK(*type == MPI_LONG_LONG);
    for (MPI_Count i = 0; i < *length; i++) {
        b[i] += a[i];
    }
}

static MPI_Datatype make_sparse(void)
{
    MPI_Datatype sparse;

    CHECK(MPI_Type_create_resized(MPI_INT, 0, 2 * (MPI_Aint)sizeof(int), &sparse) ==
          MPI_SUCCESS);
    CHECK(MPI_Type_commit(&sparse) == MPI_SUCCESS);
    return sparse;
}

/* Type, operation and communicator are freed while the operation is under way. */
static void freed_while_used(void)
{
    MPI_Datatype sparse = make_sparse();
    MPI_Comm comm;
    MPI_Request request;
    MPI_Op op;
    static int in[2 * LONG];
    static int out[2 * LONG];
    int commute = 1;

    CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &comm) == MPI_SUCCESS);
    CHECK(MPI_Op_create(join_digits, 0, &op) == MPI_SUCCESS);
    CHECK(MPI_Op_commutative(op, &commute) == MPI_SUCCESS && !commute);
    for (int i = 0; i < 2 * LONG; i++) {
        in[i] = i % 2 == 0 ? rank + 1 : -7;
        out[i] = -9;
    }
    CHECK(MPI_Iscan(in, out, LONG, sparse, op, comm, &request) == MPI_SUCCESS);
    CHECK(MPI_Type_free(&sparse) == MPI_SUCCESS);
    CHECK(MPI_Op_free(&op) == MPI_SUCCESS && op == MPI_OP_NULL);
    CHECK(MPI_Comm_free(&comm) == MPI_SUCCESS);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    for (int i = 0; i < LONG; i++) {
        int expected = 1;

        for (int r = 1; r <= rank; r++) {
            expected = 10 * expected + r + 1;
        }
        CHECK(out[2 * i] == expected && out[2 * i + 1] == -9);
    }
    CHECK(rank == 0 || calls > 0);
}

static void large(void)
{
    long long in[COUNT];
    long long out[COUNT];
    MPI_Op op;

    calls = 0;
    CHECK(MPI_Op_create_c(add_large, 1, &op) == MPI_SUCCESS);
    for (int i = 0; i < COUNT; i++) {
        in[i] = rank * COUNT + i;
    }
    CHECK(MPI_Allreduce_c(in, out, COUNT, MPI_LONG_LONG, op, MPI_COMM_WORLD) ==
          MPI_SUCCESS);
    for (int i = 0; i < COUNT; i++) {
        CHECK(out[i] == (long long)size * (size - 1) / 2 * COUNT + (long long)size * i);
    }
    CHECK(MPI_Reduce_local_c(in, out, COUNT, MPI_LONG_LONG, op) == MPI_SUCCESS);
    CHECK(calls > 0);
    CHECK(MPI_Op_free(&op) == MPI_SUCCESS);
}

static void local(void)
{
    double in[COUNT];
    double out[COUNT];

    for (int i = 0; i < COUNT; i++) {
        in[i] = i;
        out[i] = 2 * i;
    }
    CHECK(MPI_Reduce_local(in, out, COUNT, MPI_DOUBLE, MPI_SUM) == MPI_SUCCESS);
    for (int i = 0; i < COUNT; i++) {
        CHECK(out[i] == 3 * i);
    }
    CHECK(MPI_Reduce_local(NULL, NULL, 0, MPI_DOUBLE, MPI_SUM) == MPI_SUCCESS);
}

static void predefined(void)
{
    int commute = 0;

    CHECK(MPI_Op_commutative(MPI_SUM, &commute) == MPI_SUCCESS && commute);
    CHECK(MPI_Op_commutative(MPI_REPLACE, &commute) == MPI_SUCCESS && !commute);
}

static void refused(void)
{
    MPI_Op op = MPI_SUM;
    MPI_Op user;
    MPI_Op stale;
    int commute;
    int word = 0;
    int sum = 0;

    CHECK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    IS_ERROR(MPI_Op_free(&op), MPI_ERR_OP);
    op = MPI_OP_NULL;
    IS_ERROR(MPI_Op_free(&op), MPI_ERR_OP);
    IS_ERROR(MPI_Op_commutative(MPI_OP_NULL, &commute), MPI_ERR_OP);
    IS_ERROR(MPI_Op_create(NULL, 1, &op), MPI_ERR_ARG);
    CHECK(MPI_Op_create(join_digits, 1, &user) == MPI_SUCCESS);
    stale = user;
    CHECK(MPI_Op_free(&user) == MPI_SUCCESS);
    IS_ERROR(MPI_Allreduce(&word, &sum, 1, MPI_INT, stale, MPI_COMM_WORLD), MPI_ERR_OP);
    IS_ERROR(MPI_Allreduce(&word, &sum, 1, MPI_INT, MPI_REPLACE, MPI_COMM_WORLD),
             MPI_ERR_OP);
    IS_ERROR(MPI_Reduce_local(&word, &sum, 1, MPI_FLOAT, MPI_BAND), MPI_ERR_OP);
    IS_ERROR(MPI_Reduce_local(&word, &sum, -1, MPI_INT, MPI_SUM), MPI_ERR_COUNT);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size <= 8) { /* the numbers fit */
        freed_while_used();
    }
    large();
    local();
    predefined();
    refused();
    MPI_Finalize();
    return 0;
}
