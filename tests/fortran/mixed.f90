! mixed.f90 - a Fortran part of a C program, which initialises MPI (mixed_main.c).
subroutine fortran_part(comm, errors)
    use mpi
    implicit none
    integer :: comm, errors, ierror, ranks, keyval
    logical :: all_true, flag
    integer(kind=MPI_ADDRESS_KIND) :: value

    all_true = .true.
    call MPI_Allreduce(MPI_IN_PLACE, all_true, 1, MPI_LOGICAL, MPI_LAND, comm, ierror)
    if (.not. all_true) errors = errors + 1
    call MPI_Comm_size(comm, ranks, ierror)
    if (ranks < 1) errors = errors + 1
    call MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, keyval, &
        0_MPI_ADDRESS_KIND, ierror)
    call MPI_Comm_set_attr(comm, keyval, 77_MPI_ADDRESS_KIND, ierror)
    call look_from_c(comm, keyval, errors)
    call MPI_Comm_get_attr(comm, keyval, value, flag, ierror)
    if (.not. flag .or. value /= 4096) errors = errors + 1 ! the pointer that C has set
end subroutine fortran_part
