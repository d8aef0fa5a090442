! refused.f90 - errors that the Fortran library itself finds. They name the call, run the
! error handler of its object, and have an error code whose class is one of the standard.
! With an argument the program makes one of them while errors are fatal.
module handlers
    use mpi_f08
    implicit none
    integer :: handled = 0, code_handled = 0
    type(MPI_Comm) :: comm_handled

contains

    subroutine on_error(comm, error_code)
        type(MPI_Comm) :: comm
        integer :: error_code

        handled = handled + 1
        code_handled = error_code
        comm_handled = comm
    end subroutine on_error
end module handlers

program refused
    use mpi_f08
    use handlers
    implicit none
    integer, target, asynchronous :: x(12)
    integer :: errors = 0
    type(MPI_Datatype) :: gaps
    character(len=200) :: argument

    call MPI_Init()
    call MPI_Type_vector(2, 1, 2, MPI_INTEGER, gaps)
    call MPI_Type_commit(gaps)
    x = 1
    call get_command_argument(1, argument)
    if (index(argument, 'MPI_Isend') > 0) call send_gaps()
    if (index(argument, 'MPI_Allreduce') > 0) call reduce_much()
    call calls_are_named()
    call the_handler_of_the_object_is_called()
    call a_section_is_too_large_to_copy()
    call a_null_datatype_is_an_error_of_the_call()
    call nothing_grows()
    if (errors == 0) print '(a)', 'passed'
    call MPI_Finalize()
    if (errors /= 0) stop 1

contains

    subroutine send_gaps()
        type(MPI_Request) :: request

        call MPI_Isend(x(1:10:2), 1, gaps, MPI_PROC_NULL, 0, MPI_COMM_WORLD, request)
    end subroutine send_gaps

    ! The copy would be larger than the address space, so that malloc() refuses it.
    subroutine reduce_much(ierror)
        use, intrinsic :: iso_c_binding, only: c_f_pointer, c_loc
        integer, optional, intent(out) :: ierror
        integer, pointer :: much(:)

        call c_f_pointer(c_loc(x), much, [2_8**46])
        call MPI_Allreduce(much(::2), x, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
    end subroutine reduce_much

    subroutine expect(is_true, what)
        logical, intent(in) :: is_true
        character(len=*), intent(in) :: what

        if (.not. is_true) then
            errors = errors + 1
            print '(a)', what
        end if
    end subroutine expect

    subroutine expect_error(code, class, text)
        integer, intent(in) :: code, class
        character(len=*), intent(in) :: text
        character(len=MPI_MAX_ERROR_STRING) :: string
        integer :: found, length

        call MPI_Error_class(code, found)
        call MPI_Error_string(code, string, length)
        call expect(found == class, 'class of: ' // text)
        call expect(index(string, text) == 1, trim(string) // ' is not: ' // text)
    end subroutine expect_error

    subroutine calls_are_named()
        character(len=5), asynchronous :: words(6)
        type(MPI_Request) :: request
        integer :: code, again, other

        words = 'words'
        call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)
        call MPI_Send(x(1:10:2), 1, gaps, MPI_PROC_NULL, 0, MPI_COMM_WORLD, code)
        call expect_error(code, MPI_ERR_TYPE, &
            'MPI_Send: MPI_ERR_TYPE: the buffer is an array section, and the datatype has gaps')
        call MPI_Send(x(1:10:2), 1, gaps, MPI_PROC_NULL, 0, MPI_COMM_WORLD, again)
        call expect(code == again, 'the same error has the same code')
        call MPI_Isend(x(1:10:2), 1, gaps, MPI_PROC_NULL, 0, MPI_COMM_WORLD, request, other)
        call expect_error(other, MPI_ERR_TYPE, 'MPI_Isend: MPI_ERR_TYPE: ')
        call MPI_Send(x(1:10:2), 6, MPI_INTEGER, MPI_PROC_NULL, 0, MPI_COMM_WORLD, code)
        call expect_error(code, MPI_ERR_COUNT, &
            'MPI_Send: MPI_ERR_COUNT: the array section has fewer elements')
        call MPI_Send(words(1:6:2), 7, MPI_CHARACTER, MPI_PROC_NULL, 0, MPI_COMM_WORLD, code)
        call expect_error(code, MPI_ERR_TYPE, &
            'MPI_Send: MPI_ERR_TYPE: the buffer is an array section, and its last element')
        call MPI_Psend_init(x(1:10:2), 3, 2_MPI_COUNT_KIND, MPI_INTEGER, MPI_PROC_NULL, 0, &
            MPI_COMM_WORLD, MPI_INFO_NULL, request, code)
        call expect_error(code, MPI_ERR_COUNT, 'MPI_Psend_init: MPI_ERR_COUNT: ')
        call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL)
    end subroutine calls_are_named

    subroutine the_handler_of_the_object_is_called()
        type(MPI_Comm) :: comm
        type(MPI_Errhandler) :: handler
        type(MPI_File) :: file
        type(MPI_Win) :: win
        integer :: code

        call MPI_Comm_dup(MPI_COMM_WORLD, comm)
        call MPI_Comm_create_errhandler(on_error, handler)
        call MPI_Comm_set_errhandler(comm, handler)
        call MPI_Send(x(1:10:2), 6, MPI_INTEGER, MPI_PROC_NULL, 0, comm, code)
        call expect(handled == 1 .and. comm_handled == comm .and. code_handled == code, &
            'the handler of the communicator')
        call MPI_Comm_free(comm)
        call MPI_Errhandler_free(handler)
        call MPI_Win_create(x, 48_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_SELF, win)
        call MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN)
        call MPI_Put(x(1:10:2), 6, MPI_INTEGER, 0, 0_MPI_ADDRESS_KIND, 6, MPI_INTEGER, win, code)
        call expect_error(code, MPI_ERR_COUNT, 'MPI_Put: MPI_ERR_COUNT: ')
        call MPI_Win_free(win)
        call MPI_File_open(MPI_COMM_SELF, 'refused.out', ior(MPI_MODE_RDWR, &
            ior(MPI_MODE_CREATE, MPI_MODE_DELETE_ON_CLOSE)), MPI_INFO_NULL, file)
        call MPI_File_write(file, x(1:10:2), 6, MPI_INTEGER, MPI_STATUS_IGNORE, code)
        call expect_error(code, MPI_ERR_COUNT, 'MPI_File_write: MPI_ERR_COUNT: ')
        call MPI_File_close(file)
    end subroutine the_handler_of_the_object_is_called

    ! It is raised, and not only returned.
    subroutine a_section_is_too_large_to_copy()
        type(MPI_Errhandler) :: handler
        integer :: code

        handled = 0
        call MPI_Comm_create_errhandler(on_error, handler)
        call MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler)
        call reduce_much(code)
        call expect(handled == 1, 'the handler is told that there is no memory')
        call expect_error(code, MPI_ERR_NO_MEM, 'MPI_Allreduce: MPI_ERR_NO_MEM: ')
        call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL)
        call MPI_Errhandler_free(handler)
    end subroutine a_section_is_too_large_to_copy

    subroutine a_null_datatype_is_an_error_of_the_call()
        integer :: code

        call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)
        call MPI_Send(x(1:10:2), 1, MPI_DATATYPE_NULL, MPI_PROC_NULL, 0, MPI_COMM_WORLD, code)
        call expect_error(code, MPI_ERR_TYPE, 'MPI_Send on MPI_COMM_WORLD: MPI_ERR_TYPE: ')
        call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL)
    end subroutine a_null_datatype_is_an_error_of_the_call

    ! Resident pages of this process.
    integer function pages()
        integer :: unit, total

        open (newunit=unit, file='/proc/self/statm', action='read')
        read (unit, *) total, pages
        close (unit)
    end function pages

    ! An error leaves neither codes nor datatypes behind.
    subroutine nothing_grows()
        character(len=4), asynchronous :: words(6)
        integer :: i, code, before = 0, last
        integer(kind=MPI_ADDRESS_KIND) :: last_before, last_after
        logical :: is_set

        words = 'word'
        call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)
        do i = 1, 101000
            call MPI_Send(words(1:6:2), 16, MPI_CHARACTER, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &
                code)
            call MPI_Send(x(1:10:2), 1, gaps, MPI_PROC_NULL, 0, MPI_COMM_WORLD, last)
            if (i == 1000) then
                before = pages()
                call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, last_before, is_set)
            end if
        end do
        call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, last_after, is_set)
        call expect(pages() - before < 500, 'memory grows with the number of errors')
        call expect(last_before == last_after, 'codes grow with the number of errors')
        call expect_error(code, MPI_ERR_COUNT, 'MPI_Send: MPI_ERR_COUNT: ')
        call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL)
    end subroutine nothing_grows
end program refused
