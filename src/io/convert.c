#include "io/convert.h"

#include "datatype/external.h"
#include "engine/lock.h"
#include "io/in_file.h"

#include <limits.h>

/* ---- sizes ---- */

int weft_convert_bytes(const struct weft_view *view, const struct weft_datatype *type,
                       MPI_Count count, uint64_t *bytes)
{
    uint64_t one = 0;
    int fault = weft_in_file_size(view->representation, type, &one);

    *bytes = (uint64_t)count * one;
    return fault;
}

int weft_convert_view(struct weft_view *view)
{
    int fault = weft_in_file_size(view->representation, view->etype, &view->etype_bytes);

    return fault == 0
               ? weft_in_file_type(view->representation, view->filetype, &view->in_file)
               : fault;
}

int weft_convert_extent(const struct weft_representation *representation,
                        struct weft_datatype *type, MPI_Count *extent)
{
    struct weft_datatype *there;
    int fault = weft_in_file_type(representation, type, &there);

    if (fault == 0) {
        *extent = there->extent;
        weft_lock();
        weft_datatype_release(there);
        weft_unlock();
    }
    return fault;
}

/* ---- data ---- */

bool weft_convert_is_by_user(const struct weft_file_call *call)
{
    const struct weft_representation *r = call->view->representation;

    return r->kind == WEFT_REPRESENTATION_USER &&
           (call->is_write ? r->write.narrow : r->read.narrow) != NULL;
}

bool weft_convert_is_needed(const struct weft_file_call *call)
{
    return call->view->representation->kind == WEFT_REPRESENTATION_EXTERNAL32 ||
           weft_convert_is_by_user(call);
}

/* One call of the user's function, or several where its count is an int. */
static int call_user(const struct weft_file_call *call, MPI_Count count, uint64_t each)
{
    const struct weft_representation *r = call->view->representation;
    void *buffer = (void *)(uintptr_t)call->buffer;
    char *there = call->staging;
    MPI_Count most = r->is_large ? count : INT_MAX;
    int err = MPI_SUCCESS;

    for (MPI_Count at = 0; at < count && err == MPI_SUCCESS; at += most) {
        const MPI_Count n = count - at < most ? count - at : most;
        void *filebuf = there + (uint64_t)at * each;

        err = r->is_large
                  ? (call->is_write ? r->write.wide : r->read.wide)(
                        buffer, call->type->handle, n, filebuf, at, r->extra_state)
                  : (call->is_write ? r->write.narrow : r->read.narrow)(
                        buffer, call->type->handle, (int)n, filebuf, at, r->extra_state);
    }
    return err == MPI_SUCCESS ? 0 : WEFT_IO_CONVERSION;
}

int weft_convert_out(struct weft_file_call *call)
{
    uint64_t each = 0;
    int fault = weft_in_file_size(call->view->representation, call->type, &each);

    if (fault == 0 && weft_convert_is_by_user(call)) {
        return call_user(call, call->count, each);
    }
    if (fault == 0) {
        weft_external_pack(call->type, call->buffer, (uint64_t)call->count,
                           call->staging);
    }
    return fault;
}

int weft_convert_in(const struct weft_file_call *call, uint64_t bytes, uint64_t *done)
{
    uint64_t each = 0;
    uint64_t count;
    int fault = weft_in_file_size(call->view->representation, call->type, &each);

    if (fault == 0 && !weft_convert_is_by_user(call)) {
        *done = weft_external_unpack_some(call->type, (void *)(uintptr_t)call->buffer,
                                          (uint64_t)call->count, call->staging, bytes);
        return 0;
    }
    count = each > 0 ? bytes / each : 0;
    *done = count * call->type->size;
    return fault == 0 ? call_user(call, (MPI_Count)count, each) : fault;
}
