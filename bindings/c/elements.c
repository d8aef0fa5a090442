/*
 * elements.c - MPI-5.0 chapter 5: how many basic elements a message had.
 */
#include "binding.h"
#include "status.h"

#include "check/datatype.h"
#include "datatype/elements.h"

#include <limits.h>

static int elements_checked(const char *function, const MPI_Status *status,
                            MPI_Datatype datatype, MPI_Count *count)
{
    struct weft_datatype *type;
    MPI_Count elements;
    int err = weft_check_out(function, NULL, status, "status");

    if (err == MPI_SUCCESS) {
        err = weft_check_out(function, NULL, count, "count");
    }
    if (err == MPI_SUCCESS) {
        err = weft_check_type(function, datatype, &type);
    }
    if (err != MPI_SUCCESS) {
        return err;
    }
    elements = weft_elements_in(type, weft_status_bytes(status));
    *count = elements < 0 ? MPI_UNDEFINED : elements;
    return MPI_SUCCESS;
}

int PMPI_Get_elements(const MPI_Status *status, MPI_Datatype datatype, int *count)
{
    MPI_Count wide = 0;
    int err = elements_checked("MPI_Get_elements", status, datatype,
                               count == NULL ? NULL : &wide);

    if (err == MPI_SUCCESS) {
        *count = wide > INT_MAX ? MPI_UNDEFINED : (int)wide;
    }
    return err;
}
WEFT_WEAK_ALIAS(MPI_Get_elements, PMPI_Get_elements);

int PMPI_Get_elements_c(const MPI_Status *status, MPI_Datatype datatype, MPI_Count *count)
{
    return elements_checked("MPI_Get_elements_c", status, datatype, count);
}
WEFT_WEAK_ALIAS(MPI_Get_elements_c, PMPI_Get_elements_c);

int PMPI_Get_elements_x(const MPI_Status *status, MPI_Datatype datatype, MPI_Count *count)
{
    return elements_checked("MPI_Get_elements_x", status, datatype, count);
}
WEFT_WEAK_ALIAS(MPI_Get_elements_x, PMPI_Get_elements_x);
