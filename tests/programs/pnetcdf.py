"""pnetcdf.py - PnetCDF: arrays in files that all ranks write together, by its own tests.

`make check` runs its tests on one rank each, `make ptest` those that want four.  What is read from
files is spoiled, too.
"""

import re

from kit import Run, ended

PACKAGE = "pnetcdf"
SPOILED = "byte"
TESTS = 65
PARALLEL = 60  # lines of `make ptest` that say "pass"


def build(kit, source, jobs):
    kit.make(["autoreconf", "-i"], source)
    kit.make(["./configure", f"MPICC={kit.mpicc}", "--disable-fortran", "--disable-cxx",
              "--disable-shared", f"TESTMPIRUN={kit.mpiexec} -n NP"], source)
    kit.make(["make", f"-j{jobs}"], source, 3600)
    kit.make(["make", f"-j{jobs}", "tests"], source, 3600)


def check(code, said, folder):
    faults = ended(code)
    passed = len(re.findall(r"^PASS: ", said, re.M))
    faults += re.findall(r"^(?:FAIL|ERROR|XPASS): .*$", said, re.M)[:3]
    if passed != TESTS:
        faults.append(f"{passed} tests passed, not {TESTS}")
    return passed, max(passed, TESTS), faults


def check_ptest(code, said, folder):
    faults = ended(code)
    passed = len(re.findall(r"-+ pass", said))
    faults += re.findall(r"^.*(?:fail|error).*$", said, re.M | re.I)[:3] if faults else []
    return passed, max(passed, 1), faults


def check_parallel(code, said, folder):
    passed, _, faults = check_ptest(code, said, folder)
    if passed != PARALLEL:
        faults.append(f"{passed} tests passed, not {PARALLEL}")
    return passed, max(passed, PARALLEL), faults


def runs(kit, source, small):
    check_all = Run("make check", "1", ["make", "-k", "check"], source, check, 1800)
    if small:
        return [check_all]
    return [check_all, Run("make ptest", "4", ["make", "ptest"], source, check_parallel,
                           3600)]


def spoiled(kit, source):
    return Run("test_varm", "4", [kit.mpiexec, "-n", 4, source / "test/testcases/test_varm"],
               source, check_ptest)
