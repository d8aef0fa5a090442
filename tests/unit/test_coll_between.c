/*
 * test_coll_between.c - collectives between two groups: the graphs of all ranks of both
 * groups are run against each other (sched_model.h, coll_model.h), for every kind that
 * between.h has a builder for.
 *
 * In the model the ranks of the second group follow those of the first. Blocks that the
 * first group gives have another size than those that the second gives; in a reduction
 * all give the same. No rank is through with a barrier before all of the other group have
 * begun it.
 */
#include "coll_columns.h"
#include "coll_model.h"

#include "coll/between.h"

#include <stdlib.h>

enum { FEW = 9, MOST = 64, UNTOUCHED = 0xee, GROUP_BIT = 20 };

/* One operation, the same for all ranks. */
static struct {
    enum weft_coll_kind kind;
    int sizes[2];   /* of the groups */
    int root;       /* in the model */
    uint64_t bytes; /* of what the first group gives; of v-operations: the unit */
    bool commutes;
    uint64_t parts[2][RANKS_MOST]; /* of a reduce-scatter, in each group */
    uint32_t salt;
    uint32_t reductions; /* so far */
} op;

static const struct weft_coll_facts *facts(void)
{
    return weft_coll_facts(op.kind);
}

/* ---- who has what ---- */

static int all(void)
{
    return op.sizes[0] + op.sizes[1];
}

static int group_of(int at)
{
    return at < op.sizes[0] ? 0 : 1;
}

static int rank_of(int at)
{
    return at - (group_of(at) == 0 ? 0 : op.sizes[0]);
}

/* The rank of the other group, as the model counts. */
static int other(int at, int rank)
{
    return rank + (group_of(at) == 0 ? op.sizes[0] : 0);
}

static int remote_of(int at)
{
    return op.sizes[1 - group_of(at)];
}

static bool has_parts(void)
{
    return op.kind == WEFT_COLL_REDUCE_SCATTER ||
           op.kind == WEFT_COLL_REDUCE_SCATTER_BLOCK;
}

/* Data go from the root, or to it. */
static bool is_from_root(void)
{
    return facts()->is_rooted && !facts()->has_recv_blocks && !facts()->is_reduction;
}

/* All of the other group, or the root. */
static bool takes_part(int at)
{
    return !facts()->is_rooted || at == op.root || group_of(at) != group_of(op.root);
}

static bool gives(int at)
{
    return op.kind != WEFT_COLL_BARRIER && takes_part(at) &&
           (!facts()->is_rooted || (at == op.root) == is_from_root());
}

static bool gets(int at)
{
    return op.kind != WEFT_COLL_BARRIER && takes_part(at) &&
           (!facts()->is_rooted || (at == op.root) != is_from_root());
}

/* Of the block from one rank to another, or to everybody: then `to` is 0. */
static uint64_t size_of(int from, int to)
{
    if (facts()->has_own_sizes) {
        return op.bytes * (uint64_t)((3 * from + to) % 4);
    }
    return op.bytes + (group_of(from) == 0 || op.bytes == 0 ? 0 : 2);
}

static uint64_t block_to(int at, int rank)
{
    return size_of(at, facts()->has_send_blocks ? other(at, rank) : 0);
}

static uint64_t block_from(int at, int rank)
{
    const int from = is_from_root() ? op.root : other(at, rank);

    return size_of(from, facts()->has_send_blocks ? at : 0);
}

/* Bytes between the beginnings of two blocks. */
static uint64_t apart(uint64_t block)
{
    return facts()->has_own_sizes ? 3 * op.bytes + 2 : block;
}

static void fill(uint8_t *at, int from, int to, uint64_t bytes)
{
    for (uint64_t i = 0; i < bytes; i++) {
        at[i] = symbol_of(op.salt, from, facts()->has_send_blocks ? to : 0, i);
    }
}

static void put_input(const struct model *model, int at)
{
    const bool is_bcast = op.kind == WEFT_COLL_BCAST;
    uint8_t *space = model->spaces[is_bcast ? WEFT_SPACE_RECV : WEFT_SPACE_SEND][at];
    const int blocks = facts()->has_send_blocks ? remote_of(at) : 1;

    for (int i = 0; i < blocks && gives(at); i++) {
        fill(space + apart(block_to(at, i)) * (uint64_t)i, at, other(at, i),
             block_to(at, i));
    }
}

static void put_result(uint8_t *space, int at)
{
    const int blocks = facts()->has_recv_blocks ? remote_of(at) : 1;

    for (int i = 0; i < blocks && gets(at); i++) {
        fill(space + apart(block_from(at, i)) * (uint64_t)i,
             is_from_root() ? op.root : other(at, i), at, block_from(at, i));
    }
    if (op.kind == WEFT_COLL_BCAST && gives(at)) { /* its buffer stays as it was */
        fill(space, at, 0, size_of(at, 0));
    }
}

/* ---- reductions ---- */

/* The least number of elements that both groups can divide evenly. */
static uint64_t common_units(void)
{
    uint64_t units = (uint64_t)op.sizes[0];

    while (units % (uint64_t)op.sizes[1] != 0) {
        units += (uint64_t)op.sizes[0];
    }
    return units;
}

/* Elements that each rank gives. */
static uint64_t units_of(void)
{
    const uint64_t units = op.bytes / UNIT;

    switch (op.kind) {
    case WEFT_COLL_REDUCE_SCATTER_BLOCK:
        return units == 0 ? 0 : common_units();
    case WEFT_COLL_REDUCE_SCATTER:
        return units == 0 ? 0 : units + (uint64_t)op.sizes[0];
    default:
        return units;
    }
}

/* Some are empty, unless all have the same. */
static void set_parts(int group)
{
    const uint64_t n = (uint64_t)op.sizes[group];

    memset(op.parts[group], 0, sizeof(op.parts[group]));
    for (uint64_t i = 0; i < units_of(); i++) {
        const bool is_even = op.kind == WEFT_COLL_REDUCE_SCATTER_BLOCK;

        op.parts[group][(is_even ? i : i * i * 7 + 3 * i) % n] += UNIT;
    }
}

static uint32_t number_of(int group, uint64_t i)
{
    return (uint32_t)group << GROUP_BIT | (uint32_t)i;
}

static void reduce(const uint8_t *from, uint8_t *to, uint64_t bytes)
{
    combine_all(from, to, bytes, op.commutes);
}

static void put_elements(const struct model *model, int at)
{
    const int group = group_of(at);

    for (uint64_t i = 0; i < units_of() && gives(at); i++) {
        put_element(model->spaces[WEFT_SPACE_SEND][at] + i * UNIT,
                    element_of(number_of(group, i), rank_of(at), rank_of(at) + 1));
    }
}

/* The outcome of the other group, or a part of it. */
static void check_elements(const struct model *model, int at)
{
    const int from = 1 - group_of(at);
    const uint64_t *parts = op.parts[group_of(at)];
    uint64_t first = 0;
    uint64_t count = units_of();

    for (int rank = 0; rank < rank_of(at) && has_parts(); rank++) {
        first += parts[rank] / UNIT;
    }
    count = has_parts() ? parts[rank_of(at)] / UNIT : count;
    for (uint64_t i = 0; i < count && gets(at); i++) {
        check_element(model->spaces[WEFT_SPACE_RECV][at] + i * UNIT,
                      element_of(number_of(from, first + i), 0, op.sizes[from]),
                      op.commutes);
    }
}

/* ---- building ---- */

/* What shape.c makes of a call, for data that are moved. */
static void set_blocks(struct weft_shape *own, int at, uint64_t *to, uint64_t *from)
{
    own->given = gives(at) ? block_to(at, 0) : block_from(at, 0);
    own->bytes = gets(at) ? block_from(at, 0) : own->given;
    for (int i = 0; i < own->remote && facts()->has_own_sizes; i++) {
        to[i] = block_to(at, i);
        from[i] = block_from(at, i);
        own->to = gives(at) ? to : NULL;
        own->from = gets(at) ? from : NULL;
    }
}

/* The same for elements of a reduction. */
static void set_elements(struct weft_shape *own, int at)
{
    const int group = group_of(at);

    own->unit = UNIT;
    own->commutes = op.commutes;
    own->bytes = UNIT * units_of();
    if (op.kind == WEFT_COLL_REDUCE_SCATTER) {
        own->from = op.parts[group];
    } else if (op.kind == WEFT_COLL_REDUCE_SCATTER_BLOCK) {
        own->bytes = op.parts[group][0];
    }
}

static enum weft_rc build(const struct weft_shape *shape, struct weft_graph *graph)
{
    const int at = shape->rank;
    const int n = op.sizes[group_of(at)];
    struct weft_shape own = {.n = n, .rank = rank_of(at), .remote = remote_of(at)};
    uint64_t to[RANKS_MOST];
    uint64_t from[RANKS_MOST];
    enum weft_rc rc;

    if (!takes_part(at)) {
        return WEFT_OK;
    }
    if (facts()->is_rooted) {
        own.root = at == op.root ? WEFT_ROOT_ME : rank_of(op.root);
    }
    if (facts()->is_reduction) {
        set_elements(&own, at);
    } else {
        set_blocks(&own, at, to, from);
    }
    graph->unit = own.unit;
    rc = weft_between_builder(op.kind)(&own, graph);
    for (uint32_t i = 0; i < graph->step_count; i++) {
        struct weft_step *step = &graph->steps[i];

        if (step->kind == WEFT_STEP_SEND || step->kind == WEFT_STEP_RECV) {
            step->peer = step->peer >= n ? other(at, step->peer - n)
                                         : at - rank_of(at) + step->peer;
        }
    }
    return rc;
}

/* ---- costs ---- */

/* Blocks go straight to who wants them; from one rank to all ranks as one copy each. */
static struct weft_cost cost_of_blocks(void)
{
    struct weft_cost cost = {0};

    for (int from = 0; from < all(); from++) {
        for (int i = 0; i < remote_of(from) && gives(from); i++) {
            const int to = other(from, i);

            if (gets(to) && (block_to(from, i) > 0 || facts()->is_rooted)) {
                cost.messages++;
                cost.bytes += block_to(from, i);
            }
        }
    }
    return cost;
}

/* A tree inside the group that gives, a message, and in the other group a tree, or parts,
 * where all of it get something. */
static void add_outcome(int group, struct weft_cost *cost)
{
    const uint64_t n = (uint64_t)op.sizes[group];
    const uint64_t bytes = units_of() * UNIT;

    if (bytes == 0) {
        return;
    }
    cost->messages += n;
    cost->bytes += n * bytes;
    cost->reduced += (n - 1) * bytes;
    for (int rank = 1; rank < op.sizes[1 - group] && !facts()->is_rooted; rank++) {
        const uint64_t part = has_parts() ? op.parts[1 - group][rank] : bytes;

        cost->messages += part > 0 ? 1 : 0;
        cost->bytes += part;
    }
}

static struct weft_cost stated_cost(void)
{
    struct weft_cost cost = {0};

    if (op.kind == WEFT_COLL_BARRIER) { /* up, across and down, in both groups */
        cost.messages = 2 * ((uint64_t)all() - 2) + 2;
        return cost;
    }
    if (!facts()->is_reduction) {
        return cost_of_blocks();
    }
    for (int group = 0; group < 2; group++) {
        if (!facts()->is_rooted || group != group_of(op.root)) {
            add_outcome(group, &cost);
        }
    }
    return cost;
}

/* ---- running ---- */

static bool is_of_the_other_group(const struct model *model, int rank, int behind)
{
    (void)model;
    return group_of(rank) != group_of(behind);
}

static void run(struct model *model, int eager)
{
    const size_t bytes = (size_t)model->space_bytes[WEFT_SPACE_RECV];
    uint8_t *expected = malloc(bytes + 1);

    assert_non_null(expected);
    op.salt += 40503u;
    for (int at = 0; at < model->n; at++) {
        memset(model->spaces[WEFT_SPACE_RECV][at], UNTOUCHED, bytes);
        memset(model->spaces[WEFT_SPACE_SCRATCH][at], 0, model->graphs[at].scratch);
        (facts()->is_reduction ? put_elements : put_input)(model, at);
    }
    if (model->layout != NULL) {
        columns_copy(model, true);
    }
    check_right(model_run(model, eager, op.salt), op.kind, "between groups", op.sizes[0]);
    if (model->layout != NULL) {
        columns_copy(model, false);
    }
    for (int at = 0; at < model->n; at++) {
        if (facts()->is_reduction) {
            check_elements(model, at);
        } else {
            memset(expected, UNTOUCHED, bytes);
            put_result(expected, at);
            assert_memory_equal(model->spaces[WEFT_SPACE_RECV][at], expected, bytes);
        }
    }
    free(expected);
}

static void try_op(int runs)
{
    const int longest = op.sizes[0] > op.sizes[1] ? op.sizes[0] : op.sizes[1];
    const uint64_t bytes = facts()->is_reduction ? UNIT * units_of()
                                                 : (3 * op.bytes + 2) * (uint64_t)longest;
    const struct weft_shape shape = {.n = all()};
    const bool has_columns = facts()->is_reduction && ++op.reductions % 5 == 0;
    struct columns columns;
    struct model model;

    set_parts(0);
    set_parts(1);
    model_open(&model, build, &shape, bytes, bytes);
    model.block_bytes = apart(0);
    model.reduce = reduce;
    model.waits_for = op.kind == WEFT_COLL_BARRIER ? is_of_the_other_group : NULL;
    check_right(model_check(&model), op.kind, "between groups", op.sizes[0]);
    check_cost(count_model(&model), stated_cost());
    if (has_columns) { /* elements that interleave */
        columns_open(&columns, &model, op.reductions / 5);
    }
    for (int i = 0; i < runs; i++) {
        run(&model, 5 * ((op.sizes[0] + i) % 3));
    }
    for (int i = 1; i <= all() && op.kind == WEFT_COLL_BARRIER; i += 1 + all() / 32) {
        model.late = i; /* nobody of the other group is through before it has begun */
        run(&model, 10);
    }
    if (has_columns) {
        columns_close(&columns, &model);
    }
    model_close(&model);
}

/* Scans and neighbourhoods are inside one group. Equal parts of both groups may be too
 * many elements; some sizes of groups are enough for them. */
static bool is_between(enum weft_coll_kind kind)
{
    return family_of(kind) != AROUND && kind != WEFT_COLL_SCAN &&
           kind != WEFT_COLL_EXSCAN &&
           (kind != WEFT_COLL_REDUCE_SCATTER_BLOCK || common_units() <= 512);
}

/* Data or none, the root in either group, operations that commute or not. */
static void try_way(int way, int runs)
{
    op.bytes = way % 3 == 0 ? 0 : facts()->is_reduction ? 3 * UNIT : 5;
    op.root = way % 2 == 0 ? op.sizes[0] - 1 : op.sizes[0] + op.sizes[1] / 2;
    op.commutes = way / 6 % 2 == 0;
    try_op(runs);
}

static void try_groups(int first, int second)
{
    op.sizes[0] = first;
    op.sizes[1] = second;
    for (int kind = 0; kind < WEFT_COLL_KINDS; kind++) {
        op.kind = (enum weft_coll_kind)kind;
        for (int way = 0; way < 12 && is_between(op.kind); way++) {
            if (first + second <= FEW) {
                try_way(way, 3);
            } else if (way == (first + second + kind) % 12 || way == 7 + first % 2) {
                try_way(way, 1);
            }
        }
    }
}

/* ---- cases ---- */

static void each_group_gets_what_the_other_gives(void **state)
{
    (void)state;
    for (int n = 1; n <= MOST; n += n < FEW ? 1 : RANKS_STEP) {
        const int others[] = {n, MOST + 1 - n, 1 + n % 3};

        for (int i = 0; i < 3; i++) {
            try_groups(n, others[i]);
        }
        if (n < FEW) {
            try_groups(1, n);
            try_groups(2, n);
            try_groups(3, n);
        }
    }
}

static void many_ranks_are_no_different(void **state)
{
    (void)state;
    try_groups(127, 128);
    try_groups(128, 129);
    try_groups(129, 127);
    try_groups(1, 129);
    try_groups(128, 64);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_group_gets_what_the_other_gives),
        cmocka_unit_test(many_ranks_are_no_different),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
