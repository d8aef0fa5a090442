"""hang.py - what mpiexec says of jobs that hang: who waits for whom (hang.c has the jobs).

Each job is known by its name; of each a few sentences must be in the report, as patterns.
See common.py for how cases are written and called.
"""

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import common
from common import Running, case, claim, equal, main, mpiexec_path, program, read_report

QUIET = 0.5  # seconds without a move after which a job counts as stuck
WORLD = "'MPI_COMM_WORLD'"

# Where each call is: its function, and the mark of its line in hang.c.
SITES = {
    "deadlock": [("Recv", "deadlock receives"), ("Barrier", "all meet")],
    "cycle": [("Recv", "cycle receives")],
    "missing": [("Recv", "missing receives"), ("Allreduce", "sums")],
    "mismatch": [("Bcast", "mismatch casts"), ("Wait", "mismatch waits")],
    "tag": [("Recv", "tag receives"), ("Barrier", "all meet")],
    "communicator": [("Recv", "communicator receives"), ("Barrier", "all meet")],
    "wildcard": [("Recv", "wildcard receives"), ("Barrier", "all meet")],
    "loop": [("Barrier", "all meet")],
    "stopped": [("Barrier", "all meet")],
    "dead": [("Recv", "dead receives"), ("Recv", "dead receives, too")],
    "space": [("Recv", "space receives"), ("Send", "space sends"), ("Barrier", "all meet")],
    "partitioned": [("Wait", "partitioned send"), ("Wait", "partitioned receive"),
                    ("Barrier", "all meet")],
    "synchronous": [("Ssend", "synchronous sends"), ("Barrier", "all meet")],
    "request": [("Wait", "request waits"), ("Barrier", "all meet")],
    "finalize": [("Finalize", "finalize ends")],
    "probe": [("Iprobe", "probe probes"), ("Barrier", "all meet")],
    "test": [("Test", "test tests"), ("Barrier", "all meet")],
    "part": [("Barrier", "part meets")],
}

# Name: ranks that it needs, options of mpiexec, and what is said; N is the number of ranks,
# M one less.
HANGS = {
    "deadlock": (2, (), [
        r"^  cycle of 2: 0 waits for 1 \(MPI_Recv, tag 5\), 1 waits for 0 \(MPI_Recv, tag 5\)$"]),
    "cycle": (5, (), [
        r"^  cycle of 5: 0 waits for 1 \(MPI_Recv, tag 5\), .*, 4 waits for 0 \(MPI_Recv, tag 5\)$"]),
    "missing": (4, (), [
        rf"^  M ranks in MPI_Allreduce of 4 bytes on {WORLD}: 0, 2-M\b",
        rf"^  odd one out: M ranks are in MPI_Allreduce on {WORLD}, rank 1 is in MPI_Recv from "
        rf"3, tag 7 on {WORLD}$"]),
    "mismatch": (3, (), [
        rf"^  near miss on {WORLD}: MPI_Ibarrier is called by 0, 2-M, and MPI_Bcast by 1; "]),
    "tag": (3, (), [
        rf"^  near miss at rank 1: it receives from 0, tag 5 on {WORLD}, and a message from 0, "
        rf"tag 6 on {WORLD} \(8 bytes\) waits: the tag differs$"]),
    "communicator": (3, (), [
        rf"^  near miss at rank 1: it receives from 0, tag 5 on {WORLD}, and a message from 0, "
        r"tag 5 on 'other' \(8 bytes\) waits: the communicator differs$"]),
    "wildcard": (3, (), [
        rf"^  1 rank in MPI_Recv from any rank, any tag on {WORLD}: 0\b",
        r"^  rank 0 waits for a message from any rank, and nobody is left to send one"]),
    "loop": (4, (), [
        r"^  1 rank running outside MPI: computes or loops: 2$",
        r"^  M ranks wait for rank 2, which is running outside MPI"]),
    "stopped": (4, (), [
        r"^  1 rank stopped by a signal, outside MPI: 2$",
        r"^  M ranks wait for rank 2, which is stopped by a signal"]),
    "dead": (4, ("--keep-going",), [
        r"^  1 rank dead: killed by signal 9, Killed: 2$",
        r"^  cycle of 2: 0 waits for 1 \(MPI_Recv, tag 5\), 1 waits for 0 \(MPI_Recv, tag 6\)$"]),
    "space": (4, (), [
        rf"^  1 rank in MPI_Send to 0, tag 5 on {WORLD}: 1\b",
        r"^  rank 0 keeps \d+ unexpected messages, .*: there is no room for more, so "
        r"their senders wait$"]),
    "partitioned": (4, (), [
        rf"^  1 rank in MPI_Wait for a partitioned send to 1, tag 5 on {WORLD}, 3 of 4 partitions "
        r"ready: 0\b",
        rf"^  1 rank in MPI_Wait for a partitioned receive from 0, tag 5 on {WORLD}: 1\b",
        r"^  M ranks wait for rank 0, "]),
    "synchronous": (3, (), [
        rf"^  1 rank in MPI_Ssend to 1, tag 7 on {WORLD}: 0\b",
        r"^  rank 1 keeps 1 unexpected message, the first one from 0, tag 7 "]),
    "request": (3, (), [
        rf"^  odd one out: M ranks are in MPI_Barrier on {WORLD}, rank 0 is in MPI_Wait for a "
        rf"receive from 1, tag 9 on {WORLD}$"]),
    "finalize": (4, (), [
        rf"^  odd one out: M ranks are in MPI_Finalize on {WORLD}, rank 2 is asleep outside MPI$"]),
    "probe": (3, (), [
        rf"^  1 rank spinning in MPI_Iprobe from 1, tag 3 on {WORLD}: 0\b"]),
    "test": (3, (), [
        r"^  1 rank spinning in MPI_Test: 0\b",
        r"^  near miss at rank 0: it receives from 1, tag 5 .*: the tag differs$"]),
    "part": (4, (), [
        r"^  \d+ ranks? in MPI_Barrier on 'odd': 1\b",
        r"^  \d+ ranks wait for rank 3, which is asleep outside MPI$"]),
}


def has_libdw():
    """Was mpiexec built so that it can read debug information?"""
    return b"libdw.so.1" in Path(mpiexec_path()).read_bytes()


def line_of(mark):
    """The line of hang.c that has this mark."""
    lines = Path(__file__).with_name("hang.c").read_text().splitlines()
    return next(i for i, line in enumerate(lines, 1) if f"/* {mark} */" in line)


def function_of(mark):
    """The function of hang.c in which this mark is."""
    above = Path(__file__).with_name("hang.c").read_text().splitlines()[:line_of(mark)]
    return next(found[1] for found in (re.match(r"(?:static void|int) (\w+)\(", line)
                                       for line in reversed(above)) if found)


def site_pattern(mark):
    return (rf"hang\.c:{line_of(mark)} \({function_of(mark)}\)" if has_libdw()
            else r"\S*launch_hang\+0x[0-9a-f]+")


def hold(report, name, ranks):
    lines = report.splitlines()
    for call, mark in SITES[name]:
        pattern = rf"^  \d+ ranks? .*\bin MPI_{call}\b.*: [\d, -]+, at {site_pattern(mark)}$"
        claim(any(re.search(pattern, line) for line in lines),
              f"{name}: {pattern} is not said:\n{report}")
    for pattern in HANGS[name][2]:
        pattern = re.sub(r"\bM\b", str(ranks - 1), pattern)
        claim(any(re.search(pattern, line) for line in lines),
              f"{name}: {pattern} is not said:\n{report}")


def is_named(report, name, ranks):
    try:
        hold(report, name, ranks)
    except AssertionError:
        return False
    return True


def ask_again(running):
    running.send(signal.SIGUSR1)


def hang(name, ranks, front=(), more=(), seconds=common.PATIENCE, again=ask_again):
    """Starts the job and reads its report. On a machine that is busy with other things a job
    may stand still before it is stuck: then it is asked again."""
    limit = time.monotonic() + seconds
    running = Running([*front, mpiexec_path(), "--hang-timeout", QUIET, *HANGS[name][1], *more,
                       "-n", ranks, program("hang"), name])
    try:
        report = read_report(running, limit - time.monotonic())
        equal(report.count(f"mpiexec: no rank has made progress for {QUIET} s (--hang-timeout); "
                           f"what the {ranks} ranks do:\n"), 1, report)
        running.was_too_early = not is_named(report, name, ranks)
        while not is_named(report, name, ranks) and time.monotonic() < limit:
            again(running)
            report = read_report(running, limit - time.monotonic())
        hold(report, name, ranks)
    except AssertionError:
        running.abandon()
        raise
    return running, report


def end(running):
    running.send(signal.SIGTERM)
    done = running.finish()
    claim(running.was_too_early or b"what the" not in done.err,
          f"a second report: {done.err.decode()}")
    common.nothing_is_left(running.mark, running.before, common.ENDING)


@case("one host")
def every_hang_is_named():
    for name in HANGS:
        running, _ = hang(name, max(4, HANGS[name][0]))
        end(running)


@case("one host")
def a_job_that_moves_is_not_reported_but_on_request():
    """Twice: the first report leaves the job as it was."""
    running = Running([mpiexec_path(), "--hang-timeout", 2, "-n", 4, program("hang"), "busy"])
    running.was_too_early = False
    time.sleep(1)
    for _ in range(2):
        running.send(signal.SIGUSR1)
        report = read_report(running)
        claim(report.startswith("mpiexec: SIGUSR1: what the 4 ranks do:\n"), report)
    time.sleep(2.5)
    end(running)


@case("one host")
def a_call_that_the_kernel_holds_up_is_named():
    """Not "outside MPI": the rank is in MPI_File_open."""
    with tempfile.TemporaryDirectory() as folder:
        fifo = Path(folder) / "fifo"
        os.mkfifo(fifo)
        running = Running([mpiexec_path(), "-n", 4, program("hang"), "file", fifo])
        wanted = (rf"^  1 rank asleep in MPI_File_open: 2, at {site_pattern('file opens')}$",
                  r"^  3 ranks wait for rank 2, which is asleep in MPI_File_open$")
        try:
            claim(common.wait_until(
                lambda: all(re.search(line, top(running.pid)[1], re.M) for line in wanted), 60),
                top(running.pid)[1])
        finally:
            running.abandon()


def moves_all_the_time(*words):
    """Ranks that a busy machine lets stand still for long are reported rightly: then nothing
    follows."""
    limit, reports = 0.3, []
    while len(reports) < 4:
        done = Running([mpiexec_path(), "--hang-timeout", limit, "-n", 2, program("hang"),
                        *words]).finish()
        equal(done.code, 0, done.err)
        if not done.err or float(done.out) > limit / 3:
            return
        reports.append(done.err.decode())
    claim(False, "\n".join(reports))


@case("one host")
def one_sided_operations_and_accesses_to_files_are_moves():
    with tempfile.TemporaryDirectory() as folder:
        moves_all_the_time("works", Path(folder) / "file")


@case("one host")
def packing_datatypes_and_local_reductions_are_moves():
    moves_all_the_time("local")


def top(*words, under=()):
    """The exit code of weft-top, and what it says."""
    path = Path(mpiexec_path()).with_name("weft-top")
    done = subprocess.run([*under, path, *(str(word) for word in words)], check=False,
                          encoding="utf-8", stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=60)
    return done.returncode, done.stdout


@case("one host")
def weft_top_shows_a_job_as_often_as_it_asks():
    running = Running([mpiexec_path(), "-n", 4, program("hang"), "tag"])
    try:
        claim(common.wait_until(lambda: "near miss at rank 1" in top(running.pid)[1], 30),
              top(running.pid))
        code, said = top(running.pid)
        equal(code, 0)
        claim(said.startswith(f"4 ranks of {program('hang')} on 1 host:\n"), said)
        shown = common.Terminal([Path(mpiexec_path()).with_name("weft-top"), "--delay", 0.2,
                                 running.pid])
        shown.expect(b"near miss at rank 1")
        shown.expect(b"near miss at rank 1")  # once more
        shown.type(b"q")
        equal(shown.end(10)[0], 0)
    except AssertionError:
        running.abandon()
        raise
    running.send(signal.SIGTERM)
    running.finish()
    for word, code, words in ((running.pid, 1, "there is no job"), ("--what", 2, "--help tells"),
                              ("--help", 0, "usage: weft-top"), ("--version", 0, "of Weft ")):
        got, said = top(word)
        equal(got, code, said)
        claim(words in said, said)


ASKERS = 40  # more than mpiexec answers at once


@case("one host")
def many_may_ask_at_once():
    """mpiexec answers some of them, and the others wait."""
    running = Running([mpiexec_path(), "-n", 4, program("hang"), "tag"])
    path = Path(mpiexec_path()).with_name("weft-top")
    try:
        claim(common.wait_until(lambda: "near miss at rank 1" in top(running.pid)[1], 60),
              top(running.pid))
        askers = [subprocess.Popen([path, "--once", str(running.pid)], encoding="utf-8",
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
                  for _ in range(ASKERS)]
        said = [asker.communicate(timeout=120)[0] for asker in askers]
        claim(all(asker.returncode == 0 for asker in askers),
              "\n".join(sorted(set(said)))[:1000])
    finally:
        running.abandon()


HOSTILE = b"4 ranks\x1b]0;title\x07 of \xc2\x9b1m \x9b \xc3\xa9\x7f\n" + b"x" * 99 + b"\n"

# Listens where weft-top looks for a job with this process id; answers with MiB of lines.
SQUATTER = """
import os, socket
listener = socket.socket(socket.AF_UNIX)
listener.bind(chr(0) + f"weft-top-{os.getpid()}")
listener.listen(8)
print("listens", flush=True)
while True:
    asker = listener.accept()[0]
    try:
        asker.sendall(%r * 20000)
    except OSError:
        pass
    asker.close()
"""


def ask_a_squatter(*under):
    """What weft-top says of a job that this user pretends to run: of it, and of all jobs."""
    with subprocess.Popen([sys.executable, "-c", SQUATTER % HOSTILE],
                          stdout=subprocess.PIPE) as squatter:
        try:
            equal(squatter.stdout.readline(), b"listens\n")
            return squatter.pid, *top("--once", squatter.pid, under=under), top(under=under)[1]
        finally:
            squatter.kill()


@case("one host")
def weft_top_shows_no_control_characters_and_reads_no_answer_without_end():
    _, code, said, _ = ask_a_squatter()
    begin = "4 ranks?]0;title? of ??1m ? \u00e9?\n" + "x" * 99 + "\n"
    claim(code == 0 and said.startswith(begin), said[:500])
    claim(len(said) <= (1 << 20) + 4096, f"{len(said)} bytes")
    claim(not set(said) & set("\x1b\x07\x7f\x9b"), "control characters")


@case("one host")
def weft_top_asks_no_other_user():
    if os.geteuid() == 0:
        pid, code, said, listed = ask_a_squatter("setpriv", "--reuid=65534", "--regid=65534",
                                                 "--clear-groups")
        claim(code == 1 and "there is no job" in said, said[:500])
        claim(str(pid) not in listed, listed[:500])


@case("one host")
def jobs_are_listed_with_user_and_command():
    jobs = [Running([mpiexec_path(), "-n", 1, "sleep", 60 + i]) for i in range(2)]
    try:
        claim(common.wait_until(
            lambda: all(re.search(rf"^  {job.pid}  \S+  \S*mpiexec -n 1 sleep 6{i}$", top()[1],
                                  re.MULTILINE) for i, job in enumerate(jobs)), 60), top()[1])
    finally:
        for job in jobs:
            job.send(signal.SIGTERM)
            job.finish()


@case("one host")
def a_host_without_ranks_answers_for_those_of_others():
    """As a login node: all ranks are on another host, which is this machine as well."""
    with tempfile.TemporaryDirectory() as folder:
        rsh, trace = Path(folder) / "rsh", Path(folder) / "trace.json"
        rsh.write_text('#!/bin/sh\nshift\nexec "$@"\n')
        rsh.chmod(0o755)
        running = Running([mpiexec_path(), "--trace", trace, "--hosts", "pretended:4", "-n", 4,
                           program("hang"), "tag"], {"WEFT_RSH": str(rsh)})
        try:
            claim(common.wait_until(lambda: "near miss at rank 1" in top(running.pid)[1], 60),
                  top(running.pid))
            running.send(signal.SIGUSR1)
            report = read_report(running)
            claim("mpiexec: SIGUSR1: what the 4 ranks do:\n" in report, report)
            claim(common.wait_until(trace.exists, 60), "there is no trace")
        finally:
            running.abandon()


def are_stacks_said(report, name):
    main = rf"called from hang\.c:{line_of('runs')} \(main\)$"
    wanted = {
        "loop": rf"^      rank 2: hang\.c:({line_of('loops')}|{line_of('loops') - 1}) \(loop\), {main}",
        "finalize": rf"^      rank 2: .*, called from hang\.c:{line_of('sleeps')} \(finalize\), {main}",
        "stopped": r"^      rank 2: .*\braise\b",
    }
    return re.search(wanted[name], report, re.MULTILINE)


@case("one host")
def stacks_of_ranks_outside_mpi_are_said_on_request():
    """They are those of ranks that go on afterwards as before."""
    for name in ("loop", "finalize", "stopped") if has_libdw() else ():
        running, report = hang(name, 4, more=("--hang-stacks",))
        try:
            if not are_stacks_said(report, name):  # on a busy machine it may take too long
                claim("its stack is not read: there was no answer in time" in report, report)
            claim(common.wait_until(
                lambda: are_stacks_said(top("--stacks", running.pid)[1], name), 60),
                f"{name}: {top('--stacks', running.pid)}")
            plain = top(running.pid)[1]
            hold(plain, name, 4)
            claim("rank 2: " not in plain, plain)
        except AssertionError:
            running.abandon()
            raise
        end(running)


@case("many ranks")
def five_hangs_are_named_at_64_ranks():
    for name in ("missing", "tag", "loop", "finalize", "cycle"):
        end(hang(name, 16 if common.is_sanitized() else 64)[0])


@case("many ranks")
def two_hangs_are_named_at_1000_ranks():
    for name in ("missing", "loop"):
        end(hang(name, 100 if common.is_sanitized() else 1000, seconds=300)[0])


if __name__ == "__main__":
    sys.exit(main())
