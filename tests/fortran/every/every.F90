! every.F90 - calls every procedure of MPI once, with real arguments, and looks at what comes
! back. One source for mpif.h, use mpi, mpi_f08, and mpi_f08 with large counts: forms.inc has
! the differences, and CK is the kind of a count. run.py builds all four, and fails if
! bindings/spec has a procedure that none of the calls has entered.
!
! Errors of MPI are fatal here but for what is expected to fail. Most calls go from a rank to
! itself: b gets what is in a.
#include "forms.inc"
module shared
#ifdef F08
    use mpi_f08
#elif !defined(MPIF)
    use mpi
    use, intrinsic :: iso_c_binding, only: c_associated, c_f_pointer, c_ptr
#endif
    implicit none
#ifdef MPIF
    include 'mpif.h'
#endif
#ifdef LARGE
    integer, parameter :: CK = MPI_COUNT_KIND
#else
    integer, parameter :: CK = kind(0)
#endif
    integer, parameter :: AK = MPI_ADDRESS_KIND, OK = MPI_OFFSET_KIND
    integer, target :: a(8), b(8)
    integer :: ierr, me, errors = 0, called = 0
    logical :: flag
    HANDLE(MPI_Comm) :: self, world
    HANDLE(MPI_Datatype) :: ints, types(1)
    HANDLE(MPI_Request) :: req, reqs(2)
    STATUS_TYPE :: status
    STATUSES(stats, 2)
    integer(CK) :: cnt(1), dsp(1)
    integer(AK) :: adsp(1)
    POINTER_TYPE :: place

contains

#include "callbacks.inc"

    subroutine expect(is_true, line)
        logical, intent(in) :: is_true
        integer, intent(in) :: line

        if (.not. is_true) then
            errors = errors + 1
            print '(a,i0,a,i0,a,8i6,a,8i6)', 'rank ', me, ', line ', line, ': a:', a, ' b:', b
        end if
    end subroutine expect

    subroutine fresh()
        integer :: i

        a = [(10 + i, i = 1, 8)]
        b = 0
    end subroutine fresh

    ! The first four of a have arrived in b, and nothing else.
    subroutine got(line)
        integer, intent(in) :: line

        call expect(all(b(:4) == a(:4)) .and. all(b(5:) == 0), line)
        call fresh()
    end subroutine got

    ! Like got, of a nonblocking call, a persistent one, and a pair of each.
    subroutine waited(line)
        integer, intent(in) :: line

        call MPI_Wait(req, status, ierr)
        call got(line)
    end subroutine waited

    subroutine started(line)
        integer, intent(in) :: line

        call MPI_Start(req, ierr)
        call MPI_Wait(req, status, ierr)
        call MPI_Request_free(req, ierr)
        call got(line)
    end subroutine started

    subroutine waited2(line)
        integer, intent(in) :: line

        call MPI_Waitall(2, reqs, stats, ierr)
        call got(line)
    end subroutine waited2

    subroutine started2(line)
        integer, intent(in) :: line

        call MPI_Startall(2, reqs, ierr)
        call MPI_Waitall(2, reqs, stats, ierr)
        call MPI_Request_free(reqs(1), ierr)
        call MPI_Request_free(reqs(2), ierr)
        call got(line)
    end subroutine started2

    ! The call before has failed with an error of this class.
    subroutine refused(class, line)
        integer, intent(in) :: class, line
        integer :: got_class

        call MPI_Error_class(ierr, got_class, ierr)
        call expect(got_class == class, line)
        if (got_class /= class) print '(a,i0)', 'class ', got_class
    end subroutine refused
end module shared

program every
    use shared
    implicit none
    character(len=8) :: argument
    integer :: provided

    call get_command_argument(1, argument)
    call MPI_Initialized(flag, ierr)
    call expect(.not. flag, __LINE__)
    if (argument == 'abort') then
        call MPI_Init_thread(MPI_THREAD_MULTIPLE, provided, ierr)
        call expect(provided >= MPI_THREAD_SINGLE, __LINE__)
        call MPI_Abort(MPI_COMM_WORLD, 7, ierr)
    end if
    call MPI_Init(ierr)
    self = MPI_COMM_SELF
    world = MPI_COMM_WORLD
    ints = MPI_INTEGER
    call MPI_Comm_rank(world, me, ierr)
    call MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_ARE_FATAL, ierr)
    cnt = 4
    dsp = 0
    adsp = 0
    types = ints
    call fresh()
    call messages()
    call completion()
    call buffers()
    call partitions()
    call datatypes()
    call packing()
    call collectives()
    call neighbors()
    call communicators()
    call intercommunicators()
    call groups()
    call attributes()
    call topologies()
    call environment()
    call handlers()
    call infos()
    call sessions()
    call processes()
    call windows()
    call files()
    call file_transfers()
    call MPI_Allreduce(errors, b, 1_CK, ints, MPI_SUM, world, ierr)
    if (me == 0 .and. b(1) == 0) print '(a)', 'passed'
    call MPI_Finalize(ierr)
    call MPI_Finalized(flag, ierr)
    if (b(1) /= 0 .or. .not. flag) stop 1

contains

#include "messages.inc"
#include "datatypes.inc"
#include "collectives.inc"
#include "communicators.inc"
#include "environment.inc"
#include "windows.inc"
#include "files.inc"
end program every
