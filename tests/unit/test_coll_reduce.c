/*
 * test_coll_reduce.c - all algorithms of reductions: the graphs of all ranks are run
 * against each other (sched_model.h), with elements that say what has been combined into
 * them.
 *
 * An element knows its number in the data, the ranks whose data are in it, and, while
 * they follow each other, the first of them and the one behind the last. A reduction
 * demands that both operands are the same element and have no rank in common; if the
 * operation does not commute, also that the ranks of the right one follow those of the
 * left one.
 */
#include "unit.h"

#include "coll/algorithms.h"
#include "sched_model.h"

#include <string.h>

enum { MOST = 33, WORDS = 5, SIZES = 6 };

struct element {
    uint32_t number;
    uint16_t first;
    uint16_t behind;
    uint32_t ranks[WORDS];
};

enum { UNIT = sizeof(struct element) };

/* What is run: an algorithm, and a shape for all ranks. */
struct trial {
    const struct weft_algorithm *algorithm;
    struct weft_shape shape;
    uint64_t parts[160]; /* of a reduce-scatter */
    uint32_t seed;
};

static struct trial *trial; /* for those that the model calls */

/* ---- data ---- */

static bool has_parts(void)
{
    return trial->algorithm->kind == WEFT_COLL_REDUCE_SCATTER ||
           trial->algorithm->kind == WEFT_COLL_REDUCE_SCATTER_BLOCK;
}

static uint64_t all_bytes(void)
{
    return has_parts() ? weft_build_all_parts(&trial->shape) : trial->shape.bytes;
}

/* Only the root of a reduction has a place for the result. */
static bool is_in_place(int rank)
{
    return trial->shape.is_in_place &&
           (trial->algorithm->kind != WEFT_COLL_REDUCE || rank == trial->shape.root);
}

static struct element element_of(uint32_t number, int first, int behind)
{
    struct element element = {
        .number = number, .first = (uint16_t)first, .behind = (uint16_t)behind};

    for (int rank = first; rank < behind; rank++) {
        element.ranks[rank / 32] |= 1u << (rank % 32);
    }
    return element;
}

static void combine(const struct element *left, struct element *right)
{
    bool is_empty = true;

    assert_int_equal(left->number, right->number);
    for (int i = 0; i < WORDS; i++) {
        is_empty = is_empty && left->ranks[i] == 0;
        assert_int_equal(left->ranks[i] & right->ranks[i], 0);
        right->ranks[i] |= left->ranks[i];
    }
    assert_false(is_empty);
    if (!trial->shape.commutes) {
        assert_int_equal(left->behind, right->first);
    }
    right->first = left->first;
}

static void reduce(const uint8_t *from, uint8_t *to, uint64_t bytes)
{
    assert_int_equal(bytes % UNIT, 0);
    for (uint64_t at = 0; at < bytes; at += UNIT) {
        struct element left;
        struct element right;

        memcpy(&left, from + at, UNIT);
        memcpy(&right, to + at, UNIT);
        combine(&left, &right);
        memcpy(to + at, &right, UNIT);
    }
}

/* Which ranks must be in a rank's result, and which elements. */
static bool expect(int rank, int *behind, uint64_t *at, uint64_t *bytes)
{
    *behind = trial->shape.n;
    *at = 0;
    *bytes = trial->shape.bytes;
    switch (trial->algorithm->kind) {
    case WEFT_COLL_REDUCE:
        return rank == trial->shape.root;
    case WEFT_COLL_SCAN:
        *behind = rank + 1;
        return true;
    case WEFT_COLL_EXSCAN:
        *behind = rank;
        return rank > 0;
    case WEFT_COLL_ALLREDUCE:
        return true;
    default:
        *at = weft_build_parts_before(&trial->shape, rank);
        *bytes = weft_build_part(&trial->shape, rank);
        return true;
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
        struct element want = element_of((uint32_t)((at + i) / UNIT), 0, behind);
        struct element element;

        memcpy(&element, model->spaces[WEFT_SPACE_RECV][rank] + i, UNIT);
        if (trial->shape.commutes) { /* then only the set of ranks says anything */
            want.first = element.first;
            want.behind = element.behind;
        }
        assert_memory_equal(&element, &want, UNIT);
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
        const struct element element = element_of((uint32_t)(at / UNIT), rank, rank + 1);

        memcpy(input + at, &element, UNIT);
    }
}

/* ---- graphs ---- */

static enum weft_rc build(const struct weft_shape *shape, struct weft_graph *graph)
{
    struct weft_shape own = *shape;

    graph->unit = UNIT;
    own.is_in_place = is_in_place(shape->rank);
    return trial->algorithm->build(&own, graph);
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
    if (trial->algorithm->kind == WEFT_COLL_REDUCE && rank != trial->shape.root) {
        return 0;
    }
    return has_parts() ? weft_build_part(&trial->shape, rank) : trial->shape.bytes;
}

static void check_span(int rank, struct weft_span span)
{
    if (span.space != WEFT_SPACE_SCRATCH && span.bytes > 0) {
        assert_true(span.offset + span.bytes <= room_of(rank, span.space));
    }
    assert_int_equal(span.offset % UNIT, 0);
    assert_int_equal(span.bytes % UNIT, 0);
}

static void check_cost(const struct model *model)
{
    const struct weft_cost want = trial->algorithm->cost(&trial->shape);
    struct weft_cost cost = {0};

    for (int rank = 0; rank < model->n; rank++) {
        const struct weft_graph *graph = &model->graphs[rank];

        for (uint32_t i = 0; i < graph->step_count; i++) {
            const struct weft_step *step = &graph->steps[i];

            check_span(rank, step->from);
            check_span(rank, step->to);
            if (step->kind == WEFT_STEP_SEND) {
                assert_true(step->from.bytes > 0);
                cost.messages++;
                cost.bytes += step->from.bytes;
            }
            cost.reduced += step->kind == WEFT_STEP_REDUCE ? step->to.bytes : 0;
        }
    }
    assert_int_equal(cost.messages, want.messages);
    assert_int_equal(cost.bytes, want.bytes);
    assert_int_equal(cost.reduced, want.reduced);
}

static void run(void)
{
    struct model model;

    model_open(&model, build, &trial->shape, all_bytes(), all_bytes());
    model.reduce = reduce;
    assert_null(model_check(&model));
    check_cost(&model);
    for (int eager = 0; eager <= 10; eager += 5) {
        for (int rank = 0; rank < model.n; rank++) {
            fill(&model, rank);
        }
        assert_null(model_run(&model, eager, ++trial->seed * 977));
        for (int rank = 0; rank < model.n; rank++) {
            check_result(&model, rank);
        }
    }
    model_close(&model);
}

/* ---- shapes ---- */

/* Units of the data: none, one, an odd number below and above that of the ranks. */
static uint64_t units_of(int size, int n)
{
    const uint64_t of[SIZES] = {0,
                                1,
                                (uint64_t)(n / 2) | 1,
                                (uint64_t)n,
                                ((uint64_t)n + 3) | 1,
                                (uint64_t)n * 3 + 2};

    return of[size];
}

/* Unequal parts, of which some are empty. */
static void set_parts(int size)
{
    const uint64_t units = units_of(size, trial->shape.n);

    if (trial->algorithm->kind == WEFT_COLL_REDUCE_SCATTER_BLOCK) {
        trial->shape.bytes = (uint64_t)size / 2 * UNIT; /* of each part */
        return;
    }
    memset(trial->parts, 0, sizeof(trial->parts));
    for (uint64_t i = 0; i < units; i++) {
        const uint64_t rank = (i * i * 7 + 3 * i) % (uint64_t)trial->shape.n;

        trial->parts[rank] += UNIT;
    }
    trial->shape.bytes = units * UNIT;
    trial->shape.from = trial->parts;
}

static void run_sizes(int step)
{
    for (int size = 0; size < SIZES; size += step) {
        trial->shape.bytes = units_of(size, trial->shape.n) * UNIT;
        if (has_parts()) {
            set_parts(size);
        }
        run();
    }
}

static void run_roots(int step)
{
    const int n = trial->shape.n;
    const int roots[] = {0, 1, n - 1};

    for (int i = 0; i < 3; i++) {
        trial->shape.root = roots[i];
        if (i == 0 || (trial->algorithm->kind == WEFT_COLL_REDUCE && roots[i] > 0 &&
                       roots[i] < n && roots[i] != roots[i - 1])) {
            run_sizes(step);
        }
    }
}

/* Every algorithm of a kind, in place or not, for both kinds of operation. */
static void run_ranks(enum weft_coll_kind kind, int n, int step)
{
    const struct weft_algorithm *algorithm;

    for (int i = 0; (algorithm = weft_algorithm_at(i)) != NULL; i++) {
        for (int way = 0; algorithm->kind == kind && way < 4; way++) {
            struct trial one = {.algorithm = algorithm, .seed = (uint32_t)n};

            trial = &one;
            one.shape = (struct weft_shape){.n = n,
                                            .unit = UNIT,
                                            .commutes = way % 2 == 0,
                                            .is_in_place = way / 2 != 0};
            if (algorithm->fits == NULL || algorithm->fits(&one.shape)) {
                run_roots(step);
            }
        }
    }
}

static void run_kind(enum weft_coll_kind kind)
{
    for (int n = 1; n <= MOST; n++) {
        run_ranks(kind, n, 1);
    }
}

/* ---- cases ---- */

static void a_reduce_has_every_rank_once_at_the_root(void **state)
{
    (void)state;
    run_kind(WEFT_COLL_REDUCE);
}

static void an_allreduce_has_every_rank_once_everywhere(void **state)
{
    (void)state;
    run_kind(WEFT_COLL_ALLREDUCE);
}

static void a_reduce_scatter_has_every_rank_once_in_unequal_parts(void **state)
{
    (void)state;
    run_kind(WEFT_COLL_REDUCE_SCATTER);
}

static void a_reduce_scatter_has_every_rank_once_in_equal_parts(void **state)
{
    (void)state;
    run_kind(WEFT_COLL_REDUCE_SCATTER_BLOCK);
}

static void a_scan_has_every_rank_up_to_its_own(void **state)
{
    (void)state;
    run_kind(WEFT_COLL_SCAN);
}

static void an_exclusive_scan_has_every_rank_before_its_own(void **state)
{
    (void)state;
    run_kind(WEFT_COLL_EXSCAN);
}

static void many_ranks_are_no_different(void **state)
{
    static const enum weft_coll_kind kinds[] = {WEFT_COLL_REDUCE, WEFT_COLL_ALLREDUCE,
                                                WEFT_COLL_SCAN, WEFT_COLL_EXSCAN};
    static const int many[] = {64, 127, 128, 129};

    (void)state;
    for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
        for (size_t i = 0; i < sizeof(many) / sizeof(many[0]); i++) {
            run_ranks(kinds[k], many[i], 4);
        }
    }
    run_ranks(WEFT_COLL_REDUCE_SCATTER, 64, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_reduce_has_every_rank_once_at_the_root),
        cmocka_unit_test(an_allreduce_has_every_rank_once_everywhere),
        cmocka_unit_test(a_reduce_scatter_has_every_rank_once_in_unequal_parts),
        cmocka_unit_test(a_reduce_scatter_has_every_rank_once_in_equal_parts),
        cmocka_unit_test(a_scan_has_every_rank_up_to_its_own),
        cmocka_unit_test(an_exclusive_scan_has_every_rank_before_its_own),
        cmocka_unit_test(many_ranks_are_no_different),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
