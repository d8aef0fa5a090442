! subarrays.f90 - array sections as buffers of mpi_f08: point-to-point, blocking and not,
! with all and with a part of the elements, collectives, reductions, persistent and
! partitioned calls.
program subarrays
    use mpi_f08
    implicit none
    integer :: rank, ranks, other, errors = 0

    if (.not. MPI_SUBARRAYS_SUPPORTED) errors = errors + 1
    if (.not. MPI_ASYNC_PROTECTS_NONBLOCKING) errors = errors + 1
    call MPI_Init()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks)
    other = 1 - rank
    call strided_section_overlaps()
    call rows_of_a_matrix()
    call part_of_a_section()
    call bytes_of_a_section()
    call section_backwards()
    call collectives_copy()
    call reductions_take_sections()
    call nonblocking_reduction()
    call persistent_reduction()
    call elements_that_mpi_does_not_write()
    call results_before_the_end()
    call persistent_results_once()
    call windows_take_sections()
    call partitions_take_sections()
    call uneven_partitions_are_refused()
    call MPI_Allreduce(MPI_IN_PLACE, errors, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    if (rank == 0 .and. errors == 0) print '(a)', 'passed'
    if (errors /= 0) print '(a,i0,a)', 'FAILED: ', errors, ' errors'
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

    ! A copy made for the call would be gone when the message arrives.
    subroutine strided_section_overlaps()
        integer, asynchronous :: out(100000), in(100000)
        type(MPI_Request) :: requests(2)
        integer :: i

        out = [(i + rank * 1000000, i = 1, size(out))]
        in = -1
        call MPI_Irecv(in(2::3), 30000, MPI_INTEGER, other, 1, MPI_COMM_WORLD, requests(1))
        call MPI_Isend(out(1::3), 30000, MPI_INTEGER, other, 1, MPI_COMM_WORLD, requests(2))
        call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
        call expect(all(in(2:3 * 30000 - 1:3) == &
            [(1 + 3 * (i - 1) + other * 1000000, i = 1, 30000)]), 'strided, nonblocking')
        call expect(all(in(1::3) == -1), 'elements between those received')
        call expect(all(in(90002:) == -1), 'elements behind those received')
    end subroutine strided_section_overlaps

    subroutine rows_of_a_matrix()
        real(8) :: a(7, 5), b(5, 7)
        type(MPI_Status) :: status
        integer :: i, j, count

        a = reshape([((real(10 * i + j + 100 * rank, 8), i = 1, 7), j = 1, 5)], [7, 5])
        b = 0
        call MPI_Sendrecv(a(2:6:2, 1:3), 9, MPI_DOUBLE_PRECISION, other, 2, &
            b(1:5:2, 2:7:2), 9, MPI_DOUBLE_PRECISION, other, 2, MPI_COMM_WORLD, status)
        call expect(all(b(1:5:2, 2:7:2) - 100 * other == &
            reshape([21, 41, 61, 22, 42, 62, 23, 43, 63], [3, 3])), 'rows')
        call expect(all(b(2:4:2, :) == 0) .and. all(b(:, 1:7:2) == 0), 'between the rows')
        call MPI_Get_count(status, MPI_DOUBLE_PRECISION, count)
        call expect(count == 9 .and. status%MPI_SOURCE == other, 'status')
    end subroutine rows_of_a_matrix

    subroutine part_of_a_section()
        integer :: a(6, 6, 3), b(20), i

        a = reshape([(i + 1000 * rank, i = 1, 108)], [6, 6, 3])
        b = 0
        call MPI_Sendrecv(a(1:5:2, 2:6:2, 1:3:2), 14, MPI_INTEGER, other, 4, b, 20, &
            MPI_INTEGER, other, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
        call expect(all(b(1:14) - 1000 * other == &
            [7, 9, 11, 19, 21, 23, 31, 33, 35, 79, 81, 83, 91, 93]), '14 of 18 elements')
        call expect(all(b(15:) == 0), 'behind the 14 elements')
    end subroutine part_of_a_section

    subroutine bytes_of_a_section()
        character(len=3) :: out(6), in(6)
        type(MPI_Datatype) :: pair
        integer :: numbers(12), received(12), i

        out = ['abc', 'def', 'ghi', 'jkl', 'mno', 'pqr']
        in = '---'
        call MPI_Sendrecv(out(2::2), 9, MPI_CHARACTER, other, 5, in(1::2), 9, MPI_CHARACTER, &
            other, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
        call expect(all(in == ['def', '---', 'jkl', '---', 'pqr', '---']), 'characters')
        numbers = [(i, i = 1, 12)]
        received = 0
        call MPI_Type_contiguous(2, MPI_INTEGER, pair)
        call MPI_Type_commit(pair)
        call MPI_Sendrecv(numbers(1::2), 3, pair, other, 6, received, 6, MPI_INTEGER, other, &
            6, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
        call MPI_Type_free(pair)
        call expect(all(received(:6) == [1, 3, 5, 7, 9, 11]), 'pairs of elements')
    end subroutine bytes_of_a_section

    subroutine section_backwards()
        integer :: a(10), b(10), i

        a = [(i, i = 1, 10)]
        call MPI_Sendrecv(a(10:1:-1), 10, MPI_INTEGER, other, 7, b, 10, MPI_INTEGER, other, &
            7, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
        call expect(all(b == [(11 - i, i = 1, 10)]), 'backwards')
    end subroutine section_backwards

    subroutine collectives_copy()
        integer :: a(4, 4), b(4, 2 * ranks), i

        a = reshape([(i + 100 * rank, i = 1, 16)], [4, 4])
        b = 0
        call MPI_Allgather(a(2, :), 4, MPI_INTEGER, b(1:4:3, :), 4, MPI_INTEGER, &
            MPI_COMM_WORLD)
        call expect(all(b(1:4:3, 1:2) == reshape([2, 6, 10, 14], [2, 2])), 'allgather')
        call expect(all(b(2:3, :) == 0), 'allgather: between the elements')
        call MPI_Bcast(a(1, :), 4, MPI_INTEGER, 0, MPI_COMM_WORLD)
        call expect(all(a(1, :) == [1, 5, 9, 13]), 'bcast')
        call expect(all(a(2, :) == [2, 6, 10, 14] + 100 * rank), 'bcast: another row')
    end subroutine collectives_copy

    subroutine reductions_take_sections()
        real :: a(6), b(9)

        a = rank + 1
        b = 0
        call MPI_Allreduce(a(1::2), b(1::3), 3, MPI_REAL, MPI_SUM, MPI_COMM_WORLD)
        call expect(all(b(1::3) == 3), 'allreduce')
        call expect(all(b(2::3) == 0), 'allreduce: between the elements')
        b = rank
        call MPI_Allreduce(MPI_IN_PLACE, b(1::4), 3, MPI_REAL, MPI_MAX, MPI_COMM_WORLD)
        call expect(all(b(1::4) == 1) .and. b(2) == rank, 'allreduce in place')
    end subroutine reductions_take_sections

    subroutine nonblocking_reduction()
        integer, asynchronous :: a(10), b(10)
        type(MPI_Request) :: request
        logical :: flag

        a = rank + 5
        b = 0
        call MPI_Iallreduce(a(::2), b(2::2), 5, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, request)
        flag = .false.
        do while (.not. flag)
            call MPI_Test(request, flag, MPI_STATUS_IGNORE)
        end do
        call MPI_F_sync_reg(b)
        call expect(all(b(2::2) == 11) .and. all(b(1::2) == 0), 'iallreduce')
        call expect(request == MPI_REQUEST_NULL, 'request of iallreduce')
    end subroutine nonblocking_reduction

    subroutine persistent_reduction()
        integer, asynchronous :: a(10), b(10)
        type(MPI_Request) :: request
        integer :: round

        b = 0
        call MPI_Allreduce_init(a(::2), b(2::2), 5, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, &
            MPI_INFO_NULL, request)
        do round = 1, 3
            a = rank + round
            call MPI_F_sync_reg(a)
            call MPI_Start(request)
            call MPI_Wait(request, MPI_STATUS_IGNORE)
            call MPI_F_sync_reg(b)
            call expect(all(b(2::2) == 2 * round + 1), 'allreduce_init')
        end do
        call MPI_Request_free(request)
    end subroutine persistent_reduction

    ! The program may change them while the operation goes on.
    subroutine elements_that_mpi_does_not_write()
        integer, asynchronous :: mine(4), all_of_them(0:15), sums(8)
        integer :: counts(2), places(2)
        type(MPI_Request) :: request

        mine = rank + 1
        sums = -1
        call MPI_Ireduce(mine, sums(1:8:2), 4, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, request)
        if (rank /= 0) sums = 5
        call MPI_Wait(request, MPI_STATUS_IGNORE)
        call expect(all(sums(1::2) == merge(3, 5, rank == 0)), 'ireduce')
        call expect(all(sums(2::2) == merge(-1, 5, rank == 0)), 'ireduce: between the elements')
        counts = 1
        places = [0, 4]
        all_of_them = -1
        call MPI_Igatherv(mine, 1, MPI_INTEGER, all_of_them(0:15:2), counts, places, MPI_INTEGER, &
            0, MPI_COMM_WORLD, request)
        all_of_them(4) = 77
        call MPI_Wait(request, MPI_STATUS_IGNORE)
        call expect(all_of_them(4) == 77, 'igatherv: between the blocks')
        if (rank == 0) call expect(all(all_of_them(0:8:8) == [1, 2]), 'igatherv: the blocks')
    end subroutine elements_that_mpi_does_not_write

    ! A request is complete as soon as MPI_Request_get_status says so. What the program
    ! writes after that stays when the request is freed by MPI_Wait.
    subroutine results_before_the_end()
        integer, asynchronous :: mine(2), in(10, 4)
        type(MPI_Request) :: requests(4)
        type(MPI_Status) :: statuses(4)
        integer :: index, indices(4), count, i, total
        logical :: flag

        mine = rank + 1
        in = -1
        do i = 1, 4
            call MPI_Iallgather(mine, 2, MPI_INTEGER, in(1:8:2, i), 2, MPI_INTEGER, &
                MPI_COMM_WORLD, requests(i))
        end do
        flag = .false.
        do while (.not. flag)
            call MPI_Request_get_status(requests(1), flag, statuses(1))
        end do
        call expect_gathered(in(:, 1), 'get_status')
        flag = .false.
        do while (.not. flag)
            call MPI_Request_get_status_any(1, requests(2:2), index, flag, statuses(2))
        end do
        call expect(index == 1, 'get_status_any: index')
        call expect_gathered(in(:, 2), 'get_status_any')
        total = 0
        do while (total == 0)
            call MPI_Request_get_status_some(1, requests(3:3), count, indices, statuses)
            total = total + count
        end do
        call expect(indices(1) == 1, 'get_status_some: index')
        call expect_gathered(in(:, 3), 'get_status_some')
        flag = .false.
        do while (.not. flag)
            call MPI_Request_get_status_all(4, requests, flag, statuses)
        end do
        call expect_gathered(in(:, 4), 'get_status_all')
        in = 9
        call MPI_Waitall(4, requests, statuses)
        call MPI_F_sync_reg(in)
        call expect(all(in == 9), 'waitall after get_status_all')
    end subroutine results_before_the_end

    subroutine expect_gathered(in, what)
        integer, asynchronous, intent(inout) :: in(10)
        character(len=*), intent(in) :: what

        call MPI_F_sync_reg(in)
        call expect(all(in(1:8:2) == [1, 1, 2, 2]) .and. all(in(2:8:2) == -1), what)
    end subroutine expect_gathered

    ! An inactive request brings nothing back, whatever its last operation has left.
    subroutine persistent_results_once()
        integer, asynchronous :: a(4), b(4)
        type(MPI_Request) :: request
        logical :: flag

        a = rank + 1
        b = 0
        call MPI_Allreduce_init(a(::2), b(::2), 2, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, &
            MPI_INFO_NULL, request)
        b = 4
        call MPI_Wait(request, MPI_STATUS_IGNORE)
        call MPI_F_sync_reg(b)
        call expect(all(b == 4), 'wait before the first start')
        call MPI_Start(request)
        call MPI_Wait(request, MPI_STATUS_IGNORE)
        call MPI_F_sync_reg(b)
        call expect(all(b == [3, 4, 3, 4]), 'the first round')
        b = 7
        call MPI_Test(request, flag, MPI_STATUS_IGNORE)
        call MPI_F_sync_reg(b)
        call expect(flag .and. all(b == 7), 'test of an inactive request')
        call MPI_Request_free(request)
    end subroutine persistent_results_once

    subroutine windows_take_sections()
        integer, asynchronous :: memory(6)
        integer :: mine(6)
        type(MPI_Win) :: win
        integer(kind=MPI_ADDRESS_KIND) :: bytes

        memory = -1
        mine = [1, 2, 3, 4, 5, 6] + 10 * rank
        bytes = 24
        call MPI_Win_create(memory, bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win)
        call MPI_Win_fence(0, win)
        call MPI_Put(mine(2::2), 3, MPI_INTEGER, other, 1_MPI_ADDRESS_KIND, 3, MPI_INTEGER, win)
        call MPI_Win_fence(0, win)
        call MPI_F_sync_reg(memory)
        call expect(all(memory == [-1, 2, 4, 6, -1, -1] + &
            merge(10 * other, 0, [.false., .true., .true., .true., .false., .false.])), 'put')
        call MPI_Win_free(win)
    end subroutine windows_take_sections

    ! All partitions of `out` arrive in `in`, which may have others.
    subroutine send_partitions(out, out_partitions, in, in_partitions)
        integer, asynchronous, intent(in) :: out(..)
        integer, asynchronous :: in(..)
        integer, intent(in) :: out_partitions, in_partitions
        type(MPI_Request) :: requests(2)
        integer(kind=MPI_COUNT_KIND) :: count

        count = size(in) / in_partitions
        call MPI_Precv_init(in, in_partitions, count, MPI_INTEGER, other, 8, MPI_COMM_WORLD, &
            MPI_INFO_NULL, requests(1))
        count = size(out) / out_partitions
        call MPI_Psend_init(out, out_partitions, count, MPI_INTEGER, other, 8, MPI_COMM_WORLD, &
            MPI_INFO_NULL, requests(2))
        call MPI_Startall(2, requests)
        call MPI_Pready_range(0, out_partitions - 1, requests(2))
        call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
        call MPI_Request_free(requests(1))
        call MPI_Request_free(requests(2))
    end subroutine send_partitions

    subroutine partitions_take_sections()
        integer, asynchronous :: a(6, 6, 4), b(6, 6, 4), c(24)
        integer :: i

        a = reshape([(i, i = 1, 144)], [6, 6, 4])
        b = 0
        call send_partitions(a(1:6:2, 2, 2), 3, b(2:4, 3, 1), 3)
        call expect(all(b(2:4, 3, 1) == a(1:6:2, 2, 2)), 'partitions of one dimension')
        b = 0
        call send_partitions(a(6:1:-1, 2, 2), 3, b(:, 1, 1), 2)
        call expect(all(b(:, 1, 1) == a(6:1:-1, 2, 2)), 'partitions backwards')
        b = 0
        call send_partitions(a(2:5, 1:6:2, 1), 3, b(1:6:5, :, 1), 6)
        call expect(all(reshape(b(1:6:5, :, 1), [12]) == reshape(a(2:5, 1:6:2, 1), [12])), &
            'columns')
        call expect(all(b(2:5, :, 1) == 0) .and. all(b(:, :, 2:) == 0), 'between the columns')
        c = 0
        call send_partitions(a(2:4, 1:6:3, :), 4, c, 8)
        call expect(all(c == reshape(a(2:4, 1:6:3, :), [24])), 'planes')
        b = 0
        call send_partitions(c, 2, b(1:3, 1:2, :), 2)
        call expect(all(reshape(b(1:3, 1:2, :), [24]) == c), 'pairs of planes')
        b = 0
        call send_partitions(c, 6, b(1:6:2, :4, 1:4:2), 1)
        call expect(all(reshape(b(1:6:2, :4, 1:4:2), [24]) == c), 'a single partition')
    end subroutine partitions_take_sections

    ! Partitions of two elements, from columns of three.
    subroutine uneven_partitions_are_refused()
        integer, asynchronous :: a(6, 4)
        type(MPI_Request) :: request
        character(len=MPI_MAX_ERROR_STRING) :: text
        integer :: ierror, class, length

        call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)
        call MPI_Psend_init(a(1:3, :), 6, 2_MPI_COUNT_KIND, MPI_INTEGER, other, 9, &
            MPI_COMM_WORLD, MPI_INFO_NULL, request, ierror)
        call MPI_Error_class(ierror, class)
        call MPI_Error_string(ierror, text, length)
        call expect(class == MPI_ERR_BUFFER .and. index(text, 'equal steps') > 0, &
            'partitions across columns')
        call MPI_Psend_init(a(1:3, :), 6, 3_MPI_COUNT_KIND, MPI_INTEGER, other, 9, &
            MPI_COMM_WORLD, MPI_INFO_NULL, request, ierror)
        call MPI_Error_class(ierror, class)
        call expect(class == MPI_ERR_COUNT, 'more partitions than the section has')
        call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL)
    end subroutine uneven_partitions_are_refused
end program subarrays
