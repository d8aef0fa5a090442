"""starve.py - members of collective calls that are refused memory (starved.c).

    starve.py MPIEXEC STARVED [--way shm|msg] [--all] [--ranks N] [KIND...]

Each job makes calls of many kinds, over one transport, with one length of data, one rank that is
refused memory, and one manner of refusal. A job that ends early, or in which a member waits for too
long, counts as a fault of the call that it was in, and another job goes on behind that call.

Without --all each job takes one in SHARES of the kinds, and tries the first two allocations of a
call and one in TURNS of those behind them. Which ones depends on the commit. A member that learns of
another's lack of memory by asking has waited for most of a second, so that jobs mostly wait.

Some calls have no way to return an error, and end the job with a line that says so: these are in
ENDS. What else is known not to hold is in KNOWN. Both are printed as often as they are met.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent.parent
SMALL, LARGE = 3, 100_000
TURNS = 5
SHARES = 8
AT_ONCE = 6
PATIENCE = 600  # seconds of a job

# A message that is under way has nobody to whom the error could be returned.
ENDS = re.compile(r"(out of memory: |cannot complete: no memory).*")

# (way, kind, what happens): why it is so
KNOWN = {
    ("msg", ".*", "its address is not known|no connection from"):
        "to look up and to connect to a rank that it has never sent to takes memory",
    ("msg", "file_(set_size|set_view|sync|open|close)", "some have an error"):
        "a rank without memory to receive the outcome of a call of the file is the only one to fail",
}


# Of collective communication each call was made once before, but for the first call of all on a
# communicator. Calls that make something are made once.
COLL = r"i?(barrier|bcast|(all)?gatherv?|scatterv?|alltoall[vw]?|(all)?reduce.*|(ex)?scan|neighbor.*)(_init)?"
FIRST = ("barrier", "bcast", "allreduce", "alltoallv")


def is_of(kind, state):
    is_coll = re.fullmatch(COLL, kind) is not None
    return is_coll if state == "warm" else not is_coll or kind in FIRST


class Job:
    """One choice of way, length, state, manner and victim, for all kinds of calls."""

    def __init__(self, options, folder, way, ints, state, mode, victim, number):
        self.options = options
        self.number = number
        self.folder = folder
        self.way = way
        self.words = [str(ints), state, mode, str(victim), options.share]
        self.name = f"{way} {'small' if ints == SMALL else 'large'} {state} {mode} {victim}"
        self.tries = 0
        self.refused = 0
        self.faults = []  # (kind, allocation, what happened)
        self.ends = {}

    def start(self, kinds):
        variables = os.environ | ({"WEFT_TRANSPORT": "msg"} if self.way == "msg" else {})
        path = Path(self.folder) / self.name.replace(" ", "_")
        command = [self.options.mpiexec, "-n", str(self.options.ranks), self.options.starved,
                   str(path), *self.words, *(f"{kind}:{first}" for kind, first in kinds)]
        try:
            return subprocess.run(command, env=variables, capture_output=True, text=True,
                                  timeout=PATIENCE, stdin=subprocess.DEVNULL)
        except subprocess.TimeoutExpired as error:
            return subprocess.CompletedProcess(command, -1, str(error.stdout, "utf-8"),
                                               "mpiexec had to be ended")

    def note_end(self, kind, number, error):
        if self.options.verbose:
            print(f"{self.name}: DIED {kind} {number}: {error[:1500]}", flush=True)
        told = ENDS.search(error)
        if told:
            what = re.sub(r"[0-9]+", "N", told.group(0).split(":")[1].strip())
            self.ends.setdefault(what, []).append(f"{kind} {number}")
        elif "a member waits for too long" in error:
            self.faults.append((kind, number, "a member waits for ever"))
        else:
            self.faults.append((kind, number, "the job ended: " + " | ".join(error.splitlines()[:3])))

    def run(self, kinds):
        mine = [kind for kind in kinds if is_of(kind, self.words[1])]
        if not self.options.all and not self.options.kinds:
            mine = mine[self.number % SHARES::SHARES]
        left = [(kind, 1) for kind in mine]
        while left:
            done = self.start(left)
            last = None
            for line in done.stdout.splitlines():
                what, kind, number = line.split()[:3]
                if what == "done":
                    return self
                if what == "try":
                    last = (kind, int(number.rstrip(":")))
                    self.tries += 1
                    continue
                if what == "FAULT":
                    self.faults.append((kind, int(number), line.split(" ", 3)[3]))
                if self.options.verbose:
                    print(f"{self.name}: {line}", flush=True)
                self.refused += " at 0x" in line
            if last is None:
                self.faults.append(("start", 0, done.stderr))
                break
            self.note_end(*last, done.stderr)
            names = [kind for kind, _ in left]
            left = [(last[0], last[1] + 1)] + left[names.index(last[0]) + 1:]
        return self


def is_known(job, kind, what):
    for (way, known_kind, symptom), why in KNOWN.items():
        if re.fullmatch(way, job.way) and re.fullmatch(known_kind, kind) and re.search(symptom, what):
            return why
    return None


def turn():
    """Another one with every commit."""
    done = subprocess.run(["git", "-C", str(ROOT), "rev-list", "--count", "HEAD"],
                          capture_output=True, text=True)
    return int(done.stdout) if done.returncode == 0 else 0


def chosen_jobs(options, folder):
    number = turn()
    jobs = []
    for way in options.way:
        for ints in (SMALL, LARGE):
            for state in ("cold", "warm"):
                for mode in ("one", "on"):
                    victims = range(options.ranks)
                    if not options.all:
                        victims = [number % options.ranks]
                        number += 1
                    for victim in victims:
                        jobs.append(Job(options, folder, way, ints, state, mode, victim,
                                        turn() + len(jobs)))
    return jobs


def report(jobs):
    bad = 0
    known = {}
    ends = {}
    for job in jobs:
        print(f"{job.name}: {job.tries} calls, {job.refused} with a refusal")
        for what, where in job.ends.items():
            ends.setdefault(what, []).extend(where)
        for kind, number, what in job.faults:
            why = is_known(job, kind, what)
            if why:
                known.setdefault(why, []).append(f"{job.name} {kind} {number}")
            else:
                bad += 1
                print(f"FAULT: {job.name}: {kind}, allocation {number}: {what}")
    for what, where in sorted(ends.items()):
        print(f"the job ended, as it has to: {what}: {len(where)} times, such as {where[0]}")
    for why, where in sorted(known.items()):
        print(f"known: {why}: {len(where)} times, such as {where[0]}")
    return bad


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("mpiexec")
    parser.add_argument("starved")
    parser.add_argument("kinds", nargs="*")
    parser.add_argument("--way", action="append")
    parser.add_argument("--ranks", type=int, default=3)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_intermixed_args()
    options.way = options.way or ["shm", "msg"]
    options.share = "0/1" if options.all else f"{turn() % TURNS}/{TURNS}"
    kinds = options.kinds or subprocess.run([options.starved], capture_output=True, text=True,
                                            check=True).stdout.split()
    with tempfile.TemporaryDirectory(prefix="starve-") as folder:
        jobs = chosen_jobs(options, folder)
        with ThreadPoolExecutor(AT_ONCE) as pool:
            jobs = list(pool.map(lambda job: job.run(kinds), jobs))
    return 1 if report(jobs) > 0 else 0


if __name__ == "__main__":
    sys.exit(main())
