#!/usr/bin/env python3
"""forced.py - every algorithm of collectives, forced by WEFT_COLL, against the oracle.

    forced.py together MPIEXEC WEFT_INFO COLL_FORCED COLL_RANDOM   all in as many jobs as a
                                                                   collective has algorithms
    forced.py each MPIEXEC WEFT_INFO COLL_FORCED COLL_RANDOM       one in every job

The names are those that weft-info prints, so a new algorithm is forced, too.
"""

import os
import subprocess
import sys

RANKS = (2, 5)
CASES = {"together": 100, "each": 150}
SENT = {"allgather=bruck": 3, "allgather=ring": 4, "allgather=direct": 4,
        "allgather=flags": 0, "allgather=shared": 0}  # by each of 5 ranks
WRONG = "allgather=tree"


def algorithms(info):
    """The names of each collective."""
    told = subprocess.run([info, "--algorithms"], capture_output=True, text=True, check=True)
    names = {}
    for line in told.stdout.splitlines()[1:]:
        collective, algorithm = line.split()[:2]
        names.setdefault(collective, []).append(algorithm)
    return names


def turns(how, names):
    """Values of WEFT_COLL, in which every algorithm is at least once."""
    if how == "each":
        return [f"{c}={a}" for c, of in names.items() for a in of if len(of) > 1]
    return [",".join(f"{c}={of[turn % len(of)]}" for c, of in names.items())
            for turn in range(max(map(len, names.values())))]


def run(mpiexec, ranks, value, *command):
    """The exit code."""
    print(f"WEFT_COLL={value} mpiexec -n {ranks}", *command, flush=True)
    return subprocess.run([mpiexec, "-n", str(ranks), *map(str, command)],
                          env=os.environ | {"WEFT_COLL": value}, check=False).returncode


def main(how, mpiexec, info, forced, oracle):
    failed = []
    for value, messages in SENT.items():
        if run(mpiexec, 5, value, forced, messages) != 0:
            failed.append(f"{value} is not what runs")
    if run(mpiexec, 2, WRONG, forced, 1) == 0:
        failed.append(f"{WRONG} is accepted")
    for ranks in RANKS:
        for seed, value in enumerate(turns(how, algorithms(info)), 1):
            if run(mpiexec, ranks, value, oracle, seed, CASES[how]) != 0:
                failed.append(f"{value} at {ranks}, seed {seed}")
    print(*failed or ["all as expected"], sep="\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
