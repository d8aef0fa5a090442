"""netpipe.py - NetPIPE's ping-pong with its check of every byte."""

import re

from kit import Run, all_or_nothing, ended

PACKAGE = "netpipe"
SPOILED = "byte"
SIZES = 32  # that it visits up to 200,000 bytes


def build(kit, source, jobs):
    kit.make(["make", "mpi", f"MPICC={kit.mpicc}"], source)


def check(code, said, folder):
    faults = ended(code)
    lines = re.findall(r"^\s*\d+:\s+\d+ bytes.*$", said, re.M)
    bad = [line.strip() for line in lines if not line.endswith("Integrity check passed")]
    if len(lines) < SIZES:
        faults.append(f"{len(lines)} sizes, not {SIZES}")
    return all_or_nothing(faults + bad[:3])


def one(kit, source):
    return Run("integrity up to 200,000 bytes", "2",
               [kit.mpiexec, "-n", 2, source / "NPmpi", "-i", "-u", 200000], source, check)


def runs(kit, source, small):
    return [one(kit, source)]


def spoiled(kit, source):
    return one(kit, source)
