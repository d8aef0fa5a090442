! callbacks.f90 - Fortran procedures that MPI calls: reduction operations, error handlers,
! attributes and generalized requests, of mpi_f08.
module procedures
    use mpi_f08
    implicit none
    integer :: handled = 0, copied = 0, deleted = 0, freed = 0

contains

    subroutine add_twice(invec, inoutvec, len, datatype)
        type(c_ptr), value :: invec, inoutvec
        integer :: len
        type(MPI_Datatype) :: datatype
        integer, pointer :: in(:), inout(:)

        if (datatype /= MPI_INTEGER) return
        call c_f_pointer(invec, in, [len])
        call c_f_pointer(inoutvec, inout, [len])
        inout = in + inout + 1
    end subroutine add_twice

    subroutine add_large(invec, inoutvec, len, datatype)
        type(c_ptr), value :: invec, inoutvec
        integer(kind=MPI_COUNT_KIND) :: len
        type(MPI_Datatype) :: datatype
        integer, pointer :: in(:), inout(:)

        if (datatype /= MPI_INTEGER) return
        call c_f_pointer(invec, in, [len])
        call c_f_pointer(inoutvec, inout, [len])
        inout = in + inout
    end subroutine add_large

    subroutine on_error(comm, error_code)
        type(MPI_Comm) :: comm
        integer :: error_code
        integer :: class

        call MPI_Error_class(error_code, class)
        if (comm == MPI_COMM_WORLD .and. class == MPI_ERR_RANK) handled = handled + 1
    end subroutine on_error

    subroutine copy_fn(comm, keyval, extra_state, attribute_val_in, attribute_val_out, flag, &
            ierror)
        type(MPI_Comm) :: comm
        integer :: keyval, ierror
        integer(kind=MPI_ADDRESS_KIND) :: extra_state, attribute_val_in, attribute_val_out
        logical :: flag

        copied = copied + 1
        attribute_val_out = attribute_val_in + extra_state
        flag = .true.
        ierror = MPI_SUCCESS
    end subroutine copy_fn

    subroutine delete_fn(comm, keyval, attribute_val, extra_state, ierror)
        type(MPI_Comm) :: comm
        integer :: keyval, ierror
        integer(kind=MPI_ADDRESS_KIND) :: attribute_val, extra_state

        deleted = deleted + 1
        ierror = MPI_SUCCESS
    end subroutine delete_fn

    subroutine query_fn(extra_state, status, ierror)
        integer(kind=MPI_ADDRESS_KIND) :: extra_state
        type(MPI_Status) :: status
        integer :: ierror

        call MPI_Status_set_elements(status, MPI_INTEGER, int(extra_state))
        call MPI_Status_set_cancelled(status, .false.)
        status%MPI_SOURCE = 3
        status%MPI_TAG = 4
        ierror = MPI_SUCCESS
    end subroutine query_fn

    subroutine free_fn(extra_state, ierror)
        integer(kind=MPI_ADDRESS_KIND) :: extra_state
        integer :: ierror

        freed = freed + 1
        ierror = MPI_SUCCESS
    end subroutine free_fn

    subroutine cancel_fn(extra_state, complete, ierror)
        integer(kind=MPI_ADDRESS_KIND) :: extra_state
        logical :: complete
        integer :: ierror

        ierror = MPI_SUCCESS
    end subroutine cancel_fn
end module procedures

program callbacks
    use procedures
    implicit none
    integer :: errors = 0, rank, ranks

    call MPI_Init()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks)
    call operations()
    call error_handlers()
    call attributes()
    call generalized_requests()
    call MPI_Allreduce(MPI_IN_PLACE, errors, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    if (rank == 0 .and. errors == 0) print '(a)', 'passed'
    call MPI_Finalize()
    if (errors /= 0) stop 1

contains

    subroutine expect(is_true, what)
        logical, intent(in) :: is_true
        character(len=*), intent(in) :: what

        if (.not. is_true) then
            errors = errors + 1
            print '(a,i0,2a)', 'rank ', rank, ': ', what
        end if
    end subroutine expect

    ! More objects than there are C functions: they are given back.
    subroutine operations()
        type(MPI_Op) :: op
        integer :: values(3), sums(3), i
        logical :: commute

        values = [1, 2, 3]
        do i = 1, 300
            call MPI_Op_create(add_twice, .true., op)
            if (i == 1 .or. i == 300) then
                call MPI_Allreduce(values, sums, 3, MPI_INTEGER, op, MPI_COMM_WORLD)
                call expect(all(sums == ranks * values + ranks - 1), 'operation of the user')
            end if
            call MPI_Op_commutative(op, commute)
            call expect(commute, 'commutative')
            call MPI_Op_free(op)
        end do
        call expect(op == MPI_OP_NULL, 'a freed operation')
        call MPI_Op_create_c(add_large, .false., op)
        call MPI_Allreduce(values, sums, 3, MPI_INTEGER, op, MPI_COMM_WORLD)
        call expect(all(sums == ranks * values), 'large operation of the user')
        call MPI_Allreduce(values, sums, 3_MPI_COUNT_KIND, MPI_INTEGER, op, MPI_COMM_WORLD)
        call expect(all(sums == ranks * values), 'large count')
        call MPI_Op_free(op)
    end subroutine operations

    subroutine error_handlers()
        type(MPI_Errhandler) :: errhandler, old
        integer :: ierror, i

        call MPI_Comm_get_errhandler(MPI_COMM_WORLD, old)
        call expect(old == MPI_ERRORS_ARE_FATAL .or. old == MPI_ERRORS_ABORT, 'default handler')
        do i = 1, 200
            call MPI_Comm_create_errhandler(on_error, errhandler)
            call MPI_Comm_set_errhandler(MPI_COMM_WORLD, errhandler)
            call MPI_Errhandler_free(errhandler)
        end do
        call MPI_Send(i, 1, MPI_INTEGER, ranks, 0, MPI_COMM_WORLD, ierror)
        call expect(handled == 1, 'the handler was called')
        call expect(ierror /= MPI_SUCCESS, 'an error code')
        call MPI_Comm_set_errhandler(MPI_COMM_WORLD, old)
    end subroutine error_handlers

    subroutine attributes()
        type(MPI_Comm) :: comm
        integer :: keyval
        integer(kind=MPI_ADDRESS_KIND) :: value
        logical :: flag

        call MPI_Comm_create_keyval(copy_fn, delete_fn, keyval, 7_MPI_ADDRESS_KIND)
        call MPI_Comm_set_attr(MPI_COMM_SELF, keyval, 2_MPI_ADDRESS_KIND**40)
        call MPI_Comm_dup(MPI_COMM_SELF, comm)
        call MPI_Comm_get_attr(comm, keyval, value, flag)
        call expect(flag .and. value == 2_8**40 + 7, 'copied attribute')
        call MPI_Comm_free(comm)
        call MPI_Comm_delete_attr(MPI_COMM_SELF, keyval)
        call expect(copied == 1 .and. deleted == 2, 'calls of attribute functions')
        call MPI_Comm_free_keyval(keyval)
        call expect(keyval == MPI_KEYVAL_INVALID, 'a freed key')
        call MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, keyval, &
            0_MPI_ADDRESS_KIND)
        call MPI_Comm_set_attr(MPI_COMM_SELF, keyval, 12_MPI_ADDRESS_KIND)
        call MPI_Comm_dup(MPI_COMM_SELF, comm)
        call MPI_Comm_get_attr(comm, keyval, value, flag)
        call expect(flag .and. value == 12, 'attribute copied by MPI_COMM_DUP_FN')
        call MPI_Comm_free(comm)
        call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, value, flag)
        call expect(flag .and. value >= 32767, 'MPI_TAG_UB')
    end subroutine attributes

    subroutine generalized_requests()
        type(MPI_Request) :: request
        type(MPI_Status) :: status
        integer :: count

        call MPI_Grequest_start(query_fn, free_fn, cancel_fn, 5_MPI_ADDRESS_KIND, request)
        call MPI_Grequest_complete(request)
        call MPI_Wait(request, status)
        call MPI_Get_elements(status, MPI_INTEGER, count)
        call expect(count == 5 .and. status%MPI_SOURCE == 3 .and. status%MPI_TAG == 4, &
            'status of a generalized request')
        call expect(freed == 1, 'the free function was called')
    end subroutine generalized_requests
end program callbacks
