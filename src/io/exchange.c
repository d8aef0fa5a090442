#include "io/exchange.h"

#include <stdlib.h>
#include <string.h>

enum { EXTENTS = 64 }; /* of the view, looked up at once */

/* ---- windows of the pass ---- */

/* The aggregator's window number k of the pass; false: it has fewer. */
static bool find_window(const struct weft_exchange *x, int aggregator, int k,
                        uint64_t *window)
{
    *window = x->cut.first + (uint64_t)k * (uint64_t)x->plan->aggregators +
              (uint64_t)aggregator;
    return *window < x->cut.first + x->cut.windows;
}

static const struct weft_io_share *share_of(const struct weft_exchange *x,
                                            uint64_t window)
{
    return &x->cut.share[window - x->cut.first];
}

/* Does a rank send a head to an aggregator in this pass? */
static bool speaks(const struct weft_exchange *x, int rank, int aggregator)
{
    uint64_t window;

    for (int k = 0; k < WEFT_IO_PASS_WINDOWS && find_window(x, aggregator, k, &window);
         k++) {
        if (weft_io_meets(&x->extents[rank], weft_io_window(x->plan, window))) {
            return true;
        }
    }
    return false;
}

static uint64_t sum_of(const uint64_t *numbers)
{
    uint64_t sum = 0;

    for (int k = 0; k < WEFT_IO_PASS_WINDOWS; k++) {
        sum += numbers[k];
    }
    return sum;
}

/* Runs of a head that do not fit into it. */
static uint64_t rest_of(const struct weft_io_head *head)
{
    const uint64_t runs = sum_of(head->runs);

    return runs > WEFT_IO_HEAD_RUNS ? runs - WEFT_IO_HEAD_RUNS : 0;
}

static void note(struct weft_exchange *x, int fault, uint64_t at)
{
    if (x->moved.fault == 0) {
        x->moved.fault = fault;
        x->moved.at = at;
    }
}

/* Perhaps nothing of the pass is moved. */
static void note_rc(struct weft_exchange *x, enum weft_rc rc)
{
    if (rc != WEFT_OK) {
        note(x, weft_io_fault_of(rc), weft_io_window(x->plan, x->cut.first).start);
    }
}

void weft_exchange_give_up(struct weft_exchange *x)
{
    note_rc(x, WEFT_ERR_NOMEM);
}

/* ---- memory ---- */

enum weft_rc weft_exchange_make(struct weft_exchange *x)
{
    const size_t ranks = (size_t)x->ranks;
    const size_t aggregators = (size_t)x->plan->aggregators;
    enum weft_rc rc = weft_io_cut_make(&x->cut, x->plan);

    if (rc != WEFT_OK) {
        return rc;
    }
    x->mine = -1;
    for (int a = 0; a < x->plan->aggregators; a++) {
        x->mine = x->plan->aggregator[a] == x->rank ? a : x->mine;
    }
    x->out = calloc(aggregators, sizeof(*x->out));
    if (x->mine >= 0) {
        x->source = reallocarray(NULL, ranks, sizeof(*x->source));
        x->in = calloc(ranks, sizeof(*x->in));
        x->run = calloc(ranks, sizeof(*x->run));
        x->use = calloc(ranks + 1, sizeof(*x->use));
    }
    if (x->out == NULL || (x->mine >= 0 && (x->source == NULL || x->in == NULL ||
                                            x->run == NULL || x->use == NULL))) {
        weft_exchange_free(x);
        return WEFT_ERR_NOMEM;
    }
    return WEFT_OK;
}

void weft_exchange_free(struct weft_exchange *x)
{
    weft_io_cut_free(&x->cut);
    free(x->source);
    free(x->out);
    free(x->in);
    free(x->lists);
    free(x->run);
    free(x->use);
    free(x->scratch);
    x->source = NULL;
    x->out = NULL;
    x->in = NULL;
    x->lists = NULL;
    x->run = NULL;
    x->use = NULL;
    x->scratch = NULL;
}

/* ---- what this rank has ---- */

static void cut_pieces(struct weft_exchange *x)
{
    struct weft_file_extent extents[EXTENTS];
    struct weft_view_walk walk;
    size_t n;

    weft_view_start(&walk, x->view, x->position + x->cut.packed,
                    x->data.bytes - x->cut.packed);
    while ((n = weft_view_next(&walk, extents, EXTENTS)) > 0) {
        for (size_t i = 0; i < n; i++) {
            if (weft_io_cut_add(&x->cut, extents[i].offset, extents[i].length) <
                extents[i].length) {
                return;
            }
        }
    }
}

static void fill_head(struct weft_exchange *x, int aggregator)
{
    struct weft_io_head *head = &x->out[aggregator];
    const struct weft_io_runs *runs = &x->cut.runs[aggregator];
    uint64_t window;

    for (int k = 0; k < WEFT_IO_PASS_WINDOWS; k++) {
        const bool is_there = find_window(x, aggregator, k, &window);

        head->runs[k] = is_there ? share_of(x, window)->runs : 0;
        head->bytes[k] = is_there ? share_of(x, window)->bytes : 0;
    }
    if (runs->count > 0) {
        memcpy(head->run, runs->run,
               (runs->count < WEFT_IO_HEAD_RUNS ? runs->count : WEFT_IO_HEAD_RUNS) *
                   sizeof(*head->run));
    }
}

void weft_exchange_prepare(struct weft_exchange *x, uint64_t pass)
{
    x->pass = pass;
    weft_io_cut_start(&x->cut, pass);
    if (x->cut.packed < x->data.bytes && x->moved.fault == 0) {
        cut_pieces(x);
    }
    if (weft_io_cut_rc(&x->cut) != WEFT_OK) {
        note_rc(x, weft_io_cut_rc(&x->cut));
        weft_io_cut_start(&x->cut, pass); /* it takes part with nothing */
    }
    for (int a = 0; a < x->plan->aggregators; a++) {
        fill_head(x, a);
    }
    x->sources = 0;
    for (int r = 0; x->mine >= 0 && r < x->ranks; r++) {
        if (r != x->rank && speaks(x, r, x->mine)) {
            x->source[x->sources++] = r;
        }
    }
}

/* Messages that this rank may have as the aggregator of a window. */
static uint32_t sources_of(const struct weft_exchange *x, uint64_t window)
{
    const struct weft_io_range range = weft_io_window(x->plan, window);
    uint32_t count = 0;

    for (int s = 0; s < x->sources; s++) {
        count += weft_io_meets(&x->extents[x->source[s]], range) ? 1 : 0;
    }
    return count;
}

struct weft_exchange_need weft_exchange_need(const struct weft_exchange *x)
{
    const uint32_t heads = (uint32_t)(x->sources + x->plan->aggregators);
    struct weft_exchange_need need = {0, 0};
    uint64_t window;

    for (uint64_t w = 0; w < x->cut.windows; w++) {
        need.steps += x->cut.share[w].bytes > 0 ? 1 : 0; /* a message to its owner */
    }
    for (int k = 0;
         x->mine >= 0 && k < WEFT_IO_PASS_WINDOWS && find_window(x, x->mine, k, &window);
         k++) {
        const uint32_t messages = sources_of(x, window);

        need.steps += messages + 2; /* the work, and the end of a read */
        need.edges += 2 * messages + 2;
    }
    need.steps = need.steps > heads ? need.steps : heads;
    return need;
}

/* ---- heads and lists ---- */

enum weft_rc weft_exchange_heads(struct weft_exchange *x, struct weft_graph *graph)
{
    for (int s = 0; s < x->sources; s++) {
        weft_graph_recv(
            graph, x->source[s],
            weft_span(WEFT_SPACE_RECV, (uint64_t)s * sizeof(*x->in), sizeof(*x->in)));
    }
    for (int a = 0; a < x->plan->aggregators; a++) {
        if (a != x->mine && speaks(x, x->rank, a)) {
            const uint64_t runs = sum_of(x->out[a].runs);
            const uint64_t sent = runs < WEFT_IO_HEAD_RUNS ? runs : WEFT_IO_HEAD_RUNS;

            weft_graph_send(graph, x->plan->aggregator[a],
                            weft_span(WEFT_SPACE_SEND, (uint64_t)a * sizeof(*x->out),
                                      offsetof(struct weft_io_head, run) +
                                          sent * sizeof(struct weft_io_run)));
        }
    }
    return graph->rc;
}

struct weft_data weft_exchange_list(const struct weft_exchange *x,
                                    const struct weft_span *span)
{
    const struct weft_io_run *run = x->cut.runs[span->block].run;

    return (struct weft_data){.buffer = (const char *)run + span->offset,
                              .bytes = (size_t)span->bytes};
}

/* Makes room for the lists of all sources that have more runs than a head has. */
static bool make_lists(struct weft_exchange *x)
{
    uint64_t sum = 0;

    for (int s = 0; s < x->sources; s++) {
        const uint64_t rest = rest_of(&x->in[s]);

        sum += rest > 0 ? WEFT_IO_HEAD_RUNS + rest : 0;
    }
    free(x->lists);
    x->lists = sum > 0 ? reallocarray(NULL, sum, sizeof(*x->lists)) : NULL;
    x->list_runs = x->lists != NULL ? sum : 0;
    return sum == 0 || x->lists != NULL;
}

/* Can a rank have sent this? What it has in a window fits there. */
static bool is_possible(const struct weft_exchange *x, const struct weft_io_head *head)
{
    for (int k = 0; k < WEFT_IO_PASS_WINDOWS; k++) {
        if (head->bytes[k] > x->plan->window || head->runs[k] > head->bytes[k]) {
            return false;
        }
    }
    return true;
}

static void check_heads(struct weft_exchange *x)
{
    for (int s = 0; s < x->sources; s++) {
        if (!is_possible(x, &x->in[s])) {
            memset(&x->in[s], 0, sizeof(x->in[s]));
            note(x, WEFT_IO_NOT_SAME, 0);
        }
    }
}

static void receive_lists(struct weft_exchange *x, struct weft_graph *graph,
                          bool has_room)
{
    const uint64_t each = sizeof(struct weft_io_run);
    uint64_t at = 0;

    for (int s = 0; s < x->sources; s++) {
        const uint64_t rest = rest_of(&x->in[s]);

        x->run[s] = x->in[s].run;
        if (rest == 0) {
            continue;
        }
        x->run[s] = has_room ? x->lists + at : NULL;
        if (has_room) {
            memcpy(x->run[s], x->in[s].run, sizeof(x->in[s].run));
        }
        at += WEFT_IO_HEAD_RUNS;
        weft_graph_recv(
            graph, x->source[s],
            weft_span(WEFT_SPACE_RECV, at * each, has_room ? rest * each : 0));
        at += rest;
    }
}

enum weft_rc weft_exchange_lists(struct weft_exchange *x, struct weft_graph *graph)
{
    const uint64_t each = sizeof(struct weft_io_run);
    bool has_room;

    check_heads(x);
    has_room = make_lists(x);
    note_rc(x, has_room ? WEFT_OK : WEFT_ERR_NOMEM);
    receive_lists(x, graph, has_room);
    for (int a = 0; a < x->plan->aggregators; a++) {
        const uint64_t rest = rest_of(&x->out[a]);
        struct weft_span from = weft_span_block(WEFT_SPACE_SEND, a, rest * each);

        if (a != x->mine && rest > 0) {
            from.offset = WEFT_IO_HEAD_RUNS * each;
            weft_graph_send(graph, x->plan->aggregator[a], from);
        }
    }
    return graph->rc;
}

/* ---- data ---- */

static bool is_write(const struct weft_exchange *x)
{
    return x->access.is_write;
}

/* Bytes that others have in this rank's window number k. */
static uint64_t bytes_of_others(const struct weft_exchange *x, int k)
{
    uint64_t sum = 0;

    for (int s = 0; s < x->sources; s++) {
        sum += x->in[s].bytes[k];
    }
    return sum;
}

static bool make_scratch(struct weft_exchange *x)
{
    uint64_t most = 0;

    for (int k = 0; k < WEFT_IO_PASS_WINDOWS; k++) {
        const uint64_t sum = bytes_of_others(x, k);

        most = sum > most ? sum : most;
    }
    if (most > x->half || (most > 0 && x->scratch == NULL)) {
        free(x->scratch);
        x->half = most;
        x->scratch = reallocarray(NULL, 2, most);
    }
    return most == 0 || x->scratch != NULL;
}

/* A message of window k with each of its sources. Those of a write wait until their
 * buffer is free, and `work` waits for them; those of a read wait for `work`. */
static void add_messages(struct weft_exchange *x, struct weft_graph *graph, int k,
                         uint32_t work, uint32_t free_at)
{
    uint64_t at = (uint64_t)x->half_of[k] * x->half;

    for (int s = 0; s < x->sources; s++) {
        const uint64_t bytes = x->in[s].bytes[k];
        /* Without memory a message is received and lost. */
        const struct weft_span span =
            weft_span(WEFT_SPACE_SCRATCH, at, x->scratch != NULL ? bytes : 0);
        uint32_t step;

        if (bytes > 0 && is_write(x)) {
            step = weft_graph_recv(graph, x->source[s], span);
            weft_graph_after(graph, step, free_at);
            weft_graph_after(graph, work, step);
        } else if (bytes > 0) {
            step = weft_graph_send(graph, x->source[s], span);
            weft_graph_after(graph, step, work);
        }
        at += bytes;
    }
}

/* A step that is over when all from number `first` on are, or WEFT_NO_STEP. */
static uint32_t join(struct weft_graph *graph, uint32_t first)
{
    const struct weft_span nothing = weft_span(WEFT_SPACE_SCRATCH, 0, 0);
    const uint32_t end = graph->step_count;
    uint32_t all;

    if (end == first) {
        return WEFT_NO_STEP;
    }
    all = weft_graph_copy(graph, nothing, nothing);
    for (uint32_t step = first; step < end; step++) {
        weft_graph_after(graph, all, step);
    }
    return all;
}

/* The work on a window, and its messages. `free_at` is the step with which its buffer
 * becomes free. Returns the work; *free_at is that for the next window. */
static uint32_t add_window(struct weft_exchange *x, struct weft_graph *graph,
                           uint8_t kind, int k, uint32_t *free_at)
{
    const uint32_t work =
        weft_graph_add(graph, &(struct weft_step){.kind = kind, .peer = k});
    const uint32_t first = graph->step_count;

    add_messages(x, graph, k, work, *free_at);
    if (is_write(x)) {
        *free_at = work;
    } else {
        weft_graph_after(graph, work, *free_at);
        *free_at = join(graph, first);
    }
    return work;
}

/* This rank's windows. The work on them is in their order, and their buffers alternate;
 * so messages with one rank start in the order of the windows, too. */
static void add_windows(struct weft_exchange *x, struct weft_graph *graph, uint8_t kind)
{
    uint32_t before = WEFT_NO_STEP;
    uint32_t free_at[2] = {WEFT_NO_STEP, WEFT_NO_STEP};
    uint64_t window;
    int count = 0;

    for (int k = 0; k < WEFT_IO_PASS_WINDOWS && find_window(x, x->mine, k, &window);
         k++) {
        if (bytes_of_others(x, k) > 0 || share_of(x, window)->bytes > 0) {
            uint32_t work;

            x->half_of[k] = count++ % 2;
            work = add_window(x, graph, kind, k, &free_at[x->half_of[k]]);
            weft_graph_after(graph, work, before);
            before = work;
        }
    }
}

enum weft_rc weft_exchange_moves(struct weft_exchange *x, struct weft_graph *graph,
                                 uint8_t kind)
{
    if (x->mine >= 0) {
        note_rc(x, make_scratch(x) ? WEFT_OK : WEFT_ERR_NOMEM);
        add_windows(x, graph, kind);
    }
    for (uint64_t w = x->cut.first; w < x->cut.first + x->cut.windows; w++) {
        const struct weft_io_share *share = share_of(x, w);
        const int owner = weft_io_owner(x->plan, w);

        if (share->bytes == 0 || owner == x->rank) {
            continue;
        }
        if (is_write(x)) {
            weft_graph_send(graph, owner,
                            weft_span(WEFT_SPACE_SEND, share->packed, share->bytes));
        } else {
            weft_graph_recv(graph, owner,
                            weft_span(WEFT_SPACE_RECV, share->packed, share->bytes));
        }
    }
    return graph->rc;
}

/* ---- work ---- */

/* The runs of a list that belong to window number k. */
static const struct weft_io_run *runs_for(const struct weft_io_run *run,
                                          const uint64_t *runs, int k)
{
    for (int i = 0; i < k; i++) {
        run += runs[i];
    }
    return run;
}

static bool add_source(struct weft_exchange *x, int s, int k, struct weft_io_range range,
                       uint64_t at, struct weft_io_supply *supply)
{
    if (x->run[s] == NULL) {
        return false;
    }
    *supply = (struct weft_io_supply){
        .run = runs_for(x->run[s], x->in[s].runs, k),
        .runs = x->in[s].runs[k],
        .data = {.buffer = x->scratch + at, .bytes = (size_t)x->in[s].bytes[k]},
    };
    return weft_io_runs_are_valid(supply->run, supply->runs, range.start, range.end,
                                  supply->data.bytes);
}

void weft_exchange_work(struct weft_exchange *x, int k)
{
    uint64_t at = (uint64_t)x->half_of[k] * x->half;
    const struct weft_io_share *share;
    struct weft_io_range range;
    uint64_t window;
    int count = 0;

    find_window(x, x->mine, k, &window);
    share = share_of(x, window);
    range = weft_io_window(x->plan, window);
    if (x->moved.fault != 0 || x->moved.is_at_end) {
        return;
    }
    if (share->bytes > 0) {
        x->use[count++] = (struct weft_io_supply){
            .run = runs_for(x->cut.runs[x->mine].run, x->out[x->mine].runs, k),
            .runs = share->runs,
            .data = weft_data_part(&x->data, share->packed, share->bytes),
        };
    }
    for (int s = 0; s < x->sources; s++) {
        if (x->in[s].bytes[k] == 0) {
            continue;
        }
        if (!add_source(x, s, k, range, at, &x->use[count])) {
            note(x, WEFT_IO_NOT_SAME, range.start);
            return;
        }
        count++;
        at += x->in[s].bytes[k];
    }
    weft_io_window_move(&x->access, range, x->use, count, &x->moved);
}
