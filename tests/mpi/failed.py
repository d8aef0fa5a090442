"""failed.py HOW CASES MPIEXEC [WRAPPER...] PROGRAM - runs failed.c in every case with 2, 3, 4 and 8
ranks and holds mpiexec --keep-going to its exit code and to what it says: one line that names
the dead rank and why it died, and no other unless its death is fatal for the others; then one
more under it, which names a rank, its call and the dead one. How many others have waited is not
compared here.
"""

import re
import subprocess
import sys

PATIENCE = 60  # seconds after which a run counts as hanging
DEATHS = {
    "kill": (137, "killed by signal 9, Killed"),
    "exit": (7, "ended with code 7"),
    "fatal": (137, "killed by signal 9, Killed"),
}
NOT_FATAL = ("finalize", "go-on", "holder", "waiter")  # where nobody waits for the dead on MPI_COMM_WORLD


def faults(how, case, done):
    """What is wrong with a run, a line each."""
    code, cause = DEATHS[how]
    death = re.compile(rf"mpiexec: rank 1 on \S+ \(.*\): {cause}")
    fatal = re.compile(r"  rank [02-9] on \S+, which waited for it, ends the job: "
                       r"MPI_\w+(?: of MPI_\w+)? on .*: "
                       rf"MPI_ERR_\w+: .*rank 1 on \S+ died: {cause}")
    lines = [line for line in done.stderr.splitlines() if not line.startswith("  and ")]
    is_fatal = how == "fatal" and case not in NOT_FATAL
    expected = [death, fatal] if is_fatal else [death]
    if done.returncode != code:
        yield f"ended with {done.returncode}, not {code}"
    if len(lines) != len(expected) or not all(p.fullmatch(l) for p, l in zip(expected, lines)):
        yield "said: " + repr(done.stderr)
    if (done.stdout == "went on\n") == is_fatal:
        yield "printed: " + repr(done.stdout)


def main(how, cases, mpiexec, *command):
    """Returns the exit code."""
    failed = 0
    for case in cases.split(","):
        for ranks in (2, 3, 4, 8):
            words = [mpiexec, "--keep-going", "-n", str(ranks), *command, case, how]
            try:
                done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE)
                wrong = list(faults(how, case, done))
            except subprocess.TimeoutExpired as late:
                wrong = [f"not over after {PATIENCE} s, said {late.stderr!r}"]
            for line in wrong:
                failed = 1
                print(f"{case}, {ranks} ranks: {line}", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
