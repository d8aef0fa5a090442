"""hdf5.py - HDF5 over MPI-IO, by its own parallel tests (testpar).

The tests are programs that check what they read and end with a code. Left out are t_cache and
t_cache_image, which take long, t_bigio, which wants gigabytes, and the scripts.
"""

import re

from kit import Run, ended

PACKAGE = "hdf5"
SPOILED = "byte"
RANKS = 4


def build(kit, source, jobs):
    kit.make(["./configure", "--enable-parallel", "--disable-fortran", "--disable-cxx",
              "--disable-shared", "--disable-tools", "--enable-build-mode=production",
              f"CC={kit.mpicc}", f"CFLAGS=-O1 {kit.old}",
              f"RUNPARALLEL={kit.mpiexec} -n {RANKS}"], source)
    kit.make(["make", f"-j{jobs}", "-C", "src"], source, 3600)
    kit.make(["make", f"-j{jobs}", "-C", "test", "libh5test.la"], source, 3600)
    kit.make(["make", f"-j{jobs}", "-C", "testpar", "check", "TEST_PROG_PARA=",
              "TEST_SCRIPT_PARA="], source, 3600)


def check(code, said, folder):
    faults = ended(code)
    faults += re.findall(r"^.*\*FAILED\*.*$", said, re.M)[:3]
    return (0 if faults else 1), 1, faults


def check_flush(code, said, folder):
    return check(code, said.partition("Testing H5Fflush (part2")[2] or "*FAILED*", folder)


def runs(kit, source, small):
    names = ["t_mpi", "t_init_term", "t_pread", "testphdf5", "t_filters_parallel", "t_shapesame",
             "t_pshutdown", "t_prestart"]  # the last one reads what the one before it has left
    found = [Run(name, str(RANKS), [kit.mpiexec, "-n", RANKS, source / "testpar" / name],
                 source / "testpar", check, 1800) for name in names]
    # t_pflush1 ends without MPI_Finalize; t_pflush2 reads what is in its file then.
    both = " ; ".join(f"{kit.mpiexec} -n {RANKS} ./t_pflush{i}" for i in (1, 2))
    return [*found, Run("t_pflush", str(RANKS), ["sh", "-c", both], source / "testpar",
                        check_flush, 1800)]


def spoiled(kit, source):
    return Run("testphdf5", "4", [kit.mpiexec, "-n", 4, source / "testpar/testphdf5"],
               source / "testpar", check, 1800)
