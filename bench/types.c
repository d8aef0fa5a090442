/* types: what datatypes cost: packing, unpacking and a ping-pong of data that are not
 * contiguous, 64 KiB and 4 MiB of them; for some a loop written by hand beside it.
 *   vector     doubles, every second one
 *   face0..2   of a 3-D array of doubles, one plane across each dimension, slowest first
 *   indexed    blocks of 1 to 8 doubles with gaps of 1 to 8
 *   struct     records of char, int, double, short and three floats
 *   transpose  a matrix of doubles, column by column
 * Value = median over batches of the time of one operation (half a round trip). */
#include "bench.h"
#include <stddef.h>
enum { BATCHES = 21, DEPTH = 8 };

struct record {
    char c;
    int i;
    double d;
    short s;
    float f[3];
};
enum { RECORD_BYTES = 1 + 4 + 8 + 2 + 12 };

/* One case: a type, how many of it, and the loop that does the same. */
struct layout {
    const char *name;
    MPI_Datatype type;
    int count;
    size_t span;  /* bytes of memory it lies in */
    size_t bytes; /* of data */
    int is_hand;  /* the loop is worth timing */
    void (*move)(struct layout *l, char *memory, char *packed, int out);
    size_t n, rows, gap, first;
    int *lengths, *places;
};

/* rows x n doubles, gap apart in a row, "first" apart from row to row */
static void move_grid(struct layout *l, char *memory, char *packed, int out)
{
    double *restrict m = (double *)memory, *restrict p = (double *)packed;
    size_t n = l->n, gap = l->gap, first = l->first;
    for (size_t r = 0; r < l->rows; r++, m += first, p += n)
        if (gap == 1)
            memcpy(out ? (void *)p : m, out ? (void *)m : p, n * 8);
        else if (gap == 2 && out)
            for (size_t i = 0; i < n; i++)
                p[i] = m[2 * i];
        else if (gap == 2)
            for (size_t i = 0; i < n; i++)
                m[2 * i] = p[i];
        else if (out)
            for (size_t i = 0; i < n; i++)
                p[i] = m[gap * i];
        else
            for (size_t i = 0; i < n; i++)
                m[gap * i] = p[i];
}

static void move_indexed(struct layout *l, char *memory, char *packed, int out)
{
    for (size_t i = 0; i < l->n; i++) {
        char *m = memory + 8 * (size_t)l->places[i];
        size_t bytes = 8 * (size_t)l->lengths[i];
        memcpy(out ? packed : m, out ? m : packed, bytes);
        packed += bytes;
    }
}

static char *part(char *m, char *p, size_t n, int out)
{
    memcpy(out ? p : m, out ? m : p, n);
    return p + n;
}

static void move_struct(struct layout *l, char *memory, char *packed, int out)
{
    struct record *r = (struct record *)memory;
    for (size_t i = 0; i < l->n; i++, r++) {
        packed = part((char *)&r->c, packed, 1, out);
        packed = part((char *)&r->i, packed, 4, out);
        packed = part((char *)&r->d, packed, 8, out);
        packed = part((char *)&r->s, packed, 2, out);
        packed = part((char *)r->f, packed, 12, out);
    }
}

static struct layout make_grid(const char *name, size_t rows, size_t n, size_t gap,
                               size_t first)
{
    struct layout l = {name, .count = 1, .bytes = rows * n * 8, .is_hand = 1};
    l.span = ((rows - 1) * first + (n - 1) * gap + 1) * 8;
    l.move = move_grid;
    l.rows = rows, l.n = n, l.gap = gap, l.first = first;
    return l;
}

static struct layout make_vector(size_t n)
{
    struct layout l = make_grid("vector", 1, n, 2, 0);
    MPI_Type_vector((int)n, 1, 2, MPI_DOUBLE, &l.type);
    return l;
}

static struct layout make_face(int d, int a, int b)
{
    static const char *name[] = {"face0", "face1", "face2"};
    int size[3][3] = {{DEPTH, a, b}, {a, DEPTH, b}, {a, b, DEPTH}};
    int sub[3] = {size[d][0], size[d][1], size[d][2]}, start[3] = {0, 0, 0};
    struct layout l = d == 0   ? make_grid(name[d], 1, (size_t)a * b, 1, 0)
                      : d == 1 ? make_grid(name[d], a, b, 1, (size_t)DEPTH * b)
                               : make_grid(name[d], a, b, DEPTH, (size_t)DEPTH * b);
    sub[d] = 1;
    MPI_Type_create_subarray(3, size[d], sub, start, MPI_ORDER_C, MPI_DOUBLE, &l.type);
    return l;
}

static struct layout make_transpose(int rows, int columns)
{
    struct layout l = make_grid("transpose", columns, rows, columns, 1);
    MPI_Datatype column;
    MPI_Type_vector(rows, 1, columns, MPI_DOUBLE, &column);
    MPI_Type_create_resized(column, 0, 8, &l.type);
    MPI_Type_free(&column);
    l.count = columns;
    l.is_hand = 0;
    return l;
}

static struct layout make_indexed(size_t doubles)
{
    struct layout l = {"indexed", .count = 1, .move = move_indexed};
    uint32_t seed = 12345;
    size_t at = 0, all = 0;
    l.lengths = malloc(doubles * sizeof(int));
    l.places = malloc(doubles * sizeof(int));
    while (all < doubles) {
        int length = 1 + (int)((seed = seed * 1664525u + 1013904223u) >> 29);
        if ((size_t)length > doubles - all)
            length = (int)(doubles - all);
        l.lengths[l.n] = length;
        l.places[l.n++] = (int)at;
        all += (size_t)length;
        at += (size_t)length + 1 + ((seed = seed * 1664525u + 1013904223u) >> 29);
    }
    l.span = at * 8;
    l.bytes = doubles * 8;
    MPI_Type_indexed((int)l.n, l.lengths, l.places, MPI_DOUBLE, &l.type);
    return l;
}

static struct layout make_struct(size_t bytes)
{
    struct layout l = {"struct", .move = move_struct};
    int length[] = {1, 1, 1, 1, 3};
    MPI_Aint place[] = {offsetof(struct record, c), offsetof(struct record, i),
                        offsetof(struct record, d), offsetof(struct record, s),
                        offsetof(struct record, f)};
    MPI_Datatype type[] = {MPI_CHAR, MPI_INT, MPI_DOUBLE, MPI_SHORT, MPI_FLOAT};
    MPI_Datatype plain;
    l.n = bytes / RECORD_BYTES;
    l.count = (int)l.n;
    l.bytes = l.n * RECORD_BYTES;
    l.span = l.n * sizeof(struct record);
    MPI_Type_create_struct(5, length, place, type, &plain);
    MPI_Type_create_resized(plain, 0, sizeof(struct record), &l.type);
    MPI_Type_free(&plain);
    return l;
}

static char *memory, *other, *packed, *expected;

enum { PACK, UNPACK, HAND_PACK, HAND_UNPACK, PINGPONG, WAYS };

static void once(struct layout *l, int way)
{
    int at = 0;
    switch (way) {
    case PACK:
        MPI_Pack(memory, l->count, l->type, packed, (int)l->bytes, &at, MPI_COMM_WORLD);
        break;
    case UNPACK:
        MPI_Unpack(expected, (int)l->bytes, &at, other, l->count, l->type,
                   MPI_COMM_WORLD);
        break;
    case HAND_PACK:
        l->move(l, memory, packed, 1);
        break;
    case HAND_UNPACK:
        l->move(l, other, expected, 0);
        break;
    default:
        if (me == 0)
            MPI_Send(memory, l->count, l->type, 1, 1, MPI_COMM_WORLD);
        MPI_Recv(other, l->count, l->type, 1 - me, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (me == 1)
            MPI_Send(memory, l->count, l->type, 0, 1, MPI_COMM_WORLD);
    }
}

static int is_right(struct layout *l, int way)
{
    if (way == UNPACK || way == HAND_UNPACK || way == PINGPONG) {
        spoil(packed, l->bytes);
        l->move(l, other, packed, 1);
    }
    return memcmp(packed, expected, l->bytes) == 0;
}

static void measure(struct layout *l)
{
    static const char *name[] = {"types.pack", "types.unpack", "types.pack.hand",
                                 "types.unpack.hand", "types.pingpong"};
    char param[64];
    int iters = l->bytes <= 65536 ? 50 : 3;
    MPI_Type_commit(&l->type);
    memory = buffer(l->span + 8), other = buffer(l->span + 8);
    packed = buffer(l->bytes), expected = buffer(l->bytes);
    snprintf(param, sizeof param, "%s,%s", l->name, l->bytes <= 65536 ? "64KiB" : "4MiB");
    for (int way = 0; way < WAYS; way++) {
        double t[BATCHES];
        if ((way == HAND_PACK || way == HAND_UNPACK) && !l->is_hand)
            continue;
        for (int b = -1; b < BATCHES; b++) { /* batch -1 warms up */
            fill(memory, l->span, b, 7);
            l->move(l, memory, expected, 1);
            once(l, way);
            spoil(packed, l->bytes);
            spoil(other, l->span);
            MPI_Barrier(MPI_COMM_WORLD);
            double t0 = MPI_Wtime();
            if (way == PINGPONG || me == 0)
                for (int i = 0; i < iters; i++)
                    once(l, way);
            if (b >= 0)
                t[b] = (MPI_Wtime() - t0) / iters / (way == PINGPONG ? 2 : 1);
            MPI_Barrier(MPI_COMM_WORLD);
            if (way == PINGPONG || me == 0)
                check(is_right(l, way), name[way], param);
        }
        if (me == 0)
            row(name[way], param, median(t, BATCHES) * 1e6, "us");
    }
    MPI_Type_free(&l->type);
    free(memory), free(other), free(packed), free(expected);
    free(l->lengths), free(l->places);
}

int main(int argc, char **argv)
{
    bench_begin(&argc, &argv, 2);
    for (int large = 0; large < 2; large++) {
        int a = large ? 512 : 64, b = 2 * a;
        size_t doubles = (size_t)a * (size_t)b;
        struct layout l[] = {make_vector(doubles),  make_face(0, a, b),
                             make_face(1, a, b),    make_face(2, a, b),
                             make_indexed(doubles), make_struct(doubles * 8),
                             make_transpose(a, b)};
        for (size_t i = 0; i < sizeof l / sizeof *l; i++)
            measure(&l[i]);
    }
    MPI_Finalize();
    return 0;
}
