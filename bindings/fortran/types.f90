! types.f90 - what this compiler's types are: bytes of each, 0 if there is none, and the
! values of LOGICAL. register.c has the order.
subroutine weft_fortran_types(values) bind(C, name="weft_fortran_types")
    use, intrinsic :: iso_c_binding, only: c_int
    use, intrinsic :: iso_fortran_env, only: integer_kinds, logical_kinds, real_kinds
    implicit none
    integer(c_int), intent(out) :: values(25)
    logical, parameter :: yes = .true., no = .false.

    values(1) = storage_size(.true.) / 8
    values(2) = storage_size(0) / 8
    values(3) = storage_size(0.0) / 8
    values(4) = storage_size(0.0d0) / 8
    values(5) = have(logical_kinds, 1)
    values(6) = have(logical_kinds, 2)
    values(7) = have(logical_kinds, 4)
    values(8) = have(logical_kinds, 8)
    values(9) = have(logical_kinds, 16)
    values(10) = have(integer_kinds, 1)
    values(11) = have(integer_kinds, 2)
    values(12) = have(integer_kinds, 4)
    values(13) = have(integer_kinds, 8)
    values(14) = have(integer_kinds, 16)
    values(15) = have(real_kinds, 2)
    values(16) = have(real_kinds, 4)
    values(17) = have(real_kinds, 8)
    values(18) = have(real_kinds, 16)
    values(19) = 2 * have(real_kinds, 2)
    values(20) = 2 * have(real_kinds, 4)
    values(21) = 2 * have(real_kinds, 8)
    values(22) = 2 * have(real_kinds, 16)
    values(23) = 16
    values(24) = transfer(yes, 0_c_int)
    values(25) = transfer(no, 0_c_int)

contains

    pure integer(c_int) function have(kinds, bytes)
        integer, intent(in) :: kinds(:), bytes

        have = 0
        if (any(kinds == bytes)) have = bytes
    end function have
end subroutine weft_fortran_types
