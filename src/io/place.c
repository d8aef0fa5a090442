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
    enum weft_rc rc = weft_coll_run(&scan);

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

void weft_call_begin_at(struct weft_file_call *call, enum weft_file_pointer which,
                        uint64_t offset)
{
    struct weft_file *file = call->file;
    uint64_t etypes;
    uint64_t bytes;
    int fault = 0;

    weft_lock();
    call->view = file->view;
    weft_view_keep(call->view);
    weft_datatype_keep(call->type);
    bytes = weft_convert_bytes(call->view, call->type, call->count);
    etypes = call->view->etype_bytes > 0 ? bytes / call->view->etype_bytes : 0;
    if (which == WEFT_FILE_INDIVIDUAL) {
        offset = take_individual(file, etypes);
    }
    file->is_dirty = file->is_dirty || (call->is_write && bytes > 0);
    weft_unlock();
    if (which == WEFT_FILE_SHARED) {
        fault = weft_pointer_add(file, etypes, call->name, &offset);
    } else if (which == WEFT_FILE_ORDERED) {
        fault = take_ordered(call, etypes, &offset);
    }
    if (fault == 0 && !weft_view_is_within(call->view, offset, bytes, &call->position)) {
        fault = EOVERFLOW;
    }
    call->fault = call->fault != 0 ? call->fault : fault;
}
