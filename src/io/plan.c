#include "io/plan.h"

#include <assert.h>
#include <stdlib.h>

/* ---- who aggregates ---- */

static int ranks_of_node(const struct weft_spread *spread, int ranks, int node)
{
    return spread != NULL ? weft_spread_size(spread, node) : ranks;
}

int weft_io_aggregators(const struct weft_spread *spread, int ranks, int wanted, int most,
                        int *out)
{
    const int nodes = spread != NULL && spread->nodes > 0 ? spread->nodes : 1;
    const struct weft_spread *known = spread != NULL && spread->nodes > 0 ? spread : NULL;
    int count = 0;
    bool is_more = true;

    wanted = wanted < most ? wanted : most;
    for (int member = 0; is_more && count < wanted; member++) {
        is_more = false;
        for (int node = 0; node < nodes && count < wanted; node++) {
            if (member < ranks_of_node(known, ranks, node)) {
                out[count++] =
                    known != NULL ? weft_spread_rank(known, node, member) : member;
                is_more = true;
            }
        }
    }
    return count;
}

/* How many there shall be, if nothing bounds their work. */
static int aggregators_wanted(const struct weft_spread *spread, int ranks,
                              const struct weft_io_wish *wish)
{
    const int nodes = spread != NULL && spread->nodes > 0 ? spread->nodes : 1;
    int wanted = 0;

    if (wish->aggregators > 0) {
        return wish->aggregators < ranks ? wish->aggregators : ranks;
    }
    for (int node = 0; node < nodes; node++) {
        const int members =
            spread != NULL && spread->nodes > 0 ? weft_spread_size(spread, node) : ranks;

        wanted += members < WEFT_IO_NODE_AGGREGATORS ? members : WEFT_IO_NODE_AGGREGATORS;
    }
    return wanted;
}

/* ---- extents ---- */

static int by_start(const void *a, const void *b)
{
    const struct weft_io_cover *left = a;
    const struct weft_io_cover *right = b;

    if (left->start != right->start) {
        return left->start < right->start ? -1 : 1;
    }
    return left->end < right->end ? -1 : left->end > right->end;
}

/* Fills in the plan's covers; says whether two extents have a part of the file in common.
 */
static bool cover(struct weft_io_plan *plan, const struct weft_io_extent *extents,
                  int ranks)
{
    bool is_interleaved = false;
    int count = 0;
    int last = 0;

    for (int r = 0; r < ranks; r++) {
        if (extents[r].bytes > 0) {
            plan->cover[count++] =
                (struct weft_io_cover){.start = extents[r].start, .end = extents[r].end};
        }
    }
    plan->covers = count;
    if (count == 0) {
        return false;
    }
    qsort(plan->cover, (size_t)count, sizeof(*plan->cover), by_start);
    for (int i = 1; i < count; i++) {
        struct weft_io_cover *now = &plan->cover[last];
        const struct weft_io_cover *next = &plan->cover[i];

        if (next->start > now->end) {
            plan->cover[++last] = *next;
            continue;
        }
        is_interleaved = is_interleaved || next->start < now->end;
        now->end = next->end > now->end ? next->end : now->end;
    }
    plan->covers = last + 1;
    return is_interleaved;
}

struct sums {
    uint64_t bytes;  /* of data */
    uint64_t pieces; /* that they are in */
    uint64_t file;   /* bytes of file that are covered */
    bool is_folded;
};

static uint64_t add(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static struct sums sum(const struct weft_io_plan *plan,
                       const struct weft_io_extent *extents, int ranks)
{
    struct sums sums = {0};

    for (int r = 0; r < ranks; r++) {
        if (extents[r].bytes > 0) {
            sums.bytes = add(sums.bytes, extents[r].bytes);
            sums.pieces = add(sums.pieces, extents[r].pieces);
            sums.is_folded = sums.is_folded || extents[r].is_folded;
        }
    }
    for (int i = 0; i < plan->covers; i++) {
        sums.file += plan->cover[i].end - plan->cover[i].start;
    }
    return sums;
}

/* Is it worth an exchange? */
static bool is_worth(const struct sums *sums, bool is_interleaved, bool is_one_node,
                     const struct weft_io_wish *wish)
{
    const uint64_t large =
        is_one_node && !wish->is_write ? WEFT_IO_LARGE_READ : WEFT_IO_LARGE_PIECE;

    if (wish->exchange == WEFT_IO_DISABLE || sums->bytes == 0 || sums->is_folded) {
        return false;
    }
    if (wish->exchange == WEFT_IO_ENABLE) {
        return true;
    }
    return is_interleaved && sums->bytes / sums->pieces < large &&
           sums->file / WEFT_IO_SPARSE <= sums->bytes;
}

/* ---- windows ---- */

static uint64_t round_up(uint64_t value, uint64_t unit)
{
    return (value + unit - 1) / unit * unit;
}

/* Small accesses have smaller windows, so that all aggregators get some, and each has two
 * to overlap their messages with work on the file. */
static uint64_t window_bytes(uint64_t most, uint64_t file, int aggregators)
{
    uint64_t bytes = file / ((uint64_t)aggregators * 2);

    most = most > WEFT_IO_PAGE ? most / WEFT_IO_PAGE * WEFT_IO_PAGE : WEFT_IO_PAGE;
    bytes = bytes > WEFT_IO_LEAST_WINDOW ? bytes : WEFT_IO_LEAST_WINDOW;
    return bytes < most ? round_up(bytes, WEFT_IO_PAGE) : most;
}

static void number_windows(struct weft_io_plan *plan)
{
    for (int i = 0; i < plan->covers; i++) {
        struct weft_io_cover *c = &plan->cover[i];

        c->first = plan->windows;
        plan->windows += (c->end - 1) / plan->window - c->start / plan->window + 1;
    }
}

enum weft_rc weft_io_plan_take(struct weft_io_plan *plan, int ranks)
{
    *plan = (struct weft_io_plan){
        .cover = reallocarray(NULL, (size_t)ranks, sizeof(*plan->cover)),
        .aggregator = reallocarray(NULL, (size_t)ranks, sizeof(*plan->aggregator)),
    };
    if (plan->cover == NULL || plan->aggregator == NULL) {
        weft_io_plan_free(plan);
        return WEFT_ERR_NOMEM;
    }
    return WEFT_OK;
}

void weft_io_plan_make(struct weft_io_plan *plan, const struct weft_io_extent *extents,
                       int ranks, const struct weft_spread *spread,
                       const struct weft_io_wish *wish)
{
    const int wanted = aggregators_wanted(spread, ranks, wish);
    struct sums sums;
    bool is_interleaved;

    *plan = (struct weft_io_plan){.cover = plan->cover, .aggregator = plan->aggregator};
    is_interleaved = cover(plan, extents, ranks);
    sums = sum(plan, extents, ranks);
    plan->is_exchanged = is_worth(&sums, is_interleaved, spread == NULL, wish);
    if (!plan->is_exchanged) {
        plan->covers = 0;
        return;
    }
    plan->window = window_bytes(wish->window, sums.file, wanted);
    number_windows(plan);
    plan->aggregators = weft_io_aggregators(
        spread, ranks, plan->windows < (uint64_t)wanted ? (int)plan->windows : wanted,
        wanted, plan->aggregator);
}

void weft_io_plan_free(struct weft_io_plan *plan)
{
    free(plan->cover);
    free(plan->aggregator);
    *plan = (struct weft_io_plan){0};
}

/* ---- looking up ---- */

/* The last cover whose first window, or first byte, is not behind the given one. */
static const struct weft_io_cover *find(const struct weft_io_plan *plan, uint64_t value,
                                        bool by_offset)
{
    int low = 0;
    int high = plan->covers - 1;

    while (low < high) {
        const int middle = low + (high - low + 1) / 2;
        const struct weft_io_cover *c = &plan->cover[middle];

        if ((by_offset ? c->start : c->first) <= value) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return &plan->cover[low];
}

struct weft_io_range weft_io_window(const struct weft_io_plan *plan, uint64_t window)
{
    const struct weft_io_cover *c = find(plan, window, false);
    const uint64_t slot = c->start / plan->window + (window - c->first);
    const uint64_t start = slot * plan->window;
    const uint64_t end = start + plan->window;

    assert(window < plan->windows);
    return (struct weft_io_range){
        .start = start > c->start ? start : c->start,
        .end = end < c->end ? end : c->end,
    };
}

uint64_t weft_io_window_at(const struct weft_io_plan *plan, uint64_t offset)
{
    const struct weft_io_cover *c = find(plan, offset, true);

    assert(offset >= c->start && offset < c->end);
    return c->first + (offset / plan->window - c->start / plan->window);
}
