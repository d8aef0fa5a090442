#include "io/collective.h"

#include "coll/coll.h"
#include "coll/nodes.h"
#include "engine/engine.h"
#include "engine/wait.h"
#include "io/exchange.h"
#include "io/move.h"
#include "p2p/p2p.h"
#include "sched/sched.h"
#include "sched/tree.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

enum stage { TABLE, PREPARE, READY, HEADS, LISTS, MOVES, END };

/* What every member learns of every other one. Hints should be the same on all of them.
 * The first member's hints count, so that all members make one plan. */
struct entry {
    struct weft_io_extent extent;
    uint64_t size;     /* of the file, as a reader sees it */
    int64_t fault;     /* with which the member has come here */
    uint32_t window;   /* of the wish: its pages, */
    uint32_t exchange; /* four times the number of its aggregators, plus its exchange */
};
_Static_assert(sizeof(struct entry) == 64, "travels");

/* What all agree on. */
struct verdict {
    int64_t fault;
    uint64_t at; /* the lowest byte of the file that was not moved; UINT64_MAX: none */
};

/* Steps of a graph of tree.h, and edges: for each child and for the parent three, and one
 * more. */
enum { TREE_STEPS = 3 * WEFT_TREE_FAN + 3 };

/* The memory that the stages of an exchange share; each stage may enlarge it. */
struct exchange_memory {
    struct weft_graph graph;
    struct weft_run *runs;
    uint32_t room; /* for runs */
};

struct weft_collective {
    struct weft_sched sched; /* first */

    /* Memory for all stages but those of an exchange, taken at once. */
    struct weft_graph graph;
    struct weft_run runs[TREE_STEPS];
    struct verdict folded[WEFT_TREE_FAN];
    struct entry *table;
    struct weft_io_extent *extents;
    struct weft_io_plan plan;
    bool is_spare; /* the file's */

    enum stage stage;
    const struct weft_file_call *call;
    int own_fault;                /* of this member, outside of the exchange */
    struct weft_file_op *op;      /* of a nonblocking call, or NULL */
    struct weft_request *request; /* of a blocking one */
    struct weft_moved *moved;
    const struct weft_spread *spread;
    struct exchange_memory memory;
    struct weft_exchange exchange;
    bool has_exchange;
    uint64_t pass;
    struct verdict verdict;
    struct weft_data spaces[WEFT_SPACES]; /* of the stage */
};

/* ---- what this member accesses ---- */

/* Pieces, and whether they fold: a filetype repeats, so that two of it tell. */
static void look_at_pieces(const struct weft_file_call *call,
                           struct weft_io_extent *extent)
{
    const uint64_t size = call->view->in_file->size;
    const uint64_t seen = size > 0 && extent->bytes / 2 > size ? 2 * size : extent->bytes;
    struct weft_file_extent list[64];
    struct weft_view_walk walk;
    uint64_t end = 0;
    uint64_t pieces = 0;
    size_t n;

    weft_view_start(&walk, call->view, call->position, seen);
    while ((n = weft_view_next(&walk, list, 64)) > 0) {
        for (size_t i = 0; i < n; i++) {
            extent->is_folded = extent->is_folded || list[i].offset < end;
            end = list[i].offset + list[i].length;
        }
        pieces += n;
    }
    extent->pieces = (uint64_t)((double)pieces * (double)extent->bytes / (double)seen);
    extent->pieces = extent->pieces > 0 ? extent->pieces : 1;
}

static struct weft_io_extent extent_of(const struct weft_file_call *call)
{
    struct weft_io_extent extent = {.bytes = call->data.bytes, .pieces = 1};
    struct weft_file_extent range;

    if (extent.bytes == 0) {
        return extent;
    }
    range = weft_view_range(call->view, call->position, extent.bytes);
    extent.start = range.offset;
    extent.end = range.offset + range.length;
    if (!weft_view_is_contiguous(call->view)) {
        look_at_pieces(call, &extent);
    }
    return extent;
}

static enum weft_io_exchange exchange_of(const struct weft_file_call *call)
{
    switch (call->is_write ? call->hints.cb_write : call->hints.cb_read) {
    case WEFT_CHOICE_ENABLE:
        return WEFT_IO_ENABLE;
    case WEFT_CHOICE_DISABLE:
        return WEFT_IO_DISABLE;
    default:
        return WEFT_IO_AUTOMATIC;
    }
}

static uint32_t at_most(uint64_t value, uint32_t most)
{
    return value < most ? (uint32_t)value : most;
}

/* Without the lock. */
static struct entry entry_of(const struct weft_file_call *call, int fault)
{
    struct entry entry = {
        .fault = fault,
        .window = at_most(call->hints.cb_buffer_size / WEFT_IO_PAGE, UINT32_MAX),
        .exchange = at_most(call->hints.cb_nodes, INT32_MAX / 4) << 2 | exchange_of(call),
    };
    struct stat facts;

    if (fault != 0) {
        return entry;
    }
    entry.extent = extent_of(call);
    if (!call->is_write && fstat(call->file->fd, &facts) == 0) {
        entry.size = (uint64_t)facts.st_size;
    }
    /* In atomic mode each access is one whole, under a lock. */
    entry.extent.is_folded = entry.extent.is_folded || call->is_atomic;
    return entry;
}

/* How many of the first `bytes` bytes of the call lie before `end` in the file. */
static uint64_t bytes_before(const struct weft_file_call *call, uint64_t bytes,
                             uint64_t end)
{
    uint64_t low = 0;

    while (low < bytes) {
        const uint64_t middle = low + (bytes - low) / 2;

        if (weft_view_offset(call->view, call->position + middle) < end) {
            low = middle + 1;
        } else {
            bytes = middle;
        }
    }
    return low;
}

/* ---- prepare: without the lock ---- */

/* What the members wish: what the first one has told of its hints. */
static struct weft_io_wish wish_of(const struct weft_collective *c)
{
    const struct entry *first = &c->table[0];

    return (struct weft_io_wish){
        .is_write = c->call->is_write,
        .exchange = (enum weft_io_exchange)(first->exchange & 3),
        .window = (uint64_t)first->window * WEFT_IO_PAGE,
        .aggregators = (int)(first->exchange >> 2),
    };
}

/* Nobody reads behind the end of the file. */
static void clip_extents(struct weft_collective *c, int ranks)
{
    uint64_t size = 0;

    for (int r = 0; r < ranks; r++) {
        size = c->table[r].size > size ? c->table[r].size : size;
    }
    for (int r = 0; r < ranks; r++) {
        struct weft_io_extent *extent = &c->extents[r];

        *extent = c->table[r].extent;
        if (!c->call->is_write && extent->end > size) {
            extent->end = size;
            extent->bytes = extent->start < size ? extent->bytes : 0;
        }
    }
}

static void make_plan(struct weft_collective *c)
{
    const int ranks = c->call->file->comm->size;
    const struct weft_io_wish wish = wish_of(c);

    clip_extents(c, ranks);
    weft_io_plan_make(&c->plan, c->extents, ranks, c->spread, &wish);
}

static void make_exchange(struct weft_collective *c)
{
    const struct weft_file_call *call = c->call;
    const struct weft_comm *comm = call->file->comm;
    const struct weft_io_extent *own = &c->extents[comm->rank];

    c->exchange = (struct weft_exchange){
        .plan = &c->plan,
        .extents = c->extents,
        .ranks = comm->size,
        .rank = comm->rank,
        .access = weft_call_access(call),
        .view = call->view,
        .position = call->position,
        .data = call->data,
    };
    c->exchange.data.bytes =
        own->bytes > 0 ? (size_t)bytes_before(call, call->data.bytes, own->end) : 0;
    c->has_exchange = weft_exchange_make(&c->exchange) == WEFT_OK;
    if (!c->has_exchange) {
        c->own_fault = weft_io_fault_of(WEFT_ERR_NOMEM);
        c->moved->fault = c->own_fault;
    }
}

/* The fault that a member came with, the lowest rank's. */
static int fault_of_members(const struct weft_collective *c)
{
    const int ranks = c->call->file->comm->size;

    for (int r = 0; r < ranks; r++) {
        if (c->table[r].fault != 0) {
            return (int)c->table[r].fault;
        }
    }
    return WEFT_IO_FINE;
}

/* Makes the plan; does this member's part, if nothing is exchanged. */
static void prepare_first(struct weft_collective *c)
{
    c->moved->fault = fault_of_members(c);
    if (c->moved->fault != 0) {
        return;
    }
    make_plan(c);
    if (c->plan.is_exchanged) {
        make_exchange(c);
    } else {
        weft_move_run(c->call, c->moved);
        c->own_fault = c->moved->fault;
    }
}

/* Empties a graph and keeps its memory. */
static void clear_graph(struct weft_graph *graph)
{
    const struct weft_graph old = *graph;

    weft_graph_init(graph);
    graph->steps = old.steps;
    graph->edges = old.edges;
    graph->step_room = old.step_room;
    graph->edge_room = old.edge_room;
}

/* Takes what the graphs of the pass need. */
static bool grow(struct exchange_memory *memory, struct weft_exchange_need need)
{
    clear_graph(&memory->graph);
    weft_graph_reserve(&memory->graph, need.steps, need.edges);
    if (memory->room < need.steps) {
        struct weft_run *runs =
            reallocarray(memory->runs, need.steps, sizeof(*memory->runs));

        memory->runs = runs != NULL ? runs : memory->runs;
        memory->room = runs != NULL ? need.steps : memory->room;
    }
    return memory->graph.rc == WEFT_OK && memory->room >= need.steps;
}

static void prepare_pass(struct weft_collective *c)
{
    struct weft_exchange *x = &c->exchange;

    weft_exchange_prepare(x, c->pass);
    if (!grow(&c->memory, weft_exchange_need(x))) {
        weft_exchange_give_up(x);
    }
}

static enum weft_rc work(struct weft_sched *sched, const struct weft_step *step)
{
    struct weft_collective *c = (struct weft_collective *)sched;

    if (c->stage == MOVES) {
        weft_exchange_work(&c->exchange, step->peer);
        return WEFT_OK;
    }
    if (c->pass == 0) {
        prepare_first(c);
    }
    if (c->has_exchange) {
        prepare_pass(c);
    }
    return WEFT_OK;
}

/* ---- the end ---- */

/* Fills in this member's verdict. */
static void judge(struct weft_collective *c)
{
    const struct weft_moved *moved = c->has_exchange ? &c->exchange.moved : c->moved;

    c->verdict.fault = moved->fault;
    c->verdict.at = UINT64_MAX;
    if (c->has_exchange && (moved->fault != 0 || moved->is_at_end)) {
        c->verdict.at = moved->at;
    }
}

static void fold(const struct weft_sched *sched, const struct weft_data *from,
                 const struct weft_data *to)
{
    const struct verdict *theirs = from->buffer;
    struct verdict *ours = weft_data_at(to, 0);

    (void)sched;
    ours->fault = theirs->fault > ours->fault ? theirs->fault : ours->fault;
    ours->at = theirs->at < ours->at ? theirs->at : ours->at;
}

/* Is the fault another member's, and nothing of this one's concerned? */
static bool is_elsewhere(const struct weft_collective *c)
{
    const bool is_whole = c->moved->bytes == c->call->data.bytes;

    return c->verdict.fault != 0 && c->own_fault == 0 &&
           (!c->has_exchange || (c->exchange.moved.fault == 0 && is_whole));
}

/* Fills in what the call tells, from what all have agreed on. */
static void conclude(struct weft_collective *c)
{
    struct weft_moved *moved = c->moved;

    if (c->stage == READY) { /* nobody has begun the pass */
        const uint64_t window = c->pass * weft_io_pass_windows(&c->plan);
        const uint64_t start = weft_io_window(&c->plan, window).start;

        c->verdict.at = start < c->verdict.at ? start : c->verdict.at;
        moved->at = c->verdict.at;
    }
    if (c->has_exchange) {
        moved->bytes = c->exchange.data.bytes;
        moved->at = c->verdict.at;
        if (c->verdict.at != UINT64_MAX) {
            moved->bytes = bytes_before(c->call, moved->bytes, c->verdict.at);
        }
        moved->is_at_end = !c->call->is_write && moved->bytes < c->call->data.bytes;
    }
    moved->fault = (int)c->verdict.fault;
    moved->is_elsewhere = is_elsewhere(c);
}

static void free_collective(struct weft_collective *c)
{
    weft_graph_free(&c->graph);
    weft_io_plan_free(&c->plan);
    free(c->table);
    free(c->extents);
    free(c);
}

/* With the lock. */
static void give(struct weft_collective *c)
{
    if (c->has_exchange) {
        weft_exchange_free(&c->exchange);
    }
    weft_graph_free(&c->memory.graph);
    free(c->memory.runs);
    if (c->is_spare) {
        c->call->file->is_spare_taken = false;
    } else {
        free_collective(c);
    }
}

/* With the lock. */
static void finish(struct weft_collective *c)
{
    struct weft_file_op *op = c->op;
    struct weft_request *request = c->request;

    give(c);
    if (op != NULL) {
        weft_file_op_end(op);
    } else {
        weft_request_complete(request, WEFT_OK);
    }
}

/* ---- stages: with the lock ---- */

static void set_space(struct weft_collective *c, enum weft_space space,
                      const void *buffer, uint64_t bytes)
{
    c->spaces[space] = (struct weft_data){.buffer = buffer, .bytes = (size_t)bytes};
    c->sched.spaces[space] = &c->spaces[space];
}

/* The thread of a blocking call does the work itself: nobody has to be woken for it. */
static uint8_t work_kind(const struct weft_collective *c)
{
    return c->op == NULL ? WEFT_STEP_CALL : WEFT_STEP_WORK;
}

static enum weft_rc build_moves(struct weft_collective *c)
{
    struct weft_exchange *x = &c->exchange;
    const enum weft_space side = c->call->is_write ? WEFT_SPACE_SEND : WEFT_SPACE_RECV;
    const enum weft_rc rc = weft_exchange_moves(x, &c->memory.graph, work_kind(c));

    c->sched.spaces[side] = &c->call->data;
    set_space(c, WEFT_SPACE_SCRATCH, x->scratch, 2 * x->half);
    return rc;
}

static enum weft_rc build(struct weft_collective *c)
{
    const struct weft_comm *comm = c->call->file->comm;
    struct weft_exchange *x = &c->exchange;
    struct weft_shape shape = {.n = comm->size, .rank = comm->rank};

    switch (c->stage) {
    case TABLE:
        shape.bytes = sizeof(*c->table);
        set_space(c, WEFT_SPACE_RECV, c->table, shape.bytes * (uint64_t)shape.n);
        return weft_tree_table(&shape, &c->graph);
    case PREPARE:
        weft_graph_add(&c->graph, &(struct weft_step){.kind = work_kind(c)});
        return c->graph.rc;
    case READY:
    case END:
        judge(c);
        shape.bytes = sizeof(c->verdict);
        set_space(c, WEFT_SPACE_RECV, &c->verdict, shape.bytes);
        set_space(c, WEFT_SPACE_SCRATCH, c->folded, sizeof(c->folded));
        return weft_tree_fold(&shape, &c->graph);
    case HEADS:
        set_space(c, WEFT_SPACE_SEND, x->out,
                  sizeof(*x->out) * (uint64_t)x->plan->aggregators);
        set_space(c, WEFT_SPACE_RECV, x->in, sizeof(*x->in) * (uint64_t)x->sources);
        return weft_exchange_heads(x, &c->memory.graph);
    case LISTS: {
        const enum weft_rc rc = weft_exchange_lists(x, &c->memory.graph);

        set_space(c, WEFT_SPACE_RECV, x->lists, x->list_runs * sizeof(*x->lists));
        return rc;
    }
    default:
        return build_moves(c);
    }
}

/* Which stage follows, when one is over without an error of messages. */
static enum stage next_stage(struct weft_collective *c)
{
    switch (c->stage) {
    case TABLE:
        return PREPARE;
    case PREPARE:
        return c->plan.is_exchanged ? READY : END;
    case READY:
        return HEADS;
    case HEADS:
        return LISTS;
    case LISTS:
        return MOVES;
    default:
        return ++c->pass < weft_io_passes(&c->plan) ? PREPARE : END;
    }
}

static void begin_stage(struct weft_collective *c, enum stage stage);

/* Other members wait for messages that this one cannot send. */
static _Noreturn void end_job(const struct weft_collective *c)
{
    char cause[WEFT_CAUSE_BYTES];

    snprintf(cause, sizeof(cause), "%s on \"%s\" cannot complete: no memory for messages",
             c->call->name, c->call->file->name);
    weft_wireup_abort(weft_engine.job, MPI_ERR_NO_MEM, cause);
}

/* Is the call over, with a stage that has not failed? */
static bool is_over(const struct weft_collective *c)
{
    return c->stage == END || (c->stage == READY && c->verdict.fault != 0);
}

/* The schedule of a stage is over. It fails if a member has; then the call is over here,
 * and for the others, too. */
static void done(struct weft_sched *sched, enum weft_rc rc)
{
    struct weft_collective *c = (struct weft_collective *)sched;

    weft_assert_locked();
    if (rc == WEFT_ERR_NOMEM) {
        end_job(c);
    }
    if (rc != WEFT_OK && rc != WEFT_ERR_TRUNCATE) {
        weft_p2p_revoke(sched->comm);
        c->moved->fault = weft_io_fault_of(rc);
        finish(c);
    } else if (is_over(c)) {
        conclude(c);
        finish(c);
    } else {
        begin_stage(c, next_stage(c));
    }
}

static struct weft_data block(const struct weft_sched *sched,
                              const struct weft_span *span)
{
    return weft_exchange_list(&((const struct weft_collective *)sched)->exchange, span);
}

static const struct weft_sched_ops ops = {
    .block = block,
    .reduce = fold,
    .call = work,
    .work = work,
    .done = done,
};

static bool is_of_exchange(enum stage stage)
{
    return stage == HEADS || stage == LISTS || stage == MOVES;
}

/* All memory was taken before. */
static void begin_stage(struct weft_collective *c, enum stage stage)
{
    struct weft_graph *graph = is_of_exchange(stage) ? &c->memory.graph : &c->graph;
    const int tag = c->sched.tag;
    enum weft_rc rc;

    c->stage = stage;
    c->sched = (struct weft_sched){
        .graph = graph,
        .ops = &ops,
        .comm = c->call->file->comm,
        .plane = WEFT_PLANE_COLL,
        .tag = tag,
        .runs = is_of_exchange(stage) ? c->memory.runs : c->runs,
        .goes_on_truncated = true,
    };
    clear_graph(graph);
    rc = build(c);
    if (rc == WEFT_OK) {
        rc = weft_sched_make(&c->sched);
    }
    if (rc != WEFT_OK) {
        done(&c->sched, rc);
        return;
    }
    weft_sched_start(&c->sched);
}

/* ---- the start ---- */

/* Memory for a call of `ranks` members, or NULL. */
static struct weft_collective *take(int ranks)
{
    struct weft_collective *c = calloc(1, sizeof(*c));
    enum weft_rc rc;

    if (c == NULL) {
        return NULL;
    }
    c->table = calloc((size_t)ranks, sizeof(*c->table));
    c->extents = calloc((size_t)ranks, sizeof(*c->extents));
    weft_graph_init(&c->graph);
    weft_graph_reserve(&c->graph, TREE_STEPS, TREE_STEPS);
    rc = weft_io_plan_take(&c->plan, ranks);
    if (c->table == NULL || c->extents == NULL || c->graph.rc != WEFT_OK ||
        rc != WEFT_OK) {
        free_collective(c);
        return NULL;
    }
    return c;
}

enum weft_rc weft_collective_open(struct weft_file *file)
{
    file->spare = take(file->comm->size);
    if (file->spare == NULL) {
        return WEFT_ERR_NOMEM;
    }
    file->spare->is_spare = true;
    return WEFT_OK;
}

void weft_collective_close(struct weft_file *file)
{
    if (file->spare != NULL) {
        free_collective(file->spare);
        file->spare = NULL;
    }
}

/* With the lock: the file's, once no other call has it. */
static struct weft_collective *take_spare(struct weft_file *file)
{
    while (file->is_spare_taken) {
        weft_unlock();
        weft_progress();
        weft_lock();
    }
    file->is_spare_taken = true;
    return file->spare;
}

/* Without the lock. A member without memory takes part, and all get its fault. */
static struct weft_collective *make(const struct weft_file_call *call,
                                    struct weft_moved *moved)
{
    struct weft_comm *comm = call->file->comm;
    struct weft_collective *c = take(comm->size);
    const struct weft_spread *spread = NULL;
    int fault = call->fault;

    if (c == NULL || weft_coll_spread(comm->group, &spread) != WEFT_OK) {
        fault = fault != 0 ? fault : weft_io_fault_of(WEFT_ERR_NOMEM);
    }
    if (c == NULL) {
        weft_lock();
        c = take_spare(call->file);
        weft_unlock();
    }
    c->call = call;
    c->moved = moved;
    c->spread = spread;
    c->own_fault = fault;
    c->table[comm->rank] = entry_of(call, fault);
    return c;
}

/* With the lock. */
static void start(struct weft_collective *c, int number)
{
    c->pass = 0;
    c->has_exchange = false;
    c->memory = (struct exchange_memory){.room = 0};
    weft_graph_init(&c->memory.graph);
    c->sched.tag = number;
    begin_stage(c, TABLE);
}

void weft_collective_start(struct weft_file_op *op)
{
    const int number = weft_coll_number(op->call.file->comm);
    const bool is_progress_thread = weft_engine_drop_lock();
    struct weft_collective *c = make(&op->call, &op->moved);

    weft_engine_retake_lock(is_progress_thread);
    c->op = op;
    start(c, number);
}

/* With the lock: waits until a call is over. */
static void wait(struct weft_collective *c)
{
    const struct weft_file_call *call = c->call;
    const struct weft_wait_reason why = {call->name, call->file->comm->name,
                                         MPI_ANY_SOURCE, MPI_ANY_TAG, call->data.bytes};
    struct weft_request request = {
        .kind = WEFT_REQUEST_SCHEDULE,
        .function = call->name,
        .source = MPI_ANY_SOURCE,
        .tag = MPI_ANY_TAG,
        .comm = call->file->comm,
    };

    c->op = NULL;
    c->request = &request;
    start(c, weft_coll_number(call->file->comm));
    if (!weft_request_is_complete(&request)) {
        weft_wait_locked(&request, &why);
    }
}

void weft_collective_run(const struct weft_file_call *call, struct weft_moved *moved)
{
    struct weft_collective *c;

    *moved = (struct weft_moved){0};
    c = make(call, moved);
    weft_lock();
    wait(c);
    weft_engine_leave();
    weft_unlock();
}
