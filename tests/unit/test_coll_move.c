/*
 * test_coll_move.c - the algorithms of collectives that move data: the graphs of all
 * ranks of each algorithm are run against each other (sched_model.h). Every byte tells,
 * by a hash that differs from run to run, whose block it is of, for whom, and which of
 * its bytes it is. Bytes that are no part of the result must stay as they were.
 */
#include "unit.h"

#include "coll/algorithm.h"
#include "coll/algorithms.h"
#include "coll/shape.h"
#include "sched_model.h"

#include <stdlib.h>
#include <string.h>

enum { EACH = 33, MOST = 129, UNTOUCHED = 0xee };

/* One operation, the same for all ranks. */
static struct {
    enum weft_coll_kind kind;
    weft_builder *build;
    int n;
    int root;
    uint64_t bytes; /* of a block; of v-operations: the unit of their sizes */
    bool is_in_place;
    uint32_t salt;
} op;

static const struct weft_coll_facts *facts(void)
{
    return weft_coll_facts(op.kind);
}

/* ---- who has what ---- */

/* Of the block from one rank to another, or to everybody: then `to` is 0. In place, two
 * ranks exchange blocks of the same size. */
static uint64_t size_of(int from, int to)
{
    if (!facts()->has_own_sizes) {
        return op.bytes;
    }
    return op.bytes * (uint64_t)((op.is_in_place ? 3 * (from + to) : 3 * from + to) % 4);
}

/* Blocks with sizes of their own are as far apart as the largest is long, and more. */
static uint64_t apart(void)
{
    return facts()->has_own_sizes ? 3 * op.bytes + 2 : op.bytes;
}

static uint8_t symbol(int from, int to, uint64_t i)
{
    uint32_t hash = op.salt + 0x9e3779b9u * ((uint32_t)from + 1);

    hash = (hash ^ (hash >> 15)) * 0x85ebca6bu + (uint32_t)to;
    hash = (hash ^ (hash >> 13)) * 0xc2b2ae35u + (uint32_t)i;
    hash = (hash ^ (hash >> 16)) * 0x27d4eb2fu;
    return (uint8_t)(hash >> 24);
}

static void fill(uint8_t *space, int block, int from, int to)
{
    uint8_t *at = space + apart() * (uint64_t)block;

    for (uint64_t i = 0; i < size_of(from, to); i++) {
        at[i] = symbol(from, to, i);
    }
}

static bool is_in_place(int rank)
{
    return op.is_in_place && (!facts()->is_rooted || rank == op.root);
}

static bool is_scatter(void)
{
    return facts()->is_rooted && facts()->has_send_blocks;
}

/* Has this rank input, and a result? */
static bool gives(int rank)
{
    return !facts()->is_rooted || facts()->has_recv_blocks || rank == op.root;
}

static bool gets(int rank)
{
    return !facts()->is_rooted || !facts()->has_recv_blocks || rank == op.root;
}

static void put_input(const struct model *model, int rank)
{
    const bool is_at_result =
        op.kind == WEFT_COLL_BCAST || (is_in_place(rank) && !is_scatter());
    uint8_t *space =
        model->spaces[is_at_result ? WEFT_SPACE_RECV : WEFT_SPACE_SEND][rank];

    if (!gives(rank)) {
        return;
    }
    for (int to = 0; to < op.n && facts()->has_send_blocks; to++) {
        fill(space, to, rank, to);
    }
    if (!facts()->has_send_blocks) {
        fill(space, is_in_place(rank) ? rank : 0, rank, 0);
    }
}

static void put_result(uint8_t *space, int rank)
{
    if (!gets(rank) || (is_scatter() && is_in_place(rank))) {
        return;
    }
    for (int from = 0; from < op.n && facts()->has_recv_blocks; from++) {
        fill(space, from, from, facts()->has_send_blocks ? rank : 0);
    }
    if (!facts()->has_recv_blocks) {
        fill(space, 0, op.root, is_scatter() ? rank : 0);
    }
}

/* ---- building and running ---- */

/* What shape.c makes of a call, on one rank. */
static enum weft_rc build(const struct weft_shape *shape, struct weft_graph *graph)
{
    struct weft_shape own = *shape;
    uint64_t to[MOST];
    uint64_t from[MOST];

    own.is_in_place = is_in_place(own.rank);
    if (facts()->has_own_sizes) {
        for (int peer = 0; peer < own.n; peer++) {
            to[peer] = size_of(own.rank, peer);
            from[peer] = size_of(peer, facts()->has_send_blocks ? own.rank : 0);
        }
        own.given = size_of(own.rank, 0);
        own.bytes = is_scatter() ? size_of(op.root, own.rank) : from[0];
        own.to = facts()->has_send_blocks && gives(own.rank) &&
                         (is_scatter() || !own.is_in_place)
                     ? to
                     : NULL;
        own.from = facts()->has_recv_blocks && gets(own.rank) ? from : NULL;
    }
    return op.build(&own, graph);
}

static void run(struct model *model, int eager, uint32_t seed)
{
    const size_t bytes = (size_t)model->space_bytes[WEFT_SPACE_RECV];
    uint8_t *expected = malloc(bytes + 1);

    assert_non_null(expected);
    op.salt = seed * 40503u;
    for (int rank = 0; rank < op.n; rank++) {
        memset(model->spaces[WEFT_SPACE_RECV][rank], UNTOUCHED, bytes);
        put_input(model, rank);
    }
    assert_null(model_run(model, eager, seed));
    for (int rank = 0; rank < op.n; rank++) {
        memset(expected, UNTOUCHED, bytes);
        put_result(expected, rank);
        assert_memory_equal(model->spaces[WEFT_SPACE_RECV][rank], expected, bytes);
    }
    free(expected);
}

static struct weft_cost count(const struct model *model)
{
    struct weft_cost cost = {0};

    for (int rank = 0; rank < op.n; rank++) {
        const struct weft_graph *graph = &model->graphs[rank];

        for (uint32_t i = 0; i < graph->step_count; i++) {
            if (graph->steps[i].kind == WEFT_STEP_SEND) {
                cost.messages++;
                cost.bytes += graph->steps[i].from.bytes;
            }
        }
    }
    return cost;
}

static void try_op(weft_cost_of *cost_of)
{
    const struct weft_shape shape = {
        .n = op.n, .root = op.root, .bytes = op.bytes, .given = op.bytes};
    const uint64_t bytes = apart() * (uint64_t)op.n;
    struct model model;

    model_open(&model, build, &shape, bytes, bytes);
    model.block_bytes = apart();
    assert_null(model_check(&model));
    if (cost_of != NULL) {
        const struct weft_cost counted = count(&model);
        const struct weft_cost cost = cost_of(&shape);

        assert_int_equal(counted.messages, cost.messages);
        assert_int_equal(counted.bytes, cost.bytes);
        assert_int_equal(cost.reduced, 0);
    }
    for (int eager = 0; eager <= 10; eager += 5) {
        run(&model, eager, 977u * (uint32_t)(op.n + eager) + (uint32_t)op.root);
    }
    model_close(&model);
}

/* ---- all algorithms ---- */

static bool moves_data(enum weft_coll_kind kind)
{
    return kind >= WEFT_COLL_BCAST && kind <= WEFT_COLL_ALLTOALLW;
}

/* Sizes that leave some ranks without a chunk of a split bcast, and the last one with a
 * short chunk. */
static uint64_t size_at(int i)
{
    const uint64_t n = (uint64_t)op.n;
    const uint64_t blocks[] = {0, 1, 5};
    const uint64_t chunks[] = {0, 64 * (n / 2) + 1, 64 * n - 1};

    return op.kind == WEFT_COLL_BCAST ? chunks[i] : blocks[i];
}

static void try_roots(weft_cost_of *cost_of)
{
    const int roots[] = {0, 1, op.n - 1};

    for (int i = 0; i < (facts()->is_rooted ? 3 : 1); i++) {
        if (roots[i] < op.n && (i < 2 || roots[i] > 1)) {
            op.root = roots[i];
            try_op(cost_of);
        }
    }
}

static void try_algorithm(const struct weft_algorithm *algorithm, int n)
{
    op.kind = algorithm->kind;
    op.build = algorithm->build;
    op.n = n;
    for (int size = 0; size < 3; size++) {
        op.bytes = size_at(size);
        op.is_in_place = false;
        try_roots(algorithm->cost);
        if (op.kind != WEFT_COLL_BCAST) {
            op.is_in_place = true;
            try_roots(algorithm->cost);
        }
    }
}

static void every_algorithm_moves_every_byte(void **state)
{
    const struct weft_algorithm *at;
    int tried = 0;

    (void)state;
    for (int i = 0; (at = weft_algorithm_at(i)) != NULL; i++) {
        for (int n = 1; n <= EACH && moves_data(at->kind); n++) {
            try_algorithm(at, n);
            tried++;
        }
    }
    assert_true(tried >= EACH * (WEFT_COLL_ALLTOALLW - WEFT_COLL_BCAST + 1));
}

/* Many rounds, and numbers of ranks around a power of two. */
static void every_algorithm_moves_every_byte_among_many(void **state)
{
    static const int many[] = {64, 127, 128, 129};
    const struct weft_algorithm *at;

    (void)state;
    for (int i = 0; (at = weft_algorithm_at(i)) != NULL; i++) {
        for (int k = 0; k < 4 && moves_data(at->kind); k++) {
            op.kind = at->kind;
            op.build = at->build;
            op.n = many[k];
            op.bytes = size_at(2);
            op.is_in_place = op.kind != WEFT_COLL_BCAST && k % 2 == 0;
            op.root = facts()->is_rooted ? op.n / 3 : 0;
            try_op(at->cost);
        }
    }
}

/* ---- the choice ---- */

static const char *chosen(enum weft_coll_kind kind, int n, uint64_t bytes)
{
    uint64_t from[MOST];
    const struct weft_shape shape = {
        .n = n, .bytes = bytes, .given = bytes, .from = from};

    for (int i = 0; i < n; i++) {
        from[i] = bytes;
    }
    return weft_algorithm_choose(kind, &shape)->name;
}

static void size_and_ranks_decide(void **state)
{
    const uint64_t large = 1 << 20;

    (void)state;
    assert_string_equal(chosen(WEFT_COLL_BCAST, 16, 8), "binomial");
    assert_string_equal(chosen(WEFT_COLL_BCAST, 2, large), "binomial");
    assert_string_equal(chosen(WEFT_COLL_BCAST, 16, large), "split");
    assert_string_equal(chosen(WEFT_COLL_GATHER, 16, 8), "binomial");
    assert_string_equal(chosen(WEFT_COLL_GATHER, 16, large), "direct");
    assert_string_equal(chosen(WEFT_COLL_SCATTER, 16, 8), "binomial");
    assert_string_equal(chosen(WEFT_COLL_SCATTER, 3, 8), "direct");
    assert_string_equal(chosen(WEFT_COLL_ALLGATHER, 16, 8), "bruck");
    assert_string_equal(chosen(WEFT_COLL_ALLGATHER, 16, large), "ring");
    assert_string_equal(chosen(WEFT_COLL_ALLGATHER, 3, 8), "direct");
    assert_string_equal(chosen(WEFT_COLL_ALLGATHERV, 16, 8), "direct");
    assert_string_equal(chosen(WEFT_COLL_ALLGATHERV, 16, large), "ring");
    assert_string_equal(chosen(WEFT_COLL_ALLTOALL, 64, 8), "bruck");
    assert_string_equal(chosen(WEFT_COLL_ALLTOALL, 4, 8), "direct");
    assert_string_equal(chosen(WEFT_COLL_ALLTOALL, 64, large), "pairwise");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_algorithm_moves_every_byte),
        cmocka_unit_test(every_algorithm_moves_every_byte_among_many),
        cmocka_unit_test(size_and_ranks_decide),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
