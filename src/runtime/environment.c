#include "runtime/environment.h"

#include "core/comm.h"
#include "core/user_error.h"

#include <stddef.h>

static struct {
    int tag_ub;
    int host;
    int io;
    int wtime_is_global;
    int universe_size;
    int appnum; /* -1: nobody has said */
} values;

void weft_environment_open(const struct weft_job *job)
{
    values.tag_ub = WEFT_TAG_UB;
    values.host = MPI_PROC_NULL;
    values.io = MPI_ANY_SOURCE;                /* everybody can */
    values.wtime_is_global = job->is_one_node; /* one kernel, one clock */
    values.universe_size = job->who.size;      /* nothing can be spawned */
    values.appnum = job->is_by_mpiexec ? (int)job->slice->app : -1;
}

bool weft_environment_is_key(int keyval)
{
    return keyval >= MPI_TAG_UB && keyval <= MPI_UNIVERSE_SIZE;
}

const int *weft_environment_value(int keyval)
{
    switch (keyval) {
    case MPI_TAG_UB:
        return &values.tag_ub;
    case MPI_HOST:
        return &values.host;
    case MPI_IO:
        return &values.io;
    case MPI_WTIME_IS_GLOBAL:
        return &values.wtime_is_global;
    case MPI_UNIVERSE_SIZE:
        return &values.universe_size;
    case MPI_APPNUM:
        return values.appnum >= 0 ? &values.appnum : NULL;
    default:
        return weft_user_error_last();
    }
}
