"""lost.py HOW RANKS CASES MPIEXEC [WRAPPER...] PROGRAM - runs lost.c in every case and holds the
job to its end. Where the error is fatal: a code that is not 0, and one line that names both
hosts, address and cause. Where errors are returned: both ranks were told, and the job, whose
MPI_Finalize needs no connection on one host, ends well.
"""

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

AT_ONCE = 4
PATIENCE = 60  # seconds after which a run counts as hanging
WORDS = os.environ.get("EXPECTED_CAUSE", "")  # in the line, where there is a special one
LINE = re.compile(r"mpiexec: rank \d+ on \S+ \(.*\): .*"
                  r"lost the connection from \S+ to rank \d+ on \S+ \(\S+ port \d+\): .+")


def faults(how, case, done):
    """What is wrong with a run, a line each."""
    lines = [line for line in done.stderr.splitlines() if not line.startswith("  ")]
    told = sorted(done.stdout.splitlines())
    if how == "fatal":
        if done.returncode in (0, 124) or done.returncode >= 128:
            yield f"ended with {done.returncode}"
        if len(lines) != 1 or not LINE.fullmatch(lines[0]) or WORDS not in lines[0]:
            yield "said: " + repr(done.stderr)
    elif done.returncode != 0 or done.stderr:
        yield f"ended with {done.returncode}, said {done.stderr!r}"
    expected = ["rank 0 was told", "rank 1 was told"] if how == "return" else []
    if told != expected and case != "finalize":
        yield "printed: " + repr(done.stdout)


def run(how, case, command):
    """What is wrong with the case, a line each."""
    try:
        done = subprocess.run([*command, case, how], capture_output=True, text=True,
                              timeout=PATIENCE)
        return list(faults(how, case, done))
    except subprocess.TimeoutExpired as late:
        return [f"not over after {PATIENCE} s, said {late.stderr!r}"]


def main(how, ranks, cases, mpiexec, *command):
    """Returns the exit code. Most of the time is waiting, so several cases run at once."""
    names = cases.split(",")
    words = [mpiexec, "-n", ranks, *command]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        wrong = list(pool.map(lambda case: run(how, case, words), names))
    for case, lines in zip(names, wrong):
        for line in lines:
            print(f"{case}, {ranks} ranks: {line}", flush=True)
    return 1 if any(wrong) else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
