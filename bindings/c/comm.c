/*
 * comm.c - MPI-5.0 chapter 7: communicators.
 */
#include "binding.h"

int PMPI_Comm_rank(MPI_Comm comm, int *rank)
{
    struct weft_comm *c;
    int err = weft_check_comm("MPI_Comm_rank", comm, &c);

    if (err == MPI_SUCCESS) {
        err = weft_check_out("MPI_Comm_rank", c, rank, "rank");
    }
    if (err == MPI_SUCCESS) {
        *rank = c->rank;
    }
    return err;
}
WEFT_WEAK_ALIAS(MPI_Comm_rank, PMPI_Comm_rank);

int PMPI_Comm_size(MPI_Comm comm, int *size)
{
    struct weft_comm *c;
    int err = weft_check_comm("MPI_Comm_size", comm, &c);

    if (err == MPI_SUCCESS) {
        err = weft_check_out("MPI_Comm_size", c, size, "size");
    }
    if (err == MPI_SUCCESS) {
        *size = c->size;
    }
    return err;
}
WEFT_WEAK_ALIAS(MPI_Comm_size, PMPI_Comm_size);
