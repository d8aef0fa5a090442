/*
 * test_coll_reduce.c - the algorithms of reductions: the graphs of all ranks of each
 * algorithm are run against each other (sched_model.h), with elements that say what has
 * been combined into them (coll_model.h).
 */
#include "coll_columns.h"
#include "coll_model.h"

enum { EACH = 17, MOST = 64, SIZES = 6 };

/* What is run: an algorithm, and a shape for all ranks. */
static struct {
    const struct weft_algorithm *algorithm;
    struct weft_shape shape;
    uint64_t parts[COST_RANKS_MOST]; /* of a reduce-scatter */
    uint32_t seed;
    uint32_t cases;
} trial;

/* ---- data ---- */

static bool has_parts(void)
{
    return trial.algorithm->kind == WEFT_COLL_REDUCE_SCATTER ||
           trial.algorithm->kind == WEFT_COLL_REDUCE_SCATTER_BLOCK;
}

static bool has_root(void)
{
    return weft_coll_facts(trial.algorithm->kind)->is_rooted;
}

static uint64_t all_bytes(void)
{
    return has_parts() ? weft_build_all_parts(&trial.shape) : trial.shape.bytes;
}

/* Only the root of a reduction has a place for the result. */
static bool is_in_place(int rank)
{
    return trial.shape.is_in_place && (!has_root() || rank == trial.shape.root);
}

static void reduce(const uint8_t *from, uint8_t *to, uint64_t bytes)
{
    combine_all(from, to, bytes, trial.shape.commutes);
}

/* Which ranks must be in a rank's result, and which elements. */
static bool expect(int rank, int *behind, uint64_t *at, uint64_t *bytes)
{
    *behind = trial.shape.n;
    *at = 0;
    *bytes = trial.shape.bytes;
    switch (trial.algorithm->kind) {
    case WEFT_COLL_REDUCE:
        return rank == trial.shape.root;
    case WEFT_COLL_SCAN:
        *behind = rank + 1;
        return true;
    case WEFT_COLL_EXSCAN:
        *behind = rank;
        return rank > 0;
    case WEFT_COLL_ALLREDUCE:
        return true;
    case WEFT_COLL_REDUCE_SCATTER:
    case WEFT_COLL_REDUCE_SCATTER_BLOCK:
        *at = weft_build_parts_before(&trial.shape, rank);
        *bytes = weft_build_part(&trial.shape, rank);
        return true;
    default:
        fail_msg("nothing is known of kind %d", trial.algorithm->kind);
        return false;
    }
}

static void check_result(const struct model *model, int rank)
{
    uint64_t at;
    uint64_t bytes;
    int behind;

    if (!expect(rank, &behind, &at, &bytes)) {
        return;
    }
    for (uint64_t i = 0; i < bytes; i += UNIT) {
        check_element(model->spaces[WEFT_SPACE_RECV][rank] + i,
                      element_of((uint32_t)((at + i) / UNIT), 0, behind),
                      trial.shape.commutes);
    }
}

static void fill(const struct model *model, int rank)
{
    uint8_t *const *spaces[WEFT_SPACES] = {model->spaces[0], model->spaces[1],
                                           model->spaces[2]};
    uint8_t *input = spaces[is_in_place(rank) ? WEFT_SPACE_RECV : WEFT_SPACE_SEND][rank];

    memset(spaces[WEFT_SPACE_RECV][rank], 0, model->space_bytes[WEFT_SPACE_RECV]);
    memset(spaces[WEFT_SPACE_SCRATCH][rank], 0, model->graphs[rank].scratch);
    for (uint64_t at = 0; at < all_bytes(); at += UNIT) {
        put_element(input + at, element_of((uint32_t)(at / UNIT), rank, rank + 1));
    }
}

/* ---- graphs ---- */

static enum weft_rc build(const struct weft_shape *shape, struct weft_graph *graph)
{
    struct weft_shape own = *shape;

    graph->unit = UNIT;
    own.is_in_place = is_in_place(shape->rank);
    return trial.algorithm->build(&own, graph);
}

/* Bytes of a space that a rank's user gives it. */
static uint64_t room_of(int rank, int space)
{
    if (space == WEFT_SPACE_SEND) {
        return is_in_place(rank) ? 0 : all_bytes();
    }
    if (is_in_place(rank)) {
        return all_bytes();
    }
    if (has_root() && rank != trial.shape.root) {
        return 0;
    }
    return has_parts() ? weft_build_part(&trial.shape, rank) : trial.shape.bytes;
}

static void check_span(int rank, struct weft_span span)
{
    if (span.space != WEFT_SPACE_SCRATCH && span.bytes > 0) {
        assert_true(span.offset + span.bytes <= room_of(rank, span.space));
    }
    assert_true(span.offset % UNIT == 0 && span.bytes % UNIT == 0);
}

/* Whole elements, inside the user's buffers; no message without data. */
static void check_spans(const struct model *model)
{
    for (int rank = 0; rank < model->n; rank++) {
        const struct weft_graph *graph = &model->graphs[rank];

        for (uint32_t i = 0; i < graph->step_count; i++) {
            const struct weft_step *step = &graph->steps[i];

            check_span(rank, step->from);
            check_span(rank, step->to);
            assert_true(step->kind != WEFT_STEP_SEND || step->from.bytes > 0);
        }
    }
}

/* With sends that wait for their receives, that do not, and with both; in one case of
 * five with elements that interleave. */
static void run(int runs)
{
    const bool has_columns = ++trial.cases % 5 == 0;
    struct columns columns;
    struct model model;

    model_open(&model, build, &trial.shape, all_bytes(), all_bytes());
    model.reduce = reduce;
    check_right(model_check(&model), trial.algorithm->kind, trial.algorithm->name,
                trial.shape.n);
    check_spans(&model);
    check_cost(count_model(&model), trial.algorithm->cost(&trial.shape));
    if (has_columns) {
        columns_open(&columns, &model, trial.cases / 5);
    }
    for (int i = 0; i < runs; i++) {
        for (int rank = 0; rank < model.n; rank++) {
            fill(&model, rank);
        }
        if (has_columns) {
            columns_copy(&model, true);
        }
        trial.seed++;
        check_right(model_run(&model, 5 * (int)(trial.seed % 3), trial.seed * 977),
                    trial.algorithm->kind, trial.algorithm->name, trial.shape.n);
        if (has_columns) {
            columns_copy(&model, false);
        }
        for (int rank = 0; rank < model.n; rank++) {
            check_result(&model, rank);
        }
    }
    if (has_columns) {
        columns_close(&columns, &model);
    }
    model_close(&model);
}

/* ---- shapes ---- */

/* Units of the data: none, one, an odd number below and above that of the ranks. */
static uint64_t units_of(int size)
{
    const uint64_t n = (uint64_t)trial.shape.n;
    const uint64_t of[SIZES] = {0, 1, (n / 2) | 1, n, (n + 3) | 1, n * 3 + 2};

    return of[size];
}

/* Unequal parts, of which some are empty. */
static void set_parts(uint64_t units)
{
    memset(trial.parts, 0, sizeof(trial.parts));
    for (uint64_t i = 0; i < units; i++) {
        trial.parts[(i * i * 7 + 3 * i) % (uint64_t)trial.shape.n] += UNIT;
    }
    trial.shape.from = trial.parts;
}

static void set_size(int size)
{
    const uint64_t units = units_of(size);

    trial.shape.from = NULL;
    trial.shape.bytes = units * UNIT;
    if (trial.algorithm->kind == WEFT_COLL_REDUCE_SCATTER_BLOCK) {
        trial.shape.bytes = (uint64_t)size / 2 * UNIT; /* of each part */
    } else if (has_parts()) {
        set_parts(units);
    }
}

enum { WAYS = 4 }; /* both kinds of operation, in place or not */

/* False: the algorithm does not fit. */
static bool set_way(const struct weft_algorithm *algorithm, int n, int way)
{
    trial.algorithm = algorithm;
    trial.shape = (struct weft_shape){.n = n,
                                      .unit = UNIT,
                                      .commutes = way % 2 == 0,
                                      .is_in_place = way / 2 != 0,
                                      .spread = tried_spread};
    return algorithm->fits == NULL || algorithm->fits(&trial.shape);
}

static void run_roots(int size)
{
    const int n = trial.shape.n;
    const int roots[] = {0, 1, n - 1};

    set_size(size);
    for (int i = 0; i < 3; i++) {
        trial.shape.root = roots[i];
        if (i == 0 ||
            (has_root() && roots[i] > 0 && roots[i] < n && roots[i] != roots[i - 1])) {
            run(3);
        }
    }
}

static void run_every_way(const struct weft_algorithm *algorithm, int n)
{
    for (int way = 0; way < WAYS; way++) {
        for (int size = 0; size < SIZES && set_way(algorithm, n, way); size++) {
            run_roots(size);
        }
    }
}

/* For many ranks: one root and one size, others with every number of ranks; then in place
 * or not, too. */
static void run_some_way(const struct weft_algorithm *algorithm, int n)
{
    for (int way = 0; way < WAYS; way++) {
        if (set_way(algorithm, n, way) &&
            (n <= 2 * EACH || n / 2 % 2 == (trial.shape.is_in_place ? 1 : 0))) {
            set_size(2 + (n + way) % (SIZES - 2));
            trial.shape.root = has_root() ? n / (1 + n % 5) - 1 : 0;
            run(1);
        }
    }
}

/* ---- cases ---- */

/* An algorithm that fits no operation would be run by nothing here. */
static void every_algorithm_fits_an_operation_that_commutes(void **state)
{
    const struct weft_algorithm *at;

    (void)state;
    tried_spread = spread_in(APART, 2);
    for (int i = 0; (at = algorithm_of(REDUCES, i)) != NULL; i++) {
        assert_non_null(at->cost);
        assert_true(set_way(at, 2, 0) && set_way(at, 2, 2));
    }
    free(tried_spread);
    tried_spread = NULL;
}

static void every_result_has_every_rank_once(void **state)
{
    (void)state;
    try_family(REDUCES, 1, EACH, 1, run_every_way);
}

static void many_ranks_are_no_different(void **state)
{
    (void)state;
    try_family(REDUCES, EACH + 1, MOST, RANKS_STEP, run_some_way);
    try_family(REDUCES, 127, 129, RANKS_STEP, run_some_way);
}

/* As many messages, bytes and reductions as is stated, up to a thousand ranks. */
static void try_cost(const struct weft_algorithm *algorithm, int n)
{
    for (int way = 0; way < 2; way++) {
        for (int size = n < 100 ? 0 : 2 + n % 4;
             size < SIZES && set_way(algorithm, n, way); size += 2) {
            set_size(size);
            trial.shape.root = has_root() ? n / 3 : 0;
            check_cost(count_built(build, &trial.shape), algorithm->cost(&trial.shape));
        }
    }
}

static void every_algorithm_costs_what_is_stated(void **state)
{
    (void)state;
    for (int k = 0; cost_ranks(k) != 0; k++) {
        try_family(REDUCES, cost_ranks(k), cost_ranks(k), 1, try_cost);
    }
}

/* ---- the choice ---- */

/* From an element to so many that they are announced, by what is chosen for them. */
static void what_is_chosen_has_every_rank_once(void **state)
{
    const struct weft_algorithm *at;

    (void)state;
    for (int i = 0; (at = algorithm_of(REDUCES, i)) != NULL; i++) {
        for (int k = 0; k < 6 * WAYS * 5; k++) {
            const int n = 2 + k / 6 / WAYS;

            if (set_way(at, n, k / 6 % WAYS)) {
                trial.shape.bytes = (UINT64_C(1) << 2 * (k % 6)) * UNIT;
                if (at->kind == WEFT_COLL_REDUCE_SCATTER) {
                    set_parts((uint64_t)n * trial.shape.bytes / UNIT);
                }
                if (weft_algorithm_choose(at->kind, &trial.shape) == at) {
                    run(1);
                }
            }
        }
    }
}

static const char *chosen(enum weft_coll_kind kind, int n, uint64_t bytes, bool commutes)
{
    const struct weft_shape shape = {.n = n,
                                     .bytes = bytes,
                                     .unit = 1,
                                     .commutes = commutes,
                                     .nodes =
                                         tried_spread != NULL ? tried_spread->nodes : 1,
                                     .spread = tried_spread};

    return weft_algorithm_choose(kind, &shape)->name;
}

static void size_ranks_and_operation_decide(void **state)
{
    const uint64_t large = 1 << 20;

    (void)state;
    assert_string_equal(chosen(WEFT_COLL_REDUCE, 16, 8, true), "binomial");
    assert_string_equal(chosen(WEFT_COLL_REDUCE, 16, large, true), "rabenseifner");
    assert_string_equal(chosen(WEFT_COLL_REDUCE, 16, large, false), "binomial");
    assert_string_equal(chosen(WEFT_COLL_ALLREDUCE, 16, 8, false), "doubling");
    assert_string_equal(chosen(WEFT_COLL_ALLREDUCE, 16, large, true), "rabenseifner");
    assert_string_equal(chosen(WEFT_COLL_ALLREDUCE, 16, large, false), "doubling");
    assert_string_equal(chosen(WEFT_COLL_REDUCE_SCATTER_BLOCK, 16, 8, true), "halving");
    assert_string_equal(chosen(WEFT_COLL_REDUCE_SCATTER_BLOCK, 15, large, true),
                        "pairwise");
    assert_string_equal(chosen(WEFT_COLL_REDUCE_SCATTER_BLOCK, 16, large, false), "root");
    assert_string_equal(chosen(WEFT_COLL_SCAN, 16, 8, false), "doubling");
    assert_string_equal(chosen(WEFT_COLL_EXSCAN, 16, large, true), "doubling");
}

static void nodes_decide(void **state)
{
    const uint64_t large = 1 << 20;

    (void)state;
    tried_spread = spread_in(BLOCKS, 12);
    assert_string_equal(chosen(WEFT_COLL_REDUCE, 12, 8, false), "levels");
    assert_string_equal(chosen(WEFT_COLL_ALLREDUCE, 12, 8, false), "levels");
    assert_string_equal(chosen(WEFT_COLL_ALLREDUCE, 12, large, true), "lanes");
    assert_string_equal(chosen(WEFT_COLL_ALLREDUCE, 12, large, false), "levels");
    free(tried_spread);
    tried_spread = spread_in(IN_TURN, 12);
    assert_string_equal(chosen(WEFT_COLL_REDUCE, 12, 8, true), "levels");
    assert_string_equal(chosen(WEFT_COLL_REDUCE, 12, 8, false), "binomial");
    assert_string_equal(chosen(WEFT_COLL_ALLREDUCE, 12, 8, false), "doubling");
    free(tried_spread);
    tried_spread = NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_algorithm_fits_an_operation_that_commutes),
        cmocka_unit_test(every_result_has_every_rank_once),
        cmocka_unit_test(many_ranks_are_no_different),
        cmocka_unit_test(every_algorithm_costs_what_is_stated),
        cmocka_unit_test(what_is_chosen_has_every_rank_once),
        cmocka_unit_test(size_ranks_and_operation_decide),
        cmocka_unit_test(nodes_decide),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
