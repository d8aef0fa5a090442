! module.f90 - `use mpi`: choice buffers of all kinds, MPI_Sizeof, memory, MPI-1's attributes.
program module
    use mpi
    use, intrinsic :: iso_c_binding, only: c_ptr, c_f_pointer
    implicit none
    integer :: rank, ranks, ierror, errors = 0, bytes, keyval, value, win, newtype, n
    integer :: status(MPI_STATUS_SIZE), matrix(3, 4), scalar, degree(1), comm
    real(8) :: x
    complex :: z(2, 2)
    logical :: flag
    type(c_ptr) :: memory
    integer(kind=MPI_ADDRESS_KIND) :: address, base, mem_size
    integer, pointer :: cells(:)

    call MPI_Init(ierror)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
    matrix = rank
    call MPI_Sendrecv(matrix(2, :), 4, MPI_INTEGER, 0, 0, matrix(:, 1), 4, MPI_INTEGER, &
        0, 0, MPI_COMM_SELF, status, ierror)
    call MPI_Finalized(flag, ierror)
    if (flag) errors = errors + 1
    scalar = rank
    call MPI_Bcast(scalar, 1, MPI_INTEGER, ranks - 1, MPI_COMM_WORLD, ierror)
    if (scalar /= ranks - 1) errors = errors + 1
    z = (1.0, 2.0)
    call MPI_Allreduce(MPI_IN_PLACE, z, 4, MPI_COMPLEX, MPI_SUM, MPI_COMM_WORLD, ierror)
    if (any(z /= ranks * (1.0, 2.0))) errors = errors + 1
    call MPI_Sizeof(x, bytes, ierror)
    if (bytes /= 8) errors = errors + 1
    call MPI_Sizeof(z, bytes, ierror)
    if (bytes /= 8) errors = errors + 1
    call MPI_Sizeof(matrix, bytes, ierror)
    if (bytes /= 4) errors = errors + 1
    mem_size = 40
    call MPI_Alloc_mem(mem_size, MPI_INFO_NULL, memory, ierror)
    call c_f_pointer(memory, cells, [10])
    cells = 3
    call MPI_Free_mem(cells, ierror)
    call MPI_Alloc_mem(mem_size, MPI_INFO_NULL, address, ierror)
    if (address == 0) errors = errors + 1
    call MPI_Win_allocate(mem_size, 4, MPI_INFO_NULL, MPI_COMM_WORLD, memory, win, ierror)
    call MPI_Win_get_attr(win, MPI_WIN_SIZE, base, flag, ierror)
    if (.not. flag .or. base /= 40) errors = errors + 1
    call MPI_Win_get_attr(win, MPI_WIN_BASE, base, flag, ierror)
    if (.not. flag .or. base /= transfer(memory, base)) errors = errors + 1
    call MPI_Win_free(win, ierror)
    call MPI_Keyval_create(MPI_DUP_FN, MPI_NULL_DELETE_FN, keyval, 0, ierror)
    call MPI_Attr_put(MPI_COMM_WORLD, keyval, -5, ierror)
    call MPI_Attr_get(MPI_COMM_WORLD, keyval, value, flag, ierror)
    if (.not. flag .or. value /= -5) errors = errors + 1
    call MPI_Type_create_f90_real(15, MPI_UNDEFINED, newtype, ierror)
    call MPI_Type_size(newtype, bytes, ierror)
    if (bytes /= 8) errors = errors + 1
    degree = 1
    call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, [mod(rank + 1, ranks)], &
        MPI_UNWEIGHTED, 1, [mod(rank + ranks - 1, ranks)], MPI_UNWEIGHTED, MPI_INFO_NULL, &
        .false., comm, ierror)
    call MPI_Dist_graph_neighbors_count(comm, n, scalar, flag, ierror)
    if (n /= 1 .or. flag) errors = errors + 1
    call MPI_Comm_free(comm, ierror)
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, ierror)
    call MPI_Send(x, 1, MPI_DOUBLE_PRECISION, ranks + 3, 0, MPI_COMM_WORLD, ierror)
    if (ierror == MPI_SUCCESS) errors = errors + 1
    call MPI_Allreduce(MPI_IN_PLACE, errors, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
    if (rank == 0 .and. errors == 0) print '(a)', 'passed'
    call MPI_Finalize(ierror)
    if (errors /= 0) stop 1
end program module
