! lib_constants.f90 - the shared library of constants.f90.
subroutine library_by_mpif(errors)
    implicit none
    include 'mpif.h'
    integer :: errors, value, ierror, ranks, requests(1)

    call MPI_COMM_SIZE(MPI_COMM_WORLD, ranks, ierror)
    value = 1
    call MPI_ALLREDUCE(MPI_IN_PLACE, value, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
    if (value /= ranks) errors = errors + 1
    call MPI_IBARRIER(MPI_COMM_WORLD, requests, ierror)
    call MPI_WAIT(requests(1), MPI_STATUS_IGNORE, ierror)
end subroutine library_by_mpif

subroutine library_by_module(errors)
    use mpi_f08
    implicit none
    integer :: errors, value, ranks
    type(MPI_Request) :: requests(1)

    call MPI_Comm_size(MPI_COMM_WORLD, ranks)
    value = 1
    call MPI_Allreduce(MPI_IN_PLACE, value, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    if (value /= ranks) errors = errors + 1
    call MPI_Ibarrier(MPI_COMM_WORLD, requests(1))
    call MPI_Waitall(1, requests, MPI_STATUSES_IGNORE)
end subroutine library_by_module
