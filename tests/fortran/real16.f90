! real16.f90 - REAL*16 and COMPLEX*32: messages, reductions, packing, and the types of a precision.
program quad
    use mpi_f08
    implicit none
    integer, parameter :: rp = selected_real_kind(33)
    integer :: rank, ranks, bytes, errors = 0
    integer(kind=MPI_ADDRESS_KIND) :: position, room
    real(rp) :: x(3), y(3), third
    complex(rp) :: z, w
    character :: packed(64)
    type(MPI_Datatype) :: type

    call MPI_Init()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks)
    call MPI_Type_size(MPI_REAL16, bytes)
    if (bytes /= 16) errors = errors + 1
    call MPI_Type_size(MPI_COMPLEX32, bytes)
    if (bytes /= 32) errors = errors + 1

    third = 1.0_rp / 3.0_rp   ! all digits count
    x = [third, -third, rank * third]
    call MPI_Sendrecv(x, 3, MPI_REAL16, mod(rank + 1, ranks), 0, y, 3, MPI_REAL16, &
        mod(rank + ranks - 1, ranks), 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    if (any(y(1:2) /= x(1:2))) errors = errors + 1
    call MPI_Allreduce(x, y, 3, MPI_REAL16, MPI_MAX, MPI_COMM_WORLD)
    if (y(3) /= (ranks - 1) * third) errors = errors + 1
    call MPI_Allreduce(x, y, 2, MPI_REAL16, MPI_SUM, MPI_COMM_WORLD)
    if (abs(y(1) - ranks * third) > 1e-30_rp) errors = errors + 1
    z = cmplx(third, 1.0_rp, rp)
    call MPI_Allreduce(z, w, 1, MPI_COMPLEX32, MPI_PROD, MPI_COMM_WORLD)
    if (abs(w - z**ranks) > 1e-30_rp) errors = errors + 1

    call MPI_Type_create_f90_real(33, MPI_UNDEFINED, type)
    call MPI_Allreduce(x, y, 1, type, MPI_MIN, MPI_COMM_WORLD)
    if (y(1) /= third) errors = errors + 1
    call MPI_Type_match_size(MPI_TYPECLASS_REAL, 16, type)
    if (type /= MPI_REAL16) errors = errors + 1
    position = 0
    room = 64
    call MPI_Pack_external('external32', w, 1, MPI_COMPLEX32, packed, room, position)
    if (position /= 32) errors = errors + 1
    position = 0
    call MPI_Unpack_external('external32', packed, room, position, z, 1, MPI_COMPLEX32)
    if (z /= w) errors = errors + 1

    call MPI_Allreduce(MPI_IN_PLACE, errors, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    if (rank == 0 .and. errors == 0) print '(a)', 'passed'
    call MPI_Finalize()
    if (errors /= 0) stop 1
end program quad
