/*
 * test_io_plan.c - plans of collective accesses, against a file that is an array of
 * bytes and ranks that are lists of pieces.
 */
#include "unit.h"

#include "io/cut.h"

#include <stdlib.h>

enum { RANKS = 9, FILE_BYTES = 900000, PIECES = 400, NOBODY = -1 };

struct piece {
    uint64_t offset;
    uint64_t bytes;
};

struct rank {
    struct piece piece[PIECES];
    int pieces;
    uint64_t bytes;
    /* What was cut for the aggregators so far. */
    uint64_t cut;
    int next;      /* piece */
    uint64_t into; /* bytes of it that are cut */
};

static struct rank ranks[RANKS];
static int n;
static int32_t owner[FILE_BYTES];   /* rank that has each byte of the file, or NOBODY */
static uint64_t place[FILE_BYTES];  /* where it has it, in packed bytes */
static uint8_t touched[FILE_BYTES]; /* how often the aggregators have */

static uint64_t state = 1;

static uint64_t below(uint64_t limit)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (state >> 33) % limit;
}

/* ---- patterns ---- */

static void add_piece(int r, uint64_t offset, uint64_t bytes)
{
    struct rank *rank = &ranks[r];

    if (rank->pieces == PIECES || bytes == 0 || offset + bytes > FILE_BYTES) {
        return;
    }
    for (uint64_t i = 0; i < bytes; i++) {
        if (owner[offset + i] == NOBODY) { /* of several readers, the first is checked */
            owner[offset + i] = r;
            place[offset + i] = rank->bytes + i;
        }
    }
    rank->piece[rank->pieces++] = (struct piece){offset, bytes};
    rank->bytes += bytes;
}

static void clear(int count)
{
    n = count;
    memset(ranks, 0, sizeof(ranks));
    memset(touched, 0, sizeof(touched));
    for (int i = 0; i < FILE_BYTES; i++) {
        owner[i] = NOBODY;
    }
}

/* Pieces of random lengths, dealt out to random ranks; some bytes are nobody's. */
static void deal(void)
{
    const uint64_t longest = 1 + below(below(2) == 0 ? 40 : 20000);
    uint64_t at = below(1000);

    for (int i = 0; i < 3000 && at < FILE_BYTES; i++) {
        const uint64_t bytes = 1 + below(longest);

        if (below(4) != 0) {
            add_piece((int)below((uint64_t)n), at, bytes);
        }
        at += bytes;
    }
}

/* Columns of a matrix: every rank has the same distance between its pieces. */
static void columns(void)
{
    const uint64_t width = 1 + below(300);
    const uint64_t gap = below(2) == 0 ? 0 : below(50);

    for (int r = 0; r < n; r++) {
        for (uint64_t row = 0; row < 200; row++) {
            add_piece(r, row * (width * (uint64_t)n + gap) + (uint64_t)r * width, width);
        }
    }
}

/* One block each; they may touch, have gaps, or be in any order. */
static void blocks(void)
{
    const uint64_t each = FILE_BYTES / RANKS;

    for (int r = 0; r < n; r++) {
        add_piece(r, (uint64_t)(n - 1 - r) * each, below(3) == 0 ? 0 : 1 + below(each));
    }
}

static struct weft_io_extent extent_of(int r)
{
    const struct rank *rank = &ranks[r];
    const struct piece *last = &rank->piece[rank->pieces > 0 ? rank->pieces - 1 : 0];

    return (struct weft_io_extent){
        .start = rank->piece[0].offset,
        .end = last->offset + last->bytes,
        .bytes = rank->bytes,
        .pieces = (uint64_t)rank->pieces,
    };
}

static void extents_of_all(struct weft_io_extent *out)
{
    for (int r = 0; r < n; r++) {
        out[r] = extent_of(r);
    }
}

/* ---- the model of a pass ---- */

/* Cuts what rank r has in the pass. */
static void cut_rank(struct weft_io_cut *cut, int r, uint64_t pass)
{
    struct rank *rank = &ranks[r];

    weft_io_cut_start(cut, pass);
    cut->packed = rank->cut;
    while (rank->next < rank->pieces) {
        const struct piece *piece = &rank->piece[rank->next];
        const uint64_t taken =
            weft_io_cut_add(cut, piece->offset + rank->into, piece->bytes - rank->into);

        rank->into += taken;
        if (rank->into < piece->bytes) {
            break;
        }
        rank->into = 0;
        rank->next++;
    }
    rank->cut = cut->packed;
    assert_int_equal(weft_io_cut_rc(cut), WEFT_OK);
}

/* The runs for a window, in the list for its aggregator. */
static const struct weft_io_run *runs_of(const struct weft_io_cut *cut, uint64_t window)
{
    const uint64_t step = (uint64_t)cut->plan->aggregators;
    const struct weft_io_run *run = cut->runs[window % step].run;

    for (uint64_t w = cut->first + window % step; w < window; w += step) {
        run += cut->share[w - cut->first].runs;
    }
    return run;
}

/* Every piece of the merged sequence is the source's, in the window, and in order. */
static uint64_t merge_window(const struct weft_io_cut *cuts, uint64_t window,
                             struct weft_io_range range)
{
    struct weft_io_source source[RANKS] = {0};
    int heap[RANKS];
    struct weft_io_merge merge = {.source = source, .heap = heap};
    struct weft_io_piece piece;
    uint64_t before = range.start;
    uint64_t sum = 0;

    for (int r = 0; r < n; r++) {
        const struct weft_io_share *share = &cuts[r].share[window - cuts[r].first];

        source[r].run = runs_of(&cuts[r], window);
        source[r].left = share->runs;
        assert_true(weft_io_runs_are_valid(source[r].run, source[r].left, range.start,
                                           range.end, share->bytes));
    }
    weft_io_merge_start(&merge, n);
    while (weft_io_merge_next(&merge, &piece)) {
        const struct weft_io_share *share =
            &cuts[piece.source].share[window - cuts[piece.source].first];

        assert_true(piece.offset >= before);
        assert_true(piece.offset + piece.bytes <= range.end);
        before = piece.offset;
        for (uint64_t i = 0; i < piece.bytes; i++) {
            const uint64_t at = piece.offset + i;

            assert_true(owner[at] != NOBODY);
            touched[at]++;
            if (owner[at] == piece.source) {
                assert_int_equal(place[at], share->packed + piece.packed + i);
            }
        }
        sum += piece.bytes;
    }
    return sum;
}

static void check_passes(const struct weft_io_plan *plan, bool is_disjoint)
{
    struct weft_io_cut cuts[RANKS];

    for (int r = 0; r < n; r++) {
        assert_int_equal(weft_io_cut_make(&cuts[r], plan), WEFT_OK);
    }
    for (uint64_t pass = 0; pass < weft_io_passes(plan); pass++) {
        for (int r = 0; r < n; r++) {
            cut_rank(&cuts[r], r, pass);
        }
        for (uint64_t w = cuts[0].first; w < cuts[0].first + cuts[0].windows; w++) {
            const struct weft_io_range range = weft_io_window(plan, w);
            const uint64_t sum = merge_window(cuts, w, range);

            assert_true(!is_disjoint || sum <= range.end - range.start);
            for (int r = 0; r < n; r++) {
                const struct weft_io_extent extent = extent_of(r);

                assert_true(cuts[r].share[w - cuts[r].first].bytes == 0 ||
                            weft_io_meets(&extent, range));
            }
        }
    }
    for (int r = 0; r < n; r++) {
        assert_int_equal(ranks[r].cut, ranks[r].bytes);
        weft_io_cut_free(&cuts[r]);
    }
    for (int i = 0; i < FILE_BYTES; i++) {
        assert_true(is_disjoint ? touched[i] == (owner[i] != NOBODY)
                                : (touched[i] > 0) == (owner[i] != NOBODY));
    }
}

/* Windows ascend, are not too large, and have exactly what extents cover. */
static void check_windows(const struct weft_io_plan *plan,
                          const struct weft_io_extent *extents,
                          const struct weft_io_wish *wish)
{
    const uint64_t most = wish->window > WEFT_IO_PAGE ? wish->window : WEFT_IO_PAGE;
    uint64_t before = 0;
    uint64_t bytes = 0;
    uint64_t covered = 0;

    for (uint64_t w = 0; w < plan->windows; w++) {
        const struct weft_io_range range = weft_io_window(plan, w);

        assert_true(range.start < range.end && range.start >= before);
        assert_true(range.end - range.start <= most);
        assert_int_equal(weft_io_window_at(plan, range.start), w);
        assert_int_equal(weft_io_window_at(plan, range.end - 1), w);
        before = range.end;
        bytes += range.end - range.start;
    }
    for (uint64_t i = 0; i < FILE_BYTES; i++) {
        for (int r = 0; r < n; r++) {
            if (extents[r].bytes > 0 && i >= extents[r].start && i < extents[r].end) {
                covered++;
                break;
            }
        }
    }
    assert_int_equal(bytes, covered);
}

static void check_aggregators(const struct weft_io_plan *plan,
                              const struct weft_io_wish *wish)
{
    assert_true(plan->aggregators >= 1 && plan->aggregators <= n);
    assert_true((uint64_t)plan->aggregators <= plan->windows);
    assert_true(wish->aggregators == 0 || plan->aggregators <= wish->aggregators);
    for (int a = 0; a < plan->aggregators; a++) {
        assert_true(plan->aggregator[a] >= 0 && plan->aggregator[a] < n);
        for (int b = 0; b < a; b++) {
            assert_int_not_equal(plan->aggregator[a], plan->aggregator[b]);
        }
    }
}

static struct weft_spread *random_spread(void)
{
    uint32_t node_of[RANKS];

    for (int r = 0; r < n; r++) {
        node_of[r] = (uint32_t)below(4);
    }
    return weft_spread_make(node_of, n, 4);
}

static bool is_interleaved(const struct weft_io_extent *extents)
{
    for (int r = 0; r < n; r++) {
        for (int s = 0; s < r; s++) {
            if (extents[r].bytes > 0 && extents[s].bytes > 0 &&
                extents[r].start < extents[s].end && extents[s].start < extents[r].end) {
                return true;
            }
        }
    }
    return false;
}

static void check(enum weft_io_exchange exchange, bool is_disjoint)
{
    struct weft_io_wish wish = {
        .exchange = exchange,
        .window = below(5) == 0 ? below(10) : 1 + below(100000),
        .aggregators = (int)below(2) * (int)below(12),
    };
    struct weft_spread *spread = random_spread();
    struct weft_io_extent extents[RANKS];
    struct weft_io_plan plan;

    extents_of_all(extents);
    assert_int_equal(weft_io_plan_take(&plan, n), WEFT_OK);
    weft_io_plan_make(&plan, extents, n, spread, &wish);
    if (exchange == WEFT_IO_AUTOMATIC && !is_interleaved(extents)) {
        assert_false(plan.is_exchanged);
    }
    assert_true(exchange != WEFT_IO_DISABLE || !plan.is_exchanged);
    if (plan.is_exchanged) {
        check_aggregators(&plan, &wish);
        check_windows(&plan, extents, &wish);
        check_passes(&plan, is_disjoint);
    } else {
        assert_int_equal(weft_io_passes(&plan), 0);
    }
    weft_io_plan_free(&plan);
    free(spread);
}

/* ---- tests ---- */

static void every_byte_moves_once_and_no_other(void **unused)
{
    (void)unused;
    for (int turn = 0; turn < 60; turn++) {
        clear(1 + (int)below(RANKS));
        if (turn % 3 == 0) {
            deal();
        } else if (turn % 3 == 1) {
            columns();
        } else {
            blocks();
        }
        check(turn % 4 < 3 ? WEFT_IO_ENABLE : WEFT_IO_AUTOMATIC, true);
    }
}

/* All ranks read the same columns, and some more. */
static void readers_of_the_same_bytes_each_get_them(void **unused)
{
    (void)unused;
    for (int turn = 0; turn < 20; turn++) {
        const uint64_t stride = 20 + below(2000);
        const uint64_t bytes = 1 + below(stride);

        clear(1 + (int)below(RANKS));
        for (int r = 0; r < n; r++) {
            for (uint64_t i = 0; i < 100; i++) {
                add_piece(r, i * stride, bytes);
            }
            add_piece(r, 300000 + below(300000), below(1000));
        }
        check(WEFT_IO_ENABLE, false);
    }
}

static void ranks_apart_exchange_nothing(void **unused)
{
    (void)unused;
    for (int turn = 0; turn < 20; turn++) {
        clear(RANKS);
        blocks();
        check(WEFT_IO_AUTOMATIC, true);
    }
}

static struct weft_io_plan plan_of_two(uint64_t bytes, uint64_t pieces, uint64_t end,
                                       enum weft_io_exchange exchange)
{
    const struct weft_io_extent extents[2] = {
        {.start = 0, .end = end, .bytes = bytes, .pieces = pieces},
        {.start = 8, .end = end + 8, .bytes = bytes, .pieces = pieces},
    };
    const struct weft_io_wish wish = {.exchange = exchange, .window = 4 << 20};
    struct weft_io_plan plan;

    assert_int_equal(weft_io_plan_take(&plan, 2), WEFT_OK);
    weft_io_plan_make(&plan, extents, 2, NULL, &wish);
    return plan;
}

static void large_or_sparse_pieces_are_not_exchanged_by_themselves(void **unused)
{
    struct weft_io_plan small = plan_of_two(1 << 20, 1 << 10, 2 << 20, WEFT_IO_AUTOMATIC);
    struct weft_io_plan large = plan_of_two(1 << 20, 2, 2 << 20, WEFT_IO_AUTOMATIC);
    struct weft_io_plan thin =
        plan_of_two(1 << 20, 1 << 10, UINT64_C(1) << 40, WEFT_IO_AUTOMATIC);
    struct weft_io_plan forced = plan_of_two(1 << 20, 2, 2 << 20, WEFT_IO_ENABLE);

    (void)unused;
    assert_true(small.is_exchanged);
    assert_int_equal(small.aggregators, 2);
    assert_int_equal(small.windows, 4);
    assert_false(large.is_exchanged);
    assert_false(thin.is_exchanged);
    assert_true(forced.is_exchanged);
    weft_io_plan_free(&small);
    weft_io_plan_free(&large);
    weft_io_plan_free(&thin);
    weft_io_plan_free(&forced);
}

static void reads_of_a_node_exchange_smaller_pieces_only(void **unused)
{
    const struct weft_io_extent extents[2] = {
        {.start = 0, .end = 1 << 20, .bytes = 1 << 19, .pieces = 1 << 6},
        {.start = 1 << 13, .end = 1 << 20, .bytes = 1 << 19, .pieces = 1 << 6},
    };
    static const uint32_t node_of[] = {0, 1};
    struct weft_spread *spreads[2] = {NULL, weft_spread_make(node_of, 2, 2)};

    (void)unused;
    for (int i = 0; i < 4; i++) { /* pieces of 8 KiB */
        const bool is_write = i % 2 == 1;
        const struct weft_io_wish wish = {.is_write = is_write, .window = 1 << 20};
        struct weft_io_plan plan;

        assert_int_equal(weft_io_plan_take(&plan, 2), WEFT_OK);
        weft_io_plan_make(&plan, extents, 2, spreads[i / 2], &wish);
        assert_int_equal(plan.is_exchanged, is_write || spreads[i / 2] != NULL);
        weft_io_plan_free(&plan);
    }
    free(spreads[1]);
}

static void a_pass_has_a_bound_in_bytes_and_in_windows(void **unused)
{
    static const struct {
        uint64_t window;
        uint64_t windows;
    } cases[] = {{1 << 16, 32}, {1 << 22, 32}, {1 << 23, 16}, {1 << 24, 8}, {1 << 30, 8}};

    (void)unused;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct weft_io_plan plan = {
            .is_exchanged = true,
            .aggregators = 3,
            .window = cases[i].window,
            .windows = 3 * cases[i].windows + 1,
        };

        assert_int_equal(weft_io_pass_windows(&plan), 3 * cases[i].windows);
        assert_int_equal(weft_io_passes(&plan), 2);
    }
    assert_int_equal(weft_io_passes(&(struct weft_io_plan){0}), 0);
}

static void a_view_that_folds_is_not_cut(void **unused)
{
    const struct weft_io_extent extents[2] = {
        {.start = 0, .end = 900, .bytes = 500, .pieces = 50, .is_folded = true},
        {.start = 8, .end = 900, .bytes = 500, .pieces = 50},
    };
    const struct weft_io_wish wish = {.exchange = WEFT_IO_ENABLE, .window = 4096};
    struct weft_io_plan plan;

    (void)unused;
    assert_int_equal(weft_io_plan_take(&plan, 2), WEFT_OK);
    weft_io_plan_make(&plan, extents, 2, NULL, &wish);
    assert_false(plan.is_exchanged);
    weft_io_plan_free(&plan);
}

static void aggregators_are_spread_over_nodes_first(void **unused)
{
    static const uint32_t node_of[] = {0, 0, 0, 1, 2, 2};
    static const int wanted[] = {0, 3, 4, 1, 5, 2};
    struct weft_spread *spread = weft_spread_make(node_of, 6, 3);
    int out[6];

    (void)unused;
    assert_int_equal(weft_io_aggregators(spread, 6, 9, 6, out), 6);
    assert_memory_equal(out, wanted, sizeof(wanted));
    assert_int_equal(weft_io_aggregators(spread, 6, 2, 6, out), 2);
    assert_int_equal(out[1], 3);
    assert_int_equal(weft_io_aggregators(NULL, 6, 4, 6, out), 4);
    assert_int_equal(out[3], 3);
    free(spread);
}

static void equal_pieces_at_equal_distances_are_one_run(void **unused)
{
    struct weft_io_runs runs = {0};

    (void)unused;
    for (uint64_t i = 0; i < 1000; i++) {
        weft_io_runs_add(&runs, 0, 100 + 24 * i, 8);
    }
    assert_int_equal(runs.count, 1);
    assert_int_equal(runs.run[0].count, 1000);
    weft_io_runs_add(&runs, 0, 100 + 24 * 1000, 9);     /* another length */
    weft_io_runs_add(&runs, 0, 100 + 24 * 1000 + 9, 7); /* touches */
    weft_io_runs_add(&runs, 2, 200000, 16);             /* another part */
    assert_int_equal(runs.count, 3);
    assert_int_equal(runs.run[1].bytes, 16);
    assert_true(weft_io_runs_are_valid(runs.run, 3, 100, 200016, 8000 + 32));
    assert_false(weft_io_runs_are_valid(runs.run, 3, 101, 200016, 8000 + 32));
    assert_false(weft_io_runs_are_valid(runs.run, 3, 100, 200015, 8000 + 32));
    assert_false(weft_io_runs_are_valid(runs.run, 3, 100, 200016, 8000 + 31));
    runs.run[0].count = UINT64_MAX / 4;
    assert_false(weft_io_runs_are_valid(runs.run, 3, 100, 200016, 8000 + 32));
    weft_io_runs_free(&runs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_byte_moves_once_and_no_other),
        cmocka_unit_test(readers_of_the_same_bytes_each_get_them),
        cmocka_unit_test(ranks_apart_exchange_nothing),
        cmocka_unit_test(large_or_sparse_pieces_are_not_exchanged_by_themselves),
        cmocka_unit_test(reads_of_a_node_exchange_smaller_pieces_only),
        cmocka_unit_test(a_pass_has_a_bound_in_bytes_and_in_windows),
        cmocka_unit_test(a_view_that_folds_is_not_cut),
        cmocka_unit_test(aggregators_are_spread_over_nodes_first),
        cmocka_unit_test(equal_pieces_at_equal_distances_are_one_run),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
