/* coll_reduce.c - chapter 6: elements combined, at the root or everywhere. */
#include "coll.h"

#include <unistd.h>

/* ---- one element in a number of types: what a rank has, what comes of all ---- */

/* Small numbers, so that sums are exact in every type; 0 now and then. */
static int element(int who, size_t i)
{
    return (int)((i + (size_t)call) % 7 + (size_t)who) % 5;
}

static int expected(MPI_Op op, size_t i)
{
    int value = element(0, i);

    for (int r = 1; r < size; r++) {
        const int other = element(r, i);

        if (op == MPI_SUM) {
            value += other;
        } else if (op == MPI_MAX) {
            value = value > other ? value : other;
        } else if (op == MPI_MIN) {
            value = value < other ? value : other;
        } else if (op == MPI_LAND) {
            value = value && other;
        } else if (op == MPI_BXOR) {
            value ^= other;
        }
    }
    return value;
}

#define KIND(name, type)                                                                 \
    static void put_##name(void *to, size_t i, int value)                                \
    {                                                                                    \
        ((type *)to)[i] = (type)value;                                                   \
    }                                                                                    \
    static bool is_##name(const void *from, size_t i, int value)                         \
    {                                                                                    \
        return ((const type *)from)[i] == (type)value;                                   \
    }

/* clang-format off: a list, without semicolons */
KIND(byte, unsigned char)
KIND(int, int)
KIND(long_long, long long)
KIND(float, float)
KIND(double, double)
KIND(long_double, long double)
KIND(complex, double _Complex)
/* clang-format on */

struct kind {
    MPI_Datatype type;
    size_t width;
    void (*put)(void *to, size_t i, int value);
    bool (*is)(const void *from, size_t i, int value);
    MPI_Op ops[5];
};

static const struct kind kinds[] = {
    {MPI_UNSIGNED_CHAR, 1, put_byte, is_byte, {MPI_SUM, MPI_MAX, MPI_BXOR}},
    {MPI_BYTE, 1, put_byte, is_byte, {MPI_BXOR}},
    {MPI_INT, sizeof(int), put_int, is_int, {MPI_SUM, MPI_MIN, MPI_LAND, MPI_BXOR}},
    {MPI_LONG_LONG, sizeof(long long), put_long_long, is_long_long, {MPI_SUM, MPI_MAX}},
    {MPI_FLOAT, sizeof(float), put_float, is_float, {MPI_SUM, MPI_MIN}},
    {MPI_DOUBLE, sizeof(double), put_double, is_double, {MPI_SUM, MPI_MAX, MPI_MIN}},
    {MPI_LONG_DOUBLE, sizeof(long double), put_long_double, is_long_double, {MPI_SUM}},
    {MPI_C_DOUBLE_COMPLEX, sizeof(double _Complex), put_complex, is_complex, {MPI_SUM}},
};

/* ---- a call, however it is made ---- */

enum way { REDUCE, REDUCE_C, ALLREDUCE, ALLREDUCE_C, WAYS };

static bool has_result(enum way way, int root)
{
    return way == ALLREDUCE || way == ALLREDUCE_C || rank == root;
}

static int run(enum way way, const void *send, void *recv, int count, MPI_Datatype type,
               MPI_Op op, int root)
{
    MPI_Comm w = MPI_COMM_WORLD;

    switch (way) {
    case REDUCE:
        return MPI_Reduce(send, recv, count, type, op, root, w);
    case REDUCE_C:
        return MPI_Reduce_c(send, recv, count, type, op, root, w);
    case ALLREDUCE:
        return MPI_Allreduce(send, recv, count, type, op, w);
    default:
        return MPI_Allreduce_c(send, recv, count, type, op, w);
    }
}

static void one_call(enum way way, const struct kind *kind, MPI_Op op, int count,
                     int root, bool is_in_place)
{
    const bool is_mine = has_result(way, root);
    const size_t bytes = (size_t)count * kind->width;
    unsigned char *send = make_buffer(bytes);
    unsigned char *recv = make_buffer(bytes);

    call++;
    for (size_t i = 0; i < (size_t)count; i++) {
        kind->put(send, i, element(rank, i));
        kind->put(recv, i, element(rank, i));
    }
    CHECK(run(way, is_in_place && is_mine ? MPI_IN_PLACE : send, is_mine ? recv : NULL,
              count, kind->type, op, root) == MPI_SUCCESS);
    for (size_t i = 0; i < (size_t)count; i++) {
        CHECK(!is_mine || kind->is(recv, i, expected(op, i)));
        CHECK(kind->is(send, i, element(rank, i)));
    }
    free_buffer(send, bytes);
    free_buffer(recv, bytes);
}

static void all_ways(const struct kind *kind, MPI_Op op, int count)
{
    for (int root = 0; root < size; root++) {
        one_call(root % 2 == 0 ? REDUCE : REDUCE_C, kind, op, count, root, false);
        one_call(root % 2 == 0 ? REDUCE_C : REDUCE, kind, op, count, root, true);
    }
    one_call(ALLREDUCE, kind, op, count, 0, false);
    one_call(ALLREDUCE_C, kind, op, count, 0, true);
}

static void numbers(void)
{
    for (size_t k = 0; k < LENGTH(kinds); k++) {
        for (int o = 0; o < 5 && kinds[k].ops[o] != NULL; o++) {
            for (size_t c = 0; c < LENGTH(counts); c++) {
                all_ways(&kinds[k], kinds[k].ops[o], counts[c]);
            }
        }
    }
}

/* ---- places ---- */

struct place {
    double value;
    int index;
};

/* Of values that go round, and of values that are all the same. */
static void places(int root)
{
    enum { COUNT = 1000 };
    static struct place send[COUNT];
    static struct place recv[COUNT];

    for (int i = 0; i < COUNT; i++) {
        send[i] = (struct place){i % 3 == 0 ? 4.5 : (i + rank) % size, rank};
    }
    CHECK(MPI_Reduce(send, recv, COUNT, MPI_DOUBLE_INT, MPI_MAXLOC, root,
                     MPI_COMM_WORLD) == MPI_SUCCESS);
    for (int i = 0; rank == root && i < COUNT; i++) {
        const int highest = ((size - 1 - i) % size + size) % size;

        CHECK(recv[i].value == (i % 3 == 0 ? 4.5 : size - 1));
        CHECK(recv[i].index == (i % 3 == 0 ? 0 : highest));
    }
    CHECK(MPI_Allreduce(send, recv, COUNT, MPI_DOUBLE_INT, MPI_MINLOC, MPI_COMM_WORLD) ==
          MPI_SUCCESS);
    for (int i = 0; i < COUNT; i++) {
        const int lowest = (size - i % size) % size;

        CHECK(recv[i].value == (i % 3 == 0 ? 4.5 : 0));
        CHECK(recv[i].index == (i % 3 == 0 ? 0 : lowest));
    }
}

/* ---- the same bits, whoever comes late ---- */

static void same_bits_every_time(void)
{
    enum { COUNT = 100, ROUNDS = 20 };
    float send[COUNT];
    float first[COUNT];
    float all[COUNT];
    float got[COUNT];
    const int root = size - 1;

    for (int i = 0; i < COUNT; i++) { /* sums that rounding makes depend on their order */
        send[i] = 1.0f / (float)(1 + i + rank * 17) * (rank % 2 == 0 ? 1e6f : 1.0f);
    }
    for (int round = 0; round < ROUNDS; round++) {
        usleep((useconds_t)((rank * 7 + round * 13) % 5 * 300));
        CHECK(MPI_Reduce(send, got, COUNT, MPI_FLOAT, MPI_SUM, root, MPI_COMM_WORLD) ==
              MPI_SUCCESS);
        if (round == 0) {
            memcpy(first, got, sizeof(got));
        }
        CHECK(rank != root || memcmp(first, got, sizeof(got)) == 0);
    }
    CHECK(MPI_Allreduce(send, got, COUNT, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD) ==
          MPI_SUCCESS);
    memcpy(all, got, sizeof(got));
    CHECK(MPI_Bcast(all, COUNT, MPI_FLOAT, root, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(memcmp(all, got, sizeof(got)) == 0);
}

static void many_in_a_row(void)
{
    enum { CALLS = 1000 };

    for (int i = 0; i < CALLS; i++) {
        const int root = i / 50 % size;
        const int mine = i + rank;
        const int wanted = i * size + size * (size - 1) / 2;
        int sum = -1;

        CHECK(MPI_Reduce(&mine, &sum, 1, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD) ==
              MPI_SUCCESS);
        CHECK(sum == (rank == root ? wanted : -1));
        if (i % 10 == 0) {
            CHECK(MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD) ==
                  MPI_SUCCESS);
            CHECK(sum == wanted);
        }
    }
}

/* ---- errors ---- */

/* Those that every way has. `root` is this rank, where there is one. */
static void errors(enum way way)
{
    int a = 0;
    int b = 0;

    IS_ERROR(run(way, &a, &b, -1, MPI_INT, MPI_SUM, rank), MPI_ERR_COUNT);
    IS_ERROR(run(way, &a, &b, 1, MPI_DATATYPE_NULL, MPI_SUM, rank), MPI_ERR_TYPE);
    IS_ERROR(run(way, NULL, &b, 1, MPI_INT, MPI_SUM, rank), MPI_ERR_BUFFER);
    IS_ERROR(run(way, &a, NULL, 1, MPI_INT, MPI_SUM, rank), MPI_ERR_BUFFER);
    IS_ERROR(run(way, &a, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM, rank), MPI_ERR_BUFFER);
    IS_ERROR(run(way, &a, &a, 1, MPI_INT, MPI_SUM, rank), MPI_ERR_BUFFER);
    IS_ERROR(run(way, &a, &b, 1, MPI_INT, MPI_OP_NULL, rank), MPI_ERR_OP);
    IS_ERROR(run(way, &a, &b, 1, MPI_INT, MPI_REPLACE, rank), MPI_ERR_OP);
    IS_ERROR(run(way, &a, &b, 1, MPI_INT, MPI_NO_OP, rank), MPI_ERR_OP);
    IS_ERROR(run(way, &a, &b, 1, MPI_INT, (MPI_Op)&a, rank), MPI_ERR_OP);
    IS_ERROR(run(way, &a, &b, 1, MPI_INT, MPI_MINLOC, rank), MPI_ERR_OP);
    IS_ERROR(run(way, &a, &b, 1, MPI_FLOAT, MPI_BAND, rank), MPI_ERR_OP);
    IS_ERROR(run(way, &a, &b, 1, MPI_FLOAT, MPI_LOR, rank), MPI_ERR_OP);
    IS_ERROR(run(way, &a, &b, 1, MPI_BYTE, MPI_SUM, rank), MPI_ERR_OP);
    IS_ERROR(run(way, &a, &b, 1, MPI_C_BOOL, MPI_MAX, rank), MPI_ERR_OP);
    IS_ERROR(run(way, &a, &b, 1, MPI_CHAR, MPI_SUM, rank), MPI_ERR_OP);
    IS_ERROR(run(way, &a, &b, 0, MPI_INT, MPI_OP_NULL, rank), MPI_ERR_OP);
}

/* Predefined operations know no derived types, whatever their size. */
static void derived_types(enum way way)
{
    static const MPI_Op ops[] = {MPI_SUM, MPI_MINLOC, MPI_BAND};
    static double a[256];
    static double b[256];

    for (int n = 0; n <= 256; n = n == 0 ? 1 : 2 * n) {
        MPI_Datatype type;

        CHECK(MPI_Type_contiguous(n, MPI_DOUBLE, &type) == MPI_SUCCESS);
        CHECK(MPI_Type_commit(&type) == MPI_SUCCESS);
        for (size_t o = 0; o < sizeof(ops) / sizeof(ops[0]); o++) {
            IS_ERROR(run(way, a, b, 1, type, ops[o], rank), MPI_ERR_OP);
        }
        CHECK(MPI_Type_free(&type) == MPI_SUCCESS);
    }
}

static void other_errors(void)
{
    MPI_Comm w = MPI_COMM_WORLD;
    int a = 0;
    int b = 0;

    IS_ERROR(MPI_Reduce(&a, &b, 1, MPI_INT, MPI_SUM, -1, w), MPI_ERR_ROOT);
    IS_ERROR(MPI_Reduce(&a, &b, 1, MPI_INT, MPI_SUM, size, w), MPI_ERR_ROOT);
    IS_ERROR(MPI_Reduce(&a, &b, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_NULL), MPI_ERR_COMM);
    IS_ERROR(MPI_Allreduce(&a, &b, 1, MPI_INT, MPI_SUM, MPI_COMM_NULL), MPI_ERR_COMM);
    if (size > 1) { /* in place is for the root */
        IS_ERROR(MPI_Reduce(MPI_IN_PLACE, &b, 1, MPI_INT, MPI_SUM, (rank + 1) % size, w),
                 MPI_ERR_BUFFER);
    }
}

int main(int argc, char **argv)
{
    int sum = -1;

    begin(&argc, &argv);
    numbers();
    for (int root = 0; root < size; root++) {
        places(root);
    }
    same_bits_every_time();
    many_in_a_row();
    CHECK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF) == MPI_SUCCESS);
    CHECK(sum == rank);
    CHECK(MPI_Allreduce(NULL, NULL, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD) == MPI_SUCCESS);
    return_errors();
    for (int way = 0; way < WAYS; way++) {
        errors((enum way)way);
        derived_types((enum way)way);
    }
    other_errors();
    return MPI_Finalize();
}
