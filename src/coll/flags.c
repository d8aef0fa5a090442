#include "coll/flags.h"

#include "base/copy.h"
#include "coll/data.h"
#include "engine/lock.h"
#include "p2p/truncated.h"
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
    enum weft_rc rc; /* of data that were too long */
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

/* Notes that what a member gives is longer than there is room for. */
static WEFT_COLD void note_truncated(struct run *run, int rank, uint64_t bytes)
{
    const struct weft_header header = {
        .context = run->coll->comm->context | (uint32_t)WEFT_PLANE_COLL,
        .source = (uint32_t)rank,
    };

    run->rc = WEFT_ERR_TRUNCATE;
    weft_lock();
    weft_truncated_note(&header, bytes, run->shape->bytes);
    weft_unlock();
}

/* Takes block `block` of `blocks` that a member has shown: what fits of it, but nothing
 * if the blocks did not fit into the member's slot. */
static void take(struct run *run, int rank, int block, int blocks, uint64_t offset)
{
    uint64_t shown;
    const char *data = weft_slots_data(run->slots, rank, &shown);
    const uint64_t bytes = shown / (unsigned)blocks;
    const uint64_t room = run->shape->bytes;

    if (weft_unlikely(bytes > room)) {
        note_truncated(run, rank, bytes);
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

    if (run->shape->is_in_place || bytes == 0) {
        return;
    }
    if (weft_unlikely(bytes > run->shape->bytes)) {
        note_truncated(run, run->shape->rank, bytes);
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

/* Combines a part of what the members from `first` to `last` have shown, into `to`. */
static void fold_part(const struct run *run, int first, int last, uint64_t offset,
                      uint64_t bytes, void *to)
{
    struct weft_datatype *type = run->coll->recv.type;
    uint64_t shown;
    const char *data = weft_slots_data(run->slots, last, &shown);

    memcpy(to, data + offset, bytes);
    for (int rank = last - 1; rank >= first; rank--) {
        data = weft_slots_data(run->slots, rank, &shown);
        weft_operation_apply(run->coll->op, type, data + offset, to, bytes / type->size);
    }
}

static void fold(struct run *run, int first, int last, uint64_t offset)
{
    fold_part(run, first, last, offset, run->shape->bytes, weft_data_at(&run->recv, 0));
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
        fold(run, 0, shape->n - 1, 0);
    }
    return rc;
}

/* The last one to come combines for all. */
static void fold_for_all(struct weft_slots *slots, const void *call)
{
    const struct run *run = call;
    const uint64_t bytes = run->shape->bytes;

    fold_part(run, 0, run->shape->n - 1, 0, bytes, weft_slots_result(slots, bytes));
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
    if (weft_slots_meets(run->slots)) {
        keep(run, 0, weft_slots_result(run->slots, shape->bytes), shape->bytes);
    } else {
        fold(run, 0, shape->n - 1, 0);
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
        fold(run, 0, shape->n - 1, shape->bytes * (unsigned)shape->rank);
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
        fold(run, 0, last, 0);
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
                            struct weft_slots *slots)
{
    struct run run = {
        .coll = coll,
        .shape = shape,
        .slots = slots,
        .why = {coll->name, coll->comm->name, MPI_ANY_SOURCE, MPI_ANY_TAG, 0},
        .send = weft_coll_space(&coll->send, weft_coll_elements(coll, true)),
        .recv = weft_coll_space(&coll->recv, weft_coll_elements(coll, false)),
        .rc = WEFT_OK,
    };
    enum weft_rc rc = weft_slots_begin(slots, &run.why);

    if (rc == WEFT_OK) {
        rc = kinds[coll->kind](&run);
    }
    if (rc == WEFT_OK) {
        weft_slots_end(slots);
        rc = run.rc;
    }
    return rc;
}
