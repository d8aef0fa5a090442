#include "io/move.h"

#include "engine/lock.h"
#include "io/convert.h"
#include "io/lock.h"

#include <errno.h>
#include <stdlib.h>

/* Memory for what the file has, and its contents if they are written. */
static void stage(struct weft_file_call *call)
{
    uint64_t bytes = 0;

    call->fault = weft_convert_bytes(call->view, call->type, call->count, &bytes);
    if (call->fault == 0) {
        call->staging = malloc(bytes > 0 ? bytes : 1);
        call->fault = call->staging == NULL ? ENOMEM : 0;
    }
    if (call->fault == 0 && call->is_write) {
        call->fault = weft_convert_out(call);
    }
    if (call->fault == 0) {
        call->data = (struct weft_data){.buffer = call->staging, .bytes = bytes};
    }
}

void weft_move_prepare(struct weft_file_call *call)
{
    if (call->fault != 0) {
        return;
    }
    if (weft_convert_is_needed(call)) {
        stage(call);
    } else {
        call->data = weft_data_of(call->buffer, call->count, call->type,
                                  (size_t)call->count * call->type->size);
    }
}

static void run(const struct weft_file_call *call, struct weft_moved *moved)
{
    const struct weft_access access = weft_call_access(call);

    weft_access_view(&access, call->view, call->position, &call->data, moved);
}

/* In atomic mode nobody sees a part of what is written. */
static void run_locked(const struct weft_file_call *call, struct weft_moved *moved)
{
    const struct weft_file_extent range =
        weft_view_range(call->view, call->position, call->data.bytes);

    moved->at = range.offset;
    moved->fault = weft_file_lock(call->file, range, call->is_write);
    if (moved->fault == 0) {
        run(call, moved);
        weft_file_unlock(call->file, range);
    }
}

void weft_move_run(const struct weft_file_call *call, struct weft_moved *moved)
{
    if (call->data.bytes > 0 && call->is_atomic) {
        run_locked(call, moved);
    } else {
        run(call, moved);
    }
}

uint64_t weft_move_convert(struct weft_file_call *call, struct weft_moved *moved)
{
    uint64_t bytes = 0;
    int fault;

    if (call->staging == NULL) {
        return moved->bytes;
    }
    if (call->is_write) {
        return call->data.bytes > 0
                   ? moved->bytes / (call->data.bytes / (uint64_t)call->count) *
                         call->type->size
                   : 0;
    }
    fault = weft_convert_in(call, moved->bytes, &bytes);
    moved->fault = moved->fault != 0 ? moved->fault : fault;
    return bytes;
}

bool weft_move_needs_user(const struct weft_file_call *call)
{
    return call->staging != NULL && !call->is_write && weft_convert_is_by_user(call);
}

void weft_move_release(struct weft_file_call *call)
{
    weft_assert_locked();
    weft_view_release(call->view);
    weft_datatype_hide(call->type);
    free(call->staging);
}
