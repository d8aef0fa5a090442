#!/usr/bin/env python3
"""reproducible.py - WEFT_REPRODUCIBLE=1: reductions have the same bits wherever ranks run.

    reproducible.py MPIEXEC COLL_REPRODUCIBLE

The program prints a hash of its results. It is the same through shared memory and through
connections, with one processor and with all, and whatever WEFT_PROGRESS says. An algorithm
that is forced changes it, so the hash sees another order.
"""

import os
import subprocess
import sys

PLACES = (
    {},
    {"WEFT_TRANSPORT": "msg"},
    {"WEFT_PROGRESS": "0"},
    {"WEFT_CHECKSUM": "1"},
)


def run(mpiexec, program, ranks, settings, before=()):
    """What it prints."""
    words = [*before, mpiexec, "-n", str(ranks), program]
    print(settings, *words, flush=True)
    done = subprocess.run(words, env=os.environ | {"WEFT_REPRODUCIBLE": "1"} | settings,
                          stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout.strip()


def main(mpiexec, program):
    wrong = 0
    one = ("taskset", "-c", str(min(os.sched_getaffinity(0))))
    for ranks in (2, 5):
        found = {run(mpiexec, program, ranks, place) for place in PLACES}
        found.add(run(mpiexec, program, ranks, {}, one))
        forced = run(mpiexec, program, ranks, {"WEFT_COLL": "reduce=binomial,scan=linear,"
                                               "allreduce=binomial,exscan=linear,"
                                               "reduce_scatter_block=root"})
        if len(found) != 1:
            print(f"{ranks} ranks: results differ: {found}")
            wrong += 1
        if ranks > 2 and forced in found:
            print(f"{ranks} ranks: another order has the same bits: the test sees nothing")
            wrong += 1
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
