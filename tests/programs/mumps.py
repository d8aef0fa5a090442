"""mumps.py - MUMPS, a direct solver of sparse linear systems, in Fortran with mpif.h.

Its example dsimpletest reads a system and prints the solution.  It is given a grid of 40 by 40
unknowns with five points for each, whose solution is known.  MUMPS takes ScaLAPACK for the last,
dense part of large systems; this one has none, and functions that abort stand for ScaLAPACK.
Each rank opens the file itself: mpiexec of MPICH 4.0.2 gives up when a program does not read its
standard input fast enough.
"""

import re

from kit import Run, ended

PACKAGE = "mumps"
SPOILED = "double"
SIDE = 40
STENCIL = ((0, 0, 4.0), (1, 0, -1.0), (-1, 0, -1.25), (0, 1, -0.75), (0, -1, -1.0))
SCALAPACK = ("blacs_gridexit_ blacs_gridinfo_ blacs_gridinit_ descinit_ numroc_ pdgetrf_ "
             "pdgetrs_ pdpotrf_ pdpotrs_").split()


def solution():
    return [1 + k % 7 for k in range(SIDE * SIDE)]


def system():
    """The lines that dsimpletest reads: sizes, entries, right-hand side."""
    known = solution()
    entries = []
    right = [0.0] * len(known)
    for row in range(len(known)):
        i, j = divmod(row, SIDE)
        for di, dj, value in STENCIL:
            if 0 <= i + di < SIDE and 0 <= j + dj < SIDE:
                column = (i + di) * SIDE + j + dj
                entries.append(f"{row + 1} {column + 1} {value}")
                right[row] += value * known[column]
    return "\n".join([str(len(known)), str(len(entries)), *entries, *map(str, right)]) + "\n"


def build(kit, source, jobs):
    text = "".join(f"void {name}(void);\nvoid {name}(void) {{ abort(); }}\n"
                   for name in SCALAPACK)
    (source / "stand_in.c").write_text("#include <stdlib.h>\n" + text)
    kit.make([kit.mpicc, "-c", "stand_in.c"], source)
    rules = (source / "Make.inc/Makefile.inc.generic").read_text()
    (source / "Makefile.inc").write_text(rules)
    kit.make(["make", f"-j{jobs}", "d", f"CC={kit.mpicc} {kit.old}",
              f"FC={kit.mpifort} -w -fallow-argument-mismatch", f"FL={kit.mpifort}",
              "OPTF=-O1", "OPTC=-O1 -I.", "INCPAR=",
              f"LIBPAR={source / 'stand_in.o'} -llapack"], source, 3600)
    (source / "examples/system").write_text(system())


def check(code, said, folder):
    faults = ended(code)
    _, _, after = said.partition("Solution is")
    found = [float(word) for word in re.findall(r"-?\d+\.\d+(?:E[-+]\d+)?", after)]
    known = solution()
    wrong = sum(abs(a - b) > 1e-9 for a, b in zip(found, known))
    if len(found) < len(known) or wrong:
        faults.append(f"{wrong} of {min(len(found), len(known))} unknowns are wrong")
    return 0 if faults else 1, 1, faults


def one(kit, source, ranks):
    return Run("dsimpletest", str(ranks),
               [kit.mpiexec, "-n", ranks, "sh", "-c", "exec ./dsimpletest < system"],
               source / "examples", check)


def runs(kit, source, small):
    return [one(kit, source, ranks) for ranks in ((2,) if small else (1, 2, 4))]


def spoiled(kit, source):
    return one(kit, source, 2)
