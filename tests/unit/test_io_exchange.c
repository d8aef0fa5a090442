/*
 * test_io_exchange.c - the graphs of all ranks of an exchange, run against each other in
 * one process: every byte gets where it belongs, in any order that the graphs allow.
 */
#include "fake_disk.h"

#include "datatype/construct.h"
#include "engine/lock.h"
#include "io/exchange.h"

#include <stdlib.h>

enum { RANKS = 5, MOST_STEPS = 2000, WINDOW = 4096, PIECES = 150 };

struct rank {
    struct weft_exchange x;
    struct weft_graph graph;
    struct weft_view *view;
    struct weft_datatype *filetype;
    char memory[FILE_BYTES];
    uint32_t needs[MOST_STEPS];
    uint32_t order[MOST_STEPS]; /* steps that are started, in that order */
    bool is_over[MOST_STEPS];
    uint32_t started;
    uint32_t over;
};

static struct rank ranks[RANKS];
static struct weft_io_extent extents[RANKS];
static struct weft_io_plan plan;
static int n;
static int worked; /* windows */
static uint64_t state = 11;

static uint64_t below(uint64_t limit)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (state >> 33) % limit;
}

static char value(uint64_t offset)
{
    return (char)(1 + offset % 113);
}

/* ---- a model of schedules ---- */

enum stage { HEADS, LISTS, MOVES };

static char *at(struct rank *rank, enum stage stage, const struct weft_span *span)
{
    const struct weft_exchange *x = &rank->x;

    if (stage == LISTS && span->space == WEFT_SPACE_SEND) {
        const struct weft_data list = weft_exchange_list(x, span);

        return weft_data_at(&list, 0);
    }
    if (stage == MOVES) {
        char *from = span->space == WEFT_SPACE_SCRATCH ? x->scratch : rank->memory;

        return from + span->offset;
    }
    if (stage == LISTS) {
        return (char *)x->lists + span->offset;
    }
    return (char *)(span->space == WEFT_SPACE_SEND ? x->out : x->in) + span->offset;
}

static void start_step(struct rank *rank, uint32_t step)
{
    rank->order[rank->started++] = step;
}

static void end_step(struct rank *rank, uint32_t step)
{
    const struct weft_graph *graph = &rank->graph;

    assert_false(rank->is_over[step]);
    rank->is_over[step] = true;
    rank->over++;
    for (uint32_t e = graph->steps[step].first_edge; e != WEFT_NO_EDGE;
         e = graph->edges[e].next) {
        if (--rank->needs[graph->edges[e].to] == 0) {
            start_step(rank, graph->edges[e].to);
        }
    }
}

/* The first message to or from a peer that is started and not over, or WEFT_NO_STEP. */
static uint32_t first_message(const struct rank *rank, int peer, uint8_t kind)
{
    for (uint32_t i = 0; i < rank->started; i++) {
        const uint32_t step = rank->order[i];

        if (!rank->is_over[step] && rank->graph.steps[step].kind == kind &&
            rank->graph.steps[step].peer == peer) {
            return step;
        }
    }
    return WEFT_NO_STEP;
}

/* Moves the next message between two ranks, if both have started it. */
static bool pass_message(enum stage stage, int from, int to)
{
    const uint32_t send = first_message(&ranks[from], to, WEFT_STEP_SEND);
    const uint32_t recv = first_message(&ranks[to], from, WEFT_STEP_RECV);
    const struct weft_span *source;
    const struct weft_span *target;

    if (send == WEFT_NO_STEP || recv == WEFT_NO_STEP) {
        return false;
    }
    source = &ranks[from].graph.steps[send].from;
    target = &ranks[to].graph.steps[recv].to;
    assert_true(stage == HEADS || source->bytes == target->bytes);
    assert_true(source->bytes <= target->bytes);
    memcpy(at(&ranks[to], stage, target), at(&ranks[from], stage, source), source->bytes);
    end_step(&ranks[from], send);
    end_step(&ranks[to], recv);
    return true;
}

/* Does what a rank can do without the others. */
static bool work_alone(struct rank *rank)
{
    bool is_any = false;

    for (uint32_t i = 0; i < rank->started; i++) {
        const uint32_t step = rank->order[i];
        const struct weft_step *what = &rank->graph.steps[step];

        if (rank->is_over[step] ||
            (what->kind != WEFT_STEP_WORK && what->kind != WEFT_STEP_COPY)) {
            continue;
        }
        if (what->kind == WEFT_STEP_WORK) {
            weft_exchange_work(&rank->x, what->peer);
            worked++;
        }
        end_step(rank, step);
        is_any = true;
    }
    return is_any;
}

static bool is_all_over(void)
{
    for (int r = 0; r < n; r++) {
        if (ranks[r].over < ranks[r].graph.step_count) {
            return false;
        }
    }
    return true;
}

static void begin_graph(struct rank *rank, enum stage stage)
{
    const struct weft_exchange_need need = weft_exchange_need(&rank->x);
    struct weft_graph *graph = &rank->graph;
    enum weft_rc rc;

    weft_graph_init(graph);
    rc = stage == HEADS   ? weft_exchange_heads(&rank->x, graph)
         : stage == LISTS ? weft_exchange_lists(&rank->x, graph)
                          : weft_exchange_moves(&rank->x, graph, WEFT_STEP_WORK);
    assert_int_equal(rc, WEFT_OK);
    assert_true(graph->step_count <= MOST_STEPS);
    assert_true(graph->step_count <= need.steps && graph->edge_count <= need.edges);
    rank->started = 0;
    rank->over = 0;
    memset(rank->is_over, 0, sizeof(rank->is_over));
    for (uint32_t i = 0; i < graph->step_count; i++) {
        rank->needs[i] = graph->steps[i].needs;
        if (rank->needs[i] == 0) {
            start_step(rank, i);
        }
    }
}

static void run_stage(enum stage stage)
{
    for (int r = 0; r < n; r++) {
        begin_graph(&ranks[r], stage);
    }
    while (!is_all_over()) {
        const int first = (int)below((uint64_t)n);
        bool is_any = false;

        for (int i = 0; i < n * n && !is_any; i++) {
            is_any = pass_message(stage, (first + i / n) % n, (first + i) % n);
        }
        for (int i = 0; i < n && (!is_any || below(3) == 0); i++) {
            is_any = work_alone(&ranks[(first + i) % n]) || is_any;
        }
        assert_true(is_any); /* else nobody can go on */
    }
    for (int r = 0; r < n; r++) {
        weft_graph_free(&ranks[r].graph);
    }
}

/* ---- ranks and what they have ---- */

static int owner[FILE_BYTES]; /* rank that has each byte, or -1 */

static void make_view(struct rank *rank, const MPI_Count *lengths,
                      const MPI_Count *places, int count)
{
    struct weft_datatype *byte = weft_datatype_from_handle(MPI_BYTE);

    weft_lock();
    assert_int_equal(weft_type_indexed(MPI_COMBINER_HINDEXED, true, count,
                                       (struct weft_numbers){.count = lengths},
                                       (struct weft_numbers){.count = places}, byte,
                                       &rank->filetype),
                     WEFT_OK);
    assert_int_equal(weft_datatype_commit(rank->filetype), WEFT_OK);
    assert_int_equal(weft_view_make(&(struct weft_view){.etype = byte,
                                                        .filetype = rank->filetype,
                                                        .in_file = rank->filetype,
                                                        .etype_bytes = 1},
                                    &rank->view),
                     WEFT_OK);
    weft_unlock();
}

/* Pieces of a rank from owner[]; returns how many bytes they have. */
static uint64_t describe(int r)
{
    MPI_Count lengths[PIECES * RANKS];
    MPI_Count places[PIECES * RANKS];
    uint64_t bytes = 0;
    int count = 0;

    for (int i = 0; i < FILE_BYTES; i++) {
        if (owner[i] != r) {
            continue;
        }
        if (count == 0 || places[count - 1] + lengths[count - 1] != i) {
            places[count] = i;
            lengths[count++] = 0;
        }
        lengths[count - 1]++;
        bytes++;
    }
    extents[r] = (struct weft_io_extent){.bytes = bytes, .pieces = (uint64_t)count};
    if (count > 0) {
        extents[r].start = (uint64_t)places[0];
        extents[r].end = (uint64_t)(places[count - 1] + lengths[count - 1]);
    }
    make_view(&ranks[r], lengths, places, count);
    return bytes;
}

static void deal(void)
{
    uint64_t place = below(2000);

    for (int i = 0; i < FILE_BYTES; i++) {
        owner[i] = -1;
    }
    for (int i = 0; i < PIECES * n && place < FILE_BYTES; i++) {
        const uint64_t bytes = 1 + below(i % 7 == 0 ? 3000 : 300);
        const int r = (int)below((uint64_t)n + 1);

        for (uint64_t k = place; k < place + bytes && k < FILE_BYTES; k++) {
            owner[k] = r < n ? r : -1;
        }
        place += bytes;
    }
}

static void open_ranks(int count, int aggregators, bool is_write)
{
    const struct weft_io_wish wish = {.is_write = is_write,
                                      .exchange = WEFT_IO_ENABLE,
                                      .window = WINDOW,
                                      .aggregators = aggregators};

    n = count;
    worked = 0;
    set_up();
    deal();
    for (int r = 0; r < n; r++) {
        ranks[r].x = (struct weft_exchange){
            .plan = &plan,
            .extents = extents,
            .ranks = n,
            .rank = r,
            .access = is_write ? writing : reading,
            .data = {.buffer = ranks[r].memory, .bytes = (size_t)describe(r)},
        };
        ranks[r].x.view = ranks[r].view;
    }
    assert_int_equal(weft_io_plan_take(&plan, n), WEFT_OK);
    weft_io_plan_make(&plan, extents, n, NULL, &wish);
    for (int r = 0; r < n; r++) {
        assert_int_equal(weft_exchange_make(&ranks[r].x), WEFT_OK);
    }
}

static void close_ranks(void)
{
    for (int r = 0; r < n; r++) {
        weft_exchange_free(&ranks[r].x);
        weft_lock();
        weft_view_release(ranks[r].view);
        weft_datatype_free(ranks[r].filetype);
        weft_unlock();
    }
    weft_io_plan_free(&plan);
}

/* Fills files or memory: what lies at an offset has the value of it. */
static void fill(bool is_write)
{
    uint64_t next[RANKS] = {0};

    for (int r = 0; r < n; r++) {
        memset(ranks[r].memory, 0, sizeof(ranks[r].memory));
    }
    for (uint64_t i = 0; i < FILE_BYTES; i++) {
        if (!is_write) {
            disk.bytes[i] = value(i);
        } else if (owner[i] >= 0) {
            ranks[owner[i]].memory[next[owner[i]]++] = value(i);
        }
    }
}

static void check(bool is_write, uint64_t end)
{
    uint64_t next[RANKS] = {0};

    for (uint64_t i = 0; i < end; i++) {
        if (is_write) {
            assert_int_equal(disk.bytes[i], owner[i] >= 0 ? value(i) : 0);
        } else if (owner[i] >= 0) {
            assert_int_equal(ranks[owner[i]].memory[next[owner[i]]++], value(i));
        }
    }
}

static void run_passes(void)
{
    for (uint64_t pass = 0; pass < weft_io_passes(&plan); pass++) {
        for (int r = 0; r < n; r++) {
            weft_exchange_prepare(&ranks[r].x, pass);
        }
        run_stage(HEADS);
        run_stage(LISTS);
        run_stage(MOVES);
    }
}

static void all_bytes_move_in_any_order(void **unused)
{
    (void)unused;
    for (int turn = 0; turn < 60; turn++) {
        const bool is_write = turn % 2 == 0;

        open_ranks(1 + turn % RANKS, 1 + (int)below(3), is_write);
        fill(is_write);
        run_passes();
        check(is_write, FILE_BYTES);
        for (int r = 0; r < n; r++) {
            assert_int_equal(ranks[r].x.moved.fault, 0);
        }
        assert_true(worked <= (int)plan.windows);
        close_ranks();
    }
}

static void a_full_device_is_told_by_its_aggregator(void **unused)
{
    const uint64_t room = 30000;
    uint64_t lowest = UINT64_MAX;

    (void)unused;
    open_ranks(4, 2, true);
    fill(true);
    disk.room = room;
    run_passes();
    for (int r = 0; r < n; r++) {
        if (ranks[r].x.moved.fault != 0) {
            assert_int_equal(ranks[r].x.moved.fault, ENOSPC);
            lowest = ranks[r].x.moved.at < lowest ? ranks[r].x.moved.at : lowest;
        }
    }
    assert_true(lowest >= room && lowest < room + 4000);
    check(true, room);
    close_ranks();
}

/* A rank that has lost its memory sends a head with nothing in it. */
static void a_rank_without_lists_takes_part_with_nothing(void **unused)
{
    (void)unused;
    open_ranks(3, 2, true);
    fill(true);
    ranks[1].x.moved.fault = ENOMEM;
    run_passes();
    for (int i = 0; i < FILE_BYTES; i++) {
        owner[i] = owner[i] == 1 ? -1 : owner[i];
    }
    for (int i = 0; i < FILE_BYTES; i++) { /* nothing but what the others had */
        assert_true(disk.bytes[i] == 0 || owner[i] >= 0);
    }
    close_ranks();
}

/* Lists come from outside: what does not fit is refused, and no byte is moved. */
static void a_head_that_cannot_be_is_refused(void **unused)
{
    const int aggregator = 0;

    (void)unused;
    open_ranks(2, 1, true);
    fill(true);
    for (int r = 0; r < n; r++) {
        weft_exchange_prepare(&ranks[r].x, 0);
    }
    ranks[1].x.out[aggregator].bytes[0] = WINDOW + 1;
    begin_graph(&ranks[1], HEADS);
    begin_graph(&ranks[0], HEADS);
    assert_true(pass_message(HEADS, 1, 0));
    weft_graph_free(&ranks[0].graph);
    weft_graph_free(&ranks[1].graph);
    weft_graph_init(&ranks[0].graph);
    assert_int_equal(weft_exchange_lists(&ranks[0].x, &ranks[0].graph), WEFT_OK);
    weft_graph_free(&ranks[0].graph);
    assert_int_equal(ranks[0].x.moved.fault, WEFT_IO_NOT_SAME);
    assert_int_equal(ranks[0].x.in[0].bytes[0], 0);
    close_ranks();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_bytes_move_in_any_order),
        cmocka_unit_test(a_full_device_is_told_by_its_aggregator),
        cmocka_unit_test(a_rank_without_lists_takes_part_with_nothing),
        cmocka_unit_test(a_head_that_cannot_be_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
