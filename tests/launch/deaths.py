"""deaths.py - what mpiexec says of ranks that die: the last call of the one that has fallen first,
with peer, tag and age, and what the others did. Programs are those of deaths.c. See common.py for
how cases are written and called.
"""

import json
import os
import re
import signal
import sys
import tempfile
from pathlib import Path

import common
from common import Running, case, claim, equal, mpiexec_path, program, wait_until

RANKS = 4
AGE = r"^ +\d[\d.]* (?:us|ms|s)  "
WORLD = "on 'MPI_COMM_WORLD'"
MARK = rf"MPI_Bcast +root V, 77 bytes {WORLD}"
OUTSIDE = "outside MPI"


def killed(number):
    return 128 + number, f"killed by signal {number}, {re.escape(signal.strsignal(number))}"


# How it ends: exit code and cause; where the rank was; its last call. R is another rank: the last.
DEATHS = {
    "op": (*killed(11), "in MPI_Reduce", rf"MPI_Reduce +root V, 4 bytes {WORLD}"),
    "errhandler": (*killed(11), "in MPI_Bcast", rf"MPI_Bcast +root V.* {WORLD}"),
    "attribute": (*killed(11), OUTSIDE, MARK),
    "segv": (*killed(11), OUTSIDE, MARK),
    "thread": (*killed(6), OUTSIDE, MARK),
    "exit0": (1, "ended without calling MPI_Finalize", OUTSIDE, MARK),
    "exit3": (3, "ended with code 3", OUTSIDE, MARK),
    "_exit": (4, "ended with code 4", OUTSIDE, MARK),
    "stack": (*killed(11), OUTSIDE, MARK),
    "bus": (*killed(7), OUTSIDE, MARK),
    "fpe": (*killed(8), OUTSIDE, MARK),
    "ill": (*killed(4), OUTSIDE, MARK),
    "term": (*killed(15), OUTSIDE, MARK),
    "xcpu": (*killed(24), OUTSIDE, MARK),
    "recv": (*killed(9), "in MPI_Recv", rf"MPI_Recv +from 0, tag 5, 8 bytes {WORLD}"),
    "rendezvous": (*killed(9), "in MPI_Send", rf"MPI_Send +to R, tag 5, 8388608 bytes {WORLD}"),
    "transfer": (*killed(9), "(in MPI_Sendrecv|outside MPI)", rf"MPI_Sendrecv.* R, tag 5, .*{WORLD}"),
    "sends": (*killed(9), OUTSIDE, rf"MPI_Send x \d+ +to 0, tag 5, 8 bytes {WORLD}"),
    "wait": (*killed(9), "in MPI_Wait", rf"MPI_Wait +rank 0, tag 5, 8 bytes {WORLD}"),
    "probe": (*killed(9), "in MPI_Probe", rf"MPI_Probe +from any rank, tag 5 {WORLD}"),
    "collective": (*killed(9), "in MPI_Barrier", r"MPI_Barrier +on 'named'"),
    "abort": (7, "MPI_Abort.* 7", "in MPI_Abort", r"MPI_Abort +code 7"),
    "fatal": (None, "MPI_Bcast.*MPI_ERR_ROOT", "in MPI_Bcast", rf"MPI_Bcast +root S, 8 bytes {WORLD}"),
    "two": (*killed(9), OUTSIDE, rf"MPI_Barrier +{WORLD}"),
    "finalized": (*killed(9), "behind MPI_Finalize", r"MPI_Finalize"),
}
# Without calls of the rank that has fallen.
SILENT = {
    "before": killed(9),
    "init": killed(9),
}


def words(pattern, ranks, victim):
    pattern = re.sub(r"\bR\b", str(ranks - 1), pattern)
    pattern = re.sub(r"\bS\b", str(ranks), pattern)
    return re.sub(r"\bV\b", str(victim), pattern)


def hold(name, done, ranks, victim):
    """The report is that of this death, and has the ages of calls."""
    code, cause, where, last = DEATHS[name]
    said = done.err.decode()
    lines = said.splitlines()
    if code is not None:
        equal(done.code, code, said)
    claim(done.code != 0, said)
    if name == "two" and re.match(rf"mpiexec: rank {ranks - 1} ", said):
        victim = ranks - 1
    claim(re.search(rf"^mpiexec: rank {victim} on \S+ \(.*\): {cause}", lines[0]), said)
    heads = [i for i, line in enumerate(lines)
             if re.match(rf"  rank {victim} was {words(where, ranks, victim)}; its last calls?, and how "
                         r"long before its end (they|it) began:$", line)]
    equal(len(heads), 1, f"{name}:\n{said}")
    rows = []
    for line in lines[heads[0] + 1:]:
        if not re.match(AGE, line):
            break
        rows.append(line)
    claim(1 <= len(rows) <= (3 if name == "abort" else 8), said)
    claim(re.search(AGE + words(last, ranks, victim), rows[-1]), f"{name}: {last}\n{said}")
    claim(re.search(r"  (deaths\.c:\d+ \(\w+\)|\w+\+0x[0-9a-f]+ in \S+)$", rows[-1]), said)
    claim(name in ("finalized", "two") or
          re.search(r"^  \d+ ranks? (were|was) in MPI_\w+", said, re.M), said)


def hold_silent(name, done, victim):
    code, cause = SILENT[name]
    said = done.err.decode()
    equal(done.code, code, said)
    claim(re.search(rf"^mpiexec: rank {victim} on \S+ \(.*\): {cause}", said), said)
    claim(f"\n  rank {victim} had not completed MPI_Init\n" in said, said)


# What a sanitizer would take for its own.
CAUGHT = {"ASAN_OPTIONS": common.SANITIZERS["ASAN_OPTIONS"] +
          ":handle_sigbus=0:handle_sigfpe=0:handle_sigill=0:handle_abort=0:use_sigaltstack=0"}


def die(name, ranks=RANKS, victim=1, front=(), options=(), program_words=None):
    """Runs one death to its end; nothing is left of it."""
    with tempfile.TemporaryDirectory() as folder:
        command = program_words or [program("deaths"), name, victim, Path(folder) / "begun"]
        running = Running([*front, mpiexec_path(), *options, "-n", ranks, *command],
                          variables=CAUGHT)
        done = running.finish()
        common.nothing_is_left(running.mark, running.before, common.ENDING)
        return done


@case("one host")
def every_death_is_told_with_its_last_call():
    for name in DEATHS:
        if common.is_sanitized() and name in ("stack", "op", "fpe"):
            continue
        hold(name, die(name), RANKS, 1)
    for name in SILENT:
        hold_silent(name, die(name), 1)


@case("one host")
def the_child_of_a_shell_is_told_as_well():
    done = die("segv", program_words=["sh", "-c", '"$0" segv 1; exit $?', program("deaths")])
    equal(done.code, 139, done.err)
    claim(re.search(r"rank 1 was outside MPI", done.err.decode()), done.err.decode())
    claim(re.search(AGE + words(MARK, RANKS, 1), done.err.decode(), re.M), done.err.decode())


# ---- the memory killer ----

LIMIT = 192 << 20


def make_cgroup():
    """A cgroup with a limit, or None: this machine lets nobody make one."""
    for root, name in ((Path("/sys/fs/cgroup/memory"), "memory.limit_in_bytes"),
                       (Path("/sys/fs/cgroup"), "memory.max")):
        folder = root / f"weft-test-{os.getpid()}"
        try:
            folder.mkdir()
        except OSError:
            continue
        try:
            (folder / name).write_text(str(LIMIT))
            return folder
        except OSError:
            folder.rmdir()
    return None


def hold_memory(front=(), **settings):
    """Runs in a cgroup whose limit the rank exceeds."""
    folder = make_cgroup()
    if folder is None:
        print("skipped: no cgroup with a limit can be made here", flush=True)
        return
    enter = ["sh", "-c", f'echo $$ >{folder}/cgroup.procs && exec "$@"', "sh"]
    try:
        done = die("memory", front=[*front, *enter], **settings)
    finally:
        wait_until(lambda: not (folder / "cgroup.procs").read_text(), 10)
        folder.rmdir()
    said = done.err.decode()
    equal(done.code, 137, said)
    claim(re.search(r"^mpiexec: rank 1 on \S+ \(.*\): killed by the memory killer, peak "
                    r"1[89]\d(\.\d)? MiB of 192\n", said), said)
    claim(re.search(r"^  rank 1 was outside MPI; its last calls?,", said, re.M), said)
    claim(re.search(AGE + words(MARK, RANKS, 1), said, re.M), said)


@case("one host")
def the_memory_killer_is_named_with_peak_and_limit():
    if common.is_sanitized():
        print("skipped: a sanitizer's memory is beyond any limit", flush=True)
    else:
        hold_memory()


# ---- the file ----

def read_trace(path, ranks):
    """The events of a file, by rank; what Perfetto's reader asks of it is held."""
    trace = json.loads(Path(path).read_text())
    by_rank = {rank: [] for rank in range(ranks)}
    names = {}
    for event in trace["traceEvents"]:
        claim(event["ph"] in "XiM" and isinstance(event["pid"], int), event)
        if event["ph"] == "M":
            if event["name"] == "process_name":
                names[event["pid"] - 1] = event["args"]["name"]
            continue
        claim(event["ts"] >= 0 and event.get("dur", 0) >= 0, event)
        claim(event["ph"] == "X" or event["s"] in "tp", event)
        if event["cat"] == "mpi":
            by_rank[event["pid"] - 1].append(event)
    equal(sorted(names), list(range(ranks)))
    equal(sum(map(len, by_rank.values())), trace["otherData"]["events"])
    for events in by_rank.values():
        times = [event["ts"] for event in events]
        equal(times, sorted(times))
    return trace, by_rank


@case("file")
def a_file_has_the_last_calls_of_all_ranks():
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "job.json"
        done = die("collective", options=["--trace", path])
        hold("collective", done, RANKS, 1)
        claim(f"mpiexec: --trace: the last calls of 4 ranks are in {path} (" in done.err.decode(),
              done.err.decode())
        trace, by_rank = read_trace(path, RANKS)
        last = by_rank[1][-1]
        equal((last["name"], last["ph"], last["args"]["what"]), ("MPI_Barrier", "X", "on 'named'"))
        equal([by_rank[rank][-1]["name"] for rank in (0, 2, 3)], ["MPI_Bcast"] * 3)
        equal(trace["otherData"]["ranks"], RANKS)


@case("file")
def a_job_that_ends_well_has_its_file_and_no_report():
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "job.json"
        done = die("well", options=["--trace", path])
        equal(done.code, 0, done.err)
        claim(re.fullmatch(rf"mpiexec: --trace: the last calls of 4 ranks are in {re.escape(str(path))} "
                           r"\(\d+ calls\)\n", done.err.decode()), done.err.decode())
        _, by_rank = read_trace(path, RANKS)
        equal([events[-1]["name"] for events in by_rank.values()], ["MPI_Finalize"] * 4)


@case("file")
def what_cannot_be_written_is_one_line_and_not_the_exit_code():
    for path, why in (("/nowhere/job.json", "No such file or directory"),
                      ("/dev/full", "No space left on device")):
        done = die("exit3", options=["--trace", path])
        equal(done.code, 3, done.err)
        equal(done.err.decode().count(f"mpiexec: --trace {path}: {why}\n"), 1, done.err)
        hold("exit3", done, RANKS, 1)


@case("file")
def a_signal_writes_it_while_the_job_runs():
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "job.json"
        running = Running([mpiexec_path(), "--trace", path, "-n", RANKS, program("deaths"), "idle"])
        try:
            running.expect("idle")
            claim(wait_until(lambda: ask(running, path), 30), "no file in which all wait")
        except AssertionError:
            running.abandon()
            raise
        running.send(signal.SIGTERM)
        done = running.finish()
        equal(done.code, 143, done.err)
        common.nothing_is_left(running.mark, running.before, common.ENDING)


def ask(running, path):
    """True if the file that a signal makes shows rank 0 in its call."""
    path.unlink(missing_ok=True)
    running.send(signal.SIGUSR1)
    claim(wait_until(lambda: is_whole(path), 10), "no file")
    last = (read_trace(path, RANKS)[1][0] or [{"name": ""}])[-1]
    return last["name"] == "MPI_Bcast" and last["ph"] == "X" and last["args"]["peer"] == RANKS - 1


def is_whole(path):
    try:
        json.loads(path.read_text())
    except (OSError, ValueError):
        return False
    return True


@case("many ranks")
def a_thousand_ranks_are_reported_soon_after_the_failure():
    """Of the time after the failure: the same job without a failure is subtracted."""
    ranks = 100 if common.is_sanitized() else 1000
    well = die("well", ranks=ranks)
    equal(well.code, 0, well.err)
    done = die("segv", ranks=ranks)
    hold("segv", done, ranks, 1)
    print(f"{well.seconds:.1f} s without a failure, {done.seconds:.1f} with one")
    claim(done.seconds < 2 * well.seconds + 3, f"{done.seconds} and {well.seconds} s")


if __name__ == "__main__":
    sys.exit(common.main())
