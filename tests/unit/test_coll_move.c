/*
 * test_coll_move.c - the algorithms of collectives that move data, and barriers: the
 * graphs of all ranks of each algorithm are run against each other (sched_model.h,
 * coll_model.h). Bytes that are no part of the result must stay as they were. No rank is
 * through with a barrier before all have begun it.
 */
#include "coll_model.h"

enum { EACH = 17, MOST = 64, UNTOUCHED = 0xee };

/* One operation, the same for all ranks. */
static struct {
    const struct weft_algorithm *algorithm;
    int n;
    int root;
    uint64_t bytes; /* of a block; of v-operations: the unit of their sizes */
    bool is_in_place;
    uint32_t salt;
} op;

static const struct weft_coll_facts *facts(void)
{
    return weft_coll_facts(op.algorithm->kind);
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

static void fill(uint8_t *space, int block, int from, int to)
{
    uint8_t *at = space + apart() * (uint64_t)block;

    for (uint64_t i = 0; i < size_of(from, to); i++) {
        at[i] = symbol_of(op.salt, from, to, i);
    }
}

static bool is_barrier(void)
{
    return op.algorithm->kind == WEFT_COLL_BARRIER;
}

static bool is_bcast(void)
{
    return op.algorithm->kind == WEFT_COLL_BCAST;
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
    return !is_barrier() &&
           (!facts()->is_rooted || facts()->has_recv_blocks || rank == op.root);
}

static bool gets(int rank)
{
    return !is_barrier() &&
           (!facts()->is_rooted || !facts()->has_recv_blocks || rank == op.root);
}

static void put_input(const struct model *model, int rank)
{
    const bool is_at_result = is_bcast() || (is_in_place(rank) && !is_scatter());
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
    uint64_t to[COST_RANKS_MOST];
    uint64_t from[COST_RANKS_MOST];

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
    return op.algorithm->build(&own, graph);
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
    check_right(model_run(model, eager, seed), op.algorithm->kind, op.algorithm->name,
                op.n);
    for (int rank = 0; rank < op.n; rank++) {
        memset(expected, UNTOUCHED, bytes);
        put_result(expected, rank);
        assert_memory_equal(model->spaces[WEFT_SPACE_RECV][rank], expected, bytes);
    }
    free(expected);
}

/* What a shape does not say: every block goes once from the rank that has it to the rank
 * that wants it. Empty ones are sent unless only two ranks know that they are empty. */
static struct weft_cost cost_of_blocks(void)
{
    const bool is_between_two = facts()->has_send_blocks && facts()->has_recv_blocks;
    struct weft_cost cost = {0};

    for (int from = 0; from < op.n; from++) {
        for (int to = 0; to < op.n; to++) {
            const uint64_t bytes = size_of(from, facts()->has_send_blocks ? to : 0);

            if (from != to && (is_scatter() ? from == op.root : gets(to)) &&
                (bytes > 0 || !is_between_two)) {
                cost.messages++;
                cost.bytes += bytes;
            }
        }
    }
    return cost;
}

static struct weft_cost stated_cost(const struct weft_shape *shape)
{
    return op.algorithm->cost != NULL ? op.algorithm->cost(shape) : cost_of_blocks();
}

/* What all ranks know: of blocks of several sizes, those that each rank gets. */
static struct weft_shape shape_of_all(void)
{
    static uint64_t from[COST_RANKS_MOST];
    const bool is_known = op.algorithm->kind == WEFT_COLL_ALLGATHERV;

    for (int rank = 0; rank < op.n && is_known; rank++) {
        from[rank] = size_of(rank, 0);
    }
    return (struct weft_shape){
        .n = op.n,
        .root = op.root,
        .bytes = op.bytes,
        .given = op.bytes,
        .from = is_known ? from : NULL,
        .spread = tried_spread,
    };
}

static bool all_have_begun(const struct model *model, int rank, int other)
{
    (void)model;
    (void)rank;
    (void)other;
    return true;
}

/* Each rank in turn is late: nobody is through before it has begun. */
static void try_late_ranks(struct model *model)
{
    for (int i = 0; i < op.n && i < MOST; i++) {
        model->late = op.n - i;
        run(model, 10, (uint32_t)i);
    }
}

/* With sends that wait for their receives, that do not, and with both. */
static void try_op(int runs)
{
    const struct weft_shape shape = shape_of_all();
    const uint64_t bytes = apart() * (uint64_t)op.n;
    struct model model;

    model_open(&model, build, &shape, bytes, bytes);
    model.block_bytes = apart();
    model.waits_for = is_barrier() ? all_have_begun : NULL;
    check_right(model_check(&model), op.algorithm->kind, op.algorithm->name, op.n);
    check_cost(count_model(&model), stated_cost(&shape));
    for (int i = 0; i < runs; i++) {
        const int eager = 5 * ((op.n + i) % 3);

        run(&model, eager, 977u * (uint32_t)(op.n + eager) + (uint32_t)op.root);
    }
    if (is_barrier()) {
        try_late_ranks(&model);
    }
    model_close(&model);
}

/* ---- all algorithms ---- */

/* Sizes that leave some ranks without a chunk of a split bcast, and the last one with a
 * short chunk. */
static uint64_t size_at(int i)
{
    const uint64_t n = (uint64_t)op.n;
    const uint64_t blocks[] = {0, 1, 5};
    const uint64_t chunks[] = {0, 64 * (n / 2) + 1, 64 * n - 1};

    return is_bcast() ? chunks[i] : blocks[i];
}

static bool can_be_in_place(void)
{
    return !is_bcast() && !is_barrier();
}

static void try_roots(int runs)
{
    const int roots[] = {0, 1, op.n - 1};

    for (int i = 0; i < (facts()->is_rooted ? 3 : 1); i++) {
        if (roots[i] < op.n && (i < 2 || roots[i] > 1)) {
            op.root = roots[i];
            try_op(runs);
        }
    }
}

static void try_every_way(const struct weft_algorithm *algorithm, int n)
{
    op.algorithm = algorithm;
    op.n = n;
    for (int size = 0; size < 3; size++) {
        op.bytes = size_at(size);
        op.is_in_place = false;
        try_roots(3);
        if (can_be_in_place()) {
            op.is_in_place = true;
            try_roots(3);
        }
    }
}

/* For many ranks: one root and one size, others with every number of ranks; then in place
 * or not, too. */
static void try_some_way(const struct weft_algorithm *algorithm, int n)
{
    op.algorithm = algorithm;
    op.n = n;
    op.bytes = size_at(1 + n % 2);
    op.root = facts()->is_rooted ? n / (1 + n % 5) - 1 : 0;
    for (int way = 0; way < (can_be_in_place() ? 2 : 1); way++) {
        op.is_in_place = way == 1;
        if (n <= 2 * EACH || !can_be_in_place() || n / 2 % 2 == way) {
            try_op(1);
        }
    }
}

static void every_algorithm_moves_every_byte(void **state)
{
    (void)state;
    try_family(MOVES, 1, EACH, 1, try_every_way);
}

/* Many rounds, and numbers of ranks around a power of two. */
static void every_algorithm_moves_every_byte_among_many(void **state)
{
    (void)state;
    try_family(MOVES, EACH + 1, MOST, RANKS_STEP, try_some_way);
    try_family(MOVES, 127, 129, RANKS_STEP, try_some_way);
}

/* As many messages and bytes as is stated, up to a thousand ranks. */
static void try_cost(const struct weft_algorithm *algorithm, int n)
{
    op.algorithm = algorithm;
    op.n = n;
    op.root = facts()->is_rooted ? op.n / 3 : 0;
    op.is_in_place = false;
    for (int size = op.n < 100 ? 0 : 2; size < 3; size++) {
        struct weft_shape shape;

        op.bytes = size_at(size);
        shape = shape_of_all();
        check_cost(count_built(build, &shape), stated_cost(&shape));
    }
}

static void every_algorithm_costs_what_is_stated(void **state)
{
    (void)state;
    for (int k = 0; cost_ranks(k) != 0; k++) {
        try_family(MOVES, cost_ranks(k), cost_ranks(k), 1, try_cost);
    }
}

/* A bcast of several segments, of which the last is short. */
static void a_chain_moves_every_segment(void **state)
{
    const struct weft_algorithm *at;

    (void)state;
    for (int i = 0; (at = algorithm_of(MOVES, i)) != NULL; i++) {
        if (at->kind == WEFT_COLL_BCAST && strcmp(at->name, "chain") == 0) {
            for (int layout = BLOCKS; layout < LAYOUTS; layout++) {
                tried_spread = spread_in((enum layout)layout, 7);
                op.algorithm = at;
                op.n = 7;
                op.bytes = (300 << 10) + 1;
                op.is_in_place = false;
                try_roots(3);
                free(tried_spread);
                tried_spread = NULL;
            }
        }
    }
}

/* ---- the choice ---- */

static const struct weft_algorithm *choose(enum weft_coll_kind kind, int n,
                                           uint64_t bytes)
{
    uint64_t from[COST_RANKS_MOST];
    const struct weft_shape shape = {.n = n,
                                     .bytes = bytes,
                                     .given = bytes,
                                     .from = from,
                                     .nodes =
                                         tried_spread != NULL ? tried_spread->nodes : 1,
                                     .spread = tried_spread};

    for (int i = 0; i < n; i++) {
        from[i] = bytes;
    }
    return weft_algorithm_choose(kind, &shape);
}

/* From a byte to so many that they are announced, by the algorithm that is chosen. */
static void what_is_chosen_moves_every_byte(void **state)
{
    const struct weft_algorithm *at;

    (void)state;
    for (int i = 0; (at = algorithm_of(MOVES, i)) != NULL; i++) {
        for (op.n = 2; op.n <= 17; op.n += op.n % 4 == 1 ? 3 : 1) {
            op.algorithm = at;
            op.root = facts()->is_rooted ? op.n - 1 : 0;
            op.is_in_place = false;
            for (op.bytes = 1; op.bytes <= (is_bcast() ? 1 << 16 : 1 << 10);
                 op.bytes = 4 * op.bytes + 1) {
                if (choose(at->kind, op.n, op.bytes) == at) {
                    try_op(1);
                }
            }
        }
    }
}

static void size_and_ranks_decide(void **state)
{
    const uint64_t large = 1 << 20;

    (void)state;
    assert_string_equal(choose(WEFT_COLL_BCAST, 16, 8)->name, "binomial");
    assert_string_equal(choose(WEFT_COLL_BCAST, 2, large)->name, "binomial");
    assert_string_equal(choose(WEFT_COLL_BCAST, 16, 16 * large)->name, "split");
    assert_string_equal(choose(WEFT_COLL_GATHER, 64, 8)->name, "binomial");
    assert_string_equal(choose(WEFT_COLL_GATHER, 16, large)->name, "direct");
    assert_string_equal(choose(WEFT_COLL_SCATTER, 64, 8)->name, "binomial");
    assert_string_equal(choose(WEFT_COLL_SCATTER, 3, 8)->name, "direct");
    assert_string_equal(choose(WEFT_COLL_ALLGATHER, 64, 8)->name, "bruck");
    assert_string_equal(choose(WEFT_COLL_ALLGATHER, 3, 8)->name, "direct");
    assert_string_equal(choose(WEFT_COLL_ALLTOALL, 64, large)->name, "direct");
    assert_string_equal(choose(WEFT_COLL_ALLTOALL, 4, 8)->name, "direct");
}

/* Of several nodes, not of ranks that are all on nodes of their own. */
static void nodes_decide(void **state)
{
    (void)state;
    tried_spread = spread_in(BLOCKS, 12);
    assert_string_equal(choose(WEFT_COLL_BARRIER, 12, 0)->name, "levels");
    assert_string_equal(choose(WEFT_COLL_BCAST, 12, 8)->name, "levels");
    assert_string_equal(choose(WEFT_COLL_BCAST, 12, 1 << 20)->name, "chain");
    assert_string_equal(choose(WEFT_COLL_ALLGATHER, 12, 8)->name, "levels");
    assert_string_equal(choose(WEFT_COLL_ALLGATHER, 12, 1 << 20)->name, "direct");
    free(tried_spread);
    tried_spread = spread_in(IN_TURN, 12);
    assert_string_equal(choose(WEFT_COLL_BCAST, 12, 8)->name, "levels");
    assert_string_equal(choose(WEFT_COLL_ALLGATHER, 12, 8)->name, "bruck");
    free(tried_spread);
    tried_spread = spread_in(BLOCKS, 48);
    assert_string_equal(choose(WEFT_COLL_BCAST, 48, 1 << 10)->name, "levels");
    assert_string_equal(choose(WEFT_COLL_BCAST, 48, 1 << 20)->name, "chain");
    assert_string_equal(choose(WEFT_COLL_BCAST, 48, 1 << 24)->name, "chain");
    free(tried_spread);
    tried_spread = spread_in(APART, 12);
    assert_string_equal(choose(WEFT_COLL_BCAST, 12, 8)->name, "levels");
    free(tried_spread);
    tried_spread = NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_algorithm_moves_every_byte),
        cmocka_unit_test(every_algorithm_moves_every_byte_among_many),
        cmocka_unit_test(every_algorithm_costs_what_is_stated),
        cmocka_unit_test(a_chain_moves_every_segment),
        cmocka_unit_test(what_is_chosen_moves_every_byte),
        cmocka_unit_test(size_and_ranks_decide),
        cmocka_unit_test(nodes_decide),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
