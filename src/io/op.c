#include "io/op.h"

#include "engine/lock.h"
#include "io/move.h"
#include "p2p/request.h"

#include <stdlib.h>

_Static_assert(sizeof(struct weft_file_request) <= sizeof(struct weft_p2p_request),
               "requests of all kinds come from one pool");

static struct weft_file_op *op_of(struct weft_work *work)
{
    return (struct weft_file_op *)work;
}

static void run_convert(struct weft_work *work)
{
    struct weft_file_op *op = op_of(work);

    op->bytes = weft_move_convert(&op->call, &op->moved);
}

/* With the lock. */
static void finish(struct weft_work *work)
{
    struct weft_file_op *op = op_of(work);
    struct weft_file_request *request = (struct weft_file_request *)op->request;

    request->moved = op->moved;
    request->base.bytes = op->bytes;
    weft_move_release(&op->call);
    free(op);
    weft_request_complete(&request->base, WEFT_OK);
}

void weft_file_op_end(struct weft_file_op *op)
{
    weft_assert_locked();
    weft_work_add(&op->work,
                  weft_move_needs_user(&op->call) ? WEFT_WORK_CALL : WEFT_WORK_SHORT,
                  run_convert, finish);
}

static void run_move(struct weft_work *work)
{
    struct weft_file_op *op = op_of(work);

    if (op->moved.fault == 0) {
        weft_move_run(&op->call, &op->moved);
    }
    if (!weft_move_needs_user(&op->call)) {
        op->bytes = weft_move_convert(&op->call, &op->moved);
    }
}

static void end_move(struct weft_work *work)
{
    struct weft_file_op *op = op_of(work);

    if (weft_move_needs_user(&op->call)) {
        weft_file_op_end(op);
    } else {
        finish(work);
    }
}

void weft_file_op_move(struct weft_file_op *op)
{
    weft_assert_locked();
    weft_work_add(&op->work, WEFT_WORK_BLOCKING, run_move, end_move);
}

/* With the lock. */
static enum weft_rc take_request(struct weft_file_op *op)
{
    enum weft_rc rc = weft_request_take(&op->request);

    if (rc == WEFT_OK) {
        struct weft_file_request *request = (struct weft_file_request *)op->request;

        request->base.kind = WEFT_REQUEST_FILE;
        request->base.source = MPI_ANY_SOURCE;
        request->base.tag = MPI_ANY_TAG;
        request->base.function = op->call.name;
        request->file = op->call.file->handle;
        request->is_write = op->call.is_write;
    }
    return rc;
}

enum weft_rc weft_file_op_start(const struct weft_file_call *call,
                                void (*begin)(struct weft_file_op *op),
                                struct weft_request **out)
{
    struct weft_file_op *op = calloc(1, sizeof(*op));
    enum weft_rc rc;

    weft_assert_unlocked();
    if (op == NULL) {
        return WEFT_ERR_NOMEM;
    }
    op->call = *call;
    op->moved.fault = call->fault;
    weft_lock();
    rc = take_request(op);
    if (rc == WEFT_OK) {
        *out = op->request;
        begin(op);
    }
    weft_engine_leave();
    weft_unlock();
    if (rc != WEFT_OK) {
        free(op);
    }
    return rc;
}
