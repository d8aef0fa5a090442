"""scotch.py - PT-Scotch: partitioning and ordering of graphs that are spread over ranks.

`make ptcheck` builds and runs its tests; each checks its graphs and ends with an error code.
"""

import re

from kit import Run, ended

PACKAGE = "scotch"
SPOILED = "int"
JOBS = 24  # that `make ptcheck` starts


def compilers(kit):
    """CCD compiles a program that includes mpi.h, too."""
    return [f"{name}={kit.mpicc} {kit.old}" for name in ("CCP", "CCD")]


def build(kit, source, jobs):
    folder = source / "src"
    rules = (folder / "Make.inc/Makefile.inc.x86-64_pc_linux2").read_text()
    (folder / "Makefile.inc").write_text(rules)
    kit.make(["make", "ptscotch", *compilers(kit)], folder)


def check(code, said, folder):
    faults = ended(code)
    jobs = re.findall(r"^\S*mpiexec\S* -n \d+.*$", said, re.M)
    faults += re.findall(r"^.*(?:ERROR|\*\*\*).*$", said, re.M)[:3]
    if len(jobs) < JOBS:
        faults.append(f"{len(jobs)} jobs, not {JOBS}")
    return len(jobs) - (1 if faults else 0), max(len(jobs), JOBS), faults


def one(kit, source):
    return Run("ptcheck", "3 and 4",
               ["make", "ptcheck", *compilers(kit), f"EXECP3={kit.mpiexec} -n 3",
                f"EXECP4={kit.mpiexec} -n 4"], source / "src", check, 1800)


def runs(kit, source, small):
    return [one(kit, source)]


def spoiled(kit, source):
    return one(kit, source)
