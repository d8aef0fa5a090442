/*
 * sentinels.c - the constants of Fortran that are recognised by their address.
 *
 * Each is one variable, defined here. mpif.h names it as a COMMON block, the modules by
 * BIND(C). A program that is linked without PIC, or that includes mpif.h, has a
 * definition of its own, which the dynamic linker then gives to all; so these have
 * default visibility and their addresses are loaded, never assumed. They are aligned as
 * compilers align such blocks, so that a linker that merges both finds no difference.
 */
#include "fortran.h"

#define SENTINEL(type, name, items)                                                      \
    extern type name[items];                                                             \
    __attribute__((visibility("default"), aligned(32))) type name[items]

SENTINEL(int, mpi_fortran_bottom_, 1);
SENTINEL(int, mpi_fortran_in_place_, 1);
SENTINEL(int, mpi_fortran_buffer_automatic_, 1);
SENTINEL(int, mpi_fortran_status_ignore_, 8);
SENTINEL(int, mpi_fortran_statuses_ignore_, 8);
SENTINEL(int, mpi_f08_status_ignore_, 8);
SENTINEL(int, mpi_f08_statuses_ignore_, 8);
SENTINEL(int, mpi_fortran_errcodes_ignore_, 1);
SENTINEL(int, mpi_fortran_unweighted_, 1);
SENTINEL(int, mpi_fortran_weights_empty_, 1);
SENTINEL(char, mpi_fortran_argv_null_, 1);
SENTINEL(char, mpi_fortran_argvs_null_, 1);

void *weft_buffer(const void *address)
{
    if (address == mpi_fortran_bottom_) {
        return MPI_BOTTOM;
    }
    if (address == mpi_fortran_in_place_) {
        return MPI_IN_PLACE;
    }
    if (address == mpi_fortran_buffer_automatic_) {
        return MPI_BUFFER_AUTOMATIC;
    }
    return (void *)(uintptr_t)address;
}

MPI_Status *weft_status(int *status)
{
    _Static_assert(sizeof(MPI_Status) == 8 * sizeof(int), "a status is 8 INTEGERs");
    return status == mpi_fortran_status_ignore_ || status == mpi_f08_status_ignore_
               ? MPI_STATUS_IGNORE
               : (MPI_Status *)status;
}

MPI_Status *weft_statuses(int *statuses)
{
    return statuses == mpi_fortran_statuses_ignore_ ||
                   statuses == mpi_f08_statuses_ignore_
               ? MPI_STATUSES_IGNORE
               : (MPI_Status *)statuses;
}

int *weft_weights(const int *weights)
{
    if (weights == mpi_fortran_unweighted_) {
        return MPI_UNWEIGHTED;
    }
    if (weights == mpi_fortran_weights_empty_) {
        return MPI_WEIGHTS_EMPTY;
    }
    return (int *)(uintptr_t)weights;
}

int *weft_errcodes(int *errcodes)
{
    return errcodes == mpi_fortran_errcodes_ignore_ ? MPI_ERRCODES_IGNORE : errcodes;
}

bool weft_is_argv_null(const void *argv)
{
    return argv == mpi_fortran_argv_null_;
}

bool weft_is_argvs_null(const void *argvs)
{
    return argvs == mpi_fortran_argvs_null_;
}
