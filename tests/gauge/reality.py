#!/usr/bin/env python3
"""reality.py GAUGE - one_one agrees with a loop of twenty lines that knows nothing of it.

Both measure 8 bytes over TCP on loopback, in turns, so that the machine's mood is the same
for both. The interval of either is that of its medians over the turns.
"""

import os
import subprocess

from common import BUILD, case, main, measure, rows

TURNS = int(os.environ.get("GAUGE_TURNS", "7"))


@case
def one_one_agrees_with_an_independent_loop():
    ours, theirs = [], []
    for _ in range(TURNS):
        row = rows(measure("one_one", "tcp", "--sizes", "8", "--time", "0.3", "--no-pin"))[0]
        ours.append(row["median_ns"])
        done = subprocess.run([BUILD / "tests/gauge/gauge_loop"], capture_output=True,
                              text=True, check=True, timeout=120)
        theirs.append(float(done.stdout))
    print(f"      weft-gauge {sorted(ours)}\n      loop       {sorted(theirs)}")
    assert min(ours) <= max(theirs) and min(theirs) <= max(ours)


if __name__ == "__main__":
    main()
