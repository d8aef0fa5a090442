/*
 * collectives.c - MPI-5.0 chapter 6.
 */
#include "binding.h"

int PMPI_Barrier(MPI_Comm comm)
{
    struct weft_comm *c;
    int err = weft_check_comm("MPI_Barrier", comm, &c);

    if (err != MPI_SUCCESS) {
        return err;
    }
    if (c->size > 1 && weft_world_barrier() != WEFT_OK) {
        return weft_raise_comm(c, MPI_ERR_OTHER, "MPI_Barrier", "the launcher is gone");
    }
    return MPI_SUCCESS;
}
WEFT_WEAK_ALIAS(MPI_Barrier, PMPI_Barrier);
