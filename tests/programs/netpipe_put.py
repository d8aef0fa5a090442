"""netpipe_put.py - NetPIPE's ping-pong by puts and fences (its module mpi2), every byte checked.

The module gives NULL for an info object, which MPI-5.0, 10 does not allow and MPICH refuses, too:
that one word is changed. Its other modes are not run: gets move nothing that it could check, and
puts without a fence rest on what the standard does not promise.
"""

import netpipe
from kit import NotBuilt, Run

PACKAGE = "netpipe"
SPOILED = "byte"


def build(kit, source, jobs):
    path = source / "src/mpi2.c"
    text = path.read_text()
    if "1, NULL, MPI_COMM_WORLD" not in text:
        raise NotBuilt("mpi2.c makes its window in another way")
    path.write_text(text.replace("1, NULL, MPI_COMM_WORLD", "1, MPI_INFO_NULL, MPI_COMM_WORLD"))
    kit.make(["make", "mpi2", f"MPI2CC={kit.mpicc}", "MPI2_INC=src"], source)


def one(kit, source):
    return Run("integrity up to 200,000 bytes", "2",
               [kit.mpiexec, "-n", 2, source / "NPmpi2", "-i", "-u", 200000], source, netpipe.check)


def runs(kit, source, small):
    return [one(kit, source)]


def spoiled(kit, source):
    return one(kit, source)
