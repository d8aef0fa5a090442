#include "io/place.h"

#include "coll/coll.h"
#include "engine/lock.h"
#include "io/convert.h"
#include "io/pointer.h"

#include <errno.h>

/* With the lock: the own file pointer, which moves on. */
static uint64_t take_individual(struct weft_file *file, uint64_t etypes)
{
    const uint64_t before = file->position;

    file->position += etypes;
    return before;
}

/* Where this member's part of an ordered call begins: one member moves the pointer for
 * all of them. */
static int take_ordered(const struct weft_file_call *call, uint64_t etypes,
                        uint64_t *before)
{
    struct weft_comm *comm = call->file->comm;
    struct weft_datatype *type = weft_datatype_from_handle(MPI_UINT64_T);
    const struct weft_coll scan = {
        .comm = comm,
        .name = call->name,
        .kind = WEFT_COLL_SCAN,
        .op = weft_operation_from_handle(MPI_SUM),
        .send = {.buffer = &etypes, .type = type, .count = 1},
        .recv = {.buffer = before, .type = type, .count = 1},
    };
    struct {
        uint64_t start;
        uint64_t fault;
    } all = {0, 0};
    enum weft_rc rc = weft_coll_run_inside(&scan);

    if (rc == WEFT_OK && comm->rank == comm->size - 1) {
        all.fault =
            (uint64_t)weft_pointer_add(call->file, *before, call->name, &all.start);
    }
    if (rc == WEFT_OK) {
        rc = weft_coll_bcast(comm, call->name, &all, sizeof(all), comm->size - 1);
    }
    *before += all.start - etypes;
    return rc == WEFT_OK ? (int)all.fault : weft_io_fault_of(rc);
}

/* With the lock: nothing of the call goes away before weft_move_release(). */
static void keep(struct weft_file_call *call)
{
    call->view = call->file->view;
    weft_view_keep(call->view);
    call->hints = call->file->hints;
    call->is_atomic = call->file->is_atomic;
    weft_datatype_show(call->type); /* conversion functions may see its handle */
}

static int find_offset(struct weft_file_call *call, enum weft_file_pointer which,
                       uint64_t etypes, uint64_t *offset)
{
    switch (which) {
    case WEFT_FILE_EXPLICIT:
        break;
    case WEFT_FILE_INDIVIDUAL:
        weft_lock();
        *offset = take_individual(call->file, etypes);
        weft_unlock();
        break;
    case WEFT_FILE_SHARED:
        return weft_pointer_add(call->file, etypes, call->name, offset);
    case WEFT_FILE_ORDERED:
        return take_ordered(call, etypes, offset);
    }
    return 0;
}

void weft_call_begin_at(struct weft_file_call *call, enum weft_file_pointer which,
                        uint64_t offset)
{
    uint64_t etypes;
    uint64_t bytes;
    int fault;
    int moved;

    weft_lock();
    keep(call);
    call->file->is_dirty = call->file->is_dirty || call->is_write;
    weft_unlock();
    fault = weft_convert_bytes(call->view, call->type, call->count, &bytes);
    etypes =
        fault == 0 && call->view->etype_bytes > 0 ? bytes / call->view->etype_bytes : 0;
    moved = find_offset(call, which, etypes, &offset);
    fault = fault != 0 ? fault : moved;
    if (fault == 0 && !weft_view_is_within(call->view, offset, bytes, &call->position)) {
        fault = EOVERFLOW;
    }
    call->fault = call->fault != 0 ? call->fault : fault;
}
