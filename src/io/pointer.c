#include "io/pointer.h"

#include "coll/coll.h"
#include "io/fault.h"
#include "rma/flush.h"
#include "rma/lock.h"
#include "rma/make.h"
#include "rma/start.h"

/*
 * The window's first member offers the word. All members have locked it, without a
 * message, from its creation to its end.
 */
int weft_pointer_open(struct weft_file *file, uint64_t start, const char *call)
{
    const bool is_first = file->comm->rank == 0;
    const struct weft_win_ask ask = {
        .call = call,
        .comm = file->comm,
        .flavor = MPI_WIN_FLAVOR_ALLOCATE,
        .size = is_first ? (MPI_Aint)sizeof(start) : 0,
        .unit = 1,
    };
    enum weft_rc rc = weft_win_make(&ask, &file->shared);

    if (rc != WEFT_OK) {
        return weft_io_fault_of(rc);
    }
    if (is_first) {
        *(uint64_t *)file->shared->base = start;
    }
    weft_rma_lock_all(file->shared, true);
    return weft_io_fault_of(weft_coll_barrier(file->comm, call)); /* the word is there */
}

void weft_pointer_close(struct weft_file *file, const char *call)
{
    enum weft_rc rc;

    if (file->shared == NULL) {
        return;
    }
    rc = weft_rma_unlock_all(file->shared, call);
    rc = rc == WEFT_OK ? weft_win_leave(file->shared, call) : rc;
    weft_win_free(file->shared, rc == WEFT_OK, call);
    file->shared = NULL;
}

/* One fetch-and-op on the word. */
static int update(struct weft_file *file, MPI_Op op, uint64_t value, const char *call,
                  uint64_t *before)
{
    struct weft_datatype *type = weft_datatype_from_handle(MPI_UINT64_T);
    const struct weft_rma_call rma = {
        .name = call,
        .kind = WEFT_RMA_GET_ACCUMULATE,
        .origin = {.buffer = &value, .bytes = sizeof(value)},
        .result = {.buffer = before, .bytes = sizeof(*before)},
        .where = {.type = type, .count = 1},
        .basic = type,
        .op = op,
        .bytes = sizeof(value),
    };
    enum weft_rc rc = weft_rma_start(file->shared, &rma, NULL);

    if (rc == WEFT_OK) {
        rc = weft_rma_flush(file->shared, 0, false, call);
    }
    return weft_io_fault_of(rc);
}

int weft_pointer_add(struct weft_file *file, uint64_t etypes, const char *call,
                     uint64_t *before)
{
    return update(file, MPI_SUM, etypes, call, before);
}

int weft_pointer_set(struct weft_file *file, uint64_t etypes, const char *call)
{
    uint64_t before;

    return update(file, MPI_REPLACE, etypes, call, &before);
}
