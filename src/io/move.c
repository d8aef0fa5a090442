#include "io/move.h"

#include "engine/lock.h"
#include "io/lock.h"
#include "io/representation.h"

#include <errno.h>
#include <stdlib.h>

void weft_move_prepare(struct weft_file_call *call)
{
    if (call->fault != 0) {
        return;
    }
    call->data = weft_data_of(call->buffer, call->count, call->type,
                              (size_t)call->count * call->type->size);
}

/* From the first byte of a call in the file to its last. */
static struct weft_file_extent range_of(const struct weft_file_call *call)
{
    const uint64_t first = weft_view_offset(call->view, call->position);
    const uint64_t last =
        weft_view_offset(call->view, call->position + call->data.bytes - 1);

    return (struct weft_file_extent){.offset = first, .length = last - first + 1};
}

static void run(const struct weft_file_call *call, struct weft_moved *moved)
{
    const struct weft_access access = weft_file_access(call->file, call->is_write);

    weft_access_view(&access, call->view, call->position, &call->data, moved);
}

/* In atomic mode nobody sees a part of what is written. */
static void run_locked(const struct weft_file_call *call, struct weft_moved *moved)
{
    const struct weft_file_extent range = range_of(call);

    moved->at = range.offset;
    moved->fault = weft_file_lock(call->file, range, call->is_write);
    if (moved->fault == 0) {
        run(call, moved);
        weft_file_unlock(call->file, range);
    }
}

void weft_move_run(const struct weft_file_call *call, struct weft_moved *moved)
{
    if (call->data.bytes > 0 && call->file->is_atomic) {
        run_locked(call, moved);
    } else {
        run(call, moved);
    }
}

uint64_t weft_move_convert(struct weft_file_call *call, struct weft_moved *moved)
{
    (void)call;
    return moved->bytes;
}

bool weft_move_needs_user(const struct weft_file_call *call)
{
    (void)call;
    return false;
}

void weft_move_release(struct weft_file_call *call)
{
    weft_assert_locked();
    weft_view_release(call->view);
    weft_datatype_release(call->type);
    free(call->staging);
}
