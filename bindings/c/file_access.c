#include "file_access.h"

#include "complete.h"
#include "status.h"

#include "engine/lock.h"
#include "io/collective.h"
#include "io/move.h"

#include <string.h>

/* ---- preparing ---- */

/* What this member does in a call of all members if its own arguments are wrong: nothing,
 * but the others get its class. */
static void take_part(const struct weft_file_args *args, struct weft_file *file, int err,
                      struct weft_file_call *call)
{
    *call = (struct weft_file_call){
        .name = args->function,
        .file = file,
        .is_write = args->is_write,
        .type = weft_datatype_from_handle(MPI_BYTE),
        .fault = WEFT_IO_CLASS + err,
    };
    weft_call_begin_at(
        call, args->pointer == WEFT_FILE_ORDERED ? WEFT_FILE_ORDERED : WEFT_FILE_EXPLICIT,
        0);
}

/* Checks a call and prepares it. Answers what was raised; *is_ready says whether there is
 * a call, which may have a fault of its own. */
static int prepare(const struct weft_file_args *args, struct weft_file *file,
                   struct weft_file_call *call, bool *is_ready)
{
    int err = weft_check_file_access(args, file, call);

    *is_ready = err == MPI_SUCCESS || args->is_collective;
    if (err == MPI_SUCCESS) {
        weft_call_begin_at(call, args->pointer, (uint64_t)args->offset);
        weft_move_prepare(call);
    } else if (args->is_collective) {
        take_part(args, file, err, call);
    }
    return err;
}

static void release(struct weft_file_call *call)
{
    weft_lock();
    weft_move_release(call);
    weft_unlock();
}

/* ---- blocking ---- */

static void perform(const struct weft_file_args *args, struct weft_file_call *call,
                    struct weft_moved *moved)
{
    if (args->is_collective) {
        weft_collective_run(call, moved);
    } else if (call->fault == 0) {
        weft_move_run(call, moved);
    } else {
        moved->fault = call->fault;
    }
}

int weft_file_run(const struct weft_file_args *args, MPI_Status *status)
{
    struct weft_moved moved = {0};
    struct weft_file_call call;
    struct weft_file *file;
    bool is_ready;
    uint64_t bytes;
    int err = weft_check_file(args->function, args->file, &file);

    if (err != MPI_SUCCESS) {
        return err;
    }
    err = prepare(args, file, &call, &is_ready);
    if (!is_ready) {
        return err;
    }
    perform(args, &call, &moved);
    bytes = weft_move_convert(&call, &moved);
    release(&call);
    if (err != MPI_SUCCESS) {
        return err; /* which was raised */
    }
    if (status != MPI_STATUS_IGNORE) {
        weft_status_set(status, MPI_ANY_SOURCE, MPI_ANY_TAG, bytes, false);
    }
    return weft_raise_moved(file, &moved, args->is_write, args->function);
}

/* ---- nonblocking ---- */

/* Ends a call for which there is no request. The others must not wait for this
 * member: it takes part with nothing, here and now. */
static void fail(const struct weft_file_args *args, struct weft_file_call *call,
                 enum weft_rc rc)
{
    struct weft_moved moved;

    if (args->is_collective) {
        call->fault = call->fault != 0 ? call->fault : weft_io_fault_of(rc);
        weft_collective_run(call, &moved);
    }
    release(call);
}

/* Starts a call; *out stays as it was if the call has failed, or if nobody is to wait for
 * it. */
static int start(const struct weft_file_args *args, struct weft_file *file,
                 struct weft_request **out)
{
    struct weft_request *made = NULL;
    struct weft_file_call call;
    bool is_ready;
    enum weft_rc rc;
    int err = prepare(args, file, &call, &is_ready);

    if (!is_ready) {
        return err;
    }
    if (call.fault != 0 && !args->is_collective) {
        const struct weft_moved moved = {.fault = call.fault};

        release(&call);
        return weft_raise_moved(file, &moved, args->is_write, args->function);
    }
    rc = weft_file_op_start(
        &call, args->is_collective ? weft_collective_start : weft_file_op_move, &made);
    if (rc != WEFT_OK) {
        fail(args, &call, rc);
        return err != MPI_SUCCESS
                   ? err
                   : weft_raise_fault(file, file->name, weft_io_fault_of(rc),
                                      args->function);
    }
    if (err != MPI_SUCCESS) {
        weft_lock();
        weft_request_detach(made);
        weft_unlock();
        return err;
    }
    *out = made;
    return MPI_SUCCESS;
}

int weft_file_start(const struct weft_file_args *args, MPI_Request *request)
{
    struct weft_request *made = NULL;
    struct weft_file *file;
    int err = weft_check_file(args->function, args->file, &file);

    if (err == MPI_SUCCESS) {
        err = weft_check_file_out(args->function, file, request, "request");
    }
    if (err == MPI_SUCCESS) {
        err = start(args, file, &made);
    }
    if (err == MPI_SUCCESS) {
        *request = made->handle;
    }
    return err;
}

/* ---- split ---- */

int weft_file_begin(const struct weft_file_args *args, const char *kind)
{
    struct weft_request *made = NULL;
    struct weft_file *file;
    int err = weft_check_file(args->function, args->file, &file);

    if (err != MPI_SUCCESS) {
        return err;
    }
    if (file->split != NULL) {
        return weft_raise_file(file, args->function, WEFT_E_FILE_SPLIT_BUSY,
                               file->split_kind);
    }
    err = start(args, file, &made);
    if (err == MPI_SUCCESS) {
        weft_lock();
        file->split = made;
        file->split_kind = kind;
        weft_unlock();
    }
    return err;
}

int weft_file_end(const char *function, MPI_File fh, const char *kind, MPI_Status *status)
{
    struct weft_file *file;
    MPI_Request request;
    int err = weft_check_file(function, fh, &file);

    if (err != MPI_SUCCESS) {
        return err;
    }
    if (file->split == NULL || strcmp(file->split_kind, kind) != 0) {
        return weft_raise_file(file, function, WEFT_E_FILE_SPLIT_NONE, kind);
    }
    weft_lock();
    request = file->split->handle;
    file->split = NULL;
    weft_unlock();
    return weft_complete(function, &request, status);
}
