#include "io/move.h"

#include "engine/lock.h"
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

void weft_move_run(const struct weft_file_call *call, struct weft_moved *moved)
{
    const struct weft_access access = weft_file_access(call->file, call->is_write);

    weft_access_view(&access, call->view, call->position, &call->data, moved);
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
