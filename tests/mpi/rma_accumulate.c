/*
 * rma_accumulate.c - chapter 12.3.4: accumulates of every predefined operation on every
 * type that it is for; what they fetch; from many ranks at once, and in order.
 */
#include "rma.h"

enum { COUNT = 5 };

static int rank;
static int size;

/* ---- types and operations ---- */

enum family { INTEGER, REAL, COMPLEX, LOGICAL, BYTES, PAIR };

enum { F_INT, F_FLOAT, F_DOUBLE, F_LONG_DOUBLE }; /* how a number is stored */

static const struct row {
    MPI_Datatype type;
    enum family family;
    int store;    /* of reals, complex numbers and pairs */
    size_t width; /* of the number */
    size_t place; /* of a pair's second part */
} rows[] = {
    {MPI_SIGNED_CHAR, INTEGER, F_INT, 1, 0},
    {MPI_UNSIGNED_CHAR, INTEGER, F_INT, 1, 0},
    {MPI_SHORT, INTEGER, F_INT, sizeof(short), 0},
    {MPI_UNSIGNED_SHORT, INTEGER, F_INT, sizeof(short), 0},
    {MPI_INT, INTEGER, F_INT, sizeof(int), 0},
    {MPI_UNSIGNED, INTEGER, F_INT, sizeof(int), 0},
    {MPI_LONG, INTEGER, F_INT, sizeof(long), 0},
    {MPI_UNSIGNED_LONG, INTEGER, F_INT, sizeof(long), 0},
    {MPI_LONG_LONG, INTEGER, F_INT, sizeof(long long), 0},
    {MPI_UNSIGNED_LONG_LONG, INTEGER, F_INT, sizeof(long long), 0},
    {MPI_INT8_T, INTEGER, F_INT, 1, 0},
    {MPI_INT16_T, INTEGER, F_INT, 2, 0},
    {MPI_INT32_T, INTEGER, F_INT, 4, 0},
    {MPI_INT64_T, INTEGER, F_INT, 8, 0},
    {MPI_UINT8_T, INTEGER, F_INT, 1, 0},
    {MPI_UINT16_T, INTEGER, F_INT, 2, 0},
    {MPI_UINT32_T, INTEGER, F_INT, 4, 0},
    {MPI_UINT64_T, INTEGER, F_INT, 8, 0},
    {MPI_AINT, INTEGER, F_INT, sizeof(MPI_Aint), 0},
    {MPI_OFFSET, INTEGER, F_INT, sizeof(MPI_Offset), 0},
    {MPI_COUNT, INTEGER, F_INT, sizeof(MPI_Count), 0},
    {MPI_FLOAT, REAL, F_FLOAT, sizeof(float), 0},
    {MPI_DOUBLE, REAL, F_DOUBLE, sizeof(double), 0},
    {MPI_LONG_DOUBLE, REAL, F_LONG_DOUBLE, sizeof(long double), 0},
    {MPI_C_FLOAT_COMPLEX, COMPLEX, F_FLOAT, sizeof(float), 0},
    {MPI_C_DOUBLE_COMPLEX, COMPLEX, F_DOUBLE, sizeof(double), 0},
    {MPI_C_LONG_DOUBLE_COMPLEX, COMPLEX, F_LONG_DOUBLE, sizeof(long double), 0},
    {MPI_C_BOOL, LOGICAL, F_INT, sizeof(_Bool), 0},
    {MPI_BYTE, BYTES, F_INT, 1, 0},
    {MPI_2INT, PAIR, F_INT, sizeof(int), 4},
    {MPI_FLOAT_INT, PAIR, F_FLOAT, sizeof(float), 4},
    {MPI_DOUBLE_INT, PAIR, F_DOUBLE, sizeof(double), 8},
    {MPI_LONG_INT, PAIR, F_INT, sizeof(long), 8},
    {MPI_SHORT_INT, PAIR, F_INT, sizeof(short), 4},
    {MPI_LONG_DOUBLE_INT, PAIR, F_LONG_DOUBLE, sizeof(long double), 16},
};

enum op {
    SUM,
    PROD,
    MAX,
    MIN,
    LAND,
    LOR,
    LXOR,
    BAND,
    BOR,
    BXOR,
    MAXLOC,
    MINLOC,
    REPLACE,
    NO_OP
};

static const struct {
    MPI_Op op;
    unsigned families; /* a bit for each */
} ops[] = {
    [SUM] = {MPI_SUM, 1u << INTEGER | 1u << REAL | 1u << COMPLEX},
    [PROD] = {MPI_PROD, 1u << INTEGER | 1u << REAL | 1u << COMPLEX},
    [MAX] = {MPI_MAX, 1u << INTEGER | 1u << REAL},
    [MIN] = {MPI_MIN, 1u << INTEGER | 1u << REAL},
    [LAND] = {MPI_LAND, 1u << INTEGER | 1u << LOGICAL},
    [LOR] = {MPI_LOR, 1u << INTEGER | 1u << LOGICAL},
    [LXOR] = {MPI_LXOR, 1u << INTEGER | 1u << LOGICAL},
    [BAND] = {MPI_BAND, 1u << INTEGER | 1u << BYTES},
    [BOR] = {MPI_BOR, 1u << INTEGER | 1u << BYTES},
    [BXOR] = {MPI_BXOR, 1u << INTEGER | 1u << BYTES},
    [MAXLOC] = {MPI_MAXLOC, 1u << PAIR},
    [MINLOC] = {MPI_MINLOC, 1u << PAIR},
    [REPLACE] = {MPI_REPLACE, ~0u},
    [NO_OP] = {MPI_NO_OP, ~0u},
};

enum { ROWS = LENGTH(rows), OPS = LENGTH(ops), PLACE = 2 * COUNT * 32 };

static bool is_for(int o, int r)
{
    return (ops[o].families >> rows[r].family & 1u) != 0;
}

static size_t extent(int r)
{
    MPI_Aint lower = -1;
    MPI_Aint bytes = 0;

    DONE(MPI_Type_get_extent(rows[r].type, &lower, &bytes));
    CHECK(lower == 0 && bytes > 0 && bytes <= 32);
    return (size_t)bytes;
}

/* ---- numbers of every type ---- */

static void store_number(const struct row *row, void *to, int number)
{
    const int64_t integer = number;
    const float small = (float)number;
    const double middle = number;
    const long double large = number;

    if (row->store == F_INT) { /* little-endian, as the machines Weft runs on */
        memcpy(to, &integer, row->width);
    } else if (row->store == F_FLOAT) {
        memcpy(to, &small, sizeof(small));
    } else if (row->store == F_DOUBLE) {
        memcpy(to, &middle, sizeof(middle));
    } else {
        memcpy(to, &large, 10); /* the rest is padding */
    }
}

static void store(int r, char *to, int number)
{
    const struct row *row = &rows[r];

    number = row->family == LOGICAL ? number & 1 : number;
    store_number(row, to, number);
    if (row->family == COMPLEX) {
        store_number(row, to + row->width, number / 2);
    } else if (row->family == PAIR) {
        memcpy(to + row->place, &(int){number % 3}, sizeof(int));
    }
}

static size_t bytes_of(const struct row *row)
{
    return row->store == F_LONG_DOUBLE ? 10 : row->width;
}

static bool is_same(int r, const char *a, const char *b)
{
    const struct row *row = &rows[r];

    if (memcmp(a, b, bytes_of(row)) != 0) {
        return false;
    }
    return (row->family != COMPLEX ||
            memcmp(a + row->width, b + row->width, bytes_of(row)) == 0) &&
           (row->family != PAIR ||
            memcmp(a + row->place, b + row->place, sizeof(int)) == 0);
}

/* Small numbers, so that every product and sum is exact. */
static int number_of(int who, int r, int o, int i)
{
    return 1 + (who * 5 + r * 3 + o * 7 + i * 2) % 9;
}

/* What an operation leaves of one element. */
static void apply(int r, int o, char *in, char *inout)
{
    if (o == REPLACE) {
        memcpy(inout, in, extent(r));
    } else if (o != NO_OP) {
        DONE(MPI_Reduce_local(in, inout, 1, rows[r].type, ops[o].op));
    }
}

/* ---- every operation on every type ---- */

/* Calls of one kind, and a stride: 2 means that only every second element is meant, by a
 * derived type at the target. */
enum call { ACCUMULATE, GET_ACCUMULATE, FETCH_AND_OP, CALLS };

static char *place_of(char *memory, int r, int o)
{
    return memory + (size_t)(r * OPS + o) * PLACE;
}

static void fill(char *memory, int who)
{
    memset(memory, 0, (size_t)ROWS * OPS * PLACE);
    for (int r = 0; r < (int)ROWS; r++) {
        for (int o = 0; o < (int)OPS; o++) {
            for (int i = 0; i < 2 * COUNT; i++) {
                store(r, place_of(memory, r, o) + (size_t)i * extent(r),
                      number_of(who, r, o, i));
            }
        }
    }
}

static MPI_Datatype every(int stride, MPI_Datatype type)
{
    MPI_Datatype made;

    DONE(MPI_Type_vector(COUNT, 1, stride, type, &made));
    DONE(MPI_Type_commit(&made));
    return made;
}

static void call_one(const struct window *w, int to, int r, int o, enum call call,
                     int stride, char *out, char *in)
{
    const MPI_Aint there = at(w, to, (MPI_Aint)(r * OPS + o) * PLACE);
    char *from = place_of(out, r, o);
    char *back = place_of(in, r, o);
    MPI_Datatype type = rows[r].type;
    MPI_Datatype spread = every(stride, type);

    if (call == ACCUMULATE) {
        DONE(MPI_Accumulate(from, COUNT, type, to, there, 1, spread, ops[o].op, w->win));
    } else if (call == GET_ACCUMULATE) {
        DONE(MPI_Get_accumulate(o == NO_OP ? NULL : from, o == NO_OP ? 0 : COUNT,
                                o == NO_OP ? MPI_BYTE : type, back, 1, spread, to, there,
                                1, spread, ops[o].op, w->win));
    } else {
        DONE(MPI_Fetch_and_op(o == NO_OP ? NULL : from, back, type, to, there, ops[o].op,
                              w->win));
    }
    DONE(MPI_Type_free(&spread));
}

static void is_element(const char *what, int r, int o, int i, const char *found,
                       const char *expected)
{
    if (!is_same(r, found, expected)) {
        char name[MPI_MAX_OBJECT_NAME];
        int length;

        DONE(MPI_Type_get_name(rows[r].type, name, &length));
        fprintf(stderr, "%s of %s, operation %d: element %d differs\n", what, name, o, i);
        CHECK(is_same(r, found, expected));
    }
}

/* This rank's memory has what `from` has done, and what came back is what was there. */
static void check_one(struct window *w, int r, int o, enum call call, int stride,
                      char *before, char *out, char *in)
{
    const size_t step = extent(r);
    const int elements = call == FETCH_AND_OP ? 1 : COUNT;

    for (int i = 0; i < 2 * COUNT; i++) {
        const bool is_meant = i % stride == 0 && i / stride < elements;
        char *expected = place_of(before, r, o) + (size_t)i * step;

        if (is_meant) {
            apply(r, o, place_of(out, r, o) + (size_t)(i / stride) * step, expected);
        }
        is_element("what is left", r, o, i, place_of(w->base, r, o) + (size_t)i * step,
                   expected);
        if (is_meant && call != ACCUMULATE) { /* what the next rank had */
            char was[32] = {0};

            store(r, was, number_of((rank + 1) % size, r, o, i));
            is_element("what is fetched", r, o, i, place_of(in, r, o) + (size_t)i * step,
                       was);
        }
    }
}

static bool is_called(int r, int o, enum call call)
{
    return is_for(o, r) && (call != ACCUMULATE || o != NO_OP);
}

static void every_operation(struct window *w, enum how how, enum call call, int stride)
{
    const size_t all = (size_t)ROWS * OPS * PLACE;
    const int to = (rank + 1) % size;
    const int from = (rank + size - 1) % size;
    char *before = malloc(all);
    char *out = malloc(all);
    char *in = calloc(1, all);

    CHECK(before != NULL && out != NULL && in != NULL);
    fill(w->base, rank);
    fill(before, rank);
    fill(out, rank + 100);
    open_all(w, how);
    open_one(w, how, to);
    for (int r = 0; r < (int)ROWS; r++) {
        for (int o = 0; o < (int)OPS; o++) {
            if (is_called(r, o, call)) {
                call_one(w, to, r, o, call, stride, out, in);
            }
        }
    }
    close_one(w, how, to);
    close_all(w, how);
    fill(out, from + 100);
    for (int r = 0; r < (int)ROWS; r++) {
        for (int o = 0; o < (int)OPS; o++) {
            if (is_called(r, o, call)) {
                check_one(w, r, o, call, call == FETCH_AND_OP ? 1 : stride, before, out,
                          in);
            }
        }
    }
    DONE(MPI_Barrier(w->comm));
    free(before);
    free(out);
    free(in);
}

static void all_operations(void)
{
    for (enum kind kind = CREATED; kind < KINDS; kind++) {
        struct window w = make_window(kind, (MPI_Aint)ROWS * OPS * PLACE, 1);

        CHECK(w.size == size || kind == SHARED);
        for (enum call call = ACCUMULATE; w.size == size && call < CALLS; call++) {
            every_operation(&w, (enum how)((int)call * 2 % WAYS), call, 1);
            every_operation(&w, (enum how)((int)(call * 2 + 1) % WAYS), call, 2);
        }
        free_window(&w);
    }
}

/* ---- compare and swap ---- */

static void swaps(void)
{
    struct window w = make_window(ALLOCATED, ROWS * 32, 1);
    char had[32];
    char compare[32];
    char fresh[32];

    for (int r = 0; r < (int)ROWS; r++) {
        const enum family family = rows[r].family;
        const int to = (rank + 1) % size;

        if (family != INTEGER && family != LOGICAL && family != BYTES) {
            continue;
        }
        for (int is_equal = 0; is_equal < 2; is_equal++) {
            const int old = family == LOGICAL ? 0 : 7;

            memset(had, 0x55, sizeof(had));
            store(r, w.base + 32 * r, old);
            store(r, compare, is_equal ? old : old + 1);
            store(r, fresh, old + 3);
            open_all(&w, LOCK_ALL);
            DONE(MPI_Compare_and_swap(fresh, compare, had, rows[r].type, to,
                                      at(&w, to, 32 * r), w.win));
            close_all(&w, LOCK_ALL);
            store(r, compare, old);
            is_element("swapped out", r, -1, is_equal, had, compare);
            CHECK(had[rows[r].width] == 0x55);
            store(r, compare, is_equal ? old + 3 : old);
            is_element("swapped in", r, -1, is_equal, w.base + 32 * r, compare);
            DONE(MPI_Barrier(w.comm));
        }
    }
    free_window(&w);
}

/* ---- all ranks at once ---- */

enum { ROUNDS = 200, CELLS = 64 };

/* Every rank adds to overlapping ranges of every rank's counters. */
static void sums(enum kind kind, enum how how)
{
    struct window w = make_window(kind, CELLS * sizeof(long), sizeof(long));
    long ones[CELLS];
    long *memory = (long *)(void *)w.base;
    long expected[CELLS] = {0};

    for (int i = 0; i < CELLS; i++) {
        ones[i] = i + 1;
    }
    open_all(&w, how);
    for (int turn = 0; turn < ROUNDS; turn++) {
        const int target = (w.rank + turn) % w.size;
        const int start = turn % 7;
        const int count = 1 + (turn * 5) % (CELLS - 7);

        open_one(&w, how, target);
        DONE(MPI_Accumulate(ones, count, MPI_LONG, target, at(&w, target, 8 * start),
                            count, MPI_LONG, MPI_SUM, w.win));
        close_one(&w, how, target);
    }
    close_all(&w, how);
    for (int origin = 0; origin < w.size; origin++) {
        for (int turn = 0; turn < ROUNDS; turn++) {
            for (int i = 0;
                 (origin + turn) % w.size == w.rank && i < 1 + (turn * 5) % (CELLS - 7);
                 i++) {
                expected[turn % 7 + i] += i + 1;
            }
        }
    }
    CHECK(memcmp(memory, expected, sizeof(expected)) == 0);
    DONE(MPI_Barrier(w.comm));
    free_window(&w);
}

/* Tickets of one counter: each is handed out once. Half are drawn by MPI_Fetch_and_op,
 * half by MPI_Get_accumulate. */
static void tickets(enum kind kind)
{
    struct window w = make_window(kind, 64, sizeof(int));
    int *taken = calloc((size_t)w.size * ROUNDS, sizeof(int));
    const int home = w.size - 1;
    int last = -1;

    CHECK(taken != NULL);
    open_all(&w, LOCK_ALL);
    for (int i = 0; i < ROUNDS; i++) {
        int mine = -1;

        if (i % 2 == 0) {
            DONE(MPI_Fetch_and_op(&(int){1}, &mine, MPI_INT, home, at(&w, home, 0),
                                  MPI_SUM, w.win));
        } else {
            DONE(MPI_Get_accumulate(&(int){1}, 1, MPI_INT, &mine, 1, MPI_INT, home,
                                    at(&w, home, 0), 1, MPI_INT, MPI_SUM, w.win));
        }
        DONE(MPI_Win_flush(home, w.win));
        CHECK(mine > last && mine < w.size * ROUNDS);
        last = mine;
        taken[mine]++;
    }
    close_all(&w, LOCK_ALL);
    DONE(MPI_Allreduce(MPI_IN_PLACE, taken, w.size * ROUNDS, MPI_INT, MPI_SUM, w.comm));
    for (int i = 0; i < w.size * ROUNDS; i++) {
        CHECK(taken[i] == 1);
    }
    free(taken);
    free_window(&w);
}

/* A counter that all raise by compare and swap, with atomic reads between. */
static void raised(enum kind kind)
{
    struct window w = make_window(kind, 64, sizeof(int64_t));
    int64_t seen = 0;

    open_all(&w, LOCK_ALL);
    for (int i = 0; i < ROUNDS / 4; i++) {
        int64_t had = -1;

        DONE(MPI_Fetch_and_op(NULL, &seen, MPI_INT64_T, 0, at(&w, 0, 0), MPI_NO_OP,
                              w.win));
        DONE(MPI_Win_flush(0, w.win));
        for (;;) {
            const int64_t next = seen + 3;

            DONE(MPI_Compare_and_swap(&next, &seen, &had, MPI_INT64_T, 0, at(&w, 0, 0),
                                      w.win));
            DONE(MPI_Win_flush(0, w.win));
            if (had == seen) {
                break;
            }
            CHECK(had > seen && had % 3 == 0);
            seen = had;
        }
    }
    close_all(&w, LOCK_ALL);
    CHECK(w.rank != 0 ||
          *(int64_t *)(void *)w.base == (int64_t)3 * w.size * (ROUNDS / 4));
    DONE(MPI_Barrier(w.comm));
    free_window(&w);
}

/* The largest of all numbers, and who had it; several at the same place at once. */
static void largest(void)
{
    struct number {
        double value;
        int place;
    };
    struct window w =
        make_window(CREATED, 8 * sizeof(struct number), sizeof(struct number));
    struct number *memory = (struct number *)(void *)w.base;

    for (int i = 0; i < 8; i++) {
        memory[i] = (struct number){-1, -1};
    }
    open_all(&w, LOCK_SHARED);
    for (int target = 0; target < size; target++) {
        struct number mine[8];

        for (int i = 0; i < 8; i++) {
            mine[i] = (struct number){(rank * 3 + i) % size, rank};
        }
        open_one(&w, LOCK_SHARED, target);
        DONE(MPI_Accumulate(mine, 8, MPI_DOUBLE_INT, target, at(&w, target, 0), 8,
                            MPI_DOUBLE_INT, MPI_MAXLOC, w.win));
        close_one(&w, LOCK_SHARED, target);
    }
    close_all(&w, LOCK_SHARED);
    for (int i = 0; i < 8; i++) {
        struct number best = {-1, -1};

        for (int r = 0; r < size; r++) {
            if ((r * 3 + i) % size > best.value) {
                best = (struct number){(r * 3 + i) % size, r};
            }
        }
        CHECK(memory[i].value == best.value && memory[i].place == best.place);
    }
    DONE(MPI_Barrier(w.comm));
    free_window(&w);
}

/* ---- in order ---- */

/* Of one origin to one place, without a flush between: each read finds what was written
 * just before, and the last write stays. */
static void order(enum kind kind, int count)
{
    struct window w = make_window(kind, 4096 * sizeof(int), sizeof(int));
    const int to = (w.rank + 1) % w.size;
    int *out = malloc((size_t)(20 * count) * sizeof(int));
    int *in = malloc((size_t)(20 * count) * sizeof(int));

    CHECK(out != NULL && in != NULL && count <= 4096);
    open_all(&w, LOCK_ALL);
    for (int turn = 0; turn < 20; turn++) {
        for (int i = 0; i < count; i++) {
            out[turn * count + i] = w.rank * 100000 + turn * 4096 + i;
            in[turn * count + i] = -1;
        }
        DONE(MPI_Accumulate(out + turn * count, count, MPI_INT, to, at(&w, to, 0), count,
                            MPI_INT, MPI_REPLACE, w.win));
        if (turn % 3 != 0) {
            DONE(MPI_Get_accumulate(NULL, 0, MPI_INT, in + turn * count, count, MPI_INT,
                                    to, at(&w, to, 0), count, MPI_INT, MPI_NO_OP, w.win));
        } else {
            DONE(MPI_Fetch_and_op(NULL, in + turn * count, MPI_INT, to, at(&w, to, 0),
                                  MPI_NO_OP, w.win));
        }
    }
    close_all(&w, LOCK_ALL);
    for (int turn = 0; turn < 20; turn++) {
        for (int i = 0; i < (turn % 3 != 0 ? count : 1); i++) {
            CHECK(in[turn * count + i] == out[turn * count + i]);
        }
    }
    for (int i = 0; i < count; i++) {
        CHECK(((int *)(void *)w.base)[i] ==
              (w.rank + w.size - 1) % w.size * 100000 + 19 * 4096 + i);
    }
    DONE(MPI_Barrier(w.comm));
    free(out);
    free(in);
    free_window(&w);
}

/* ---- nothing, and much ---- */

static void nothing(enum how how)
{
    struct window w = make_window(ALLOCATED, 64, 1);
    int in = 5;
    const int one = 1;

    open_all(&w, how);
    for (int target = 0; target < size; target++) {
        open_one(&w, how, target);
        DONE(MPI_Accumulate(NULL, 0, MPI_INT, target, 0, 0, MPI_INT, MPI_SUM, w.win));
        DONE(MPI_Get_accumulate(NULL, 0, MPI_INT, NULL, 0, MPI_INT, target, 0, 0, MPI_INT,
                                MPI_SUM, w.win));
        DONE(MPI_Accumulate(&one, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, MPI_SUM,
                            w.win));
        DONE(MPI_Get_accumulate(&one, 1, MPI_INT, &in, 1, MPI_INT, MPI_PROC_NULL, 0, 1,
                                MPI_INT, MPI_SUM, w.win));
        DONE(MPI_Fetch_and_op(&one, &in, MPI_INT, MPI_PROC_NULL, 0, MPI_SUM, w.win));
        DONE(MPI_Compare_and_swap(&one, &one, &in, MPI_INT, MPI_PROC_NULL, 0, w.win));
        close_one(&w, how, target);
    }
    close_all(&w, how);
    CHECK(in == 5);
    for (int i = 0; i < 64; i++) {
        CHECK(w.base[i] == 0);
    }
    DONE(MPI_Barrier(w.comm));
    free_window(&w);
}

/* 4 MiB of doubles from everybody into the same memory. */
static void much(enum kind kind)
{
    enum { MUCH = 1 << 19 };

    struct window w = make_window(kind, MUCH * sizeof(double), sizeof(double));
    double *out = malloc(MUCH * sizeof(double));
    const double *memory = (const double *)(void *)w.base;

    CHECK(out != NULL);
    for (int i = 0; i < MUCH; i++) {
        out[i] = w.rank + i;
    }
    open_all(&w, FENCE);
    DONE(MPI_Accumulate(out, MUCH, MPI_DOUBLE, 0, at(&w, 0, 0), MUCH, MPI_DOUBLE, MPI_SUM,
                        w.win));
    close_all(&w, FENCE);
    for (int i = 0; w.rank == 0 && i < MUCH; i++) {
        CHECK(memory[i] == (double)w.size * i + w.size * (w.size - 1) / 2);
    }
    DONE(MPI_Barrier(w.comm));
    free(out);
    free_window(&w);
}

int main(int argc, char **argv)
{
    DONE(MPI_Init(&argc, &argv));
    DONE(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    DONE(MPI_Comm_size(MPI_COMM_WORLD, &size));
    all_operations();
    swaps();
    for (enum kind kind = CREATED; kind < KINDS; kind++) {
        for (enum how how = FENCE; how < WAYS; how++) {
            sums(kind, how);
        }
        tickets(kind);
        raised(kind);
        order(kind, 1);
        order(kind, 4096);
        much(kind);
    }
    largest();
    for (enum how how = FENCE; how < WAYS; how++) {
        nothing(how);
    }
    DONE(MPI_Finalize());
    return 0;
}
