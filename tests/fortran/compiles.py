"""compiles.py MPIFORT - what gfortran makes of programs, by the interfaces and mpif.h.

Each program is compiled, and not linked. One that is wrong is to be refused by the compiler.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

MPIF = """
      program p
      implicit none
      include 'mpif.h'
      integer ierror
      call MPI_INIT(ierror)
      end
"""
# What it is, file, flags, a part of the error or None if it is right, the program.
PROGRAMS = [
    ("use mpi beside names of ISO_C_BINDING", "a.f90", [], None, """
use mpi
implicit none
integer, parameter :: c_int = 4, c_double = 8
integer :: c_long, c_loc, c_ptr, c_f_pointer, c_char
real(c_double) :: c_short
c_long = 1; c_loc = c_int; c_short = 3; c_ptr = 4; c_f_pointer = 5; c_char = 6
call MPI_Init(c_loc)
call MPI_Finalize(c_loc)
end
"""),
    ("use mpi in Fortran 95", "a.f90", ["-std=f95"], None, """
use mpi
implicit none
integer :: ierror
call MPI_Init(ierror)
end
"""),
    ("use mpi and MPI_Alloc_mem with TYPE(C_PTR)", "a.f90", [], None, """
use mpi
use, intrinsic :: iso_c_binding, only: c_ptr
implicit none
type(c_ptr) :: memory
integer(kind=MPI_ADDRESS_KIND) :: bytes, address
integer :: ierror
bytes = 8
call MPI_Alloc_mem(bytes, MPI_INFO_NULL, memory, ierror)
call MPI_Alloc_mem(bytes, MPI_INFO_NULL, address, ierror)
end
"""),
    ("an offset of 4 bytes", "a.f90", [], "Type mismatch in argument", """
use mpi
integer :: file, offset, buffer(4), status(MPI_STATUS_SIZE), ierror
call MPI_File_write_at(file, offset, buffer, 4, MPI_INTEGER, status, ierror)
end
"""),
    ("a displacement of 4 bytes", "a.f90", [], "Type mismatch in argument", """
use mpi
integer :: win, buffer(4), ierror
call MPI_Put(buffer, 1, MPI_INTEGER, 0, 0, 1, MPI_INTEGER, win, ierror)
end
"""),
    ("a REAL as count", "a.f90", [], "Type mismatch in argument", """
use mpi
integer :: buffer(4), ierror
call MPI_Send(buffer, 1.0, MPI_INTEGER, 0, 0, MPI_COMM_WORLD, ierror)
end
"""),
    ("buffers of any kind and rank, and a scalar for an array", "a.f90", [], None, """
use mpi
integer :: one, many(4, 4), win, ierror, status(MPI_STATUS_SIZE), position
real(8) :: x(2, 2, 2)
character(len=5) :: text
integer(kind=MPI_ADDRESS_KIND) :: displacement
call MPI_Send(text, 5, MPI_CHARACTER, 0, 0, MPI_COMM_WORLD, ierror)
call MPI_Recv(x, many(1, 2), MPI_DOUBLE_PRECISION, 0, 0, MPI_COMM_WORLD, status, ierror)
call MPI_Put(many, 1, MPI_INTEGER, 0, displacement, 1, MPI_INTEGER, win, ierror)
call MPI_Gatherv(one, 1, MPI_INTEGER, many, 1, 0, MPI_INTEGER, 0, MPI_COMM_WORLD, ierror)
call MPI_Pack(x, 8, MPI_DOUBLE_PRECISION, text, 5, position, MPI_COMM_WORLD, ierror)
end
"""),
    ("mpif.h where INTEGER has 8 bytes", "a.f", ["-fdefault-integer-8"],
     "Division by zero", MPIF),
    ("use mpi where INTEGER has 8 bytes", "a.f90", ["-fdefault-integer-8"], "Type mismatch", """
use mpi
integer :: rank, ierror
call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
end
"""),
    *[(f"mpif.h by {standard}", name, [f"-std={standard}", "-Werror"], None, MPIF)
      for name in ("a.f", "a.f90") for standard in ("f95", "f2003", "f2008")],
]


def main(mpifort):
    faults = 0
    for what, name, flags, error, text in PROGRAMS:
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / name).write_text(text)
            done = subprocess.run([mpifort, *flags, "-c", name], cwd=folder, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=240,
                                  check=False)
        if error is None:
            is_right = done.returncode == 0
        else:
            is_right = done.returncode != 0 and error in done.stdout
        if not is_right:
            faults += 1
            print(f"{what}: exit code {done.returncode}, expected: {error or 'no error'}\n"
                  f"{done.stdout}")
    sys.exit(f"{faults} of {len(PROGRAMS)} programs" if faults else 0)


if __name__ == "__main__":
    main(str(Path(sys.argv[1]).resolve()))
