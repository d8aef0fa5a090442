/*
 * rma_random.c [SEED [EPOCHS]] - random programs of epochs, compared with a model.
 *
 * All ranks draw the same numbers, so that each of them knows what every rank does in
 * every epoch, and does it to its own copy of everybody's memory, one operation after the
 * other. In one epoch a cell of 16 bytes is either left alone, or belongs to one origin
 * that puts, gets or accumulates it, or is accumulated by any number of origins, with one
 * operation that commutes. The cells of an operation are described as blocks of a vector
 * or as the columns of a matrix whose rows they are. After each epoch every rank compares
 * its memory, and what it has fetched, with the model.
 */
#include "rma.h"
#include "draw.h"

enum {
    CELL = 16,
    CELLS = 256,
    BYTES = CELL * CELLS,
    WINDOWS = 4, /* one of each kind */
    MOST = 24,   /* operations of one epoch */
};

enum act { PUT, GET, ACCUMULATE, FETCH, ATOMIC, SWAP, ACTS };

struct step {
    enum act act;
    int origin;
    int target;
    int first;       /* cell */
    int cells;       /* that are used */
    int stride;      /* 1: all of them; 2: every second one, by a derived type */
    bool is_columns; /* elements are longer than the distance from one to the next */
    bool is_upwards; /* their first row is the last cell */
    int type;
    int op;
    int seed; /* of the origin's data */
    unsigned char *fetched;
};

static int rank;
static int size;
static uint32_t state;
static unsigned char *model[WINDOWS]; /* the memory of all ranks */

static const struct {
    MPI_Datatype type;
    int width;
} types[] = {
    {MPI_INT8_T, 1},   {MPI_UINT16_T, 2}, {MPI_INT32_T, 4},
    {MPI_UINT64_T, 8}, {MPI_INT64_T, 8},  {MPI_UNSIGNED_CHAR, 1},
};

/* All commute. Sums are of the unsigned types, at odd places, which may overflow. */
static const MPI_Op ops[] = {MPI_SUM, MPI_BXOR, MPI_BAND, MPI_BOR,
                             MPI_MAX, MPI_MIN,  MPI_LXOR};

static unsigned char *cell_of(int window, int who, int cell)
{
    return model[window] + (size_t)who * BYTES + (size_t)cell * CELL;
}

static void fill(unsigned char *to, int bytes, int seed)
{
    for (int i = 0; i < bytes; i++) {
        to[i] = (unsigned char)((seed * 31 + i * 7 + (i >> 4)) & 0xff);
    }
}

/* ---- drawing ---- */

/* `taken[target][cell]`: 0 free, 1 of one origin, 2 + operation and type: of all. */
static bool may_have(const int *taken, const struct step *step, int sign)
{
    for (int i = 0; i < step->cells; i++) {
        const int found = taken[step->target * CELLS + step->first + i];

        if (found != 0 && (sign == 1 || found != sign)) {
            return false;
        }
    }
    return true;
}

static bool draw_step(struct step *step, int *taken)
{
    int sign = 1;

    step->act = (enum act)draw(&state, ACTS);
    step->origin = draw(&state, size);
    step->target = draw(&state, size);
    step->cells = draw(&state, 4) == 0 ? 1 + draw(&state, 60) : 1 + draw(&state, 3);
    step->first = draw(&state, CELLS - step->cells);
    step->stride = 1 + draw(&state, 2);
    step->type = draw(&state, (int)LENGTH(types));
    step->op = draw(&state, (int)LENGTH(ops));
    step->type |= ops[step->op] == MPI_SUM ? 1 : 0;
    step->seed = draw(&state, 10000);
    step->is_columns = draw(&state, 5) == 0;
    step->is_upwards = draw(&state, 2) == 0;
    step->fetched = NULL;
    if (step->act == SWAP || step->act == ATOMIC) {
        step->cells = 1;
    }
    if (step->act == ACCUMULATE && draw(&state, 2) == 0) {
        sign = 2 + step->op * (int)LENGTH(types) + step->type; /* shared by all origins */
    }
    if (!may_have(taken, step, sign)) {
        return false;
    }
    for (int i = 0; i < step->cells; i++) {
        taken[step->target * CELLS + step->first + i] = sign;
    }
    return true;
}

/* ---- the model ---- */

static int elements(const struct step *step)
{
    return CELL / types[step->type].width;
}

static int used_cells(const struct step *step)
{
    return (step->cells + step->stride - 1) / step->stride;
}

static void model_cell(const struct step *step, unsigned char *memory,
                       unsigned char *data, unsigned char *fetched)
{
    if (fetched != NULL) {
        memcpy(fetched, memory, CELL);
    }
    if (step->act == PUT) {
        memcpy(memory, data, CELL);
    } else if (step->act == ACCUMULATE || step->act == FETCH) {
        DONE(MPI_Reduce_local(data, memory, elements(step), types[step->type].type,
                              ops[step->op]));
    }
}

/* One element, of the first 8 bytes of its cell. */
static void model_word(const struct step *step, unsigned char *memory,
                       unsigned char *data, unsigned char *fetched)
{
    if (fetched != NULL) {
        memcpy(fetched, memory, 8);
    }
    if (step->act == ATOMIC) {
        DONE(MPI_Reduce_local(data, memory, 1, MPI_UINT64_T, ops[step->op]));
    } else if (step->seed % 2 == 0) { /* a swap whose comparison holds */
        memcpy(memory, data, 8);
    }
}

static void model_step(const struct step *step, int window)
{
    unsigned char data[CELL * CELLS];

    fill(data, used_cells(step) * CELL, step->seed);
    for (int i = 0; i < used_cells(step); i++) {
        unsigned char *memory =
            cell_of(window, step->target, step->first + i * step->stride);
        unsigned char *fetched =
            step->fetched == NULL || step->act == PUT || step->act == ACCUMULATE
                ? NULL
                : step->fetched + (size_t)i * CELL;

        if (step->act == ATOMIC || step->act == SWAP) {
            model_word(step, memory, data, fetched);
        } else {
            model_cell(step, memory, data + (size_t)i * CELL, fetched);
        }
    }
}

/* ---- the operation itself ---- */

/* Bytes from here on: data, comparison, what comes back. Kept until the epoch has ended.
 */
struct buffers {
    unsigned char data[CELL * CELLS];
    unsigned char compare[8];
    unsigned char back[CELL * CELLS];
};

/* How the data of a step lie. */
struct place {
    MPI_Datatype type;
    int count;
    MPI_Aint at; /* from the first cell */
};

/* One number of each cell, resized to a number. */
static MPI_Datatype column(const struct step *step, int stride)
{
    const int rows = step->is_upwards ? -elements(step) : elements(step);
    MPI_Datatype plain;
    MPI_Datatype type;

    DONE(MPI_Type_vector(used_cells(step), 1, rows * stride, types[step->type].type,
                         &plain));
    DONE(MPI_Type_create_resized(plain, 0, types[step->type].width, &type));
    DONE(MPI_Type_free(&plain));
    return type;
}

static struct place spread(const struct step *step, int stride)
{
    struct place place = {.count = 1};

    if (step->is_columns) {
        place.type = column(step, stride);
        place.count = elements(step);
        place.at =
            step->is_upwards ? (MPI_Aint)(used_cells(step) - 1) * stride * CELL : 0;
    } else {
        DONE(MPI_Type_vector(used_cells(step), elements(step), elements(step) * stride,
                             types[step->type].type, &place.type));
    }
    DONE(MPI_Type_commit(&place.type));
    return place;
}

/* The origin's data are without gaps. */
static struct place plain(const struct step *step)
{
    struct place place = {types[step->type].type, used_cells(step) * elements(step), 0};

    if (step->is_columns) {
        return spread(step, 1);
    }
    DONE(MPI_Type_dup(place.type, &place.type));
    return place;
}

static void swap(const struct window *w, const struct step *step, int window,
                 struct buffers *b, MPI_Aint there)
{
    memcpy(b->compare, cell_of(window, step->target, step->first), 8);
    b->compare[3] ^= step->seed % 2 == 0 ? 0 : 1;
    DONE(MPI_Compare_and_swap(b->data, b->compare, b->back, MPI_UINT64_T, step->target,
                              there, w->win));
}

static void do_step(const struct window *w, const struct step *step, int window,
                    struct buffers *b)
{
    const MPI_Aint first = (MPI_Aint)step->first * CELL;
    const MPI_Aint there = at(w, step->target, first);
    struct place near = plain(step);
    struct place far = spread(step, step->stride);
    const MPI_Aint start = at(w, step->target, first + far.at);

    fill(b->data, used_cells(step) * CELL, step->seed);
    if (step->act == PUT) {
        DONE(MPI_Put(b->data + near.at, near.count, near.type, step->target, start,
                     far.count, far.type, w->win));
    } else if (step->act == GET) {
        DONE(MPI_Get(b->back + near.at, near.count, near.type, step->target, start,
                     far.count, far.type, w->win));
    } else if (step->act == ACCUMULATE) {
        DONE(MPI_Accumulate(b->data + near.at, near.count, near.type, step->target, start,
                            far.count, far.type, ops[step->op], w->win));
    } else if (step->act == FETCH) {
        DONE(MPI_Get_accumulate(b->data + near.at, near.count, near.type,
                                b->back + near.at, near.count, near.type, step->target,
                                start, far.count, far.type, ops[step->op], w->win));
    } else if (step->act == ATOMIC) {
        DONE(MPI_Fetch_and_op(b->data, b->back, MPI_UINT64_T, step->target, there,
                              ops[step->op], w->win));
    } else {
        swap(w, step, window, b, there);
    }
    DONE(MPI_Type_free(&near.type));
    DONE(MPI_Type_free(&far.type));
}

/* ---- an epoch ---- */

static void is_same(const unsigned char *found, const unsigned char *expected, int bytes,
                    const char *what, int epoch)
{
    for (int i = 0; i < bytes; i++) {
        if (found[i] != expected[i]) {
            fprintf(stderr, "epoch %d, %s: byte %d is %d and should be %d\n", epoch, what,
                    i, found[i], expected[i]);
            CHECK(found[i] == expected[i]);
        }
    }
}

static void do_all(const struct window *w, int window, const struct step *steps, int n,
                   struct buffers *buffers, enum how how)
{
    open_all(w, how);
    for (int target = 0; target < size; target++) {
        open_one(w, how, target);
        for (int i = 0; i < n; i++) {
            if (steps[i].origin == rank && steps[i].target == target) {
                do_step(w, &steps[i], window, &buffers[i]);
            }
        }
        close_one(w, how, target);
    }
    close_all(w, how);
}

static void epoch_once(struct window *w, int window, int number, struct buffers *buffers,
                       int *taken)
{
    static unsigned char expected[MOST][CELL * CELLS];
    static const char *const names[] = {
        "put", "get", "accumulate", "get_accumulate", "fetch_and_op", "compare_and_swap"};
    const enum how how = (enum how)draw(&state, WAYS);
    const int wanted = 1 + draw(&state, MOST);
    struct step steps[MOST];
    int n = 0;

    memset(taken, 0, (size_t)size * CELLS * sizeof(*taken));
    for (int i = 0; i < wanted; i++) {
        n += draw_step(&steps[n], taken) ? 1 : 0;
    }
    do_all(w, window, steps, n, buffers, how);
    for (int i = 0; i < n; i++) {
        steps[i].fetched = expected[i];
        model_step(&steps[i], window);
    }
    for (int i = 0; i < n; i++) {
        const enum act act = steps[i].act;

        if (steps[i].origin == rank && act != PUT && act != ACCUMULATE) {
            is_same(buffers[i].back, expected[i],
                    act == ATOMIC || act == SWAP ? 8 : used_cells(&steps[i]) * CELL,
                    names[act], number);
        }
    }
    is_same((unsigned char *)w->base, cell_of(window, rank, 0), BYTES, "memory", number);
    DONE(MPI_Barrier(w->comm)); /* the next epoch changes what was compared */
}

int main(int argc, char **argv)
{
    struct window windows[WINDOWS];
    struct buffers *buffers = malloc(MOST * sizeof(*buffers));
    int *taken;
    const int seed = argc > 1 ? atoi(argv[1]) : 1;
    const int epochs = argc > 2 ? atoi(argv[2]) : 400;
    int kinds = WINDOWS;

    DONE(MPI_Init(&argc, &argv));
    DONE(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    DONE(MPI_Comm_size(MPI_COMM_WORLD, &size));
    if (rank == 0) {
        printf("seed %d, %d epochs\n", seed, epochs);
    }
    state = (uint32_t)seed * 2654435761u + 1;
    taken = malloc((size_t)size * CELLS * sizeof(*taken));
    CHECK(buffers != NULL && taken != NULL);
    for (int i = 0; i < WINDOWS; i++) {
        windows[i] = make_window((enum kind)i, BYTES, 1 << (rank + i) % 5);
        model[i] = calloc((size_t)size, BYTES);
        CHECK(model[i] != NULL);
        if (windows[i].size != size) { /* a shared one, of several nodes */
            kinds = i;
        }
    }
    for (int i = 0; i < epochs; i++) {
        const int window = draw(&state, WINDOWS);

        if (window != kinds) {
            epoch_once(&windows[window], window, i, buffers, taken);
        }
    }
    for (int i = 0; i < WINDOWS; i++) {
        free_window(&windows[i]);
        free(model[i]);
    }
    free(buffers);
    free(taken);
    DONE(MPI_Finalize());
    return 0;
}
