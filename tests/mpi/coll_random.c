/*
 * coll_random.c - collectives drawn at random, against what each rank computes by itself.
 *
 *     coll_random [SEED [CASES]]
 *
 * All ranks draw the same cases. A batch of up to three operations is begun in the same
 * order everywhere: blocking, nonblocking or persistent; the outstanding ones are
 * completed in an order that each rank draws for itself. Data are 32-bit numbers, dense
 * or every second one; v-operations have blocks with gaps between them; the places around
 * the data are checked to be untouched. Reductions are sums, and compositions of affine
 * functions, which do not commute, by a function of the user.
 */
#include "check.h"
#include "draw.h"

#include <stdbool.h>

enum {
    BATCH = 3,
    MOST_COUNT = 40,
    LONG_COUNT = 20000,
    GUARD = 4,
    UNTOUCHED = 0x5a5a5a5a
};

enum kind {
    BARRIER,
    BCAST,
    GATHER,
    GATHERV,
    SCATTER,
    SCATTERV,
    ALLGATHER,
    ALLGATHERV,
    ALLTOALL,
    ALLTOALLV,
    ALLTOALLW,
    REDUCE,
    ALLREDUCE,
    REDUCE_SCATTER,
    REDUCE_SCATTER_BLOCK,
    SCAN,
    EXSCAN,
    NEIGHBOR_ALLGATHER,
    NEIGHBOR_ALLGATHERV,
    NEIGHBOR_ALLTOALL,
    NEIGHBOR_ALLTOALLV,
    NEIGHBOR_ALLTOALLW,
    KINDS,
};

enum face { BLOCKING, NONBLOCKING, PERSISTENT, FACES };

/* One side: numbers at `stride` apart, with room around them. */
struct buffer {
    uint32_t *memory;
    uint32_t *at; /* of the first number */
    int room;     /* numbers in memory */
    int stride;
};

struct operation {
    enum kind kind;
    enum face face;
    uint32_t seed;
    int root;
    int count;
    bool is_in_place;
    bool is_affine;
    bool is_large; /* counts are MPI_Count */
    bool is_short; /* counts of neighbours are small */
    int send_stride;
    int recv_stride;
    struct buffer send;
    struct buffer recv;
    int *counts[2]; /* of send and recv blocks */
    int *displs[2];
    MPI_Count *large_counts[2]; /* the same, for calls with large counts */
    MPI_Aint *large_displs[2];
    MPI_Datatype types[2]; /* of a number */
    MPI_Datatype *lists[2];
    MPI_Aint *addresses[2];
    MPI_Request request;
};

static int rank;
static int size;
static MPI_Comm comms[4];   /* world, a ring, a graph, the same backwards */
static MPI_Datatype sparse; /* every second number */
static MPI_Datatype pair;   /* an affine function */
static MPI_Op compose;

/* ---- what is sent ---- */

static uint32_t mix(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
    uint32_t h = a * 2654435761u ^ b * 2246822519u ^ c * 3266489917u ^ d * 668265263u;

    h ^= h >> 15;
    h *= 2246822519u;
    return h ^ h >> 13;
}

/* Number i of what goes from one rank to another. */
static uint32_t value(const struct operation *o, int from, int to, int i)
{
    return mix(o->seed, (uint32_t)from, (uint32_t)to + 7, (uint32_t)i);
}

/* How long the block from one rank to another is, where they differ. */
static int length(const struct operation *o, int from, int to)
{
    return (int)(mix(o->seed, (uint32_t)from, (uint32_t)to, 99) %
                 (uint32_t)(o->count + 1));
}

/* ---- buffers ---- */

static void make_buffer(struct buffer *b, int numbers, int stride)
{
    b->stride = stride;
    b->room = numbers * stride + 2 * GUARD;
    b->memory = malloc((size_t)b->room * sizeof(uint32_t));
    CHECK(b->memory != NULL);
    for (int i = 0; i < b->room; i++) {
        b->memory[i] = UNTOUCHED;
    }
    b->at = b->memory + GUARD;
}

static void put(struct buffer *b, int i, uint32_t number)
{
    b->at[i * b->stride] = number;
}

static const struct operation *checked; /* now */

/* The number is as it should be; then it is taken out. */
static void expect(struct buffer *b, int i, uint32_t number)
{
    if (b->at[i * b->stride] != number) {
        fprintf(stderr,
                "kind %d, face %d, root %d, count %d, in place %d, affine %d, strides %d "
                "%d: number %d is %x, not %x\n",
                checked->kind, checked->face, checked->root, checked->count,
                checked->is_in_place, checked->is_affine, checked->send_stride,
                checked->recv_stride, i, b->at[i * b->stride], number);
    }
    CHECK(b->at[i * b->stride] == number);
    b->at[i * b->stride] = UNTOUCHED;
}

static void expect_nothing_else(const struct buffer *b)
{
    for (int i = 0; i < b->room; i++) {
        CHECK(b->memory[i] == (uint32_t)UNTOUCHED);
    }
}

/* ---- the neighbourhoods ---- */

static MPI_Comm comm_of(const struct operation *o)
{
    return o->kind >= NEIGHBOR_ALLGATHER ? comms[1 + o->root % 2] : comms[0];
}

/* The ring: the one before, and the one behind. The graph: to the next two, the second
 * one twice. */
static int neighbours(const struct operation *o, int of, bool is_in, int list[3])
{
    if (o->root % 2 == 0) {
        list[0] = (of + size - 1) % size;
        list[1] = (of + 1) % size;
        return 2;
    }
    list[0] = is_in ? (of + 2 * size - 1) % size : (of + 1) % size;
    list[1] = is_in ? (of + 2 * size - 2) % size : (of + 2) % size;
    list[2] = list[1];
    return 3;
}

/* What neighbour i of this rank is told by its side: the number of the edge there. */
static int edge_at_sender(const struct operation *o, int i)
{
    return o->root % 2 == 0 ? 1 - i : i;
}

/* ---- shapes of the two sides ---- */

static int blocks(const struct operation *o, bool is_send)
{
    int list[3];

    switch (o->kind) {
    case GATHER:
    case GATHERV:
    case ALLGATHER:
    case ALLGATHERV:
        return is_send ? 1 : size;
    case SCATTER:
    case SCATTERV:
        return is_send ? size : 1;
    case ALLTOALL:
    case ALLTOALLV:
    case ALLTOALLW:
        return size;
    case NEIGHBOR_ALLGATHER:
    case NEIGHBOR_ALLGATHERV:
        return is_send ? 1 : neighbours(o, rank, true, list);
    case NEIGHBOR_ALLTOALL:
    case NEIGHBOR_ALLTOALLV:
    case NEIGHBOR_ALLTOALLW:
        return neighbours(o, rank, !is_send, list);
    default:
        return 1;
    }
}

static bool has_sizes(const struct operation *o)
{
    switch (o->kind) {
    case GATHERV:
    case SCATTERV:
    case ALLGATHERV:
    case ALLTOALLV:
    case ALLTOALLW:
    case REDUCE_SCATTER:
    case NEIGHBOR_ALLGATHERV:
    case NEIGHBOR_ALLTOALLV:
    case NEIGHBOR_ALLTOALLW:
        return true;
    default:
        return false;
    }
}

/* Who gives block i to this rank, or gets block i from it. */
static int partner(const struct operation *o, bool is_send, int i)
{
    int list[3];

    if (o->kind >= NEIGHBOR_ALLGATHER) {
        neighbours(o, rank, !is_send, list);
        return list[i];
    }
    return i;
}

/* The length of a block; where one rank gives the same to all, it is the rank's own. */
static int block_length(const struct operation *o, bool is_send, int i)
{
    const int other = partner(o, is_send, i);

    if (!has_sizes(o)) {
        return o->count;
    }
    switch (o->kind) {
    case GATHERV:
    case ALLGATHERV:
    case NEIGHBOR_ALLGATHERV:
        return length(o, is_send ? rank : other, 0);
    case SCATTERV:
        return length(o, 0, is_send ? other : rank);
    case REDUCE_SCATTER:
        return length(o, 0, i);
    default:
        return is_send ? length(o, rank, other) : length(o, other, rank);
    }
}

/* Elements of one number, or of two. */
static int width(const struct operation *o)
{
    return o->is_affine ? 2 : 1;
}

static bool is_reduction(const struct operation *o)
{
    return o->kind >= REDUCE && o->kind <= EXSCAN;
}

static int reduced_count(const struct operation *o)
{
    int all = 0;

    if (o->kind == REDUCE_SCATTER_BLOCK) {
        return o->count * size;
    }
    for (int i = 0; o->kind == REDUCE_SCATTER && i < size; i++) {
        all += length(o, 0, i);
    }
    return o->kind == REDUCE_SCATTER ? all : o->count;
}

/* ---- making ---- */

/* Blocks with a gap of one number behind each, in an order of their own. */
static int place(struct operation *o, bool is_send)
{
    const int side = is_send ? 0 : 1;
    const int n = blocks(o, is_send);
    int at = 0;

    o->counts[side] = calloc((size_t)size + 4, sizeof(int));
    o->displs[side] = calloc((size_t)size + 4, sizeof(int));
    o->lists[side] = calloc((size_t)size + 4, sizeof(MPI_Datatype));
    o->addresses[side] = calloc((size_t)size + 4, sizeof(MPI_Aint));
    CHECK(o->counts[side] != NULL && o->displs[side] != NULL && o->lists[side] != NULL &&
          o->addresses[side] != NULL);
    for (int k = 0; k < n; k++) {
        const int i = has_sizes(o) ? n - 1 - k : k;

        o->counts[side][i] = block_length(o, is_send, i);
        o->displs[side][i] = at;
        o->lists[side][i] = o->types[side];
        o->addresses[side][i] = (MPI_Aint)at *
                                (side == 0 ? o->send_stride : o->recv_stride) *
                                (MPI_Aint)sizeof(uint32_t);
        at += o->counts[side][i] + (has_sizes(o) ? 1 : 0);
    }
    return at;
}

static void fill_send(struct operation *o)
{
    /* What is scattered is in place where it would arrive. */
    const bool is_there = o->is_in_place && o->kind != SCATTER && o->kind != SCATTERV;
    struct buffer *b = is_there ? &o->recv : &o->send;
    const int side = is_there ? 1 : 0;

    if (is_reduction(o)) {
        for (int i = 0; i < reduced_count(o) * width(o); i++) {
            put(b, i, value(o, rank, 0, i));
        }
        return;
    }
    if (o->kind == BCAST) {
        for (int i = 0; rank == o->root && i < o->count; i++) {
            put(&o->recv, i, value(o, rank, 0, i));
        }
        return;
    }
    for (int k = 0; k < blocks(o, !is_there); k++) {
        const bool is_own_only =
            is_there && (o->kind == GATHER || o->kind == GATHERV ||
                         o->kind == ALLGATHER || o->kind == ALLGATHERV);
        const bool is_to_all = is_own_only || blocks(o, true) == 1;
        const int edge = o->kind >= NEIGHBOR_ALLGATHER && !is_to_all ? k : 0;

        for (int i = 0; (!is_own_only || k == rank) && i < o->counts[side][k]; i++) {
            put(b, o->displs[side][k] + i,
                value(o, rank, is_to_all ? 0 : partner(o, true, k) + 100 * edge, i));
        }
    }
}

static void make(struct operation *o)
{
    const int strides[2] = {o->send_stride, o->recv_stride};
    int room[2];

    for (int side = 0; side < 2; side++) {
        o->types[side] = strides[side] == 2 ? sparse : MPI_UINT32_T;
        room[side] = place(o, side == 0);
    }
    if (is_reduction(o)) {
        const int own = o->kind == REDUCE_SCATTER ? length(o, 0, rank) : o->count;
        const int all = reduced_count(o) * width(o);

        room[0] = all;
        room[1] = o->is_in_place ? all : own * width(o);
    }
    make_buffer(&o->send, room[0], o->send_stride);
    make_buffer(&o->recv, room[1], o->recv_stride);
    fill_send(o);
}

static void unmake(struct operation *o)
{
    for (int side = 0; side < 2; side++) {
        free(o->counts[side]);
        free(o->displs[side]);
        free(o->large_counts[side]);
        free(o->large_displs[side]);
        free(o->lists[side]);
        free(o->addresses[side]);
    }
    free(o->send.memory);
    free(o->recv.memory);
}

/* ---- starting ---- */

#define SUFFIX
#define COUNT_TYPE      int
#define DISPL_TYPE      int
#define COUNTS(o, side) (o)->counts[side]
#define DISPLS(o, side) (o)->displs[side]
#include "coll_random_start.h"

#define SUFFIX          _c
#define COUNT_TYPE      MPI_Count
#define DISPL_TYPE      MPI_Aint
#define COUNTS(o, side) (o)->large_counts[side]
#define DISPLS(o, side) (o)->large_displs[side]
#include "coll_random_start.h"

static void start_barrier(struct operation *o)
{
    switch (o->face) {
    case BLOCKING:
        MPI_Barrier(comm_of(o));
        break;
    case NONBLOCKING:
        MPI_Ibarrier(comm_of(o), &o->request);
        break;
    default:
        MPI_Barrier_init(comm_of(o), MPI_INFO_NULL, &o->request);
    }
}

/* Copies counts and displacements into the wide arrays. */
static void widen(struct operation *o)
{
    for (int i = 0; i < size && o->kind == REDUCE_SCATTER; i++) {
        o->counts[0][i] = length(o, 0, i);
    }
    for (int side = 0; side < 2; side++) {
        o->large_counts[side] = calloc((size_t)size + 4, sizeof(MPI_Count));
        o->large_displs[side] = calloc((size_t)size + 4, sizeof(MPI_Aint));
        CHECK(o->large_counts[side] != NULL && o->large_displs[side] != NULL);
        for (int i = 0; i < size + 4; i++) {
            if (o->kind == ALLTOALLW && i < size) {
                o->displs[side][i] = (int)o->addresses[side][i];
            }
            o->large_counts[side][i] = o->counts[side][i];
            o->large_displs[side][i] = o->displs[side][i];
        }
    }
}

static void start(struct operation *o)
{
    const bool is_scatter = o->kind == SCATTER || o->kind == SCATTERV;
    const void *out = o->is_in_place && !is_scatter ? MPI_IN_PLACE : (void *)o->send.at;
    void *in = o->is_in_place && is_scatter ? MPI_IN_PLACE : (void *)o->recv.at;

    o->request = MPI_REQUEST_NULL;
    widen(o);
    if (o->kind == BARRIER) {
        start_barrier(o);
    } else if (is_reduction(o)) {
        (o->is_large ? start_reduction_c : start_reduction)(o, out, in);
    } else if (o->kind == ALLTOALLW) {
        (o->is_large ? start_w_c : start_w)(o, out, in);
    } else {
        (o->is_large ? start_data_c : start_data)(o, out, in);
    }
}

/* ---- what is expected ---- */

/* The outcome of the elements that begin with number `at` of the ranks from 0 to `last`:
 * of f and then g, x -> g(f(x)), with f = a x + b. */
static void outcome(const struct operation *o, int at, int last, uint32_t out[2])
{
    out[0] = value(o, 0, 0, at);
    out[1] = o->is_affine ? value(o, 0, 0, at + 1) : 0;
    for (int r = 1; r <= last; r++) {
        if (o->is_affine) {
            const uint32_t a = value(o, r, 0, at);
            const uint32_t b = value(o, r, 0, at + 1);

            out[0] = a * out[0];
            out[1] = a * out[1] + b;
        } else {
            out[0] += value(o, r, 0, at);
        }
    }
}

static void expect_outcome(struct operation *o, int first, int count, int last)
{
    for (int i = 0; i < count; i++) {
        uint32_t out[2];

        outcome(o, (first + i) * width(o), last, out);
        for (int k = 0; k < width(o); k++) {
            expect(&o->recv, i * width(o) + k, out[k]);
        }
    }
}

static void check_reduction(struct operation *o)
{
    int first = 0;

    switch (o->kind) {
    case REDUCE:
        if (rank == o->root) {
            expect_outcome(o, 0, o->count, size - 1);
        }
        return;
    case SCAN:
        expect_outcome(o, 0, o->count, rank);
        return;
    case EXSCAN:
        if (rank > 0) {
            expect_outcome(o, 0, o->count, rank - 1);
        }
        return;
    case REDUCE_SCATTER:
        for (int i = 0; i < rank; i++) {
            first += length(o, 0, i);
        }
        expect_outcome(o, first, length(o, 0, rank), size - 1);
        return;
    case REDUCE_SCATTER_BLOCK:
        expect_outcome(o, rank * o->count, o->count, size - 1);
        return;
    default:
        expect_outcome(o, 0, o->count, size - 1);
    }
}

static bool gets(const struct operation *o)
{
    return (o->kind != GATHER && o->kind != GATHERV) || rank == o->root;
}

static void check_data(struct operation *o)
{
    const bool is_from_root =
        o->kind == BCAST || o->kind == SCATTER || o->kind == SCATTERV;

    if (o->kind == BARRIER || !gets(o)) {
        return;
    }
    for (int k = 0; k < blocks(o, false); k++) {
        const int from = is_from_root ? o->root : partner(o, false, k);
        const bool is_to_all = o->kind == BCAST || blocks(o, true) == 1;
        const int edge =
            o->kind >= NEIGHBOR_ALLGATHER && !is_to_all ? edge_at_sender(o, k) : 0;
        const int stride =
            o->kind == ALLTOALLW ? o->recv_stride * (int)sizeof(uint32_t) : 1;

        for (int i = 0; i < o->counts[1][k]; i++) {
            expect(&o->recv, o->displs[1][k] / stride + i,
                   value(o, from, is_to_all ? 0 : rank + 100 * edge, i));
        }
    }
}

/* What an in-place operation has left behind is its own. */
static bool leaves_rest(const struct operation *o)
{
    return o->is_in_place || (o->kind == BCAST && rank == o->root);
}

static void check(struct operation *o)
{
    checked = o;
    if (o->is_in_place && (o->kind == SCATTER || o->kind == SCATTERV)) {
        return; /* the root's own block stayed where it was */
    }
    if (is_reduction(o)) {
        check_reduction(o);
    } else {
        check_data(o);
    }
    if (!leaves_rest(o)) {
        expect_nothing_else(&o->recv);
    }
}

/* ---- cases ---- */

static bool may_be_in_place(const struct operation *o)
{
    switch (o->kind) {
    case GATHER:
    case GATHERV:
    case SCATTER:
    case SCATTERV:
    case REDUCE:
        return rank == o->root;
    case ALLGATHER:
    case ALLGATHERV:
    case ALLTOALL:
    case ALLTOALLV:
    case ALLREDUCE:
    case REDUCE_SCATTER:
    case REDUCE_SCATTER_BLOCK:
    case SCAN:
    case EXSCAN:
        return true;
    default:
        return false;
    }
}

/* Blocks of an in-place alltoallv have one length in both directions. */
static bool is_symmetric(const struct operation *o)
{
    return o->kind != ALLTOALLV && o->kind != ALLTOALLW;
}

static void draw_operation(struct operation *o, uint32_t *state)
{
    const int long_one = draw(state, 12) == 0;
    bool wants_in_place;

    memset(o, 0, sizeof(*o));
    o->kind = (enum kind)draw(state, KINDS);
    o->face = (enum face)draw(state, FACES);
    o->seed = (uint32_t)draw(state, 1 << 30);
    o->is_large = draw(state, 2) == 0;
    o->root = draw(state, size);
    o->count = draw(state, long_one ? LONG_COUNT : MOST_COUNT);
    o->is_affine = draw(state, 2) == 0 && is_reduction(o);
    wants_in_place = draw(state, 3) == 0;
    o->is_in_place = wants_in_place && may_be_in_place(o) && is_symmetric(o);
    /* Each rank has its own layout. */
    o->send_stride =
        is_reduction(o) ? 1 : 1 + (int)(mix(o->seed, (uint32_t)rank, 1, 1) % 2);
    o->recv_stride =
        is_reduction(o) ? 1 : 1 + (int)(mix(o->seed, (uint32_t)rank, 2, 2) % 2);
}

static void finish(struct operation *o)
{
    if (o->face == PERSISTENT) {
        MPI_Wait(&o->request, MPI_STATUS_IGNORE);
        MPI_Request_free(&o->request);
    } else if (o->face == NONBLOCKING) {
        MPI_Wait(&o->request, MPI_STATUS_IGNORE);
    }
}

/* Persistent ones are started, and all completed, in orders of this rank's own. */
static void run_batch(struct operation *batch, int count, uint32_t *own)
{
    const int turn = draw(own, count);

    for (int i = 0; i < count; i++) {
        make(&batch[i]);
        start(&batch[i]);
    }
    for (int i = 0; i < count; i++) {
        struct operation *o = &batch[(i + turn) % count];

        if (o->face == PERSISTENT) {
            MPI_Start(&o->request);
        }
    }
    for (int i = count - 1; i >= 0; i--) {
        finish(&batch[(i + turn) % count]);
    }
    for (int i = 0; i < count; i++) {
        check(&batch[i]);
        unmake(&batch[i]);
    }
}

static void apply(void *in, void *inout, int *length, MPI_Datatype *type)
{
    const uint32_t *f = in; /* comes first */
    uint32_t *g = inout;

    CHECK(*type == pair);
    for (int i = 0; i < *length; i++) {
        g[2 * i + 1] += g[2 * i] * f[2 * i + 1];
        g[2 * i] *= f[2 * i];
    }
}

static void open_all(void)
{
    const int two = 2;
    int sources[3];
    int destinations[3];
    const int weights[3] = {1, 1, 1};
    struct operation graph = {.root = 1};
    MPI_Datatype one;

    comms[0] = MPI_COMM_WORLD;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, (int[]){1}, 0, &comms[1]);
    neighbours(&graph, rank, true, sources);
    neighbours(&graph, rank, false, destinations);
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 3, sources, weights, 3, destinations,
                                   weights, MPI_INFO_NULL, 0, &comms[2]);
    MPI_Type_contiguous(1, MPI_UINT32_T, &one);
    MPI_Type_create_resized(one, 0, two * (MPI_Aint)sizeof(uint32_t), &sparse);
    MPI_Type_commit(&sparse);
    MPI_Type_free(&one);
    MPI_Type_contiguous(two, MPI_UINT32_T, &pair);
    MPI_Type_commit(&pair);
    MPI_Op_create(apply, 0, &compose);
}

static void close_all(void)
{
    MPI_Op_free(&compose);
    MPI_Type_free(&sparse);
    MPI_Type_free(&pair);
    MPI_Comm_free(&comms[1]);
    MPI_Comm_free(&comms[2]);
}

int main(int argc, char **argv)
{
    const uint32_t seed = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 1;
    const int cases = argc > 2 ? atoi(argv[2]) : 300;
    uint32_t state = seed * 2654435761u | 1;
    uint32_t own;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    own = state + (uint32_t)rank * 2;
    open_all();
    for (int i = 0; i < cases; i++) {
        struct operation batch[BATCH];
        const int count = 1 + draw(&state, BATCH);

        for (int k = 0; k < count; k++) {
            draw_operation(&batch[k], &state);
        }
        run_batch(batch, count, &own);
    }
    close_all();
    MPI_Finalize();
    return 0;
}
