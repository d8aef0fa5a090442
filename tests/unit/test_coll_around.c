/*
 * test_coll_around.c - the algorithms of neighbourhoods: the graphs of all ranks of each
 * algorithm are run against each other (sched_model.h, coll_model.h), in random graphs of
 * processes and in grids.
 *
 * A random graph has processes that are their own neighbours, neighbours several times,
 * and neighbours that are nobody. Ranks list their sources in any order, but for those
 * that are the same process: these are in the order in which that process lists its
 * destinations. A grid of one or two processes in a dimension has the same neighbour on
 * both sides: what goes to one side comes from the other.
 */
#include "coll_model.h"

#include <stdlib.h>

enum { MOST = 64, PLACES = 6, UNTOUCHED = 0xee, SHAPES = 5 };

/* The neighbours of a rank. */
struct around {
    int in;
    int out;
    int sources[PLACES];
    int destinations[PLACES];
};

/* One operation, the same for all ranks. */
static struct {
    const struct weft_algorithm *algorithm;
    int n;
    uint64_t bytes; /* of a block; of v-operations: the unit of their sizes */
    bool is_grid;
    struct around around[COST_RANKS_MOST];
    uint32_t salt;
} op;

static const struct weft_coll_facts *facts(void)
{
    return weft_coll_facts(op.algorithm->kind);
}

/* ---- who is near ---- */

static uint32_t draw(uint32_t *seed, uint32_t below)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (uint32_t)((uint64_t)(*seed >> 8) * below >> 24);
}

static void insert(int *list, int *count, int at, int value)
{
    memmove(list + at + 1, list + at, (size_t)(*count - at) * sizeof(*list));
    list[at] = value;
    ++*count;
}

/* Adds a neighbour, or one that is nobody, where there is room at both ends. */
static void add_edge(uint32_t *seed, int from, int to)
{
    struct around *source = &op.around[from];
    struct around *target = &op.around[to];

    if (source->out == PLACES || target->in == PLACES) {
        return;
    }
    if (draw(seed, 8) == 0) {
        insert(source->destinations, &source->out, source->out, -1);
    } else if (draw(seed, 8) == 0) {
        insert(target->sources, &target->in, target->in, -1);
    } else {
        insert(source->destinations, &source->out, source->out, to);
        insert(target->sources, &target->in, (int)draw(seed, (uint32_t)target->in + 1),
               from);
    }
}

/* Most neighbours are close to each other, so that some are the same. */
static void make_graph(uint32_t seed)
{
    op.is_grid = false;
    memset(op.around, 0, sizeof(op.around));
    for (int from = 0; from < op.n; from++) {
        for (uint32_t left = draw(&seed, PLACES); left > 0; left--) {
            const uint32_t away = draw(&seed, draw(&seed, 2) == 0 ? 3 : (uint32_t)op.n);

            add_edge(&seed, from, (from + (int)away) % op.n);
        }
    }
}

/* The neighbour of a place in a row of so many, or -1. */
static int shift(int at, int by, int length, bool is_ring)
{
    const int to = at + by;

    if (to >= 0 && to < length) {
        return to;
    }
    return is_ring ? (to + length) % length : -1;
}

/* Rows and columns, each of them a ring or not. */
static void make_grid(int rows, bool are_rows_rings, bool are_columns_rings)
{
    const int columns = op.n / rows;

    op.is_grid = true;
    for (int rank = 0; rank < op.n; rank++) {
        struct around *around = &op.around[rank];

        around->in = 4;
        around->out = 4;
        for (int i = 0; i < 4; i++) {
            const int by = i % 2 == 0 ? -1 : 1;
            const int row = i < 2 ? shift(rank / columns, by, rows, are_columns_rings)
                                  : rank / columns;
            const int column = i < 2 ? rank % columns
                                     : shift(rank % columns, by, columns, are_rows_rings);

            around->sources[i] = row < 0 || column < 0 ? -1 : row * columns + column;
            around->destinations[i] = around->sources[i];
        }
    }
}

static void make_around(int shape)
{
    int rows = 1;

    for (int i = 2; i * i <= op.n; i++) {
        rows = op.n % i == 0 ? i : rows;
    }
    switch (shape) {
    case 0:
        make_grid(1, true, true);
        break;
    case 1:
        make_grid(rows, true, false);
        break;
    case 2:
        make_grid(rows, false, true);
        break;
    default:
        make_graph((uint32_t)(op.n * SHAPES + shape));
        break;
    }
}

/* At which place of its source's list is the block that a rank gets at place `at`? */
static int place_at_source(int rank, int at)
{
    const struct around *mine = &op.around[rank];
    const struct around *source = &op.around[mine->sources[at]];
    int before = 0;

    if (op.is_grid) {
        return at ^ 1;
    }
    for (int i = 0; i < at; i++) {
        before += mine->sources[i] == mine->sources[at] ? 1 : 0;
    }
    for (int i = 0; i < source->out; i++) {
        if (source->destinations[i] == rank && before-- == 0) {
            return i;
        }
    }
    fail_msg("rank %d has no block for place %d of %d", mine->sources[at], at, rank);
    return -1;
}

/* ---- who has what ---- */

/* Of a rank's block for a place in its list, or for all: then that is 0. */
static uint64_t size_of(int from, int place)
{
    const int own = facts()->has_send_blocks ? place : 0;

    return facts()->has_own_sizes ? op.bytes * (uint64_t)((3 * from + own) % 4)
                                  : op.bytes;
}

static uint64_t size_from(int rank, int at)
{
    const int source = op.around[rank].sources[at];

    return source < 0 ? op.bytes : size_of(source, place_at_source(rank, at));
}

static uint64_t apart(void)
{
    return facts()->has_own_sizes ? 3 * op.bytes + 2 : op.bytes;
}

static void fill(uint8_t *space, int block, int from, int place)
{
    uint8_t *at = space + apart() * (uint64_t)block;

    for (uint64_t i = 0; i < size_of(from, place); i++) {
        at[i] = symbol_of(op.salt, from, facts()->has_send_blocks ? place : 0, i);
    }
}

static void put_input(const struct model *model, int rank)
{
    uint8_t *space = model->spaces[WEFT_SPACE_SEND][rank];

    for (int i = 0; i < (facts()->has_send_blocks ? op.around[rank].out : 1); i++) {
        fill(space, i, rank, i);
    }
}

static void check_result(const struct model *model, int rank)
{
    uint8_t expected[PLACES * 64];
    const size_t bytes = (size_t)model->space_bytes[WEFT_SPACE_RECV];
    const struct around *around = &op.around[rank];

    assert_true(bytes <= sizeof(expected));
    memset(expected, UNTOUCHED, bytes);
    for (int i = 0; i < around->in; i++) {
        if (around->sources[i] >= 0) {
            fill(expected, i, around->sources[i], place_at_source(rank, i));
        }
    }
    assert_memory_equal(model->spaces[WEFT_SPACE_RECV][rank], expected, bytes);
}

/* ---- building and running ---- */

/* What shape.c makes of a call, on one rank. */
static enum weft_rc build(const struct weft_shape *shape, struct weft_graph *graph)
{
    const struct around *around = &op.around[shape->rank];
    const struct weft_neighbourhood lists = {around->in, around->out, around->sources,
                                             around->destinations, op.is_grid};
    struct weft_shape own = *shape;
    uint64_t to[PLACES];
    uint64_t from[PLACES];

    own.around = &lists;
    own.given = size_of(own.rank, 0);
    if (facts()->has_own_sizes) {
        for (int i = 0; i < around->out; i++) {
            to[i] = size_of(own.rank, i);
        }
        for (int i = 0; i < around->in; i++) {
            from[i] = size_from(own.rank, i);
        }
        own.to = to;
        own.from = from;
    }
    return op.algorithm->build(&own, graph);
}

static struct weft_cost stated_cost(void)
{
    struct weft_cost cost = {0};

    for (int rank = 0; rank < op.n; rank++) {
        for (int i = 0; i < op.around[rank].out; i++) {
            if (op.around[rank].destinations[i] >= 0) {
                cost.messages++;
                cost.bytes += size_of(rank, i);
            }
        }
    }
    return cost;
}

static void run(struct model *model, int eager)
{
    const size_t bytes = (size_t)model->space_bytes[WEFT_SPACE_RECV];

    op.salt += 40503u;
    for (int rank = 0; rank < op.n; rank++) {
        memset(model->spaces[WEFT_SPACE_RECV][rank], UNTOUCHED, bytes);
        put_input(model, rank);
    }
    check_right(model_run(model, eager, op.salt), op.algorithm->kind, op.algorithm->name,
                op.n);
    for (int rank = 0; rank < op.n; rank++) {
        check_result(model, rank);
    }
}

static void try_op(void)
{
    const struct weft_shape shape = {.n = op.n, .bytes = op.bytes};
    const uint64_t bytes = apart() * PLACES;
    struct model model;

    model_open(&model, build, &shape, bytes, bytes);
    model.block_bytes = apart();
    check_right(model_check(&model), op.algorithm->kind, op.algorithm->name, op.n);
    check_cost(count_model(&model), stated_cost());
    for (int eager = 0; eager <= 10; eager += 5) {
        run(&model, eager);
    }
    model_close(&model);
}

static void try_ranks(const struct weft_algorithm *algorithm, int n)
{
    op.algorithm = algorithm;
    op.n = n;
    for (int i = 0; i < 2 * SHAPES; i++) {
        make_around(i % SHAPES);
        op.bytes = i < SHAPES ? 5 : 0;
        try_op();
    }
}

/* ---- cases ---- */

static void every_neighbour_gets_its_block(void **state)
{
    (void)state;
    try_family(AROUND, 1, MOST, 1, try_ranks);
    try_family(AROUND, 127, 129, 1, try_ranks);
}

static void one_message_goes_to_each_neighbour(void **state)
{
    const struct weft_algorithm *at;

    (void)state;
    for (int i = 0; (at = algorithm_of(AROUND, i)) != NULL; i++) {
        for (int k = 0; cost_ranks(k) != 0; k++) {
            const struct weft_shape shape = {.n = cost_ranks(k), .bytes = 5};

            op.algorithm = at;
            op.n = shape.n;
            op.bytes = shape.bytes;
            make_around(k % SHAPES);
            check_cost(at->cost != NULL ? at->cost(&shape) : stated_cost(),
                       count_built(build, &shape));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_neighbour_gets_its_block),
        cmocka_unit_test(one_message_goes_to_each_neighbour),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
