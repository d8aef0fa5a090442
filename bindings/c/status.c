/*
 * status.c - MPI-5.0 chapters 3.2.5, 3.8.4 and 13.3: what a status tells, and setting it.
 */
#include "status.h"

#include "check/datatype.h"
#include "datatype/elements.h"

/* Both ends of copying one field. */
static int check_field(const char *function, const MPI_Status *status, const int *out,
                       const char *name)
{
    int err = weft_check_out(function, NULL, status, "status");

    return err != MPI_SUCCESS ? err : weft_check_out(function, NULL, out, name);
}

int PMPI_Status_get_source(const MPI_Status *status, int *source)
{
    int err = check_field("MPI_Status_get_source", status, source, "source");

    if (err == MPI_SUCCESS) {
        *source = status->MPI_SOURCE;
    }
    return err;
}
WEFT_WEAK_ALIAS(MPI_Status_get_source, PMPI_Status_get_source);

int PMPI_Status_get_tag(const MPI_Status *status, int *tag)
{
    int err = check_field("MPI_Status_get_tag", status, tag, "tag");

    if (err == MPI_SUCCESS) {
        *tag = status->MPI_TAG;
    }
    return err;
}
WEFT_WEAK_ALIAS(MPI_Status_get_tag, PMPI_Status_get_tag);

int PMPI_Status_get_error(const MPI_Status *status, int *error)
{
    int err = check_field("MPI_Status_get_error", status, error, "err");

    if (err == MPI_SUCCESS) {
        *error = status->MPI_ERROR;
    }
    return err;
}
WEFT_WEAK_ALIAS(MPI_Status_get_error, PMPI_Status_get_error);

int PMPI_Status_set_source(MPI_Status *status, int source)
{
    int err = weft_check_out("MPI_Status_set_source", NULL, status, "status");

    if (err == MPI_SUCCESS) {
        status->MPI_SOURCE = source;
    }
    return err;
}
WEFT_WEAK_ALIAS(MPI_Status_set_source, PMPI_Status_set_source);

int PMPI_Status_set_tag(MPI_Status *status, int tag)
{
    int err = weft_check_out("MPI_Status_set_tag", NULL, status, "status");

    if (err == MPI_SUCCESS) {
        status->MPI_TAG = tag;
    }
    return err;
}
WEFT_WEAK_ALIAS(MPI_Status_set_tag, PMPI_Status_set_tag);

int PMPI_Status_set_error(MPI_Status *status, int error)
{
    int err = weft_check_out("MPI_Status_set_error", NULL, status, "status");

    if (err == MPI_SUCCESS) {
        status->MPI_ERROR = error;
    }
    return err;
}
WEFT_WEAK_ALIAS(MPI_Status_set_error, PMPI_Status_set_error);

int PMPI_Status_set_cancelled(MPI_Status *status, int flag)
{
    int err = weft_check_out("MPI_Status_set_cancelled", NULL, status, "status");

    if (err == MPI_SUCCESS) {
        status->MPI_internal[WEFT_STATUS_CANCELLED] = flag != 0;
    }
    return err;
}
WEFT_WEAK_ALIAS(MPI_Status_set_cancelled, PMPI_Status_set_cancelled);

int PMPI_Test_cancelled(const MPI_Status *status, int *flag)
{
    int err = check_field("MPI_Test_cancelled", status, flag, "flag");

    if (err == MPI_SUCCESS) {
        *flag = status->MPI_internal[WEFT_STATUS_CANCELLED];
    }
    return err;
}
WEFT_WEAK_ALIAS(MPI_Test_cancelled, PMPI_Test_cancelled);

static int set_elements_checked(const char *function, MPI_Status *status,
                                MPI_Datatype datatype, MPI_Count count)
{
    struct weft_datatype *type;
    char text[WEFT_DATATYPE_TEXT];
    MPI_Count bytes;
    int err = weft_check_out(function, NULL, status, "status");

    if (err == MPI_SUCCESS) {
        err = weft_check_type(function, datatype, &type);
    }
    if (err != MPI_SUCCESS) {
        return err;
    }
    if (count < 0) {
        return weft_raise(function, WEFT_E_COUNT, (long long)count);
    }
    bytes = weft_elements_bytes(type, (uint64_t)count);
    if (bytes < 0) {
        return weft_raise(function, WEFT_E_COUNT_HUGE, (long long)count,
                          weft_datatype_describe(type, text, sizeof(text)));
    }
    memcpy(status->MPI_internal, &bytes, sizeof(bytes));
    return MPI_SUCCESS;
}

int PMPI_Status_set_elements(MPI_Status *status, MPI_Datatype datatype, int count)
{
    return set_elements_checked("MPI_Status_set_elements", status, datatype, count);
}
WEFT_WEAK_ALIAS(MPI_Status_set_elements, PMPI_Status_set_elements);

int PMPI_Status_set_elements_c(MPI_Status *status, MPI_Datatype datatype, MPI_Count count)
{
    return set_elements_checked("MPI_Status_set_elements_c", status, datatype, count);
}
WEFT_WEAK_ALIAS(MPI_Status_set_elements_c, PMPI_Status_set_elements_c);

int PMPI_Status_set_elements_x(MPI_Status *status, MPI_Datatype datatype, MPI_Count count)
{
    return set_elements_checked("MPI_Status_set_elements_x", status, datatype, count);
}
WEFT_WEAK_ALIAS(MPI_Status_set_elements_x, PMPI_Status_set_elements_x);
