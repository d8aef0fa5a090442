#include "io/collective.h"

#include "io/agree.h"
#include "io/move.h"

void weft_collective_run(const struct weft_file_call *call, struct weft_moved *moved)
{
    int own;

    moved->fault = call->fault;
    if (moved->fault == 0) {
        weft_move_run(call, moved);
    }
    own = moved->fault;
    moved->fault = weft_io_agree(call->file->comm, call->name, own);
    moved->is_elsewhere = own == 0 && moved->fault != 0;
}

void weft_collective_start(struct weft_file_op *op)
{
    weft_file_op_move(op);
}
