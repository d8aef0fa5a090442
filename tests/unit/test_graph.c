/*
 * test_graph.c - graphs of steps and the builders that make them: each builder is run for
 * all ranks at once, in random orders (sched_model.h), and must give the right data.
 */
#include "unit.h"

#include "sched/tree.h"
#include "sched_model.h"

#include <string.h>

enum { MOST = 33, SEEDS = 4, BYTES = 8 };

/* ---- builders of this file ---- */

static struct weft_span block(enum weft_space space, uint64_t bytes, int number)
{
    return weft_span(space, bytes * (uint64_t)number, bytes);
}

static uint32_t add(struct weft_graph *graph, enum weft_step_kind kind, int peer, int tag,
                    struct weft_span span)
{
    return weft_graph_add(
        graph,
        &(struct weft_step){.kind = (uint8_t)kind,
                            .peer = peer,
                            .tag = tag,
                            .from = kind == WEFT_STEP_SEND ? span : (struct weft_span){0},
                            .to = kind == WEFT_STEP_RECV ? span : (struct weft_span){0}});
}

/* Everyone hands on the block that it got last: an allgather. Receives are posted at
 * once, so each has a tag of its own. */
static enum weft_rc ring(const struct weft_shape *shape, struct weft_graph *graph)
{
    const int n = shape->n;
    const int me = shape->rank;
    uint32_t last = weft_graph_copy(graph, block(WEFT_SPACE_SEND, shape->bytes, 0),
                                    block(WEFT_SPACE_RECV, shape->bytes, me));

    for (int i = 1; i < n; i++) {
        const struct weft_span out =
            block(WEFT_SPACE_RECV, shape->bytes, (me - i + 1 + n) % n);
        const struct weft_span in =
            block(WEFT_SPACE_RECV, shape->bytes, (me - i + n) % n);

        weft_graph_after(graph, add(graph, WEFT_STEP_SEND, (me + 1) % n, i, out), last);
        last = add(graph, WEFT_STEP_RECV, (me - 1 + n) % n, i, in);
    }
    return graph->rc;
}

/* The same tag for two sends that may go in either order. */
static enum weft_rc unordered(const struct weft_shape *shape, struct weft_graph *graph)
{
    const struct weft_span nothing = weft_span(WEFT_SPACE_RECV, 0, 0);
    const uint32_t before = weft_graph_copy(graph, nothing, nothing);

    for (int i = 0; i < 2; i++) {
        weft_graph_after(
            graph,
            add(graph, WEFT_STEP_SEND, shape->rank, 0, block(WEFT_SPACE_SEND, 4, i)),
            before);
        add(graph, WEFT_STEP_RECV, shape->rank, 0, block(WEFT_SPACE_RECV, 4, i));
    }
    return graph->rc;
}

/* To the next rank, from the one before. */
static enum weft_rc shift(const struct weft_shape *shape, struct weft_graph *graph)
{
    const int n = shape->n;

    weft_graph_send(graph, (shape->rank + 1) % n,
                    block(WEFT_SPACE_SEND, shape->bytes, 0));
    weft_graph_recv(graph, (shape->rank + n - 1) % n,
                    block(WEFT_SPACE_RECV, shape->bytes, 0));
    return graph->rc;
}

/* Everyone sends to the next rank and only then receives: works with eager sends only. */
static enum weft_rc blocked_ring(const struct weft_shape *shape, struct weft_graph *graph)
{
    const int n = shape->n;
    const uint32_t sent = weft_graph_send(graph, (shape->rank + 1) % n,
                                          block(WEFT_SPACE_SEND, shape->bytes, 0));

    weft_graph_after(graph,
                     weft_graph_recv(graph, (shape->rank + n - 1) % n,
                                     block(WEFT_SPACE_RECV, shape->bytes, 0)),
                     sent);
    return graph->rc;
}

/* The first rank sends what nobody receives. */
static enum weft_rc unanswered(const struct weft_shape *shape, struct weft_graph *graph)
{
    if (shape->rank == 0) {
        weft_graph_send(graph, shape->n - 1, block(WEFT_SPACE_SEND, shape->bytes, 0));
    }
    return graph->rc;
}

/* Two receives into the same bytes, in no order. */
static enum weft_rc racing(const struct weft_shape *shape, struct weft_graph *graph)
{
    for (int i = 0; i < 2; i++) {
        add(graph, WEFT_STEP_SEND, shape->rank, i, block(WEFT_SPACE_SEND, 8, 0));
        add(graph, WEFT_STEP_RECV, shape->rank, i, block(WEFT_SPACE_RECV, 8, 0));
    }
    return graph->rc;
}

/* ---- data ---- */

/* x -> a x + b, modulo 2^32: composition is associative and does not commute. */
struct map {
    uint32_t a;
    uint32_t b;
};

static struct map map_of(int rank)
{
    return (struct map){2 * (uint32_t)rank + 3, 7 * (uint32_t)rank + 1};
}

static struct map compose(struct map first, struct map second)
{
    return (struct map){second.a * first.a, second.a * first.b + second.b};
}

static void reduce(const uint8_t *from, uint8_t *to, uint64_t bytes)
{
    struct map theirs;
    struct map mine;

    assert_int_equal(bytes, sizeof(mine));
    memcpy(&theirs, from, sizeof(theirs));
    memcpy(&mine, to, sizeof(mine));
    mine = compose(mine, theirs);
    memcpy(to, &mine, sizeof(mine));
}

/* Every rank puts its map at `place` of the space; how often it is run, and how. */
static void run_all(struct model *model, enum weft_space space, bool is_table,
                    void (*look)(struct model *model))
{
    model->reduce = reduce;
    assert_null(model_check(model));
    for (int eager = 0; eager <= 10; eager += 5) {
        for (uint32_t seed = 1; seed <= SEEDS; seed++) {
            for (int rank = 0; rank < model->n; rank++) {
                const struct map map = map_of(rank);
                uint8_t *bytes = model->spaces[space][rank];

                memset(model->spaces[WEFT_SPACE_RECV][rank], 0,
                       model->space_bytes[WEFT_SPACE_RECV]);
                memcpy(bytes + (is_table ? BYTES * rank : 0), &map, sizeof(map));
            }
            assert_null(model_run(model, eager, seed * 977));
            look(model);
        }
    }
}

static void has_all_blocks(struct model *model)
{
    for (int rank = 0; rank < model->n; rank++) {
        for (int of = 0; of < model->n; of++) {
            const struct map map = map_of(of);

            assert_memory_equal(model->spaces[WEFT_SPACE_RECV][rank] + BYTES * of, &map,
                                sizeof(map));
        }
    }
}

static void has_block_of_previous(struct model *model)
{
    for (int rank = 0; rank < model->n; rank++) {
        const struct map map = map_of((rank + model->n - 1) % model->n);

        assert_memory_equal(model->spaces[WEFT_SPACE_RECV][rank], &map, sizeof(map));
    }
}

static void has_composition(struct model *model)
{
    struct map map = map_of(0);

    for (int rank = 1; rank < model->n; rank++) {
        map = compose(map, map_of(rank));
    }
    for (int rank = 0; rank < model->n; rank++) {
        assert_memory_equal(model->spaces[WEFT_SPACE_RECV][rank], &map, sizeof(map));
    }
}

static void has_nothing(struct model *model)
{
    (void)model;
}

static struct weft_shape shape_of(int n)
{
    return (struct weft_shape){.n = n, .bytes = BYTES, .unit = BYTES};
}

/* ---- cases ---- */

static void a_ring_gathers_all_blocks_everywhere(void **state)
{
    (void)state;
    for (int n = 1; n <= MOST; n++) {
        const struct weft_shape shape = shape_of(n);
        struct model model;

        model_open(&model, ring, &shape, BYTES, BYTES * (uint64_t)n);
        run_all(&model, WEFT_SPACE_SEND, false, has_all_blocks);
        model_close(&model);
    }
}

static void a_shift_brings_the_block_of_the_rank_before(void **state)
{
    (void)state;
    for (int n = 1; n <= MOST; n++) {
        const struct weft_shape shape = shape_of(n);
        struct model model;

        model_open(&model, shift, &shape, BYTES, BYTES);
        run_all(&model, WEFT_SPACE_SEND, false, has_block_of_previous);
        model_close(&model);
    }
}

static void a_tree_folds_in_the_order_of_the_ranks(void **state)
{
    (void)state;
    for (int n = 1; n <= MOST; n++) {
        const struct weft_shape shape = shape_of(n);
        struct model model;

        model_open(&model, weft_tree_fold, &shape, 0, BYTES);
        run_all(&model, WEFT_SPACE_RECV, false, has_composition);
        model_close(&model);
    }
}

static void a_tree_fills_everyones_table(void **state)
{
    (void)state;
    for (int n = 1; n <= MOST; n++) {
        const struct weft_shape shape = shape_of(n);
        struct model model;

        model_open(&model, weft_tree_table, &shape, 0, BYTES * (uint64_t)n);
        run_all(&model, WEFT_SPACE_RECV, true, has_all_blocks);
        model_close(&model);
    }
}

static void a_tree_goes_up_without_data(void **state)
{
    (void)state;
    for (int n = 1; n <= MOST; n++) {
        const struct weft_shape shape = {.n = n};
        struct model model;

        model_open(&model, weft_tree_up, &shape, BYTES, BYTES);
        run_all(&model, WEFT_SPACE_SEND, false, has_nothing);
        model_close(&model);
    }
}

/* With a large tree a rank has children that have children. */
static void deep_trees_fit_together(void **state)
{
    static weft_builder *const builders[] = {weft_tree_fold, weft_tree_table,
                                             weft_tree_up};
    const struct weft_shape shape = shape_of(700);

    (void)state;
    for (size_t i = 0; i < sizeof(builders) / sizeof(builders[0]); i++) {
        struct model model;

        model_open(&model, builders[i], &shape, 0, BYTES * 700);
        assert_null(model_check(&model));
        model_close(&model);
    }
}

static void a_deadlock_is_found(void **state)
{
    const struct weft_shape shape = shape_of(5);
    struct model model;

    (void)state;
    model_open(&model, blocked_ring, &shape, BYTES, BYTES);
    assert_null(model_check(&model));
    assert_null(model_run(&model, 10, 1));
    assert_non_null(model_run(&model, 0, 1));
    model_close(&model);
}

static void messages_that_do_not_fit_are_found(void **state)
{
    const struct weft_shape shape = shape_of(3);
    struct model model;

    (void)state;
    model_open(&model, unanswered, &shape, BYTES, BYTES);
    assert_string_equal(model_check(&model), "messages of two ranks do not fit together");
    model_close(&model);
    model_open(&model, racing, &shape, BYTES, BYTES);
    assert_string_equal(model_check(&model),
                        "two steps that may run at once touch the same bytes");
    model_close(&model);
    model_open(&model, unordered, &shape, BYTES, BYTES);
    assert_string_equal(model_check(&model),
                        "two messages that look the same are in no order");
    model_close(&model);
}

/* ---- one graph ---- */

static const uint64_t sizes[WEFT_SPACES] = {16, 16, 16};

static void a_cycle_is_found(void **state)
{
    const struct weft_span span = weft_span(WEFT_SPACE_RECV, 0, 8);
    struct weft_graph graph;
    uint32_t steps[3];

    (void)state;
    weft_graph_init(&graph);
    for (int i = 0; i < 3; i++) {
        steps[i] = weft_graph_copy(&graph, span, span);
    }
    weft_graph_after(&graph, steps[1], steps[0]);
    weft_graph_after(&graph, steps[2], steps[1]);
    assert_null(weft_graph_check(&graph, 1, sizes));
    weft_graph_after(&graph, steps[0], steps[2]);
    assert_string_equal(weft_graph_check(&graph, 1, sizes),
                        "steps that wait for each other");
    weft_graph_free(&graph);
}

static void expect_wrong(const struct weft_step *step, const char *what)
{
    struct weft_graph graph;

    weft_graph_init(&graph);
    weft_graph_add(&graph, step);
    assert_string_equal(weft_graph_check(&graph, 2, sizes), what);
    weft_graph_free(&graph);
}

static void what_is_out_of_bounds_is_found(void **state)
{
    const struct weft_span good = weft_span(WEFT_SPACE_RECV, 8, 8);
    const struct weft_span wide = weft_span(WEFT_SPACE_RECV, 8, 9);
    const struct weft_span wrapped = weft_span(WEFT_SPACE_RECV, UINT64_MAX, 8);
    const struct weft_span sent = weft_span(WEFT_SPACE_SEND, 0, 8);

    (void)state;
    expect_wrong(&(struct weft_step){.kind = WEFT_STEP_KINDS},
                 "a kind of step that does not exist");
    expect_wrong(&(struct weft_step){.kind = WEFT_STEP_SEND, .peer = 2},
                 "a peer that does not exist");
    expect_wrong(&(struct weft_step){.kind = WEFT_STEP_RECV, .peer = -1},
                 "a peer that does not exist");
    expect_wrong(&(struct weft_step){.kind = WEFT_STEP_RECV, .to = wide},
                 "a span outside its space");
    expect_wrong(&(struct weft_step){.kind = WEFT_STEP_SEND, .from = wrapped},
                 "a span outside its space");
    expect_wrong(&(struct weft_step){.kind = WEFT_STEP_RECV, .to = sent},
                 "a step that writes to the send buffer");
    expect_wrong(&(struct weft_step){.kind = WEFT_STEP_COPY, .to = good},
                 "a copy or reduction between spans of different sizes");
}

static void scratch_does_not_overlap_and_is_aligned(void **state)
{
    struct weft_graph graph;
    struct weft_span first;
    struct weft_span second;

    (void)state;
    weft_graph_init(&graph);
    first = weft_graph_scratch(&graph, 3);
    second = weft_graph_scratch(&graph, 5);
    assert_true(second.offset >= first.offset + first.bytes);
    assert_int_equal(second.offset % 16, 0);
    assert_true(graph.scratch >= second.offset + second.bytes);
    weft_graph_free(&graph);
}

static void a_graph_without_memory_ignores_what_is_added(void **state)
{
    struct weft_graph graph;

    (void)state;
    weft_graph_init(&graph);
    graph.rc = WEFT_ERR_NOMEM;
    assert_int_equal(weft_graph_send(&graph, 0, weft_span(WEFT_SPACE_SEND, 0, 0)),
                     WEFT_NO_STEP);
    weft_graph_after(&graph, WEFT_NO_STEP, WEFT_NO_STEP);
    assert_int_equal(graph.step_count, 0);
    assert_int_equal(graph.edge_count, 0);
    weft_graph_free(&graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_ring_gathers_all_blocks_everywhere),
        cmocka_unit_test(a_shift_brings_the_block_of_the_rank_before),
        cmocka_unit_test(a_tree_folds_in_the_order_of_the_ranks),
        cmocka_unit_test(a_tree_fills_everyones_table),
        cmocka_unit_test(a_tree_goes_up_without_data),
        cmocka_unit_test(deep_trees_fit_together),
        cmocka_unit_test(a_deadlock_is_found),
        cmocka_unit_test(messages_that_do_not_fit_are_found),
        cmocka_unit_test(a_cycle_is_found),
        cmocka_unit_test(what_is_out_of_bounds_is_found),
        cmocka_unit_test(scratch_does_not_overlap_and_is_aligned),
        cmocka_unit_test(a_graph_without_memory_ignores_what_is_added),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
