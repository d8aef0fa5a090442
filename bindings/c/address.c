/*
 * address.c - MPI-5.0 chapter 5: arithmetic on addresses.
 */
#include "binding.h"

int PMPI_Get_address(const void *location, MPI_Aint *address)
{
    int err = weft_check_out("MPI_Get_address", NULL, address, "address");

    if (err == MPI_SUCCESS) {
        *address = (MPI_Aint)location;
    }
    return err;
}
WEFT_WEAK_ALIAS(MPI_Get_address, PMPI_Get_address);

/* Addresses wrap like pointers do, so the arithmetic is unsigned. */
MPI_Aint PMPI_Aint_add(MPI_Aint base, MPI_Aint disp)
{
    return (MPI_Aint)((uintptr_t)base + (uintptr_t)disp);
}
WEFT_WEAK_ALIAS(MPI_Aint_add, PMPI_Aint_add);

MPI_Aint PMPI_Aint_diff(MPI_Aint addr1, MPI_Aint addr2)
{
    return (MPI_Aint)((uintptr_t)addr1 - (uintptr_t)addr2);
}
WEFT_WEAK_ALIAS(MPI_Aint_diff, PMPI_Aint_diff);
