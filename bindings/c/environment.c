/*
 * environment.c - MPI-5.0 chapter 9: versions, names, time, memory, hardware.
 */
#include "binding.h"

#include "base/clock.h"
#include "progress/lock.h"
#include "version.h"

#include <stdio.h>
#include <string.h>

int PMPI_Get_version(int *version, int *subversion)
{
    int err = weft_check_out("MPI_Get_version", NULL, version, "version");

    if (err == MPI_SUCCESS) {
        err = weft_check_out("MPI_Get_version", NULL, subversion, "subversion");
    }
    if (err == MPI_SUCCESS) {
        *version = MPI_VERSION;
        *subversion = MPI_SUBVERSION;
    }
    return err;
}
WEFT_WEAK_ALIAS(MPI_Get_version, PMPI_Get_version);

/* Copies `text` into a user's buffer of `size` bytes and tells its length. */
static void give_string(char *to, size_t size, int *length, const char *text)
{
    int n = snprintf(to, size, "%s", text);

    *length = (size_t)n < size ? n : (int)size - 1;
}

int PMPI_Get_library_version(char *version, int *resultlen)
{
    int err = weft_check_out("MPI_Get_library_version", NULL, version, "version");

    if (err == MPI_SUCCESS) {
        err = weft_check_out("MPI_Get_library_version", NULL, resultlen, "resultlen");
    }
    if (err == MPI_SUCCESS) {
        give_string(version, MPI_MAX_LIBRARY_VERSION_STRING, resultlen,
                    "Weft " WEFT_VERSION ", MPI " WEFT_MPI_VERSION
                    ", ABI " WEFT_ABI_VERSION);
    }
    return err;
}
WEFT_WEAK_ALIAS(MPI_Get_library_version, PMPI_Get_library_version);

int PMPI_Get_processor_name(char *name, int *resultlen)
{
    int err = weft_check_world("MPI_Get_processor_name");

    if (err == MPI_SUCCESS) {
        err = weft_check_out("MPI_Get_processor_name", NULL, name, "name");
    }
    if (err == MPI_SUCCESS) {
        err = weft_check_out("MPI_Get_processor_name", NULL, resultlen, "resultlen");
    }
    if (err == MPI_SUCCESS) {
        give_string(name, MPI_MAX_PROCESSOR_NAME, resultlen, weft_runtime_host());
    }
    return err;
}
WEFT_WEAK_ALIAS(MPI_Get_processor_name, PMPI_Get_processor_name);

double PMPI_Wtime(void)
{
    return 1e-9 * (double)weft_clock_ns();
}
WEFT_WEAK_ALIAS(MPI_Wtime, PMPI_Wtime);

double PMPI_Wtick(void)
{
    return 1e-9 * (double)weft_clock_resolution_ns();
}
WEFT_WEAK_ALIAS(MPI_Wtick, PMPI_Wtick);
