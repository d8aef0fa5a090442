"""fftw.py - FFTW's transforms over MPI: random problems, whose results it checks itself.

tests/check.pl draws the problems; a seed of ours makes them the same for every MPI. A failure
prints the problem to repeat.
"""

import re

from kit import Run, all_or_nothing, ended

PACKAGE = "fftw3"
SPOILED = "double"
SEED = "20"
VERIFIED = re.compile(r"^\S+ [\d.]+(?:e-\d+)? [\d.]+(?:e-\d+)? [\d.]+(?:e-\d+)?$", re.M)


def build(kit, source, jobs):
    kit.make(["./configure", "--enable-mpi", "--disable-fortran", "--disable-doc",
              f"MPICC={kit.mpicc}", f"MPIRUN={kit.mpiexec}", f"CFLAGS=-O1 {kit.old}"], source)
    kit.make(["make", f"-j{jobs}"], source)


def checker(problems):
    def check(code, said, folder):
        faults = ended(code)
        faults += re.findall(r"^.*(?:FAILED|Found relative error|killed).*$", said, re.M)[:3]
        verified = len(VERIFIED.findall(said))
        if verified < problems:
            faults.append(f"{verified} problems verified, not {problems}")
        return all_or_nothing(faults)
    return check


def one(kit, source, ranks, draws):
    """A draw gives up to ten problems; those that cannot be spread are left out."""
    program = f"{kit.mpiexec} -n {ranks} {source}/mpi/mpi-bench"
    command = ["perl", "-we", "srand(shift); do shift;", SEED, source / "tests/check.pl",
               "--verbose", "--random", "--maxsize=10000", f"-c={draws}", "--mpi", program]
    return Run(f"{draws} draws", str(ranks), command, source / "mpi", checker(draws), 900)


def runs(kit, source, small):
    if small:
        return [one(kit, source, ranks, 4) for ranks in (1, 2)]
    return [one(kit, source, ranks, 50) for ranks in (1, 2, 3, 4)]


def spoiled(kit, source):
    return one(kit, source, 2, 4)
