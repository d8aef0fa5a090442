"""p4est.py - p4est and its library sc: forests of octrees, by their own tests.

sc shares arrays of a node in windows of MPI_Win_allocate_shared. Forests are saved and loaded through
MPI-IO (--enable-mpiio), which the tests loadsave compare with what was saved.
"""

import re

from kit import Run, ended

PACKAGE = "p4est"
SPOILED = "byte"
TESTS = 72  # 14 of sc, 58 of p4est


def build(kit, source, jobs):
    for folder in (source, source / "sc"):
        (folder / ".tarball-version").write_text("2.2\n")
    kit.make(["./bootstrap"], source)
    kit.make(["./configure", "--enable-mpi", "--enable-mpiio", "--disable-shared",
              f"CC={kit.mpicc}", f"CXX={kit.mpicxx}", f"CFLAGS=-O1 {kit.old}"], source)
    kit.make(["make", f"-j{jobs}"], source, 3600)
    kit.make(["make", f"-j{jobs}", "check", "TESTS="], source, 3600)


def check(code, said, folder):
    faults = ended(code)
    passed = len(re.findall(r"^PASS: ", said, re.M))
    faults += re.findall(r"^(?:FAIL|ERROR|XPASS|SKIP): .*$", said, re.M)[:3]
    if passed != TESTS:
        faults.append(f"{passed} tests passed, not {TESTS}")
    return passed, max(passed, TESTS), faults


def one(kit, source, ranks):
    return Run("make check", str(ranks),
               ["make", "-k", "check", f"LOG_COMPILER={kit.mpiexec}", f"AM_LOG_FLAGS=-n {ranks}"],
               source, check, 1800)


def runs(kit, source, small):
    return [one(kit, source, ranks) for ranks in ([2] if small else [2, 3])]


def check_one(code, said, folder):
    faults = ended(code)
    return (0 if faults else 1), 1, faults


def spoiled(kit, source):
    return Run("lnodes", "2", [kit.mpiexec, "-n", 2, source / "test/p4est_test_lnodes"],
               source, check_one)
