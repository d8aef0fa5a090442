#!/usr/bin/env python3
"""reality.py GAUGE - one_one and stream agree with a loop of twenty lines that knows nothing
of them.

Both measure TCP on loopback, 8 bytes to and fro or windows of 4 KiB, in turns, so that the
machine's mood is the same for both. The interval of either is that of its medians over the turns. A turn in which
weft-gauge itself says that its median is not known, because others had the processors, is
made again, a few times.
"""

import os
import subprocess

from common import BUILD, case, main, measure, results, rows

TURNS = int(os.environ.get("GAUGE_TURNS", "7"))


def ours(*words):
    """The median of a run whose interval is narrow, or of the last of five."""
    for _ in range(5):
        row = rows(measure(*words, "--no-pin"))[0]
        if row["high_ns"] - row["low_ns"] < 0.2 * row["median_ns"]:
            break
    return row["median_ns"]


def theirs(*words):
    done = subprocess.run([BUILD / "tests/gauge/gauge_loop", *words], capture_output=True,
                          text=True, check=True, timeout=120)
    return float(done.stdout)


def agree(our_words, their_words):
    turns = [(ours(*our_words), theirs(*their_words)) for _ in range(TURNS)]
    gauge, loop = (sorted(side) for side in zip(*turns))
    print(f"      weft-gauge {gauge}\n      loop       {loop}")
    assert gauge[0] <= loop[-1] and loop[0] <= gauge[-1]


@case
def one_one_agrees_with_an_independent_loop():
    agree(("one_one", "tcp", "--sizes", "8"), ())


@case
def stream_agrees_with_an_independent_loop():
    agree(("stream", "tcp", "--sizes", "4K"), ("stream",))


@case
def a_latency_over_the_loopback_is_told_in_words_where_there_is_none():
    for value, note in results(measure("loggp", "tcp", "--sizes", "1,64,4K", "--time",
                                       "0.1"))["L"]:
        print(f"      L = {value} {note}")
        assert value > 0 if value is not None else note.startswith("not separable")


if __name__ == "__main__":
    main()
