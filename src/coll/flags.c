#include "coll/flags.h"

#include "base/copy.h"
#include "coll/data.h"
#include "coll/disagree.h"
#include "sched/span.h"

#include <assert.h>
#include <string.h>

/* A call under way. */
struct run {
    const struct weft_coll *coll;
    const struct weft_shape *shape;
    struct weft_slots *slots;
    struct weft_wait_reason why;
    struct weft_data send;
    struct weft_data recv;
    enum weft_rc rc; /* of a member that gives too much, or too little */
};

/* ---- one member's data ---- */

/* Writes a part of a buffer to this member's line, and shows it. Members have chosen
 * slots by what they get; a member that gives more than a slot holds, against the
 * standard, shows how much that is and writes what fits. */
static void give(struct run *run, const struct weft_data *data, uint64_t offset,
                 uint64_t bytes)
{
    const uint64_t fitting = bytes < WEFT_SLOT_BYTES ? bytes : WEFT_SLOT_BYTES;
    void *place = weft_slots_place(run->slots, fitting);

    if (weft_likely(data->type == NULL)) {
        weft_copy(place, weft_data_at(data, offset), fitting);
    } else {
        weft_data_gather(data, offset, place, fitting);
    }
    weft_slots_show(run->slots, bytes);
}

/* Writes bytes that came to a part of the receive buffer. */
static void keep(struct run *run, uint64_t offset, const void *from, uint64_t bytes)
{
    if (weft_likely(run->recv.type == NULL)) {
        weft_copy(weft_data_at(&run->recv, offset), from, bytes);
    } else {
        weft_data_scatter(&run->recv, offset, from, bytes);
    }
}

/* Notes that a member's blocks have another size than this rank's. */
static WEFT_COLD void note_bytes(struct run *run, int rank, uint64_t bytes)
{
    run->rc = weft_disagree_bytes(run->coll->comm, rank, bytes);
}

/* Takes block `block` of `blocks` that a member has shown: what fits of it, but nothing
 * if the blocks did not fit into the member's slot. */
static void take(struct run *run, int rank, int block, int blocks, uint64_t offset)
{
    uint64_t shown;
    const char *data = weft_slots_data(run->slots, rank, &shown);
    const uint64_t bytes = shown / (unsigned)blocks;
    const uint64_t room = run->shape->bytes;

    if (weft_unlikely(bytes != room)) {
        note_bytes(run, rank, bytes);
        if (shown > WEFT_SLOT_BYTES) {
            return;
        }
    }
    keep(run, offset, data + bytes * (unsigned)block, bytes < room ? bytes : room);
}

/* This rank's own block of a gather. */
static void take_own(struct run *run, uint64_t offset)
{
    const uint64_t bytes = run->shape->given;

    if (run->shape->is_in_place || (bytes | run->shape->bytes) == 0) {
        return;
    }
    if (weft_unlikely(bytes != run->shape->bytes)) {
        note_bytes(run, run->shape->rank, bytes);
        return;
    }
    if (weft_likely(run->send.type == NULL)) {
        keep(run, offset, run->send.buffer, bytes);
    } else {
        const struct weft_data from = weft_data_part(&run->send, 0, bytes);
        const struct weft_data to = weft_data_part(&run->recv, offset, bytes);

        weft_span_copy(&from, &to);
    }
}

/* What a rank gives, where it gives one block: in place it is where the result goes. */
static void give_input(struct run *run)
{
    const bool is_in_place = run->shape->is_in_place;

    give(run, is_in_place ? &run->recv : &run->send, 0, run->shape->bytes);
}

/* ---- moving data ---- */

static enum weft_rc barrier(struct run *run)
{
    weft_slots_show(run->slots, 0);
    return weft_slots_meet(run->slots, &run->why, NULL, NULL);
}

static enum weft_rc bcast(struct run *run)
{
    const int root = run->shape->root;
    enum weft_rc rc;

    if (run->shape->rank == root) {
        give(run, &run->recv, 0, run->shape->bytes);
        return WEFT_OK;
    }
    rc = weft_slots_await(run->slots, root, &run->why);
    if (rc == WEFT_OK) {
        take(run, root, 0, 1, 0);
    }
    return rc;
}

static enum weft_rc gather(struct run *run)
{
    const struct weft_shape *shape = run->shape;
    enum weft_rc rc = WEFT_OK;

    if (shape->rank != shape->root) {
        give(run, &run->send, 0, shape->given);
        return WEFT_OK;
    }
    take_own(run, shape->bytes * (unsigned)shape->rank);
    for (int rank = 0; rank < shape->n && rc == WEFT_OK; rank++) {
        if (rank != shape->rank) {
            rc = weft_slots_await(run->slots, rank, &run->why);
            if (rc == WEFT_OK) {
                take(run, rank, 0, 1, shape->bytes * (unsigned)rank);
            }
        }
    }
    return rc;
}

static enum weft_rc scatter(struct run *run)
{
    const struct weft_shape *shape = run->shape;
    enum weft_rc rc = WEFT_OK;

    if (shape->rank == shape->root) {
        give(run, &run->send, 0, shape->given * (unsigned)shape->n);
        if (shape->is_in_place) {
            return WEFT_OK;
        }
    } else {
        rc = weft_slots_await(run->slots, shape->root, &run->why);
    }
    if (rc == WEFT_OK) {
        take(run, shape->root, shape->rank, shape->n, 0);
    }
    return rc;
}

static enum weft_rc allgather(struct run *run)
{
    const struct weft_shape *shape = run->shape;
    const uint64_t own = shape->bytes * (unsigned)shape->rank;
    enum weft_rc rc;

    if (shape->is_in_place) {
        give(run, &run->recv, own, shape->bytes);
    } else {
        give(run, &run->send, 0, shape->given);
        take_own(run, own);
    }
    rc = weft_slots_meet(run->slots, &run->why, NULL, NULL);
    for (int rank = 0; rank < shape->n && rc == WEFT_OK; rank++) {
        if (rank != shape->rank) {
            take(run, rank, 0, 1, shape->bytes * (unsigned)rank);
        }
    }
    return rc;
}

static enum weft_rc alltoall(struct run *run)
{
    const struct weft_shape *shape = run->shape;
    const struct weft_data *input = shape->is_in_place ? &run->recv : &run->send;
    enum weft_rc rc;

    give(run, input, 0, shape->given * (unsigned)shape->n);
    rc = weft_slots_meet(run->slots, &run->why, NULL, NULL);
    for (int rank = 0; rank < shape->n && rc == WEFT_OK; rank++) {
        take(run, rank, shape->rank, shape->n, shape->bytes * (unsigned)rank);
    }
    return rc;
}

/* ---- reductions ---- */

/* Blocks that a member of a reduction shows. */
static uint64_t operand_blocks(const struct run *run)
{
    return run->coll->kind == WEFT_COLL_REDUCE_SCATTER_BLOCK ? (unsigned)run->shape->n
                                                             : 1;
}

/* Combines a part of what the members from 0 to `last` have shown, into `to`. Returns the
 * rank of a member that has shown more or less than this one, or -1. */
static int fold_part(const struct run *run, int last, uint64_t offset, uint64_t bytes,
                     void *to)
{
    struct weft_datatype *type = run->coll->recv.type;
    const uint64_t all = run->shape->bytes * operand_blocks(run);
    uint64_t shown;
    const char *data = weft_slots_data(run->slots, last, &shown);
    int other = shown != all ? last : -1;

    weft_copy(to, data + offset, bytes); /* of no bytes there may be no buffer */
    for (int rank = last - 1; rank >= 0; rank--) {
        data = weft_slots_data(run->slots, rank, &shown);
        other = weft_unlikely(shown != all) ? rank : other;
        weft_operation_apply(run->coll->op, type, data + offset, to, bytes / type->size);
    }
    return other;
}

/* Notes what a member of a reduction gives. */
static WEFT_COLD void note_operand(struct run *run, int rank)
{
    uint64_t shown;

    (void)weft_slots_data(run->slots, rank, &shown);
    note_bytes(run, rank, shown / operand_blocks(run));
}

static void fold(struct run *run, int last, uint64_t offset)
{
    const int other =
        fold_part(run, last, offset, run->shape->bytes, weft_data_at(&run->recv, 0));

    if (weft_unlikely(other >= 0)) {
        note_operand(run, other);
    }
}

static enum weft_rc reduce(struct run *run)
{
    const struct weft_shape *shape = run->shape;
    enum weft_rc rc = WEFT_OK;

    if (shape->rank != shape->root) {
        give(run, &run->send, 0, shape->bytes);
        return WEFT_OK;
    }
    give_input(run);
    for (int rank = 0; rank < shape->n && rc == WEFT_OK; rank++) {
        if (rank != shape->rank) {
            rc = weft_slots_await(run->slots, rank, &run->why);
        }
    }
    if (rc == WEFT_OK) {
        fold(run, shape->n - 1, 0);
    }
    return rc;
}

/* The last one to come combines for all. */
static bool fold_for_all(struct weft_slots *slots, const void *call)
{
    const struct run *run = call;
    const uint64_t bytes = run->shape->bytes;

    return fold_part(run, run->shape->n - 1, 0, bytes, weft_slots_result(slots, bytes)) <
           0;
}

/* The members' vectors have several lengths: each names a member that differs from it. */
static WEFT_COLD void note_refused(struct run *run)
{
    uint64_t shown;

    run->rc = WEFT_ERR_DISAGREE;
    for (int rank = 0; rank < run->shape->n; rank++) {
        (void)weft_slots_data(run->slots, rank, &shown);
        if (shown != run->shape->bytes) {
            note_bytes(run, rank, shown);
            return;
        }
    }
}

static enum weft_rc allreduce(struct run *run)
{
    const struct weft_shape *shape = run->shape;
    enum weft_rc rc;

    give_input(run);
    rc = weft_slots_meet(run->slots, &run->why, fold_for_all, run);
    if (rc != WEFT_OK) {
        return rc;
    }
    if (!weft_slots_meets(run->slots)) {
        fold(run, shape->n - 1, 0);
    } else if (weft_unlikely(weft_slots_has_refused(run->slots))) {
        note_refused(run);
    } else {
        keep(run, 0, weft_slots_result(run->slots, shape->bytes), shape->bytes);
    }
    return WEFT_OK;
}

static enum weft_rc reduce_scatter_block(struct run *run)
{
    const struct weft_shape *shape = run->shape;
    const struct weft_data *input = shape->is_in_place ? &run->recv : &run->send;
    enum weft_rc rc;

    give(run, input, 0, shape->bytes * (unsigned)shape->n);
    rc = weft_slots_meet(run->slots, &run->why, NULL, NULL);
    if (rc == WEFT_OK) {
        fold(run, shape->n - 1, shape->bytes * (unsigned)shape->rank);
    }
    return rc;
}

/* Combines what the ranks up to `last` have given. */
static enum weft_rc prefix(struct run *run, int last)
{
    enum weft_rc rc = WEFT_OK;

    give_input(run);
    for (int rank = 0; rank < run->shape->rank && rc == WEFT_OK; rank++) {
        rc = weft_slots_await(run->slots, rank, &run->why);
    }
    if (rc == WEFT_OK && last >= 0) {
        fold(run, last, 0);
    }
    return rc;
}

static enum weft_rc scan(struct run *run)
{
    return prefix(run, run->shape->rank);
}

static enum weft_rc exscan(struct run *run)
{
    return prefix(run, run->shape->rank - 1);
}

/* ---- all of them ---- */

static enum weft_rc (*const kinds[WEFT_COLL_KINDS])(struct run *run) = {
    [WEFT_COLL_BARRIER] = barrier,
    [WEFT_COLL_BCAST] = bcast,
    [WEFT_COLL_GATHER] = gather,
    [WEFT_COLL_SCATTER] = scatter,
    [WEFT_COLL_ALLGATHER] = allgather,
    [WEFT_COLL_ALLTOALL] = alltoall,
    [WEFT_COLL_REDUCE] = reduce,
    [WEFT_COLL_ALLREDUCE] = allreduce,
    [WEFT_COLL_REDUCE_SCATTER_BLOCK] = reduce_scatter_block,
    [WEFT_COLL_SCAN] = scan,
    [WEFT_COLL_EXSCAN] = exscan,
};

enum weft_rc weft_flags_run(const struct weft_coll *coll, const struct weft_shape *shape,
                            struct weft_slots *slots, uint32_t word)
{
    struct run run = {
        .coll = coll,
        .shape = shape,
        .slots = slots,
        .why = {coll->name, coll->comm->name, MPI_ANY_SOURCE, MPI_ANY_TAG, 0},
        .rc = WEFT_OK,
    };
    enum weft_rc rc = weft_slots_begin(slots, word, &run.why);

    if (coll->kind != WEFT_COLL_BARRIER) { /* which has no buffers */
        run.send = weft_coll_space(&coll->send, weft_coll_elements(coll, true));
        run.recv = weft_coll_space(&coll->recv, weft_coll_elements(coll, false));
    }
    if (rc == WEFT_OK) {
        rc = kinds[coll->kind](&run);
    }
    if (rc == WEFT_OK) {
        weft_slots_end(slots);
        rc = run.rc;
    }
    return rc;
}
