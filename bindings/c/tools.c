/*
 * tools.c - MPI-5.0 chapter 15: profiling control and, later, MPI_T.
 */
#include "binding.h"

/* For profiling tools, which put their own in its place; the library ignores it. */
int PMPI_Pcontrol(const int level, ...)
{
    (void)level;
    return MPI_SUCCESS;
}
WEFT_WEAK_ALIAS(MPI_Pcontrol, PMPI_Pcontrol);
