"""petsc.py - PETSc with its Fortran interface, by its own `make check` and a Fortran example.

PETSc finds out by itself what an MPI can do. Its examples solve equations; ex5f is Fortran and
uses distributed arrays and SNES. An answer is right if the norms and iterations that PETSc's
own files of results have come out.
"""

import re

from kit import Run, all_or_nothing, ended

PACKAGE = "petsc"
SPOILED = "double"
ARCH = "weft-check"
GOOD = [r"C/C\+\+ example src/snes/tutorials/ex19 run successfully with 1 MPI process",
        r"C/C\+\+ example src/snes/tutorials/ex19 run successfully with 2 MPI processes",
        r"Fortran example src/snes/tutorials/ex5f run successfully with 1 MPI process"]


def make(source, *words):
    return ["make", f"PETSC_DIR={source}", f"PETSC_ARCH={ARCH}", *words]


def build(kit, source, jobs):
    kit.make(["python3", "./configure", f"PETSC_ARCH={ARCH}", f"--with-cc={kit.mpicc}",
              f"--with-fc={kit.mpifort}", "--with-cxx=0", "--with-debugging=0", "--with-x=0",
              f"--CFLAGS=-O1 {kit.old}", "--FFLAGS=-O1", "--with-shared-libraries=0",
              f"--with-mpiexec={kit.mpiexec}", f"--with-make-np={jobs}"], source, 3600)
    kit.make(make(source, "all"), source, 7200)
    kit.make(make(source, "ex5f"), source / "src/snes/tutorials", 600)
    kit.make(["mv", "src/snes/tutorials/ex5f", "."], source)  # `make check` removes it


def check(code, said, folder):
    faults = ended(code)
    faults += [f"not said: {line}" for line in GOOD if not re.search(line, said)]
    faults += re.findall(r"^.*(?:rror detected|Possible error).*$", said, re.M)[:3]
    return all_or_nothing(faults)


def check_fortran(code, said, folder):
    """Newton's method on the Bratu problem: four steps with any number of ranks."""
    found = re.search(r"Number of SNES iterations =\s+(\d+)", said)
    faults = ended(code)
    if not found or found[1] != "4":
        faults.append(found[0] if found else "it counts no iterations")
    return all_or_nothing(faults)


def fortran(kit, source, ranks):
    return Run("ex5f", str(ranks),
               [kit.mpiexec, "-n", ranks, source / "ex5f", "-pc_type", "jacobi",
                "-ksp_rtol", "1e-10"], source, check_fortran)


def runs(kit, source, small):
    return [Run("make check", "1 and 2", make(source, "check"), source, check, 900),
            *(fortran(kit, source, ranks) for ranks in (1, 2, 4))]


def spoiled(kit, source):
    return fortran(kit, source, 2)
