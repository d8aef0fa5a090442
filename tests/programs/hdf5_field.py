"""hdf5_field.py - a small program of ours on HDF5: what n ranks write, m ranks read.

Only the library of HDF5 is built, without optimization: this is what fits into .ci/run. hdf5.py
runs HDF5's own tests.
"""

import re
from pathlib import Path

from kit import Run, all_or_nothing, ended

PACKAGE = "hdf5"
SPOILED = "byte"
SPOILED_LEAST = 4096  # cells, not what HDF5 says of its file
PROGRAM = Path(__file__).resolve().with_suffix(".c")
RIGHT = re.compile(r"^(\d+) of (\d+) cells are right$", re.M)


def build(kit, source, jobs):
    kit.make(["./configure", "--enable-parallel", "--disable-fortran", "--disable-cxx",
              "--disable-hl", "--disable-shared", "--disable-tools", "--disable-tests",
              "--without-zlib", "--disable-dependency-tracking",
              "--enable-build-mode=production", f"CC={kit.mpicc}", "CFLAGS=-O0 -w"], source)
    kit.make(["make", f"-j{jobs}", "-C", "src"], source, 1800)
    kit.make([kit.mpicc, "-O1", "-I", source / "src", PROGRAM, "-o", source / "hdf5_field",
              source / "src/.libs/libhdf5.a", "-ldl", "-lm"], source)


def check_read(code, said, folder):
    faults = ended(code)
    found = RIGHT.search(said)
    if not found or found[1] != found[2]:
        faults.append(found[0] if found else "it counts no cells")
    return all_or_nothing(faults)


def check_write(code, said, folder):
    return all_or_nothing(ended(code))


def one(kit, source, ranks, what, check):
    return Run(what, str(ranks),
               [kit.mpiexec, "-n", ranks, source / "hdf5_field", what, source / "field.h5"],
               source, check, 120)


def runs(kit, source, small):
    found = []
    for writers, readers in ((3, 2),) if small else ((3, 2), (2, 5), (1, 4), (4, 1)):
        found.append(one(kit, source, writers, "write", check_write))
        found.append(one(kit, source, readers, "read", check_read))
    return found


def spoiled(kit, source):
    return one(kit, source, 2, "read", check_read)
