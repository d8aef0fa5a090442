#include "io/collective.h"

#include "coll/coll.h"
#include "coll/nodes.h"
#include "engine/engine.h"
#include "io/exchange.h"
#include "io/move.h"
#include "p2p/p2p.h"
#include "sched/sched.h"
#include "sched/tree.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

enum stage { TABLE, PREPARE, HEADS, LISTS, MOVES, END };

/* What every member learns of every other one. */
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

struct collective {
    struct weft_sched sched; /* first */
    struct weft_graph graph;
    enum stage stage;
    const struct weft_file_call *call;
    struct weft_file_op *op;      /* of a nonblocking call, or NULL */
    struct weft_request *request; /* of a blocking one */
    struct weft_moved *moved;
    const struct weft_spread *spread;
    struct entry *table;
    struct weft_io_extent *extents;
    struct weft_io_plan plan;
    struct weft_exchange exchange;
    bool has_plan;
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
static struct entry entry_of(const struct weft_file_call *call)
{
    struct entry entry = {
        .fault = call->fault,
        .window = at_most(call->hints.cb_buffer_size / WEFT_IO_PAGE, UINT32_MAX),
        .exchange = at_most(call->hints.cb_nodes, INT32_MAX / 4) << 2 | exchange_of(call),
    };
    struct stat facts;

    if (call->fault != 0) {
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
static struct weft_io_wish wish_of(const struct collective *c)
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
static void clip_extents(struct collective *c, int ranks)
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

static enum weft_rc make_plan(struct collective *c)
{
    const struct weft_file_call *call = c->call;
    const struct weft_comm *comm = call->file->comm;
    const struct weft_io_wish wish = wish_of(c);
    enum weft_rc rc;

    clip_extents(c, comm->size);
    rc = weft_io_plan_make(&c->plan, c->extents, comm->size, c->spread, &wish);
    c->has_plan = rc == WEFT_OK;
    return rc;
}

static enum weft_rc make_exchange(struct collective *c)
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
    return c->has_exchange ? WEFT_OK : WEFT_ERR_NOMEM;
}

/* The fault that a member came with, the lowest rank's. */
static int fault_of_members(const struct collective *c)
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
static enum weft_rc prepare_first(struct collective *c)
{
    const enum weft_rc rc = make_plan(c);

    c->moved->fault = fault_of_members(c);
    if (c->moved->fault != 0) {
        return WEFT_OK;
    }
    if (rc == WEFT_OK && !c->plan.is_exchanged) {
        weft_move_run(c->call, c->moved);
        return WEFT_OK;
    }
    return rc == WEFT_OK ? make_exchange(c) : rc;
}

static enum weft_rc work(struct weft_sched *sched, const struct weft_step *step)
{
    struct collective *c = (struct collective *)sched;
    enum weft_rc rc = WEFT_OK;

    if (c->stage == MOVES) {
        weft_exchange_work(&c->exchange, step->peer);
        return WEFT_OK;
    }
    if (c->pass == 0) {
        rc = prepare_first(c);
    }
    if (c->has_exchange) {
        weft_exchange_prepare(&c->exchange, c->pass);
    }
    return rc;
}

/* ---- the end ---- */

/* Fills in this member's verdict. */
static void judge(struct collective *c)
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

/* Fills in what the call tells, from what all have agreed on. */
static void conclude(struct collective *c)
{
    struct weft_moved *moved = c->moved;

    if (c->has_exchange) {
        moved->bytes = c->exchange.data.bytes;
        moved->at = c->verdict.at;
        if (c->verdict.at != UINT64_MAX) {
            moved->bytes = bytes_before(c->call, moved->bytes, c->verdict.at);
        }
        moved->is_at_end = !c->call->is_write && moved->bytes < c->call->data.bytes;
    }
    moved->fault = (int)c->verdict.fault;
}

static void free_collective(struct collective *c)
{
    if (c->has_exchange) {
        weft_exchange_free(&c->exchange);
    }
    if (c->has_plan) {
        weft_io_plan_free(&c->plan);
    }
    free(c->table);
    free(c->extents);
    free(c);
}

/* With the lock. */
static void finish(struct collective *c)
{
    struct weft_file_op *op = c->op;
    struct weft_request *request = c->request;

    free_collective(c);
    if (op != NULL) {
        weft_file_op_end(op);
    } else {
        weft_request_complete(request, WEFT_OK);
    }
}

/* ---- stages: with the lock ---- */

static void set_space(struct collective *c, enum weft_space space, const void *buffer,
                      uint64_t bytes)
{
    c->spaces[space] = (struct weft_data){.buffer = buffer, .bytes = (size_t)bytes};
    c->sched.spaces[space] = &c->spaces[space];
}

/* The thread of a blocking call does the work itself: nobody has to be woken for it. */
static uint8_t work_kind(const struct collective *c)
{
    return c->op == NULL ? WEFT_STEP_CALL : WEFT_STEP_WORK;
}

static enum weft_rc build_moves(struct collective *c)
{
    struct weft_exchange *x = &c->exchange;
    const enum weft_space side = c->call->is_write ? WEFT_SPACE_SEND : WEFT_SPACE_RECV;
    const enum weft_rc rc = weft_exchange_moves(x, &c->graph, work_kind(c));

    c->sched.spaces[side] = &c->call->data;
    set_space(c, WEFT_SPACE_SCRATCH, x->scratch, 2 * x->half);
    return rc;
}

static enum weft_rc build(struct collective *c)
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
    case HEADS:
        set_space(c, WEFT_SPACE_SEND, x->out,
                  sizeof(*x->out) * (uint64_t)x->plan->aggregators);
        set_space(c, WEFT_SPACE_RECV, x->in, sizeof(*x->in) * (uint64_t)x->sources);
        return weft_exchange_heads(x, &c->graph);
    case LISTS: {
        const enum weft_rc rc = weft_exchange_lists(x, &c->graph);

        set_space(c, WEFT_SPACE_RECV, x->lists, x->list_runs * sizeof(*x->lists));
        return rc;
    }
    case MOVES:
        return build_moves(c);
    default:
        judge(c);
        shape.bytes = sizeof(c->verdict);
        set_space(c, WEFT_SPACE_RECV, &c->verdict, shape.bytes);
        return weft_tree_fold(&shape, &c->graph);
    }
}

/* Which stage follows, when one is over without an error of messages. */
static enum stage next_stage(struct collective *c)
{
    switch (c->stage) {
    case TABLE:
        return PREPARE;
    case PREPARE:
        return c->has_exchange ? HEADS : END;
    case HEADS:
        return LISTS;
    case LISTS:
        return MOVES;
    default:
        return ++c->pass < weft_io_passes(&c->plan) ? PREPARE : END;
    }
}

static void begin_stage(struct collective *c, enum stage stage);

/* The schedule of a stage is over. It fails with a member that has failed, and without
 * memory; then the call is over here, and for the others, too. */
static void done(struct weft_sched *sched, enum weft_rc rc)
{
    struct collective *c = (struct collective *)sched;

    weft_assert_locked();
    weft_sched_free(sched);
    weft_graph_free(&c->graph);
    if (rc != WEFT_OK && rc != WEFT_ERR_TRUNCATE) {
        weft_p2p_revoke(sched->comm);
        c->moved->fault = weft_io_fault_of(rc);
        finish(c);
    } else if (c->stage == END) {
        conclude(c);
        finish(c);
    } else {
        begin_stage(c, next_stage(c));
    }
}

static struct weft_data block(const struct weft_sched *sched,
                              const struct weft_span *span)
{
    return weft_exchange_list(&((const struct collective *)sched)->exchange, span);
}

static const struct weft_sched_ops ops = {
    .block = block,
    .reduce = fold,
    .call = work,
    .work = work,
    .done = done,
};

static void begin_stage(struct collective *c, enum stage stage)
{
    const int tag = c->sched.tag;
    enum weft_rc rc;

    c->stage = stage;
    c->sched = (struct weft_sched){
        .graph = &c->graph,
        .ops = &ops,
        .comm = c->call->file->comm,
        .plane = WEFT_PLANE_COLL,
        .tag = tag,
        .goes_on_truncated = true,
    };
    weft_graph_init(&c->graph);
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

/* Without the lock. */
static struct collective *make(const struct weft_file_call *call,
                               struct weft_moved *moved)
{
    const struct weft_comm *comm = call->file->comm;
    struct collective *c = calloc(1, sizeof(*c));

    if (c == NULL) {
        return NULL;
    }
    c->call = call;
    c->moved = moved;
    c->table = calloc((size_t)comm->size, sizeof(*c->table));
    c->extents = calloc((size_t)comm->size, sizeof(*c->extents));
    if (c->table == NULL || c->extents == NULL ||
        weft_coll_spread(comm->group, &c->spread) != WEFT_OK) {
        free_collective(c);
        return NULL;
    }
    c->table[comm->rank] = entry_of(call);
    return c;
}

/* With the lock. */
static void start(struct collective *c, int number)
{
    c->sched.tag = number;
    begin_stage(c, TABLE);
}

void weft_collective_start(struct weft_file_op *op)
{
    const int number = weft_coll_number(op->call.file->comm);
    const bool is_progress_thread = weft_engine_drop_lock();
    struct collective *c = make(&op->call, &op->moved);

    weft_engine_retake_lock(is_progress_thread);
    if (c == NULL) {
        op->moved.fault = weft_io_fault_of(WEFT_ERR_NOMEM);
        weft_file_op_end(op);
        return;
    }
    c->op = op;
    start(c, number);
}

/* With the lock: waits until a call is over. */
static void wait(struct collective *c, struct weft_request *request)
{
    const struct weft_file_call *call = c->call;
    const struct weft_wait_reason why = {call->name, call->file->comm->name,
                                         MPI_ANY_SOURCE, MPI_ANY_TAG, call->data.bytes};

    c->request = request;
    request->kind = WEFT_REQUEST_SCHEDULE;
    request->function = call->name;
    request->source = MPI_ANY_SOURCE;
    request->tag = MPI_ANY_TAG;
    weft_request_set_comm(request, call->file->comm);
    start(c, weft_coll_number(call->file->comm));
    if (!weft_request_is_complete(request)) {
        weft_wait_locked(request, &why);
    }
    weft_request_give(request);
}

void weft_collective_run(const struct weft_file_call *call, struct weft_moved *moved)
{
    struct collective *c = make(call, moved);
    struct weft_request *request;

    *moved = (struct weft_moved){0};
    weft_lock();
    if (c != NULL && weft_request_take(&request) == WEFT_OK) {
        wait(c, request);
    } else {
        moved->fault = weft_io_fault_of(WEFT_ERR_NOMEM);
        if (c != NULL) {
            free_collective(c);
        }
    }
    weft_engine_leave();
    weft_unlock();
}
