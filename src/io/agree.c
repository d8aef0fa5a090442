#include "io/agree.h"

#include "coll/coll.h"
#include "io/fault.h"

enum weft_rc weft_io_largest(struct weft_comm *comm, const char *call, int64_t *numbers,
                             int count)
{
    struct weft_datatype *type = weft_datatype_from_handle(MPI_INT64_T);

    if (comm->size == 1) {
        return WEFT_OK;
    }
    return weft_coll_run_inside(&(struct weft_coll){
        .comm = comm,
        .name = call,
        .kind = WEFT_COLL_ALLREDUCE,
        .op = weft_operation_from_handle(MPI_MAX),
        .send = {.buffer = MPI_IN_PLACE, .type = type, .count = count},
        .recv = {.buffer = numbers, .type = type, .count = count},
    });
}

int weft_io_agree(struct weft_comm *comm, const char *call, int fault)
{
    int64_t number = fault;
    enum weft_rc rc = weft_io_largest(comm, call, &number, 1);

    return rc == WEFT_OK ? (int)number : weft_io_fault_of(rc);
}
