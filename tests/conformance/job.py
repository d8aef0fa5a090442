"""job.py - runs one entry and says what became of it.

An entry passes if the job ends with code 0, says "No Errors", and says nothing else.  Those
whose line asks for a job that fails pass if it ends with an error by itself: neither by a
signal, nor because a function is missing.
"""

import os
import re
import shutil
import signal
import subprocess
import tempfile

import build

PASSED, FAILED, NOT_BUILT, NOT_RUN = "passed", "failed", "not built", "not run"
BY_LIMIT = 124  # how mpiexec ends a job that takes too long
GRACE = 20  # seconds that mpiexec has to end it
SIGNALLED = 128
MISSING = re.compile(r"(MPI_\w+)[^:\n]*: MPI_ERR_UNSUPPORTED_OPERATION: "
                     r"this version of Weft does not have this function")
FINE = re.compile(r"\s*No [Ee]rrors\s*")
ENDED = re.compile(r"mpiexec: rank .*: ended with code \d+")
QUIET = re.compile(r"\s*(Test Passed\s*)?")
# These keep the distance of two blocks of malloc() in an int. A block that another thread has
# allocated lies in a heap of its own, farther away than an int can say.
ONE_HEAP = {("io", "i_noncontig_coll2")}


def first_sentence(said):
    """The line of a job's output that tells most, short enough for a table."""
    lines = [line.strip() for line in said.splitlines()
             if not any(p.fullmatch(line) for p in (FINE, QUIET, ENDED))]
    told = next((line for line in lines if line.startswith(("weft:", "mpiexec:"))), None)
    line = told or (lines[0] if lines else "")
    line = re.sub(r"^(weft|mpiexec): (rank \d+ on [^:]*|process \d+): ", "", line)
    return line if len(line) <= 160 else line[:157] + "..."


def verdict(entry, code, said):
    """What a job's exit code (None: it had to be killed) and output mean, and why."""
    missing = MISSING.search(said)
    if code is None or (code == BY_LIMIT and not entry.ends_by_limit):
        return FAILED, f"not over after {entry.limit} seconds"
    if missing:
        return FAILED, f"{missing[1]} is not built"
    if entry.must_fail:
        if code == 0 or code < 0 or code > SIGNALLED:
            return FAILED, f"ended with code {code}, not with an error of its own"
        return PASSED, ""
    if code != 0:
        return FAILED, first_sentence(said) or f"ended with code {code}"
    if not any(FINE.fullmatch(line) for line in said.splitlines()):
        return FAILED, first_sentence(said) or "ended without a word"
    noise = first_sentence(said)
    return (FAILED, f"says more than no errors: {noise}") if noise else (PASSED, "")


def environment(entry):
    heaps = {"MALLOC_ARENA_MAX": "1"} if (entry.list, entry.program) in ONE_HEAP else {}
    return {**os.environ, **heaps, **entry.environment}


def start(entry, program, mpiexec, folder):
    """Exit code, or None, and output of a job in a process group of its own."""
    command = [str(mpiexec), "--timeout", str(entry.limit), "-n", str(entry.ranks),
               str(program), *entry.arguments]
    with tempfile.TemporaryFile() as output:
        job = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL,
                               stdout=output, stderr=subprocess.STDOUT,
                               env=environment(entry),
                               start_new_session=True)
        try:
            code = job.wait(timeout=entry.limit + GRACE)
        except subprocess.TimeoutExpired:
            code = None
            os.killpg(job.pid, signal.SIGKILL)
            job.wait()
        output.seek(0)
        return code, output.read().decode(errors="replace")


def run(entry, builder, mpiexec, memory, logs):
    """Result and reason of one entry; what it said goes to a file in `logs`."""
    if entry.memory > memory:
        return NOT_RUN, f"needs {entry.memory:g} GB of memory"
    try:
        program = builder.build(entry.list, entry.program)
    except build.NotBuilt as error:
        return NOT_BUILT, str(error)
    folder = tempfile.mkdtemp(prefix="weft-conformance-")
    try:
        code, said = start(entry, program, mpiexec, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    log = logs / entry.list / (re.sub(r"[^\w=.-]+", "_", entry.name)[:120] + ".log")
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text(f"{entry.name}\ncode {code}\n{said}")
    return verdict(entry, code, said)
