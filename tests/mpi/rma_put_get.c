/*
 * rma_put_get.c - chapter 12.3: put and get of plain and derived types, which differ at
 * origin and target, in each kind of window and in each kind of epoch.
 *
 * Every rank has a slot in every rank's memory, and in it a place for each pair of types.
 * What has to be there is found by packing with one type and unpacking with the other.
 */
#include "rma.h"

#include <stddef.h>

enum {
    PLACE = 8192,  /* bytes for one pair of types */
    MIDDLE = 4096, /* where a type begins in its place; some reach backwards */
    UNITS_MAX = 8, /* of displacements */
};

struct layout {
    MPI_Datatype type;
    int count;
};

/* ---- types of 60 ints each, or of 20 records ---- */

static struct layout plain(void)
{
    return (struct layout){MPI_INT, 60};
}

static struct layout with_vector(void)
{
    struct layout layout = {.count = 3};

    DONE(MPI_Type_vector(5, 4, 7, MPI_INT, &layout.type));
    return layout;
}

static struct layout with_indexed(void)
{
    const int lengths[] = {7, 1, 0, 12, 10};
    const int places[] = {50, 0, 3, 20, 8};
    struct layout layout = {.count = 2};

    DONE(MPI_Type_indexed(5, lengths, places, MPI_INT, &layout.type));
    return layout;
}

static struct layout with_subarray(void)
{
    const int sizes[] = {9, 8, 4};
    const int parts[] = {5, 6, 2};
    const int starts[] = {3, 1, 2};
    struct layout layout = {.count = 1};

    DONE(MPI_Type_create_subarray(3, sizes, parts, starts, MPI_ORDER_C, MPI_INT,
                                  &layout.type));
    return layout;
}

static struct layout with_resized(void)
{
    struct layout layout = {.count = 60};

    DONE(MPI_Type_create_resized(MPI_INT, 0, 12, &layout.type));
    return layout;
}

static struct layout backwards(void)
{
    struct layout layout = {.count = 1};

    DONE(MPI_Type_create_hvector(60, 1, -20, MPI_INT, &layout.type));
    return layout;
}

static struct layout nested(void)
{
    struct layout layout = {.count = 2};
    MPI_Datatype inner;

    DONE(MPI_Type_vector(3, 2, 3, MPI_INT, &inner));
    DONE(MPI_Type_create_hvector(5, 1, 100, inner, &layout.type));
    DONE(MPI_Type_free(&inner));
    return layout;
}

static struct layout with_blocks(void)
{
    const MPI_Aint places[] = {-40, 0, 100, 44, 300};
    struct layout layout = {.count = 4};
    MPI_Datatype pieces;

    DONE(MPI_Type_create_hindexed_block(5, 3, places, MPI_INT, &pieces));
    DONE(MPI_Type_create_resized(pieces, -40, 400, &layout.type));
    DONE(MPI_Type_free(&pieces));
    return layout;
}

struct record {
    double number;
    short words[3];
    char letter;
};

static struct layout records(void)
{
    const int lengths[] = {1, 3, 1};
    const MPI_Aint places[] = {offsetof(struct record, number),
                               offsetof(struct record, words),
                               offsetof(struct record, letter)};
    const MPI_Datatype types[] = {MPI_DOUBLE, MPI_SHORT, MPI_CHAR};
    struct layout layout = {.count = 20};
    MPI_Datatype tight;

    DONE(MPI_Type_create_struct(3, lengths, places, types, &tight));
    DONE(MPI_Type_create_resized(tight, 0, sizeof(struct record), &layout.type));
    DONE(MPI_Type_free(&tight));
    return layout;
}

/* The same signature, with letters before words and numbers behind both in memory. */
static struct layout turned_records(void)
{
    const int lengths[] = {1, 3, 1};
    const MPI_Aint places[] = {24, 8, 3};
    const MPI_Datatype types[] = {MPI_DOUBLE, MPI_SHORT, MPI_CHAR};
    struct layout layout = {.count = 20};
    MPI_Datatype loose;

    DONE(MPI_Type_create_struct(3, lengths, places, types, &loose));
    DONE(MPI_Type_create_resized(loose, 0, 40, &layout.type));
    DONE(MPI_Type_free(&loose));
    return layout;
}

static struct layout odd_bytes(void)
{
    const MPI_Aint places[] = {1, 1001, 77};
    struct layout layout = {.count = 1};

    DONE(MPI_Type_create_hindexed_block(3, 101, places, MPI_BYTE, &layout.type));
    return layout;
}

static struct layout plain_bytes(void)
{
    return (struct layout){MPI_BYTE, 303};
}

static const struct pair {
    struct layout (*origin)(void);
    struct layout (*target)(void);
} pairs[] = {
    {plain, plain},
    {with_vector, plain},
    {plain, with_vector},
    {with_indexed, with_vector},
    {with_subarray, with_resized},
    {with_resized, with_indexed},
    {backwards, plain},
    {with_blocks, backwards},
    {nested, with_blocks},
    {plain, nested},
    {records, turned_records},
    {turned_records, records},
    {records, records},
    {odd_bytes, plain_bytes},
    {plain_bytes, odd_bytes},
};

enum { PAIRS = LENGTH(pairs), SLOT = PAIRS * PLACE };

static bool is_own(MPI_Datatype type)
{
    return type != MPI_INT && type != MPI_BYTE;
}

static struct layout commit(struct layout layout)
{
    if (is_own(layout.type)) {
        DONE(MPI_Type_commit(&layout.type));
    }
    return layout;
}

static void end(struct layout *layout)
{
    if (is_own(layout->type)) {
        DONE(MPI_Type_free(&layout->type));
    }
}

/* ---- what has to be where ---- */

static char value(int who, int turn, size_t i)
{
    return (char)((size_t)who * 37 + (size_t)turn * 11 + i * 7 + (i >> 8));
}

static void fill(char *memory, size_t bytes, int who, int turn)
{
    for (size_t i = 0; i < bytes; i++) {
        memory[i] = value(who, turn, i);
    }
}

/* Moves what a put or get moves, by packing. */
static void move(const char *from, struct layout source, char *to, struct layout sink)
{
    static char packed[PLACE];
    int length = 0;
    int read = 0;

    DONE(MPI_Pack(from, source.count, source.type, packed, PLACE, &length,
                  MPI_COMM_WORLD));
    DONE(MPI_Unpack(packed, length, &read, to, sink.count, sink.type, MPI_COMM_WORLD));
    CHECK(read == length);
}

static void is_same(const char *found, const char *expected, size_t bytes,
                    const char *what, int peer, int pair)
{
    for (size_t i = 0; i < bytes; i++) {
        if (found[i] != expected[i]) {
            fprintf(stderr, "%s, peer %d, pair %d: byte %zu is %d and should be %d\n",
                    what, peer, pair, i, found[i], expected[i]);
            CHECK(found[i] == expected[i]);
        }
    }
}

/* ---- all pairs of types to and from all ranks, in one epoch ---- */

/* Calls that move nothing, in whatever epoch. */
static void nothing(const struct window *w, int target)
{
    char byte = 'x';

    DONE(MPI_Put(NULL, 0, MPI_INT, target, at(w, target, 0), 0, MPI_INT, w->win));
    DONE(MPI_Get(NULL, 0, MPI_INT, target, at(w, target, 0), 0, MPI_INT, w->win));
    DONE(MPI_Put(&byte, 1, MPI_BYTE, MPI_PROC_NULL, 0, 1, MPI_BYTE, w->win));
    DONE(MPI_Get(&byte, 1, MPI_BYTE, MPI_PROC_NULL, 0, 1, MPI_BYTE, w->win));
    CHECK(byte == 'x');
}

/* The types are freed as soon as the call has returned. */
static void access_all(const struct window *w, enum how how, char *mine, bool is_put)
{
    open_all(w, how);
    for (int target = 0; target < w->size; target++) {
        open_one(w, how, target);
        nothing(w, target);
        for (int i = 0; i < PAIRS; i++) {
            struct layout origin = commit(pairs[i].origin());
            struct layout remote = commit(pairs[i].target());
            char *from = mine + (size_t)(target * SLOT + i * PLACE + MIDDLE);
            MPI_Aint to = at(w, target, w->rank * SLOT + i * PLACE + MIDDLE);

            if (is_put) {
                DONE(MPI_Put(from, origin.count, origin.type, target, to, remote.count,
                             remote.type, w->win));
            } else {
                DONE(MPI_Get(from, origin.count, origin.type, target, to, remote.count,
                             remote.type, w->win));
            }
            end(&origin);
            end(&remote);
        }
        close_one(w, how, target);
    }
    close_all(w, how);
}

/* What `w->rank` has in its slot of `target` after a put, or in its own after a get. */
static void expect(char *expected, int origin, int target, int turn, bool is_put)
{
    static char source[SLOT];

    fill(expected, SLOT, is_put ? target : origin, is_put ? turn : turn + 1);
    fill(source, SLOT, is_put ? origin : target, is_put ? turn + 1 : turn);
    for (int i = 0; i < PAIRS; i++) {
        struct layout near = commit(pairs[i].origin());
        struct layout far = commit(pairs[i].target());

        move(source + i * PLACE + MIDDLE, is_put ? near : far,
             expected + i * PLACE + MIDDLE, is_put ? far : near);
        end(&near);
        end(&far);
    }
}

/* In a window memory is filled with `turn`, in the origins' buffers with turn + 1. */
static void all_pairs(struct window *w, enum how how, int turn)
{
    static char expected[SLOT];
    char *mine = malloc((size_t)w->size * SLOT);

    CHECK(mine != NULL);
    for (int is_put = 0; is_put < 2; is_put++) {
        for (int r = 0; r < w->size; r++) {
            fill(w->base + (size_t)r * SLOT, SLOT, w->rank, turn);
            fill(mine + (size_t)r * SLOT, SLOT, w->rank, turn + 1);
        }
        access_all(w, how, mine, is_put);
        for (int r = 0; r < w->size; r++) {
            if (is_put) {
                expect(expected, r, w->rank, turn, true);
                is_same(w->base + (size_t)r * SLOT, expected, SLOT, "put", r, -1);
            } else {
                expect(expected, w->rank, r, turn, false);
                is_same(mine + (size_t)r * SLOT, expected, SLOT, "get", r, -1);
            }
        }
        DONE(MPI_Barrier(w->comm));
    }
    free(mine);
}

/* ---- long ones ---- */

/* Several MiB, in one piece, and as a column of a matrix; to the next rank and back. */
static void long_ones(struct window *w, enum how how)
{
    const int to = (w->rank + 1) % w->size;
    const int from = (w->rank + w->size - 1) % w->size;
    const int n = (int)(w->bytes / (MPI_Aint)sizeof(int));
    int *out = malloc((size_t)n * sizeof(int));
    int *in = calloc((size_t)n, sizeof(int));
    int *memory = (int *)(void *)w->base;
    MPI_Datatype column;

    CHECK(out != NULL && in != NULL && n % 4 == 0);
    for (int i = 0; i < n; i++) {
        out[i] = w->rank * 1000003 + i;
        memory[i] = -i;
    }
    DONE(MPI_Type_vector(n / 4, 1, 4, MPI_INT, &column));
    DONE(MPI_Type_commit(&column));
    open_all(w, how);
    open_one(w, how, to);
    DONE(MPI_Put(out, n, MPI_INT, to, at(w, to, 0), n, MPI_INT, w->win));
    close_one(w, how, to);
    close_all(w, how);
    for (int i = 0; i < n; i++) {
        CHECK(memory[i] == from * 1000003 + i);
    }
    open_all(w, how);
    open_one(w, how, to);
    DONE(MPI_Get(in, n / 4, MPI_INT, to, at(w, to, 8), 1, column, w->win));
    DONE(MPI_Type_free(&column));
    close_one(w, how, to);
    close_all(w, how);
    for (int i = 0; i < n; i++) {
        CHECK(in[i] == (i < n / 4 ? w->rank * 1000003 + 4 * i + 2 : 0));
    }
    free(out);
    free(in);
}

/* Many small ones, each beside the other, in one epoch. */
static void many(struct window *w, enum how how)
{
    enum { MANY = 500 };

    const int to = (w->rank + 1) % w->size;
    const int from = (w->rank + w->size - 1) % w->size;
    int64_t out[MANY];
    int64_t in[MANY];
    int64_t *memory = (int64_t *)(void *)w->base;

    for (int i = 0; i < MANY; i++) {
        out[i] = w->rank * 10000 + i;
        in[i] = -1;
        memory[i] = -2;
        memory[MANY + i] = w->rank * 7 + i;
    }
    open_all(w, how);
    open_one(w, how, to);
    for (int i = 0; i < MANY; i++) {
        const int k = (i * 7) % MANY;

        DONE(MPI_Put(&out[k], 1, MPI_INT64_T, to, at(w, to, 8 * k), 8, MPI_BYTE, w->win));
        DONE(MPI_Get(&in[k], 1, MPI_INT64_T, to, at(w, to, 8 * (MANY + k)), 1,
                     MPI_INT64_T, w->win));
    }
    close_one(w, how, to);
    close_all(w, how);
    for (int i = 0; i < MANY; i++) {
        CHECK(memory[i] == from * 10000 + i && in[i] == to * 7 + i);
    }
    DONE(MPI_Barrier(w->comm));
}

/* Origin and target are the same memory of this rank, beside each other. */
static void self(struct window *w)
{
    int *memory = (int *)(void *)w->base;

    memory[0] = 4711 + w->rank;
    memory[4] = 0;
    DONE(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, w->rank, 0, w->win));
    DONE(
        MPI_Put(&memory[0], 1, MPI_INT, w->rank, at(w, w->rank, 16), 1, MPI_INT, w->win));
    DONE(MPI_Win_flush(w->rank, w->win));
    DONE(
        MPI_Get(&memory[8], 1, MPI_INT, w->rank, at(w, w->rank, 16), 1, MPI_INT, w->win));
    DONE(MPI_Win_unlock(w->rank, w->win));
    CHECK(memory[4] == 4711 + w->rank && memory[8] == 4711 + w->rank);
    DONE(MPI_Barrier(w->comm));
}

#if HAS_MPI(4, 0)
static void large_counts(struct window *w)
{
    const int to = (w->rank + 1) % w->size;
    const int from = (w->rank + w->size - 1) % w->size;
    const int out = 31 + w->rank;
    int in = -1;

    DONE(MPI_Win_fence(0, w->win));
    DONE(MPI_Put_c(&out, (MPI_Count)1, MPI_INT, to, at(w, to, 32), (MPI_Count)1, MPI_INT,
                   w->win));
    DONE(MPI_Win_fence(0, w->win));
    DONE(MPI_Get_c(&in, (MPI_Count)1, MPI_INT, w->rank, at(w, w->rank, 32), (MPI_Count)1,
                   MPI_INT, w->win));
    DONE(MPI_Win_fence(0, w->win));
    CHECK(in == 31 + from);
}
#endif

int main(int argc, char **argv)
{
    int rank;
    int size;
    int turn = 0;

    DONE(MPI_Init(&argc, &argv));
    DONE(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    DONE(MPI_Comm_size(MPI_COMM_WORLD, &size));
    for (enum kind kind = CREATED; kind < KINDS; kind++) {
        struct window w = make_window(kind, (MPI_Aint)size * SLOT, 1 << rank % 4);

        for (enum how how = FENCE; how < WAYS; how++) {
            all_pairs(&w, how, turn++);
            many(&w, how);
        }
        self(&w);
#if HAS_MPI(4, 0)
        large_counts(&w);
#endif
        free_window(&w);
        w = make_window(kind, 6 << 20, UNITS_MAX >> rank % 3);
        for (enum how how = FENCE; how < WAYS; how++) {
            if (how != LOCK_ALL) { /* as FLUSHED */
                long_ones(&w, how);
            }
        }
        free_window(&w);
    }
    DONE(MPI_Finalize());
    return 0;
}
