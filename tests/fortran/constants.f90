! constants.f90 - constants that are recognised by their address, from a program and from
! a shared library, by mpif.h and by both modules in one program.
subroutine by_mpif(errors)
    implicit none
    include 'mpif.h'
    integer :: errors, values(4), requests(2), ierror, rank, ranks, i

    call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierror)
    call MPI_COMM_SIZE(MPI_COMM_WORLD, ranks, ierror)
    values = 1
    call MPI_ALLREDUCE(MPI_IN_PLACE, values, 4, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
    if (any(values /= ranks)) errors = errors + 1
    call MPI_IRECV(values(1), 1, MPI_INTEGER, rank, 0, MPI_COMM_WORLD, requests(1), ierror)
    call MPI_ISEND(values(2), 1, MPI_INTEGER, rank, 0, MPI_COMM_WORLD, requests(2), ierror)
    call MPI_WAITALL(2, requests, MPI_STATUSES_IGNORE, ierror)
    call MPI_SENDRECV(i, 0, MPI_INTEGER, rank, 0, i, 0, MPI_INTEGER, rank, 0, &
        MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
end subroutine by_mpif

subroutine by_mpi(errors)
    use mpi
    implicit none
    integer :: errors, value, requests(1), ierror, ranks, type
    integer(kind=MPI_ADDRESS_KIND) :: address(1)

    call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
    value = 1
    call MPI_Allreduce(MPI_IN_PLACE, value, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
    if (value /= ranks) errors = errors + 1
    call MPI_Get_address(value, address(1), ierror)
    call MPI_Type_create_hindexed(1, [1], address, MPI_INTEGER, type, ierror)
    call MPI_Type_commit(type, ierror)
    call MPI_Ibcast(MPI_BOTTOM, 1, type, 0, MPI_COMM_WORLD, requests(1), ierror)
    call MPI_Waitall(1, requests, MPI_STATUSES_IGNORE, ierror)
    call MPI_Type_free(type, ierror)
end subroutine by_mpi

subroutine by_f08(errors)
    use mpi_f08
    implicit none
    integer :: errors, value, ranks
    type(MPI_Request) :: requests(1)

    call MPI_Comm_size(MPI_COMM_WORLD, ranks)
    value = 1
    call MPI_Iallreduce(MPI_IN_PLACE, value, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, &
        requests(1))
    call MPI_Waitall(1, requests, MPI_STATUSES_IGNORE)
    if (value /= ranks) errors = errors + 1
    call MPI_Barrier(MPI_COMM_WORLD)
end subroutine by_f08

program constants
    use mpi
    implicit none
    integer :: errors = 0, rank, ierror

    call MPI_Init(ierror)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
    call by_mpif(errors)
    call by_mpi(errors)
    call by_f08(errors)
    call library_by_mpif(errors)
    call library_by_module(errors)
    if (rank == 0 .and. errors == 0) print '(a)', 'passed'
    call MPI_Finalize(ierror)
    if (errors /= 0) stop 1
end program constants
