"""hdf5.py - HDF5 over MPI-IO, by its own parallel tests (testpar).

The tests are programs that check what they read and end with a code; `make check` in testpar
runs them with the launcher that RUNPARALLEL names.
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
    passed = len(re.findall(r"^\s*(?:All tests were successful|PARALLEL TESTS PASSED|PHDF5 tests "
                            r"finished successfully|.*\bPASSED\b)", said, re.M))
    faults += re.findall(r"^.*\*FAILED\*.*$", said, re.M)[:3]
    return passed, max(passed, 1), faults


def runs(kit, source, small):
    return [Run("testpar", str(RANKS), ["make", "-k", "-C", "testpar", "check"], source, check,
                3600)]


def spoiled(kit, source):
    return Run("t_mpi", "2", [kit.mpiexec, "-n", 2, source / "testpar/t_mpi"], source, check)
