"""progress_wakeups.py COMMAND... - runs it and compares how often each rank was woken, in
the library's words, with how often it may have been, in the program's.  A rank that has met
other processes on its processor sleeps without patience for a while; the library counts these
sleeps, and each allows one more.  A progress thread is needed only by another rank that has
waited for long, which says how often it may have woken it; it does so before such a sleep, too.
"""

import os
import re
import subprocess
import sys

RANKS = 2


def counts(pattern, text):
    """Rank to the numbers that follow it."""
    return {int(rank): [int(n) for n in numbers]
            for rank, *numbers in re.findall(pattern, text)}


def main(command):
    """Returns the exit code."""
    done = subprocess.run(command, env={**os.environ, "WEFT_LOG": "info"},
                          capture_output=True, text=True)
    allowed = counts(r"rank (\d+) may be woken (\d+) times", done.stdout)
    wakes = counts(r"rank (\d+) may wake a thread (\d+) times", done.stdout)
    woken = counts(r"rank (\d+) was woken (\d+) times by peers, its progress thread (\d+) times; "
                   r"it slept at once (\d+) times",
                   done.stderr)
    print(f"may be woken: {allowed}; was woken, its progress thread, slept at once: {woken}")
    if done.returncode != 0 or len(woken) != RANKS or \
            not sorted(allowed) == sorted(wakes) == sorted(woken):
        print(done.stdout, done.stderr, f"ended with {done.returncode}")
        return 1
    for rank, (times, thread, at_once) in woken.items():
        threads = wakes[1 - rank][0]
        if command[-1] == "steps":
            threads += 3 * woken[1 - rank][2]
        if times > allowed[rank][0] + threads + at_once or thread > threads:
            print(f"rank {rank} was woken too often")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
