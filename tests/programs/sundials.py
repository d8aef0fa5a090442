"""sundials.py - tests of SUNDIALS' vectors and solvers, which sum their failures over ranks."""

import re

from kit import Run, ended

PACKAGE = "sundials"
SPOILED = "double"
TESTS = 15
RESULT = re.compile(r"^\s*\d+/\d+ Test\s+#\d+: (\S+) \.+(.*?)\s+[\d.]+ sec$", re.M)
TARGETS = ["test_nvector_mpi", "test_nvector_mpimanyvector_parallel1",
           "test_nvector_mpimanyvector_parallel2", "test_nvector_mpiplusx",
           *(f"test_sunlinsol_{name}_parallel" for name in ("spgmr", "spfgmr", "spbcgs",
                                                            "sptfqmr"))]
CHOICES = ["-DENABLE_MPI=ON", "-DBUILD_SHARED_LIBS=OFF",
           "-DBUILD_FORTRAN_MODULE_INTERFACE=OFF", "-DEXAMPLES_ENABLE_C=ON",
           "-DEXAMPLES_ENABLE_CXX=OFF", "-DEXAMPLES_INSTALL=OFF", "-DBUILD_CVODES=OFF",
           "-DBUILD_IDAS=OFF", "-DCMAKE_BUILD_TYPE=Release"]


def build(kit, source, jobs):
    folder = source / "built"
    folder.mkdir()
    kit.make(["cmake", "..", *CHOICES, f"-DMPI_C_COMPILER={kit.mpicc}",
              f"-DMPIEXEC_EXECUTABLE={kit.mpiexec}"], folder)
    kit.make(["make", f"-j{jobs}", *TARGETS], folder)


def checker(tests):
    def check(code, said, folder):
        faults = ended(code)
        results = RESULT.findall(said)
        passed = [name for name, result in results if result.strip() == "Passed"]
        faults += [f"{name}: {result.strip('* ')}" for name, result in results
                   if result.strip() != "Passed"]
        if len(results) != tests:
            faults.append(f"{len(results)} tests ran, not {tests}")
        if not faults and "100% tests passed" not in said:
            faults.append("ctest does not say that all tests passed")
        return len(passed), max(tests, len(results)), faults
    return check


def one(kit, source, choice, tests):
    return Run("ctest", "1 to 4", ["ctest", "--timeout", "300", "-R", choice],
               source / "built", checker(tests), 1800)


def runs(kit, source, small):
    return [one(kit, source, "(mpi.*|parallel.*)$", TESTS)]


def spoiled(kit, source):
    return one(kit, source, "test_nvector_mpi_4_", 1)
