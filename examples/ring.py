"""ring.py - the ranks pass their values around a ring until each is home again.

This is ring.c in Python, with mpi4py. In each step every rank sends a value to its right
neighbour and receives one from its left neighbour. The methods with a capital letter send
the memory of an array; those in small letters, such as sendrecv, send any object. The
program works with any number of ranks.

Build mpi4py for the MPI that you use. For Weft, with its mpicc first in PATH:

    pip install --no-binary mpi4py mpi4py
    mpiexec -n 4 python3 ring.py

Rank 0 prints the sum that it has seen and the sum that it expects:

    4 ranks, sum 10, expected 10, 0 wrong ranks
"""

import sys
from array import array

from mpi4py import MPI


def sum_around(comm, value):
    """The sum of the values of all ranks, and the value that came in last."""
    rank, size = comm.Get_rank(), comm.Get_size()
    right, left = (rank + 1) % size, (rank - 1) % size
    received = array("q", [0])
    total = 0
    for _ in range(size):
        comm.Sendrecv([value, MPI.INT64_T], dest=right,
                      recvbuf=[received, MPI.INT64_T], source=left)
        value[0] = received[0]
        total += value[0]
    return total, value[0]


def main():
    comm = MPI.COMM_WORLD
    rank, size = comm.Get_rank(), comm.Get_size()
    total, last = sum_around(comm, array("q", [rank + 1]))
    expected = size * (size + 1) // 2
    wrong = comm.allreduce(int(total != expected or last != rank + 1))
    if rank == 0:
        print(f"{size} ranks, sum {total}, expected {expected}, {wrong} wrong ranks")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
