! profiling.F90 - a tool in Fortran that defines MPI_Send of all three interfaces and calls
! PMPI_Send; tool.c is one in C, which sees what MPI_ procedures call and no PMPI_ procedure.
! With gfortran a procedure of mpi_f08 with a buffer is BIND(C).
module counts
    implicit none
    integer :: sends = 0
end module counts

subroutine MPI_SEND(buf, count, datatype, dest, tag, comm, ierror)
    use counts
    implicit none
    integer :: buf(*), count, datatype, dest, tag, comm, ierror

    sends = sends + 1
    call PMPI_SEND(buf, count, datatype, dest, tag, comm, ierror)
end subroutine MPI_SEND

#ifdef __flang__
subroutine MPI_Send_f08ts(buf, count, datatype, dest, tag, comm, ierror)
#else
subroutine MPI_Send_f08ts(buf, count, datatype, dest, tag, comm, ierror) &
        bind(C, name="mpi_send_f08ts_")
#endif
    use counts
    use mpi_f08, only: MPI_Datatype, MPI_Comm, PMPI_Send
    implicit none
    type(*), dimension(..), intent(in), asynchronous :: buf
    integer, intent(in) :: count, dest, tag
    type(MPI_Datatype), intent(in) :: datatype
    type(MPI_Comm), intent(in) :: comm
    integer, optional, intent(out) :: ierror

    sends = sends + 100
    call PMPI_Send(buf, count, datatype, dest, tag, comm, ierror)
end subroutine MPI_Send_f08ts

subroutine old_code(rank)
    use mpi
    implicit none
    integer :: rank, value(1), ierror, request

    call MPI_Irecv(value, 1, MPI_INTEGER, rank, 1, MPI_COMM_WORLD, request, ierror)
    value = 4
    call MPI_Send(value, 1, MPI_INTEGER, rank, 1, MPI_COMM_WORLD, ierror)
    call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
end subroutine old_code

program profiling
    use mpi_f08
    use counts
    implicit none
    integer :: rank, errors = 0, value(2)
    type(MPI_Request) :: request
    interface
        integer(c_int) function tool_sends() bind(C)
            import
        end function tool_sends
        integer(c_int) function tool_receives() bind(C)
            import
        end function tool_receives
    end interface

    call MPI_Init()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call old_code(rank)
    call MPI_Irecv(value(1), 1, MPI_INTEGER, rank, 2, MPI_COMM_WORLD, request)
    call MPI_Send(value(2), 1, MPI_INTEGER, rank, 2, MPI_COMM_WORLD)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call PMPI_Irecv(value(1), 1, MPI_INTEGER, rank, 2, MPI_COMM_WORLD, request)
    call PMPI_Send(value(2), 1, MPI_INTEGER, rank, 2, MPI_COMM_WORLD)
    call PMPI_Wait(request, MPI_STATUS_IGNORE)
    if (sends /= 101) errors = errors + 1
    if (tool_sends() /= 0) errors = errors + 1
    if (tool_receives() /= 2) errors = errors + 1
    if (rank == 0 .and. errors == 0) print '(a)', 'passed'
    if (errors /= 0) print *, sends, tool_sends(), tool_receives()
    call MPI_Finalize()
    if (errors /= 0) stop 1
end program profiling
