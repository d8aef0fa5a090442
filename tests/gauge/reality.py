#!/usr/bin/env python3
"""reality.py GAUGE - one_one agrees with a loop of twenty lines that knows nothing of it.

Both measure 8 bytes over TCP on loopback, in turns, so that the machine's mood is the same
for both. The interval of either is that of its medians over the turns. A turn in which
weft-gauge itself says that its median is not known, because others had the processors, is
made again, a few times.
"""

import os
import subprocess

from common import BUILD, case, main, measure, rows

TURNS = int(os.environ.get("GAUGE_TURNS", "7"))


def ours():
    """The median of a run whose interval is narrow, or of the last of five."""
    for _ in range(5):
        row = rows(measure("one_one", "tcp", "--sizes", "8", "--no-pin"))[0]
        if row["high_ns"] - row["low_ns"] < 0.2 * row["median_ns"]:
            break
    return row["median_ns"]


def theirs():
    done = subprocess.run([BUILD / "tests/gauge/gauge_loop"], capture_output=True, text=True,
                          check=True, timeout=120)
    return float(done.stdout)


@case
def one_one_agrees_with_an_independent_loop():
    turns = [(ours(), theirs()) for _ in range(TURNS)]
    gauge, loop = (sorted(side) for side in zip(*turns))
    print(f"      weft-gauge {gauge}\n      loop       {loop}")
    assert gauge[0] <= loop[-1] and loop[0] <= gauge[-1]


if __name__ == "__main__":
    main()
