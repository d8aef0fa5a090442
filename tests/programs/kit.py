"""kit.py - the MPI that programs are built and run with, and how a command is run.

A recipe (hpcc.py and the others) says how one program is built, which runs it has and what a
right answer is. It gives

    PACKAGE                    the name of Debian's source package
    build(kit, source, jobs)   builds what was unpacked into `source`
    runs(kit, source, small)   a list of Run; with `small` those that fit into .ci/run
    SPOILED                    which data tests/programs/spoil.c spoils in one run of it; only
    SPOILED_LEAST              messages of so many elements, if there is such a number
    spoiled(kit, source)       the Run that has to fail with spoiled data
"""

import os
import re
import signal
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable, Optional


class NotBuilt(Exception):
    """Says why, in one line."""


@dataclass
class Kit:
    """Compilers and launcher of one MPI; `old` is a flag for sources that are older than MPI-3."""

    name: str
    mpicc: str
    mpicxx: str
    mpiexec: str
    old: str = ""
    environment: dict = field(default_factory=dict)
    mpifort: str = ""
    log: Optional[Path] = None  # where output of builds goes

    def make(self, command, folder, limit=1800):
        """A step of a build, which has to succeed."""
        code, said, _ = call(command, folder, self.environment, limit)
        with self.log.open("a") as log:
            print(f"$ {' '.join(map(str, command))}\n{said}", file=log)
        if code != 0:
            raise NotBuilt(told_most(said) or f"{command[0]} ended with {code}")


@dataclass
class Run:
    """One command; check(code, said, folder) gives passed, all, and faults, a list of lines."""

    name: str
    ranks: str  # "2", or "1 to 4"
    command: list
    folder: Path
    check: Callable
    limit: int = 300
    before: Callable = lambda: None


def told_most(said):
    """The line of a build's output that tells most."""
    lines = said.strip().splitlines()
    for line in lines:
        if re.search(r"error:|undefined reference|CMake Error|configure: error|: not found", line):
            return line.strip()
    return lines[-1].strip() if lines else ""


def call(command, folder, environment, limit):
    """Exit code (None: it had to be killed), output and seconds."""
    start = time.monotonic()
    job = subprocess.Popen([str(word) for word in command], cwd=folder, text=True,
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, errors="replace",
                           env={**os.environ, "LC_ALL": "C", **environment},
                           start_new_session=True)
    try:
        said, _ = job.communicate(timeout=limit)
        code = job.returncode
    except subprocess.TimeoutExpired:
        os.killpg(job.pid, signal.SIGKILL)
        said, _ = job.communicate()
        code = None
    return code, said, time.monotonic() - start


def ended(code, limit=None):
    """The fault that an exit code is, as a list of at most one line."""
    if code is None:
        return ["not over in time"]
    return [f"ended with code {code}"] if code != 0 else []


def all_or_nothing(faults):
    return (0 if faults else 1), 1, faults
